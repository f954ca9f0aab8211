"""A lock file that lets one process at a time work somewhere."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from dnip.base.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def only_process(lock: Path, busy: str, *, hint: str) -> Iterator[None]:
    """Hold a lock file during a block; the system frees it when the process ends in any way.

    Where the file system has no locks, the block runs without one.

    Parameters
    ----------
    lock : Path
        The lock file; it is made if it is not there.
    busy, hint : str
        The message and the remedy where another process holds the lock.

    Raises
    ------
    OutputError
        If another process holds the lock, or the lock file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, only_process(Path(folder, ".lock"), "busy", hint=""):
    ...     print("alone")
    alone
    """
    held = FileLock(lock, is_singleton=False)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held.acquire(blocking=False))
        except Timeout:
            raise OutputError(busy, hint=hint) from None
        except NotImplementedError:
            pass
        except OSError as error:
            raise OutputError(f"{lock} cannot be written: {error.strerror or error}") from error
        yield
