"""Where a table comes from: the hash of its content, and what made it and was asked."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dnip.base.errors import warn
from dnip.base.files import read_text
from dnip.base.typing import Labels, Probabilities
from dnip.base.validation import flat
from dnip.tables.cells import is_storable

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
