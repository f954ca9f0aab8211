"""The line of `dnip import` that reads a file which is no probability table."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dnip.base.errors import DNIPError, DNIPWarning, InvalidInputError
from dnip.llm.files import read_values
from dnip.llm.sources.columns import share_one
from dnip.llm.sources.opening import flattened
from dnip.llm.sources.reading import read_answers
from dnip.llm.sources.source import as_number
from dnip.tables.columns import ID, LABEL_LIKE, RESERVED, import_line, resolve_columns
from dnip.tables.labels import LABEL

# So many rows are looked at, of files of so many bytes at most.
_MOST_ROWS, _MOST_BYTES = 500, 1 << 26
# More classes are not typed.
_MOST_CLASSES = 50


class _Guess(NamedTuple):
    """Classes, and the columns that hold their probabilities; no columns for answers."""

    classes: tuple[str, ...]
    columns: tuple[str, ...]
    label: str | None


def propose(path: Path, *, is_foreign: bool = False) -> str | None:
    """Return the line to type for a file, or why there is none; None where nothing is known.

    Nothing is proposed that does not work: the file is read as the line says. Of answers whose
    classes do not show, the line has them to be filled in.

    Parameters
    ----------
    path : Path
        A file that is no probability table.
    is_foreign : bool, default=False
        Whether that is known: its columns may be called like those of one, and where it cannot be
        read either, that is said.
    """
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DNIPWarning)
            values = islice(flattened(read_values(path)), _MOST_ROWS)
            rows = [value.content for value in values if isinstance(value.content, dict)]
            guess = _guess(rows)
            if guess is None:
                return _of_answers(path, rows)
            if not is_foreign and _is_table(rows[0], guess):
                return None
            read_answers([path], guess.classes, label=guess.label)
    except InvalidInputError as error:
        return f"`dnip import` says: {error}" if is_foreign else None
    except (DNIPError, OSError):
        return None
    line = import_line(str(path), guess.classes, guess.label)
    return f"To make a table of it, type: {line}"


def _of_answers(path: Path, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the line for rows that hold lists or objects, as answers do and no table does."""
    if not any(isinstance(cell, list | dict) for row in rows for cell in row.values()):
        return None
    label = LABEL if LABEL in rows[0] else "LABEL"
    return f"If it holds answers of a model, type: {import_line(str(path), label=label)}"


def _is_table(row: Mapping[str, Any], guess: _Guess) -> bool:
    """Return whether `--classes` makes a table of the columns, so that something else is odd."""
    try:
        layout = resolve_columns(tuple(row), classes=guess.classes, source="")
    except InvalidInputError:
        return False
    return {*layout.probabilities} == {*guess.columns} and guess.label in (None, LABEL)


def _guess(rows: Sequence[Mapping[str, Any]]) -> _Guess | None:
    """Return the classes of rows and their label, as far as the rows show them."""
    if not rows:
        return None
    names = [name for name in rows[0] if all(name in row for row in rows)]
    for classes, columns in _sets(rows, names):
        others = [name for name in names if name not in columns]
        return _Guess(classes, columns, next(_labels(rows, others, classes), None))
    for name in sorted(names, key=_rank):
        values = {str(row[name]): None for row in rows if isinstance(row[name], str | int)}
        if _rank(name) == 0 and 1 < len(values) <= min(_MOST_CLASSES, len(rows) / 2 + 1):
            return _Guess(tuple(sorted(values)), (), name)
    return None


def _sets(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield classes and their columns, the most first: numbers that share 1 in every row."""
    cells = [name for name in names if name not in RESERVED and name.lower() not in LABEL_LIKE]
    numbers = [name for name in cells if all(_number(row[name]) is not None for row in rows)]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for one, other in pairwise(numbers):
        before, after = _common(one, other), _common(one[::-1], other[::-1])[::-1]
        pattern = re.compile(rf"{re.escape(before)}(.+){re.escape(after)}", re.DOTALL)
        named = {name: match[1] for name in numbers if (match := pattern.fullmatch(name))}
        found[tuple(named)] = tuple(named.values())
    runs = ((i, j) for i in range(len(numbers)) for j in range(len(numbers), i + 1, -1))
    for i, j in islice(runs, _MOST_ROWS):
        found.setdefault(tuple(numbers[i:j]), tuple(numbers[i:j]))
    for columns, classes in sorted(found.items(), key=lambda item: -len(item[0])):
        if all(_share(columns, row) for row in rows):
            yield classes, columns


def _common(one: str, other: str) -> str:
    """Return what two names begin with, up to a mark between words."""
    pairs = zip(one, other, strict=False)
    n = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return re.sub(r"[^\W_]*\Z", "", one[:n])


def _number(cell: object) -> float | None:
    try:
        return as_number(cell, "")
    except InvalidInputError:
        return None


def _share(columns: Sequence[str], row: Mapping[str, Any]) -> bool:
    """Return whether numbers are probabilities of all classes, or their logarithms."""
    values = [as_number(row[name], name) for name in columns]
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return False
    if max(values) <= 0 and min(values) < 0:
        values = [math.exp(value) for value in values]
    return min(values) >= 0 and share_one(values)


def _labels(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], classes: Sequence[str]
) -> Iterator[str]:
    """Yield the columns that hold nothing but classes, gold labels before predictions."""
    known = {name.casefold() for name in classes} | {""}
    for name in sorted(names, key=_rank):
        cells = {str(row[name]).strip().casefold() for row in rows}
        if name != ID and cells <= known and cells != {""} and _rank(name) < 2:
            yield name


def _rank(name: str) -> int:
    """Return 0 for a name of gold labels, 1 for an unknown one, 2 for that of a prediction."""
    if re.search(r"pred|answer|output|response|argmax|guess", name, re.IGNORECASE):
        return 2
    words = r"label|gold|truth|target|true|actual|correct|annotation|expected|reference|class\b"
    return 0 if re.search(rf"{words}|\by\b", name, re.IGNORECASE) else 1
