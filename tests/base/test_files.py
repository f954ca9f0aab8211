import errno
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cases import cases
from dnip.base import files
from dnip.base.errors import OutputError
from dnip.base.files import atomic_path, check_files, check_writable, new_folder


@pytest.fixture
def old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    return path


def assert_untouched(old_file):
    assert old_file.read_text() == "old"
    assert list(old_file.parent.iterdir()) == [old_file]


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "out.txt"
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit, ConnectionError])
def test_whatever_stops_the_block_leaves_the_old_file_and_nothing_else(old_file, stop):
    def write_half():
        with atomic_path(old_file) as temporary:
            temporary.write_text("half")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert_untouched(old_file)


def test_a_full_disk_is_told_as_such(old_file):
    with (
        pytest.raises(OutputError, match=r"out\.txt cannot be written: No space.*Free some space"),
        atomic_path(old_file),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert_untouched(old_file)


@pytest.mark.parametrize("given", ["old", "old/new/deep"])
@pytest.mark.parametrize("fails", [True, False])
def test_a_new_folder_is_gone_if_it_is_empty_in_the_end(tmp_path, given, fails):
    (tmp_path / "old").mkdir()
    with suppress(OutputError), new_folder(tmp_path / given) as folder:
        if fails:
            raise OutputError("the disk is full")
        (folder / "note.txt").touch()
    assert (tmp_path / given / "note.txt").exists() != fails
    assert (tmp_path / given).exists() == (given == "old" or not fails)
    assert (tmp_path / "old" / "new").exists() == (given != "old" and not fails)


def test_a_step_of_our_own_that_fails_is_an_output_error(old_file, monkeypatch):
    def fail(*_args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("dnip.base.files.os.fsync", fail)
    with pytest.raises(OutputError, match="Input/output error"), atomic_path(old_file):
        pass
    monkeypatch.undo()
    assert_untouched(old_file)


def test_the_mode_of_an_existing_file_is_kept_and_a_new_one_follows_the_umask(tmp_path):
    path = tmp_path / "out.txt"
    before = os.umask(0o022)
    try:
        with atomic_path(path):
            pass
        assert path.stat().st_mode & 0o777 == 0o644
        path.chmod(0o600)
        with atomic_path(path):
            pass
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_a_link_is_followed_and_stays(tmp_path, old_file):
    link = tmp_path / "link.txt"
    link.symlink_to(old_file)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert old_file.read_text() == "new"


def test_paths_that_cannot_be_written_are_refused_early(tmp_path, old_file):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    socket_file = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_file))
    for path, reason in [
        (tmp_path / "no" / "out.txt", "folder .*no does not exist"),
        (tmp_path, "it is a folder"),
        ("", "it is a folder"),
        (old_file / "out.txt", "does not exist"),
        (socket_file, "not a regular file"),
        (tmp_path / ("x" * 300), "File name too long"),
        (loop / "out.txt", "cannot be written"),
    ]:
        with pytest.raises(OutputError, match=reason):
            check_writable(path)


@cases(("out.txt", "write-protected"), ("", "permission denied in the folder"))
def test_missing_permission_is_told(old_file, monkeypatch, denied, reason):
    forbidden = old_file.parent / denied
    monkeypatch.setattr("dnip.base.files.os.access", lambda path, _mode: path != forbidden)
    with pytest.raises(OutputError, match=reason):
        check_writable(old_file)


class TestStreams:
    """A device or a pipe cannot be replaced; it is written to."""

    def test_a_named_pipe_gives_its_reader_the_bytes(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        received = []
        reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
        reader.start()
        with atomic_path(pipe) as target:
            target.write_text("through")
        reader.join()
        assert received == ["through"]
        assert list(tmp_path.iterdir()) == [pipe]

    def test_standard_output_is_a_path_whatever_it_leads_to(self, tmp_path):
        code = (
            "from dnip.base.files import atomic_path\n"
            "with atomic_path('/dev/stdout') as target: target.write_text('whole')"
        )
        piped = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
        assert piped.stdout == b"whole"
        path = tmp_path / "redirected.txt"
        with path.open("wb") as file:
            subprocess.run([sys.executable, "-c", code], check=True, stdout=file)
        assert path.read_text() == "whole"


def test_two_names_of_one_file_are_refused(tmp_path, old_file):
    link, hard = tmp_path / "link.txt", tmp_path / "hard.txt"
    link.symlink_to(old_file)
    hard.hardlink_to(old_file)
    for other in [old_file, link, hard, tmp_path / "x" / ".." / "out.txt", tmp_path / "OUT.txt"]:
        with pytest.raises(OutputError, match="out and trace are the same file"):
            check_files({"opt": tmp_path / "opt.csv"}, {"out": old_file, "trace": other})
        if other.exists():
            with pytest.raises(OutputError, match="opt and out are the same file"):
                check_files({"opt": [other]}, {"out": old_file})
    check_files({"opt": tmp_path / "opt.csv"}, {"out": old_file, "trace": None})
    check_files({}, {"out": "/dev/null", "trace": "/dev/null"})


def test_what_is_no_path_is_no_input(tmp_path):
    out = tmp_path / "out.csv"
    for text in ["gpt2", "x" * 5000, "a\0b", "http://localhost/v1", ""]:
        check_files({"model": text}, {"out": out})


_WRITE_UNTIL_TOLD = """
import sys
from dnip.base.files import atomic_path
with atomic_path(sys.argv[1]) as partial:
    partial.write_text("half of what another process writes")
    print("writing", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writing(path):
    """Another process that is in the middle of writing a file, until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITE_UNTIL_TOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "writing\n"
        yield
        process.kill()


def write(path):
    with atomic_path(path) as partial:
        assert partial.read_text() == ""
        partial.write_text("new")


def test_a_second_writer_is_refused_and_a_killed_one_leaves_the_old_file(old_file):
    with writing(old_file):
        with pytest.raises(OutputError, match=r"out\.txt cannot be written: another process is"):
            write(old_file)
        write(old_file.with_name("other.txt"))
    assert old_file.read_text() == "old"
    write(old_file)
    assert old_file.read_text() == "new"
    assert sorted(path.name for path in old_file.parent.iterdir()) == ["other.txt", "out.txt"]


def test_a_file_that_another_process_has_just_finished_is_not_written_to(old_file, monkeypatch):
    lock, finished = pytest.importorskip("fcntl").flock, []

    def flock(held, operation):
        if not finished:
            (partial,) = old_file.parent.glob(".dnip-*")
            partial.write_text("of another")
            finished.append(partial.rename(old_file.with_name("finished.txt")))
        lock(held, operation)

    monkeypatch.setattr("fcntl.flock", flock)
    write(old_file)
    assert finished[0].read_text() == "of another"
    assert old_file.read_text() == "new"


def test_no_open_file_is_moved_where_there_are_no_locks(old_file, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    opened, really_open = [], files._open_alone
    monkeypatch.setattr(
        files, "_open_alone", lambda *a: opened.append(really_open(*a)) or opened[-1]
    )
    for method in ("replace", "unlink"):
        move = getattr(Path, method)

        def checked(path, *rest, move=move, **options):
            assert all(file.closed for file in opened)
            return move(path, *rest, **options)

        monkeypatch.setattr(Path, method, checked)
    write(old_file)
    assert old_file.read_text() == "new"
    with pytest.raises(ZeroDivisionError), atomic_path(old_file):
        raise ZeroDivisionError
    assert len(opened) == 2
    assert [*old_file.parent.iterdir()] == [old_file]


def test_a_link_that_stands_where_the_partial_file_goes_is_not_followed(tmp_path, old_file):
    new = tmp_path / "new.txt"
    with atomic_path(new) as partial:
        pass
    partial.symlink_to(old_file)
    write(new)
    assert (old_file.read_text(), new.read_text()) == ("old", "new")
