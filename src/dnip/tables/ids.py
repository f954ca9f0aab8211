"""Checks of row ids; ids that appear twice are found in bounded memory."""

from __future__ import annotations

import tempfile
from functools import cache
from typing import IO, TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from dnip.base.arrays import ArrayLocation
from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.validation import is_storable
from dnip.tables.cells import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from dnip.base.arrays import Location
    from dnip.base.typing import Integers
    from dnip.tables.chunk import CellLocation, Ids, RawChunk

    Hashes = NDArray[np.uint64]

# Ranges of hashes that are searched one at a time.
_RANGES = 256

# Repeated hashes whose ids are compared, at most: one bad table may have millions.
_ENOUGH = 1 << 16

# Bytes of text that are hashed at once.
_MAX_BYTES = 1 << 17


def check_ids(
    ids: Sequence[object] | NDArray[np.object_],
    *,
    n_examples: int,
    location: Location | None = None,
) -> NDArray[np.object_]:
    """Return row ids as an array of str: one per row, none empty, none twice.

    Parameters
    ----------
    ids : sequence of length M
        Texts or numbers; numbers become texts.
    n_examples : int
        M of the probabilities that the ids belong to.
    location : Location, optional
        How to name a row in a message.

    Raises
    ------
    InvalidInputError
        For a wrong length, an empty id, an id that appears twice, or a text that no file can hold.

    Examples
    --------
    >>> check_ids(["a", 7], n_examples=2)
    array(['a', '7'], dtype=object)
    """
    location = location or ArrayLocation("ids")
    if len(ids) != n_examples:
        raise InvalidInputError(
            f"{location.whole()} has {len(ids)} entries, but there are {n_examples} rows",
            hint="Give one id per row, or none at all",
        )
    values = ids.tolist() if isinstance(ids, np.ndarray) else ids
    texts = [value if isinstance(value, str) else _id_text(value) for value in values]
    if "" in texts:
        raise InvalidInputError(
            f"{location.cell(texts.index(''))}: the id is empty",
            hint="Give every row an id of its own, or leave the ids out",
        )
    if len(set(texts)) < len(texts):
        _refuse_second_id(texts, location)
    if not is_storable("".join(texts)):
        row = next(row for row, text in enumerate(texts) if not is_storable(text))
        raise InvalidInputError(
            f"{location.cell(row)}: the id {texts[row]!r} holds a character that no file can hold",
            hint="Write ids in valid Unicode without NUL characters",
        )
    array = np.empty(len(texts), dtype=np.object_)
    array[:] = texts
    return array


def _id_text(value: object) -> str:
    """Turn an id that is no text into one; None and NaN are empty cells."""
    return "" if is_missing(value) else str(value)


def _refuse_second_id(ids: list[str], location: Location) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(ids):
        if text in first:
            refuse_duplicate_id(text, location.cell(first[text]), location.cell(row))
        first[text] = row


def refuse_duplicate_id(text: str, first: str, second: str) -> NoReturn:
    """Raise for an id that appears twice; the message names both rows."""
    raise InvalidInputError(
        f"{second}: the id {text!r} is already at {first}",
        hint="Give every row an id of its own, or leave the ids out",
    )


def read_ids(raw: RawChunk) -> Ids | None:
    """Return the ids of a chunk: texts, none empty, none twice within the chunk.

    Raises
    ------
    InvalidInputError
        For an empty id, an id that appears twice, or a text that no file can hold.
    """
    if raw.ids is None:
        return None
    if isinstance(raw.ids, list | tuple):
        return check_ids(raw.ids, n_examples=len(raw.ids), location=raw.location)
    _check_texts(raw.ids, raw.location)
    return raw.ids


class IdsSeen:
    """The 64-bit hashes of all ids so far: in memory up to a limit, beyond it on disk.

    Different ids can have equal hashes, so the ids themselves must be compared in the end.

    Parameters
    ----------
    memory : int
        Bytes of hashes to hold.

    Examples
    --------
    >>> with IdsSeen(memory=1000) as seen:
    ...     seen.add(np.array(["a", "b"], dtype=object))
    ...     seen.add(np.array(["c", "a"], dtype=object))
    ...     len(seen.repeated())
    1
    """

    def __init__(self, memory: int) -> None:
        # Sorting needs the same amount again.
        self._limit = max(memory // 16, 1)
        self._pending: list[Hashes] = []
        self._n_pending = 0
        self._runs: list[_Run] = []
        self._spill: IO[bytes] | None = None

    def __enter__(self) -> IdsSeen:
        return self

    def __exit__(self, *_stop: object) -> None:
        if self._spill is not None:
            self._spill.close()

    def add(self, ids: Ids) -> None:
        """Add the ids of some rows."""
        if self._n_pending + len(ids) > self._limit and self._n_pending:
            self._write_run()
        self._pending.append(hashes_of(ids))
        self._n_pending += len(ids)

    def repeated(self) -> Hashes:
        """Return the hashes that appear more than once, ascending; at most 2¹⁶."""
        if not self._runs:
            return _repeated(self._take_pending())[:_ENOUGH]
        self._write_run()
        found = np.empty(0, np.uint64)
        for hashes in self._ranges():
            found = np.concatenate([found, _repeated(np.sort(hashes))])
            if len(found) >= _ENOUGH:
                break
        return found[:_ENOUGH]

    def _take_pending(self) -> Hashes:
        run = np.concatenate([*self._pending, np.empty(0, np.uint64)])
        self._pending, self._n_pending = [], 0
        run.sort()
        return run

    def _write_run(self) -> None:
        run = self._take_pending()
        step = 2**64 // _RANGES
        starts = np.arange(_RANGES, dtype=np.uint64) * np.uint64(step)
        ends = [*np.searchsorted(run, starts[1:]).tolist(), len(run)]
        try:
            if self._spill is None:
                self._spill = tempfile.TemporaryFile()  # noqa: SIM115
            self._runs.append(_Run(self._spill.tell(), ends))
            self._spill.write(run.data)
        except OSError as error:
            raise OutputError(
                f"{tempfile.gettempdir()}: ids cannot be written there while looking for some "
                f"that appear twice: {error.strerror}",
                hint="Free some space, name another folder in TMPDIR, or give more memory",
            ) from error

    def _ranges(self) -> Iterator[Hashes]:
        assert self._spill is not None
        for number in range(_RANGES):
            parts = []
            for run in self._runs:
                start = run.ends[number - 1] if number else 0
                self._spill.seek(run.offset + 8 * start)
                data = self._spill.read(8 * (run.ends[number] - start))
                parts.append(np.frombuffer(data, np.uint64))
            yield np.concatenate(parts)


class _Run(NamedTuple):
    """Sorted hashes in the spill file: where they begin, and where each range ends."""

    offset: int
    ends: list[int]


def refuse_repeated(chunks: Iterator[RawChunk], suspected: Hashes) -> None:
    """Raise for the first id that is already in an earlier row.

    Parameters
    ----------
    chunks : iterator of RawChunk
        The whole table, read once more.
    suspected : ndarray of uint64
        Hashes that appear twice.

    Raises
    ------
    InvalidInputError
        If an id appears twice. Different ids that share a hash pass.
    """
    seen: dict[str, str] = {}
    for raw in chunks:
        ids = read_ids(raw)
        if ids is None:
            continue
        for row in np.flatnonzero(np.isin(hashes_of(ids), suspected)).tolist():
            text = str(ids[row])
            where = raw.location.cell(row)
            if text in seen:
                refuse_duplicate_id(text, seen[text], where)
            seen[text] = where


def hashes_of(ids: Ids) -> Hashes:
    """Return a 64-bit hash of each id, the same for the same text within one process."""
    if isinstance(ids, np.ndarray):
        return np.fromiter(map(hash, ids.tolist()), np.int64, len(ids)).view(np.uint64)
    offsets, data = _buffers(ids)
    hashes = np.empty(len(ids), np.uint64)
    start = 0
    while start < len(ids):
        reach = int(np.searchsorted(offsets, offsets[start] + _MAX_BYTES, side="right")) - 1
        stop = min(max(reach, start + 1), len(ids))
        hashes[start:stop] = _hash_texts(offsets[start : stop + 1], data)
        start = stop
    return hashes


def _hash_texts(offsets: Integers, data: NDArray[np.uint8]) -> Hashes:
    """Hash each text as a polynomial of its bytes, from differences of one running sum."""
    texts = data[offsets[0] : offsets[-1]]
    bounds = offsets - offsets[0]
    powers, inverses = _powers(max(_MAX_BYTES, 1 << len(texts).bit_length()))
    sums = np.zeros(len(texts) + 1, np.uint64)
    np.cumsum(_numbers_of_bytes()[texts] * powers[: len(texts)], out=sums[1:])
    return np.asarray((sums[bounds[1:]] - sums[bounds[:-1]]) * inverses[bounds[:-1]])


@cache
def _numbers_of_bytes() -> Hashes:
    return np.random.default_rng(0).integers(2**64, size=256, dtype=np.uint64)


@cache
def _powers(length: int) -> tuple[Hashes, Hashes]:
    """Return the powers of an odd number and of its inverse modulo 2⁶⁴."""
    base = 0x9E3779B97F4A7C15
    return tuple(  # type: ignore[return-value]
        np.cumprod(np.r_[np.uint64(1), np.full(length, factor, np.uint64)])
        for factor in (base, pow(base, -1, 2**64))
    )


def _repeated(ascending: Hashes) -> Hashes:
    return np.unique(ascending[1:][ascending[1:] == ascending[:-1]])


def _check_texts(ids: pa.Array, location: CellLocation) -> None:
    """Check a pyarrow array of texts as `check_ids` does, without making Python texts."""
    offsets, data = _buffers(ids)
    lengths = np.diff(offsets)
    if ids.null_count or not lengths.all():
        row = next(row for row, text in enumerate(ids.to_pylist()) if not text)
        raise InvalidInputError(
            f"{location.cell(row)}: the id is empty",
            hint="Give every row an id of its own, or leave the ids out",
        )
    hashes = hashes_of(ids)
    hashes.sort()
    if (hashes[1:] == hashes[:-1]).any() or not data[offsets[0] : offsets[-1]].all():  # a NUL
        check_ids(ids.to_pylist(), n_examples=len(ids), location=location)


def _buffers(ids: pa.Array) -> tuple[Integers, NDArray[np.uint8]]:
    """Return where each text begins and the last ends, and the bytes of all texts."""
    _, offsets, data = ids.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    return bounds, np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
