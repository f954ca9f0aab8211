"""Where a table comes from, and which rows it holds: hashes, what made it, and what was asked."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import warn
from dnip.base.files import read_text
from dnip.base.typing import Labels, Probabilities
from dnip.base.validation import flat
from dnip.tables.cells import is_storable, row_hashes

#: What was asked, in the metadata of a table and in the record of a fit.
QUESTION = "question"
#: Which rows are missing in a table, in its metadata.
LEFT_OUT = "left_out"
# A larger share of missing rows is a warning.
_MOST_LEFT_OUT = 0.05

# What a table tells of its origin, and the words for it; others are their own words.
_WORDS = {
    "revision": "revision of the model",
    "prompt_sha256": "prompt (its hash)",
    "question.model": "model",
    "question.form": "form of the question",
    "question.options": "options, or their order",
    "question.fixed": "wording of the question",
    "question.answer": "form of the answer",
}


class DataHash:
    """SHA-256 of probabilities, labels and class names, the same in every file format.

    Parameters
    ----------
    classes : sequence of str
        Class names.
    labelled : bool
        Whether there is a label column.
    n_rows : int
        Rows in all the blocks that will come.

    Examples
    --------
    >>> whole = DataHash(["no", "yes"], labelled=False, n_rows=1)
    >>> whole.add(np.array([[0.5, 0.5]]), None)
    >>> whole.hexdigest()[:12]
    'a8882babdb2f'
    """

    def __init__(self, classes: Sequence[str], *, labelled: bool, n_rows: int) -> None:
        header = {"classes": classes, "labelled": labelled, "shape": (n_rows, len(classes))}
        self._digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        self._kind = np.min_scalar_type(-len(classes))
        self._labels: list[Labels] = []  # hashed after all probabilities

    def add(self, probabilities: Probabilities, labels: Labels | None) -> None:
        """Add the next rows."""
        self._digest.update(np.ascontiguousarray(probabilities, "<f8").data)
        if labels is not None:
            self._labels.append(labels.astype(self._kind))

    def hexdigest(self) -> str:
        """Return the hash; no rows can be added after it."""
        for labels in self._labels:
            self._digest.update(labels.astype("<i8").data)
        self._labels = []
        return self._digest.hexdigest()


def metadata_path(table: Path) -> Path:
    """Return where the metadata of a table lies."""
    return table.with_name(f"{table.name}.meta.json")


def origin_of(table: Path) -> dict[str, Any] | None:
    """Return what the metadata of a table tell of where its rows come from, None where nothing.

    Parameters
    ----------
    table : Path
        A table file.

    Returns
    -------
    dict or None
        What made the rows, such as ``model``, ``revision`` and ``prompt_sha256``, by name; and what
        was asked as ``question``. None stands for what is not known.

    Examples
    --------
    >>> origin_of(Path("no such table.csv")) is None
    True
    """
    try:
        content = json.loads(read_text(metadata_path(table))) if table.is_file() else {}
        origin = dict(content.get("origin", {}))
        if isinstance(content.get(QUESTION), dict):
            origin[QUESTION] = content[QUESTION]
        sound = is_storable(json.dumps(origin, ensure_ascii=False))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None  # written by hand, or by another program
    return origin if origin and sound else None


def tell_left_out(table: str | os.PathLike[str]) -> None:
    """Warn where many rows are missing in a table, as its metadata show, and why."""
    try:
        content = json.loads(read_text(metadata_path(Path(table))))
        warn_of_left_out(os.fspath(table), content[LEFT_OUT])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return  # there are none, or they are of another program


def warn_of_left_out(source: str, left_out: Mapping[str, Any]) -> None:
    """Warn where more than 5 % of the answers are left out of a table.

    Parameters
    ----------
    source : str
        The table, for messages.
    left_out : mapping
        ``n`` answers ``of`` so many, and the ``reasons``: of each ``reason``, ``n``, ``example``.
    """
    n, of = left_out["n"], left_out["of"]
    if n > _MOST_LEFT_OUT * of:
        reasons = "; ".join(
            f"{one['reason']}: {one['n']:,}, such as {one['example']}"
            for one in left_out["reasons"]
        )
        warn(
            f"{source}: {n / of:.0%} of the answers are left out, {n:,} of {of:,} ({reasons}); "
            "numbers are of the other rows"
        )


def changes_of_origin(
    at_fit: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """Say, in a sentence each, what of the origin is another now; the unknown is not compared.

    Examples
    --------
    >>> changes_of_origin({"model": "a", "revision": None}, {"model": "b", "revision": "1"})
    ('the model: a at the fit, b now',)
    """
    before, after = flat(at_fit or {}), flat(now or {})
    changed = {
        _WORDS.get(key, key.replace("_", " ")): (value, after[key])
        for key, value in before.items()
        if key in after and value != after[key] and not key.endswith("fingerprint")
    }
    return tuple(
        f"the {words}: {then} at the fit, {new} now"
        for words, (then, new) in changed.items()
        if None not in (then, new)
    )


# Hashes of rows that are kept.
_MOST_HASHES = 500
# Where more rows than this part are equal to others by chance, ids tell rows apart.
_BY_CHANCE = 0.02
# Standard deviations beyond chance from which an overlap is one.
_SURE = 4.0
_LARGEST = 1 << 64


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The rows of a fit, as the lowest of their hashes: what share of a table was fitted.

    A hash is that of the probabilities; of the id, too, where rounding makes many rows equal. No
    row can be read from it.

    Attributes
    ----------
    hashes : ndarray of uint64
        Ascending, without repeats.
    below : int
        Every row of the fit whose hash is below this is among them.
    by_id : bool
        Whether ids are hashed, too.
    chance : float
        How probably a row that was not fitted is equal to one that was.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    >>> fitted = FittedRows.of(p[:200], None)
    >>> overlap = Overlap(fitted)
    >>> overlap.add(p[100:], None)
    >>> overlap.share
    0.5
    """

    hashes: NDArray[np.uint64]
    below: int
    by_id: bool
    chance: float

    @classmethod
    def of(cls, probabilities: Probabilities, ids: NDArray[np.object_] | None) -> Self:
        """Return the sketch of some rows, with their ids if they have any."""
        found = row_hashes(probabilities)
        chance = _repeated(found)
        by_id = chance > _BY_CHANCE and ids is not None
        if by_id:
            found = _with_ids(found, ids)
            chance = 0.0
        found = np.unique(found)
        below = int(found[_MOST_HASHES]) if len(found) > _MOST_HASHES else _LARGEST
        return cls(found[:_MOST_HASHES], below, by_id, float(f"{chance:.3g}"))

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as a coefficients file holds it."""
        return {
            "hashes": base64.b64encode(self.hashes.astype("<u8").tobytes()).decode(),
            "below": f"{self.below:x}",
            "by_id": self.by_id,
            "chance": self.chance,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the sketch that `to_dict` wrote; ValueError, TypeError, KeyError for others."""
        hashes = np.frombuffer(base64.b64decode(content["hashes"], validate=True), "<u8")
        below, chance = int(content["below"], 16), float(content["chance"])
        if not 0 <= chance <= 1 or not len(hashes) or not int(hashes.max()) < below <= _LARGEST:
            raise ValueError("not hashes below a number")
        return cls(hashes.astype(np.uint64), below, bool(content["by_id"]), chance)


class Overlap:
    """Counts the rows of a stream that were fitted, as far as a sketch tells.

    Parameters
    ----------
    fitted : FittedRows
    """

    def __init__(self, fitted: FittedRows) -> None:
        self._fitted = fitted
        self.compared = self.found = 0

    def add(self, probabilities: Probabilities, ids: NDArray[np.object_] | None) -> None:
        """Compare some rows; where ids are hashed, rows without ids are not compared."""
        if self._fitted.by_id and ids is None:
            return
        found = row_hashes(probabilities)
        if self._fitted.by_id:
            found = _with_ids(found, ids)
        if self._fitted.below < _LARGEST:
            found = found[found < np.uint64(self._fitted.below)]
        self.compared += len(found)
        self.found += int(np.isin(found, self._fitted.hashes).sum())

    def join(self, other: Overlap) -> None:
        """Add the counts of other rows."""
        self.compared += other.compared
        self.found += other.found

    @property
    def share(self) -> float:
        """The share of the rows that were fitted, less what is equal by chance; 0 for none."""
        chance, n = self._fitted.chance, self.compared
        if self.found <= chance * n + _SURE * math.sqrt(chance * n):
            return 0.0
        return max(0.0, (self.found / n - chance) / (1 - chance))

    @property
    def sentence(self) -> str:
        """What share of the rows was fitted; empty where none was."""
        if not self.share:
            return ""
        about = "" if self._fitted.below == _LARGEST else "about "
        return (
            f"{about}{self.share:.0%} of these rows ({self.found:,} of {self.compared:,} compared) "
            "are rows of the fit: they say little of other rows"
        )


def _with_ids(hashes: NDArray[np.uint64], ids: NDArray[np.object_] | None) -> NDArray[np.uint64]:
    """Return hashes that also depend on the ids."""
    assert ids is not None
    digests = (hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist())
    return hashes ^ np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _repeated(hashes: NDArray[np.uint64]) -> float:
    """Return the share of the rows that are equal to another."""
    counts = np.unique(hashes, return_counts=True)[1]
    return float(counts[counts > 1].sum() / max(len(hashes), 1))
