"""Temporary files that are removed even after a process was killed.

A process that is killed cannot clean up. The next process that writes the same file does: every
living writer holds a lock on its temporary file, so a file without a lock is left over. Locks may
not work across machines, so files of another machine are left alone. Where the system has no
locks, nothing is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def temporary_beside(target: Path) -> Iterator[Path]:
    """Create an empty file beside `target`, of the same suffix, and remove it at the end.

    Temporary files that killed processes left for the same target are removed first.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with temporary_beside(Path(folder, "note.txt")) as temporary:
    ...         (temporary.suffix, temporary.read_text())
    ('.txt', '')
    """
    start = f".dnip-{_digest(target.name)}-{_digest(platform.node())}-"
    _remove_leftovers(target.parent, start)
    while True:
        temporary = target.with_name(f"{start}{secrets.token_hex(6)}{target.suffix}")
        held = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        try:
            if not _is_ours(held, temporary):
                continue  # another process took it for left over before it was locked
            yield temporary
            return
        finally:
            temporary.unlink(missing_ok=True)
            os.close(held)


def _digest(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:8]


def _remove_leftovers(folder: Path, start: str) -> None:
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(start):
                _remove_if_left(Path(entry.path))


def _remove_if_left(path: Path) -> None:
    """Remove a file that no process has locked; keep it where that is not known."""
    with contextlib.suppress(OSError):
        held = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(held)


def _is_ours(held: int, path: Path) -> bool:
    """Lock a file; return False where another process is removing it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: no other process gets one either
    return path.exists() and os.path.samestat(path.stat(), os.fstat(held))
