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

#: Failures of the disk that can happen in the middle of a write.
_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
_APART = "Give each a place of its own"
# Bytes of the largest file of settings or coefficients: a device would never end.
_MOST_BYTES = 1 << 28


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a file of settings or coefficients whole, as text, without a byte order mark.

    Raises
    ------
    OSError
        If it cannot be read, or is larger than 256 MiB; ``strerror`` says which.
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
        Where to write. A symbolic link is followed. It may be a terminal, a pipe or another device
        that takes a stream, such as /dev/stdout or /dev/null.

    Returns
    -------
    pathlib.Path
        The absolute path, with links resolved; a stream keeps its own path.

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
    """Make a folder for outputs and its parents, where they are missing, and return it.

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


def path_text(path: str) -> str:
    r"""Return a path as valid Unicode: other bytes in it are escaped, as JSON needs it.

    Examples
    --------
    >>> path_text("t\udcff.csv")
    't\\udcff.csv'
    """
    return path.encode("utf-8", "backslashreplace").decode()


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file to write to; move it to `path` when the block ends without an error.

    The temporary file lies in the same folder and ends in the same suffix. It is forced to disk
    and then renamed to `path`, so a reader sees the old file or the new one, never a part of it.
    If the block raises, on Ctrl-C too, the temporary file is removed and `path` is unchanged. A
    temporary file of a killed process is removed by the next write to `path`.

    A stream (see `check_writable`) cannot be replaced: it is written to directly.

    Parameters
    ----------
    path : path-like
        Where to write. The mode of an existing file is kept.

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
    """Return the folder for large temporary files: that of TMPDIR, or that of an output.

    Parameters
    ----------
    beside : path-like
        The output.

    Returns
    -------
    pathlib.Path or None
        None for the default of :mod:`tempfile`, where TMPDIR is set or the output is a stream.
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
        What is read, by the names that the user knows: a path, several paths, or None. A folder
        counts with all that is in it. Names that are no paths, such as that of a model on a hub,
        are skipped.
    writes : dict
        Files that are written, in the same form; each must be writable (see `check_writable`).
    inside : dict, optional
        Outputs in folders that the command makes where they are missing.

    Raises
    ------
    OutputError
        If two of them are the same file, by another path, a link, or other case; if an output lies
        in an input folder, or an input in an output folder; or if one cannot be written. Several
        outputs may go to one stream.

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
    outputs = {
        name: path
        for name, path in {**writes, **(inside or {})}.items()
        if path is not None and not (_is_there(path) and _is_stream(Path(path)))
    }
    for name, path in outputs.items():  # before a folder, which may be the whole disk, is walked
        for other, given in inputs:
            if _lies_in(path, given):
                raise _cannot(path, f"{name} and {other} lie one in the other", _APART)
    owners = {_key(file): name for name, path in inputs for file in _files_of(path)}
    for name, path in outputs.items():
        # Names that differ in case only are one file on many systems.
        keys = {*map(_key, _files_of(Path(path))), os.path.realpath(path).casefold()}
        for key in keys & owners.keys():
            raise _cannot(path, f"{owners[key]} and {name} are the same file", _APART)
        owners |= dict.fromkeys(keys, name)
        for other, given in inputs:
            if _lies_in(given, path):
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


def _lies_in(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


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
    """Turn failures of the disk into an OutputError; other errors of the block pass through."""
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
