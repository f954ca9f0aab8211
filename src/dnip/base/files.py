"""Files: settings read whole, and outputs that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dnip.base.errors import InvalidInputError, OutputError

try:
    import fcntl
except ImportError:  # Windows: no file is locked, and no open one can be moved or removed
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    Inputs: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None

#: Failures of the disk that can happen in the middle of a write.
_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
_APART = "Give each a place of its own"
# Bytes of the largest file of settings or coefficients: a pipe may never end.
_MOST_BYTES = 1 << 28


def read_text(path: str | os.PathLike[str]) -> str:
    """Return a file of settings or coefficients whole, as text, without a byte order mark.

    Raises
    ------
    OSError
        If it cannot be read, is a device, or is larger than 256 MiB; ``strerror`` says which.
    UnicodeDecodeError
        If it is not UTF-8.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "note.txt").write_text("text", "utf-8-sig")
    ...     read_text(f"{folder}/note.txt")
    'text'
    """
    with open_input(path) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, "it has no end, or is larger than 256 MiB")
    return content.decode("utf-8-sig")


def read_named(
    path: str | os.PathLike[str], kind: type[InvalidInputError] = InvalidInputError
) -> str:
    """Return a file that a user has named whole, as text; an error says why it cannot be read."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(path, error, kind) from error


def cannot_read(
    path: str | os.PathLike[str],
    error: OSError | UnicodeDecodeError,
    kind: type[InvalidInputError] = InvalidInputError,
) -> InvalidInputError:
    """Return the error for a file that is not there, or cannot be read."""
    name = os.fspath(path)
    if isinstance(error, FileNotFoundError):
        hint = f"Check the path; you are in {Path.cwd()}"
        return kind(f"{name}: there is no such file", hint=hint)
    if isinstance(error, UnicodeDecodeError):
        return kind(f"{name}: this is no UTF-8 text", hint="Check the path, or save it as UTF-8")
    hint = "Check the path and its permissions"
    return kind(f"{name}: the file cannot be read: {error.strerror or error}", hint=hint)


def open_input(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file or a pipe for reading; OSError for a device, which may have no end."""
    file = Path(path)
    if file.is_char_device() or file.is_block_device():
        raise OSError(errno.ENXIO, "this is a device, not a file")
    return file.open("rb")


def valid_unicode(text: str) -> str:
    r"""Return a text for a file: halves of surrogate pairs, as in odd paths, are escaped.

    Examples
    --------
    >>> valid_unicode("t\udcff.csv")
    't\\udcff.csv'
    """
    return text.encode(errors="backslashreplace").decode()


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
no/such/folder does not exist. Create it, or write elsewhere
    """
    with _failures(path):
        named, folder = Path(path), f"the folder {Path(path).parent}"
        # What /dev/stdout links to may be a pipe, which has no path.
        target = named.absolute() if _is_stream(named) else named.resolve()
        if target.is_dir():
            raise _cannot(path, "it is a folder", "Give the name of a file")
        if target.exists() and not (target.is_file() or _is_stream(target)):
            raise _cannot(path, "it is not a regular file", "Give the name of a file")
        if not target.parent.is_dir():
            raise _cannot(path, f"{folder} does not exist", "Create it, or write elsewhere")
        if target.exists() and not os.access(target, os.W_OK):
            raise _cannot(path, "the file is write-protected", "Write elsewhere")
        if not _is_stream(target) and not os.access(target.parent, os.W_OK | os.X_OK):
            raise _cannot(path, f"permission denied in {folder}", "Write elsewhere")
    return target


def check_suffix(path: str | os.PathLike[str], *suffixes: str) -> None:
    """Refuse an output whose name ends in another way; a stream may have any name.

    Raises
    ------
    OutputError

    Examples
    --------
    >>> check_suffix("report.pdf", ".html")
    Traceback (most recent call last):
    ...
    dnip.OutputError: report.pdf cannot be written: its name must end in .html. Name it report.html
    """
    if not (str(os.fspath(path)).lower().endswith(suffixes) or _is_stream(Path(path))):
        reason = f"its name must end in {' or '.join(suffixes)}"
        raise _cannot(path, reason, f"Name it {Path(path).with_suffix(suffixes[0])}")


def make_folder(path: str | os.PathLike[str], mode: int = 0o777) -> Path:
    """Make a folder for outputs and its parents, where they are missing, and return it.

    Parameters
    ----------
    path : path-like
    mode : int
        Who may use the folder; 0o700 is the owner alone. Parents are made as the system makes them.

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
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot make the folder: {error.strerror}", hint="Give another folder"
        ) from error
    return folder


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder as `make_folder` during a block; it is gone again if nothing is in it then.

    Examples
    --------
    >>> with new_folder("no/results"):
    ...     pass
    >>> Path("no").exists()
    False
    """
    folder = Path(path)
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        yield make_folder(folder)
    finally:
        with suppress(OSError):  # it holds something
            for parent in missing:
                parent.rmdir()


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a partial file to write to; move it to `path` when the block ends without an error.

    The partial file lies in the same folder; its name follows from that of `path` and has the same
    suffix. It is forced to disk and then renamed to `path`, so a reader sees the old file or the
    new one, never a part of it. If the block raises, on Ctrl-C too, the partial file is removed and
    `path` is unchanged. That of a killed process is overwritten by the next write to `path`.

    A stream (see `check_writable`) cannot be replaced: it is written to directly.

    Parameters
    ----------
    path : path-like
        Where to write. The mode of an existing file is kept.

    Yields
    ------
    pathlib.Path
        The partial file, empty, to be opened for writing; or the stream.

    Raises
    ------
    OutputError
        If the output cannot be written (see `check_writable`), something else is writing it, or
        the disk fails or is full.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "note.txt")
    ...     with atomic_path(target) as partial:
    ...         _ = partial.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    target = check_writable(path)
    if _is_stream(target):
        with _failures(path, _DISK_ERRORS):
            yield target
        return
    partial = target.with_name(f".dnip-partial-{target.name}")
    busy = _cannot(path, "another process is writing it", "Wait for it, or write elsewhere")
    with _failures(path):
        if partial.is_symlink():  # not ours: nothing may be written to where it leads
            partial.unlink()
        held = _open_alone(partial, busy)
    with held:
        try:
            with _failures(path):
                held.truncate(0)
                if target.exists():
                    partial.chmod(stat.S_IMODE(target.stat().st_mode))
            with _failures(path, _DISK_ERRORS):
                yield partial
            with _failures(path):
                os.fsync(held.fileno())
                if fcntl is None:
                    held.close()
                partial.replace(target)
        except BaseException:
            if fcntl is None:
                held.close()
            partial.unlink(missing_ok=True)
            raise


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file, whole or not at all, and return its path.

    Raises
    ------
    OutputError
        If it cannot be written; an existing file is then left as it was.
    """
    with atomic_path(path) as temporary:
        # the name of a file may hold bytes that are not text
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return Path(path)


def _open_alone(path: Path, busy: OutputError) -> IO[bytes]:
    """Open a file for this process alone, made where it is not there; raise `busy` if it is not."""
    while True:
        file = path.open("ab")
        if fcntl is None:
            return file
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise busy from None
        except OSError:
            return file  # a file system without locks
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        file.close()  # another process had just finished it, and moved or removed it


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
    inputs = [(name, path) for name, read in reads.items() for path in _several(read)]
    inputs = [(name, path) for name, path in inputs if _is_same(path, path)]
    outputs: list[tuple[str, str | os.PathLike[str]]] = []
    for name, path in {**writes, **(inside or {})}.items():
        if path is None or _is_stream(Path(path)):
            continue
        for other, read in inputs:
            if _lies_in(path, read) or _lies_in(read, path):
                raise _cannot(path, f"{name} and {other} lie one in the other", _APART)
        # Names that differ in case only are one file on many systems.
        same = [other for other, read in inputs if _is_same(path, read)]
        same += [
            other
            for other, read in outputs
            if _is_same(path, read) or _real(path).casefold() == _real(read).casefold()
        ]
        if same:
            raise _cannot(path, f"{same[0]} and {name} are the same file", _APART)
        outputs.append((name, path))


def _several(paths: Inputs) -> Iterable[str | os.PathLike[str]]:
    if paths is None:
        return ()
    return [paths] if isinstance(paths, str | os.PathLike) else paths


def _real(path: str | os.PathLike[str]) -> str:
    return os.path.realpath(os.fspath(path))


def _lies_in(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    return Path(_real(folder)) in Path(_real(path)).parents


def _is_same(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):  # one is not there, or no path
        return False


@contextmanager
def _failures(path: str | os.PathLike[str], only: frozenset[int] | None = None) -> Iterator[None]:
    """Turn failures of the system, all or only some, into an OutputError."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        number, reason = getattr(error, "errno", None), getattr(error, "strerror", None)
        if isinstance(error, OutputError) or (only is not None and number not in only):
            raise
        full = number in {errno.ENOSPC, errno.EDQUOT}
        hint = "Free some space, or write to another disk" if full else "Write elsewhere"
        raise _cannot(path, reason or str(error), hint) from error


def _is_stream(path: Path) -> bool:
    return path.is_char_device() or path.is_fifo()


def _cannot(path: str | os.PathLike[str], reason: str, hint: str) -> OutputError:
    return OutputError(f"{os.fspath(path)} cannot be written: {reason}", hint=hint)
