"""Models by folder or by name: one download, typed failures, and the commit that a name means."""

from types import SimpleNamespace

import pytest

from cases import cases
from dnip.base.errors import BackendError, DNIPError, InvalidInputError, MissingDependencyError
from dnip.llm.prompting.engines.hub import SMALL_FILES, WEIGHTS, commit_of, find_files
from dnip.llm.prompting.models import ModelOptions, open_model

hub = pytest.importorskip("huggingface_hub")
errors = pytest.importorskip("huggingface_hub.errors")

FILES = SMALL_FILES + WEIGHTS
HUB = "dnip.llm.prompting.engines.hub"


@pytest.fixture
def download(monkeypatch):
    """Let the hub's client give a folder, or raise; return what it was asked for."""

    def give(outcome):
        asked = []

        def snapshot_download(name, **options):
            asked.append((name, options["revision"]))
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
        return asked

    return give


def http_error(kind):
    return kind("no", response=SimpleNamespace(headers={}, request=None, status_code=404))


def test_a_name_is_downloaded_and_its_commit_is_known(download, tmp_path):
    asked = download(str(tmp_path / "snapshots" / "abc123"))
    found = find_files("a/b", "model", FILES, revision="main")
    assert commit_of(found) == "abc123"
    assert asked == [("a/b", "main")]


@cases(
    (http_error(errors.GatedRepoError), InvalidInputError, "may be read.*private or gated"),
    (http_error(errors.RevisionNotFoundError), InvalidInputError, "'a/b' at 'v2' that may be read"),
    (http_error(errors.RepositoryNotFoundError), InvalidInputError, "there is no model 'a/b'"),
    (errors.LocalEntryNotFoundError("offline"), BackendError, "downloaded: LocalEntry"),
    (errors.OfflineModeIsEnabled("offline"), BackendError, "downloaded: .*Check the network"),
    (errors.HFValidationError("a b"), InvalidInputError, "there is no model 'a/b'"),
    (OSError(28, "No space left on device"), BackendError, "downloaded: OSError.*No space"),
)
def test_failures_of_the_hub_are_told_in_our_words(download, error, kind, told):
    download(error)
    with pytest.raises(kind, match=told):
        find_files("a/b", "model", FILES, revision="v2")


def test_without_a_network_a_stored_model_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    stored = tmp_path / "models--a--b"
    (stored / "refs").mkdir(parents=True)
    (stored / "refs" / "main").write_text("abc123")
    (stored / "snapshots" / "abc123").mkdir(parents=True)
    assert commit_of(find_files("a/b", "model", FILES)) == "abc123"


def test_a_folder_has_no_revision_and_no_commit(download, tmp_path):
    asked = download(RuntimeError("asked"))
    with pytest.raises(InvalidInputError, match="on this machine and has no revision 'main'"):
        find_files(tmp_path, "model", FILES, revision="main")
    assert commit_of(find_files(tmp_path, "model", FILES)) is None
    with pytest.raises(InvalidInputError, match=r"no folder './nowhere'"):
        find_files("./nowhere", "model", FILES)
    assert asked == []


def test_a_path_is_looked_at_before_torch_is_loaded(monkeypatch):
    monkeypatch.setattr(f"{HUB}.library", lambda: pytest.fail("it is loaded"))
    with pytest.raises(InvalidInputError, match=r"no file './gone.gguf' to load a model from"):
        open_model(ModelOptions("./gone.gguf"))


@cases(
    MissingDependencyError("torch", purpose="run a language model", extra="transformers"),
    BackendError("the tokenizer cannot be downloaded", hint="Check the network"),
)
def test_a_name_that_is_not_on_this_machine_may_be_that_of_a_server(monkeypatch, tmp_path, error):
    def find_files(*_, **__):
        raise error

    monkeypatch.setattr(f"{HUB}.find_files", find_files)
    for model, told in (str(tmp_path), False), ("m-4", True):
        with pytest.raises(DNIPError) as caught:
            open_model(ModelOptions(model)).describe()
        assert caught.value is error
        assert ("give its URL: --model URL --served-model m-4" in str(error)) == told
