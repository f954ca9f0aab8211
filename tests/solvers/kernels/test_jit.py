import numba
import pytest

from dnip.solvers.kernels import jit


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """Return a function that asks anew for the folder, as a process with that numba would."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def ask(version=numba.__version__):
        monkeypatch.setattr(numba, "__version__", version)
        return jit._cache_folder.__wrapped__()

    return ask


def test_each_version_of_numba_keeps_its_own_machine_code(cache_folder, tmp_path):
    old, new = cache_folder("0.61.0"), cache_folder("0.68.1")

    assert old != new
    assert old.parent == new.parent == tmp_path / "dnip"
    assert old.is_dir()
    assert new.is_dir()


def test_machine_code_of_other_sources_goes(cache_folder):
    folder = cache_folder()
    outdated = folder.with_name(folder.name[:-1] + "-")
    folder.rename(outdated)

    assert cache_folder() == folder
    assert folder.is_dir()
    assert not outdated.exists()


def test_without_a_place_to_write_there_is_no_folder(cache_folder, tmp_path):
    (tmp_path / "dnip").write_text("a file where the folder should be")

    assert cache_folder() is None
