"""Coefficients files that are read again when they change."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

from dnip.base.errors import CoefficientsFormatError, listed
from dnip.llm.serving.sidecar.log import LOG
from dnip.method.coefficients import Coefficients

# What tells that a file has changed; None where there is no regular file.
_Stamp: TypeAlias = tuple[int, int, int] | None

# How long a new file may take to read, in seconds.
_SECONDS = 5.0


class WatchedCoefficients:
    """Coefficients by name, read again when their file changes.

    A new file that is missing, damaged, half-written, no regular file, slow, or for other classes
    changes nothing: the coefficients before it stay, and a line in the log says so once.

    Parameters
    ----------
    files : mapping
        Paths of coefficients files, by name.

    Attributes
    ----------
    current : dict of Coefficients
        By name.

    Raises
    ------
    CoefficientsFormatError
        If a file cannot be read or is damaged.
    """

    def __init__(self, files: Mapping[str, str | os.PathLike[str]]) -> None:
        self._files = dict(files)
        self._stamps = {name: _stamp(path) for name, path in files.items()}
        self.current = {name: Coefficients.load(path) for name, path in files.items()}

    async def refresh(self) -> None:
        """Read what has changed, off the event loop: a disk that hangs stops nobody for long."""
        for name, path in self._files.items():
            stamp = _stamp(path)
            if stamp == self._stamps[name]:
                continue
            self._stamps[name] = stamp  # requests meanwhile have the coefficients before
            try:
                if stamp is None:
                    raise CoefficientsFormatError(f"{path}: there is no regular file")
                new = await _load(path)
                if new.classes != self.current[name].classes:
                    raise CoefficientsFormatError(f"{path}: its classes are {listed(new.classes)}")
                self.current[name] = new
            except CoefficientsFormatError as error:
                LOG.warning("%s; %r keeps the coefficients that it had", error.message, name)


async def _load(path: str | os.PathLike[str]) -> Coefficients:
    """Read a file in a thread that ends with the process, whatever it waits for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Coefficients | CoefficientsFormatError] = loop.create_future()

    def read() -> None:
        try:
            result: Coefficients | CoefficientsFormatError = Coefficients.load(path)
        except CoefficientsFormatError as error:
            result = error
        with suppress(RuntimeError):  # the sidecar has ended
            loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(result))

    threading.Thread(target=read, daemon=True, name="dnip reload").start()
    try:
        result = await asyncio.wait_for(done, _SECONDS)
    except TimeoutError:
        raise CoefficientsFormatError(f"{path}: not read within {_SECONDS:g} s") from None
    if isinstance(result, CoefficientsFormatError):
        raise result
    return result


def _stamp(path: str | os.PathLike[str]) -> _Stamp:
    try:
        file = os.stat(path)  # noqa: PTH116  # asked for with every answer: a Path costs more
    except OSError:
        return None
    is_regular = stat.S_ISREG(file.st_mode)
    return (file.st_mtime_ns, file.st_size, file.st_ino) if is_regular else None
