"""Output files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.base.errors import OutputError
from dnip.base.leftovers import temporary_beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    Inputs: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None

#: Failures of the disk that can strike in the middle of a write.
_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
_APART = "Give each a place of its own"
# Bytes of the largest file of settings or coefficients; one without an end, a device, has more.
_MOST_BYTES = 1 << 28


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a file of settings or coefficients whole, as text, without a byte order mark.

    Raises
    ------
    OSError
        If it cannot be read, or is larger than 256 MiB; ``strerror`` tells it to people.
    UnicodeDecodeError
        If it is not UTF-8.

    Examples
    --------
    >>> read_text("/dev/zero")
    Traceback (most recent call last):
    ...
    OSError: [Errno 27] it has no end, or is larger than 256 MiB
    """
    with Path(path).open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, "it has no end, or is larger than 256 MiB")
    return content.decode("utf-8-sig")


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return the file that a write to `path` will replace, or say why it cannot be written.

    Call it before long work, so that a wrong path costs nothing.

    Parameters
    ----------
    path : path-like
        Where the output shall stand. A symbolic link is followed. A terminal, a pipe or a
        device that takes a stream, such as /dev/stdout or /dev/null, will do.

    Returns
    -------
    pathlib.Path
        The absolute path, links resolved, but for a stream's.

    Raises
    ------
    OutputError
        If the folder is missing, the path is a folder or a disk, or permission is lacking.

    Examples
    --------
    >>> check_writable("no/such/folder/coefficients.json")
    Traceback (most recent call last):
    ...
    dnip.OutputError: no/such/folder/coefficients.json cannot be written: the folder \
no/such/folder does not exist. Create the folder first, or write elsewhere
    """
    try:
        given = Path(path)
        # What /dev/stdout links to may be a pipe, which has no path.
        target = given.absolute() if _is_stream(given) else given.resolve()
        if target.is_dir():
            raise _cannot(path, "it is a folder", "Give the name of a file")
        if target.exists() and not (target.is_file() or _is_stream(target)):
            raise _cannot(path, "it is not a regular file", "Give the name of a file")
        if not target.parent.is_dir():
            raise _cannot(
                path,
                f"the folder {Path(path).parent} does not exist",
                "Create the folder first, or write elsewhere",
            )
        if target.exists() and not os.access(target, os.W_OK):
            raise _cannot(path, "the file is write-protected", "Write elsewhere")
        if not _is_stream(target) and not os.access(target.parent, os.W_OK | os.X_OK):
            raise _cannot(
                path,
                f"permission denied in the folder {Path(path).parent}",
                "Write to a folder of your own",
            )
    except OutputError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        raise _cannot(path, _reason(error), "Write elsewhere") from error
    return target


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder for outputs, and those above it, and return it; one that is there will do.

    Raises
    ------
    OutputError
        If it cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     make_folder(f"{folder}/results").is_dir()
    True
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot make the folder: {error.strerror}", hint="Give another --out"
        ) from error
    return folder


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file to write; put it in place of `path` once the block has ended well.

    The temporary file lies in the same folder and ends in the same suffix. It is forced to disk
    and then renamed over `path`, so a reader sees the old file or the new one, never a part. If
    the block raises anything, Ctrl-C included, the temporary file is removed and whatever stood
    at `path` still stands. What a killed process left is removed by the next write to `path`.

    A stream (see `check_writable`) cannot be replaced: it is given itself, and gets the bytes as
    they are written.

    Parameters
    ----------
    path : path-like
        Where the output shall stand. The mode of an existing file is kept.

    Yields
    ------
    pathlib.Path
        The temporary file, empty, to be opened for writing; or the stream.

    Raises
    ------
    OutputError
        If the output cannot be written (see `check_writable`), or the disk fails or is full.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "note.txt")
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    target = check_writable(path)
    if _is_stream(target):
        with _disk_errors(path):
            yield target
        return
    with ExitStack() as stack:
        with _own_step(path):
            temporary = stack.enter_context(temporary_beside(target))
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        with _disk_errors(path):
            yield temporary
        with _own_step(path):
            _sync(temporary)
            temporary.replace(target)


def temporary_folder(beside: str | os.PathLike[str]) -> Path | None:
    """Return where temporary files may grow large: where TMPDIR says, or beside an output.

    Parameters
    ----------
    beside : path-like
        The output.

    Returns
    -------
    pathlib.Path or None
        None stands for the system's own choice, which TMPDIR governs; it is also taken beside a
        stream.
    """
    if "TMPDIR" in os.environ or _is_stream(Path(beside)):
        return None
    return check_writable(beside).parent


def check_files(
    reads: Mapping[str, Inputs],
    writes: Mapping[str, str | os.PathLike[str] | None],
    inside: Mapping[str, str | os.PathLike[str]] | None = None,
) -> None:
    """Refuse a command whose outputs would destroy an input or each other, before any work.

    Parameters
    ----------
    reads : dict
        All that is read, by the names that the user knows it by: a path, several, or None. A folder
        is an input as a whole. What is no path of a file, such as the name of a model on a hub,
        harms nothing.
    writes : dict
        All files that are written, likewise; each must be writable (see `check_writable`).
    inside : dict, optional
        Outputs in folders that the command makes where they are missing.

    Raises
    ------
    OutputError
        If two of them are the same file, by whatever path, link or case of letters; if an output
        lies in an input folder, or an input in an output folder; or one cannot be written. Streams
        may share.

    Examples
    --------
    >>> check_files({}, {"out": "coefficients.json", "trace": "./coefficients.json"})
    Traceback (most recent call last):
    ...
    dnip.OutputError: ./coefficients.json cannot be written: out and trace are the same \
file. Give each a place of its own
    """
    for path in writes.values():
        if path is not None:
            check_writable(path)
    inputs = [
        (name, Path(path))
        for name, given in reads.items()
        for path in _several(given)
        if _is_there(path) and not _is_stream(Path(path))
    ]
    outputs = {**writes, **(inside or {})}
    for name, path in outputs.items():  # before a folder, which may be the whole disk, is walked
        if path is None or (_is_there(path) and _is_stream(Path(path))):
            continue
        for other, given in inputs:
            if Path(os.path.realpath(given)) in Path(os.path.realpath(path)).parents:
                raise _cannot(path, f"{name} and {other} lie one in the other", _APART)
    files = [(name, file) for name, path in inputs for file in _files_of(path)]
    taken = {_key(file): name for name, file in files}
    for name, path in outputs.items():
        if path is None or (_is_there(path) and _is_stream(Path(path))):
            continue
        # Names that differ in case only are one file on many systems.
        keys = {*map(_key, _files_of(Path(path))), os.path.realpath(path).casefold()}
        for other in (taken[key] for key in keys if key in taken):
            raise _cannot(path, f"{other} and {name} are the same file", _APART)
        taken |= dict.fromkeys(keys, name)
        target = Path(os.path.realpath(path))
        for other, given in inputs:
            real = Path(os.path.realpath(given))
            if target in real.parents:
                raise _cannot(path, f"{name} and {other} lie one in the other", _APART)


def _several(given: Inputs) -> Iterable[str | os.PathLike[str]]:
    if given is None:
        return ()
    return [given] if isinstance(given, str | os.PathLike) else given


def _is_there(path: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError, RuntimeError):  # a name that is too long, or no name
        return False


def _files_of(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir():
        yield from path.rglob("*")


def _key(path: Path) -> object:
    """Return what two paths of one file share: its number on the disk, where it is there."""
    try:
        status = path.stat()
    except (OSError, ValueError, RuntimeError):
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


@contextmanager
def _disk_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn failures of the disk into an OutputError.

    Other OSErrors (a lost connection, say) are the block's own affair.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_ERRORS or isinstance(error, OutputError):
            raise
        raise _cannot(path, _reason(error), _remedy(error)) from error


@contextmanager
def _own_step(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _cannot(path, _reason(error), _remedy(error)) from error


def _is_stream(path: Path) -> bool:
    return path.is_char_device() or path.is_fifo()


def _sync(temporary: Path) -> None:
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())


def _cannot(path: str | os.PathLike[str], reason: str, hint: str) -> OutputError:
    return OutputError(f"{os.fspath(path)} cannot be written: {reason}", hint=hint)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _remedy(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "Free some space, or write to another disk"
    return "Write elsewhere"
