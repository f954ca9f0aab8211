"""Coefficients that follow their files."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, TypeAlias

from dnip.base.errors import CoefficientsFormatError, DNIPWarning
from dnip.method.coefficients import Coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping

# What tells that a file has changed; None where there is no file.
_Stamp: TypeAlias = tuple[int, int, int] | None


class WatchedCoefficients:
    """The coefficients of each question, read again when a file changes.

    Parameters
    ----------
    files : mapping
        Paths of coefficients files, by question.

    Raises
    ------
    CoefficientsFormatError
        If a file cannot be read or is damaged.
    """

    def __init__(self, files: Mapping[str, str | os.PathLike[str]]) -> None:
        self._files = dict(files)
        self._stamps = {question: _stamp(path) for question, path in files.items()}
        self._loaded = {question: Coefficients.load(path) for question, path in files.items()}

    def current(self) -> Mapping[str, Coefficients]:
        """Return the coefficients by question.

        A new file that is missing, damaged or half-written changes nothing: the coefficients before
        it stay, and a warning says so once.
        """
        for question, path in self._files.items():
            stamp = _stamp(path)
            if stamp == self._stamps[question]:
                continue
            self._stamps[question] = stamp
            try:
                self._loaded[question] = Coefficients.load(path)
            except CoefficientsFormatError as error:
                warnings.warn(
                    f"{error.message}; question {question!r} keeps the coefficients that it had",
                    DNIPWarning,
                    stacklevel=2,
                )
        return self._loaded


def _stamp(path: str | os.PathLike[str]) -> _Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116  # asked for with every answer: a Path costs more
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
