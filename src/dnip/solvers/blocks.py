"""Blocks of open rows, in memory as far as there is room, and then on disk."""

from __future__ import annotations

import os
import tempfile
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from dnip.base.typing import Confusion, Integers
    from dnip.solvers.kernels.rows import Rows


class _Location(NamedTuple):
    """Where a block is in the file, and the shapes of its arrays."""

    offset: int
    n_bytes: int
    arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]  # type, shape, offset in block


class Blocks:
    """Blocks of rows of one layout, for several threads to read again and again.

    What does not fit into memory goes to a temporary file without a name. It vanishes when the
    process ends, in whatever way.

    Parameters
    ----------
    memory : int
        Bytes of rows to hold in memory.
    folder : path-like, optional
        Where to put the file; the folder for temporary files by default.
    """

    def __init__(self, memory: int, folder: Path | None = None) -> None:
        self._memory = memory
        self._folder = tempfile.gettempdir() if folder is None else folder
        self._held: list[Rows] = []
        self._spilled: list[_Location] = []
        self._file: IO[bytes] | None = None
        self._layout: type[Rows]
        self._settled: Confusion
        self._mass: Integers = np.empty(0, np.int64)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._held) + len(self._spilled)

    @property
    def spilled_bytes(self) -> int:
        """Size of the temporary file."""
        return sum(place.n_bytes for place in self._spilled)

    def add(self, rows: Rows) -> None:
        """Add a block of rows that count once each; counts of settled rows are not kept.

        Raises
        ------
        OutputError
            If the temporary file cannot be written.
        """
        if len(rows.label) > len(self._mass):
            self._mass = np.ones(len(rows.label), np.int64)
        if not len(self):
            self._layout, self._settled = type(rows), np.zeros_like(rows.settled)
        common: dict[str, Any] = {
            "mass": self._mass[: len(rows.label)],
            "settled": self._settled,
        }
        own: dict[str, Any] = {
            name: array for name, array in rows._asdict().items() if name not in common
        }
        n_bytes = sum(array.nbytes for array in own.values())
        if n_bytes <= self._memory:
            self._memory -= n_bytes
            self._held.append(type(rows)(**own, **common))
        else:
            self._memory = 0
            self._spill(own)

    def read(self, numbers: Iterable[int]) -> Iterator[Rows]:
        """Yield the blocks with these numbers; each is valid until the next one."""
        room = np.empty(0, np.uint8)
        for number in numbers:
            if number < len(self._held):
                yield self._held[number]
                continue
            place = self._spilled[number - len(self._held)]
            if place.n_bytes > len(room):
                room = np.empty(place.n_bytes, np.uint8)
            yield self._read_back(place, room)

    def close(self) -> None:
        """Free all blocks."""
        self._held, self._spilled = [], []
        if self._file is not None:
            self._file.close()

    def _spill(self, own: dict[str, NDArray[Any]]) -> None:
        arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...], int]] = {}
        n_bytes = 0
        try:
            if self._file is None:
                # unbuffered, so that closing the file does not meet a full disk a second time
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            offset = self._file.tell()
            for name, array in own.items():
                arrays[name] = (array.dtype, array.shape, n_bytes)
                padding = -array.nbytes % 8  # every array starts at an aligned place
                _write(self._file, array.reshape(-1).view(np.uint8).data)
                _write(self._file, memoryview(bytes(padding)))
                n_bytes += array.nbytes + padding
        except OSError as error:
            raise OutputError(
                f"{self._folder}: the rows that do not fit into memory cannot be kept there: "
                f"{error.strerror}",
                hint="Free some space, name another folder in TMPDIR, or give more memory",
            ) from error
        self._spilled.append(_Location(offset, n_bytes, arrays))

    def _read_back(self, place: _Location, room: NDArray[np.uint8]) -> Rows:
        assert self._file is not None
        view = room[: place.n_bytes].data
        done = 0
        while done < place.n_bytes:  # at a given offset, because threads share the file
            got = os.preadv(self._file.fileno(), [view[done:]], place.offset + done)
            if got == 0:
                raise OutputError(
                    f"{self._folder}: a temporary file there has lost its end",
                    hint="Name another folder in TMPDIR, or give more memory",
                )
            done += got
        own: dict[str, Any] = {
            name: np.frombuffer(view, dtype, int(np.prod(shape)), offset).reshape(shape)
            for name, (dtype, shape, offset) in place.arrays.items()
        }
        n_rows = len(own["label"])
        return self._layout(**own, mass=self._mass[:n_rows], settled=self._settled)


def _write(file: IO[bytes], data: memoryview) -> None:
    while len(data):
        data = data[file.write(data) :]
