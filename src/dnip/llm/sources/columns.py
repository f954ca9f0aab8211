"""Tables with a column for each class: probabilities, or log-probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.llm.answers.answer import Reported, Token
from dnip.llm.answers.completions import ROUNDING, SilentError
from dnip.llm.sources.cells import in_cells, scores_in
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_map, as_number
from dnip.tables.cells import is_missing, is_number
from dnip.tables.columns import ID, MASS, RESERVED, probability_columns

#: What a column of texts is called that holds the answers.
ANSWERS = (
    *("answer", "response", "output", "completion", "text", "prediction", "content"),
    *("generation", "generated_text", "outputText"),
)
_LOGARITHM = re.compile(r"log_?prob|log_?lik|logp\b", re.IGNORECASE)
# Smaller log-probabilities are of whole sequences, whose sum says nothing about the prompt.
_OF_TOKENS = -20.0
# What stands in the cells of a row without numbers.
_BLANK = ("", "n/a", "na", "nan", "none", "null")


def _is_row(content: Answer) -> bool:
    """Say whether a value is a row of texts and numbers, or holds numbers for all classes."""
    if not isinstance(content, dict):
        return any(scores.names is None for scores in scores_in(content))
    cells = [cell for cell in content.values() if isinstance(cell, list | dict)]
    return all(map(_are_texts, cells)) or any(map(scores_in, [*cells, content]))


def _are_texts(cells: object) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, str | None) for cell in cells)


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the columns of texts, those together whose names differ in a last number only."""
    cells = content if isinstance(content, dict) else {}
    columns = {name: cell if isinstance(cell, list) else [cell] for name, cell in cells.items()}
    columns = {name: cell for name, cell in columns.items() if name != ID and _are_texts(cell)}
    stems = {name: re.sub(r"[\W_]*\d+$", "", name) for name in columns}
    texts: dict[str, list[str | None]] = {}
    for name, cell in columns.items():
        several = stems[name] and [*stems.values()].count(stems[name]) > 1
        texts.setdefault(stems[name] if several else name, []).extend(cell)
    return texts


@lru_cache
def class_columns(names: Sequence[str], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets of columns that are called like the classes, the shortest names first.

    All columns of a set have the same text before the name of their class, and the same after it.
    Letters count without their case, and marks between them as one where that is clear.

    Examples
    --------
    >>> class_columns(("ham", "spam"), ("id", "p_ham", "p_spam", "ham", "spam"))
    [('ham', 'spam'), ('p_ham', 'p_spam')]
    >>> class_columns(("World", "Sci/Tech"), ("P(World)", "P(Sci/Tech)", "prob.world"))
    [('P(World)', 'P(Sci/Tech)')]
    """
    sets: dict[tuple[str, ...], None] = {}
    for fold in (str, _folded):
        known = {fold(column): column for column in columns if column not in RESERVED}
        first, *others = map(fold, names)
        if len({first, *others}) < len(names) or len(known) < len({*columns} - RESERVED):
            continue
        for column in known:
            for match in re.finditer(re.escape(first), column):
                before, after = column[: match.start()], column[match.end() :]
                called = [known.get(f"{before}{name}{after}") for name in (first, *others)]
                if None not in called:
                    sets[tuple(map(str, called))] = None
    return sorted(sets, key=lambda called: len("".join(called)))


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text.casefold())


def _sets_of(
    row: Mapping[str, object], wanted: Wanted
) -> Iterator[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield names of the classes with the sets of columns that are called like them.

    The last are columns that ``--map`` names for some classes, and sets for the other classes.
    """
    for names in dict.fromkeys((wanted.names, wanted.classes)):
        yield names, class_columns(names, tuple(row))
    mapped = _mapped(row, wanted)
    others = tuple(name for name in wanted.classes if name not in mapped)
    if mapped and others:
        columns = tuple(name for name in row if name not in mapped.values())
        sets = [
            mapped | dict(zip(others, called, strict=True))
            for called in class_columns(others, columns)
        ]
        yield wanted.names, [tuple(called[name] for name in wanted.classes) for called in sets]


def _mapped(row: Mapping[str, object], wanted: Wanted) -> dict[str, str]:
    """Return the columns that ``--map`` names, by class."""
    pairs = zip(wanted.classes, wanted.names, strict=True)
    return {name: column for name, column in pairs if column != name and column in row}


def _columns_of(row: Mapping[str, object], wanted: Wanted) -> tuple[str, ...] | None:
    """Return the columns of the classes, None if they are not there."""
    for names, sets in _sets_of(row, wanted):
        logs = [columns for columns in sets if columns != names and _LOGARITHM.search(columns[0])]
        if logs:
            return logs[0]
        if names in sets:
            if len(sets) > 1:
                _check_one_label(row, wanted, names, sets[1])
            return names
        if len(sets) > 1:
            maps = [as_map(wanted.classes, columns) for columns in sets]
            raise InvalidInputError(
                f"several columns are called like {names[0]}: "
                f"{listed([columns[0] for columns in sets])}",
                hint=f"Choose some: {' or '.join(maps)}",
            )
        if sets:
            return sets[0]
    numbered = probability_columns(len(wanted.names) + 1)
    if {*numbered[:-1]} <= row.keys() and numbered[-1] not in row:
        return numbered[:-1]
    return None


def _check_one_label(
    row: Mapping[str, object], wanted: Wanted, names: tuple[str, ...], others: tuple[str, ...]
) -> None:
    """Refuse columns of zeros and ones beside columns of probabilities: they are labels."""
    if not all(str(row[name]).strip() in ("0", "1", "0.0", "1.0") for name in names):
        return
    several = "; several labels in a row (multi-label) are not what DNIP is for"
    raise InvalidInputError(
        f"the columns {listed(names)} hold 0 and 1 only, and {listed(others)} are next to them",
        hint=f"If the latter are probabilities, type {as_map(wanted.classes, others)}, and give "
        f"the labels in one column with --label{several}",
    )


def _missing(row: Mapping[str, object], wanted: Wanted) -> InvalidInputError:
    """Return the error for a row without a column for each class: what is there, what to type."""
    n, there = len(wanted.classes), f"the columns are {listed(tuple(row))}"
    cells = {name: cell for name, cell in row.items() if name not in RESERVED}
    numbers = [name for name, cell in cells.items() if is_number(str(cell))]
    if len(row) == 1 and len("".join(row).split()) > 1:
        what = f"there is one column only, {listed(tuple(row))}"
        hint = "Separate columns with commas, semicolons, tabs or bars"
        return InvalidInputError(what, hint=hint)
    if all(map(is_number, row)) and not any(map(str.isdecimal, row)):
        what = f"the first line holds numbers, {listed(tuple(row))}, and not the names of columns"
        first = ",".join(wanted.classes)
        return InvalidInputError(what, hint=f"Write a first line, such as {first}")
    is_whole = len(numbers) == n and _may_be_all([as_number(cells[x], x) for x in numbers])
    if not is_whole and any(isinstance(cells.get(name), str) for name in ANSWERS):
        return InvalidInputError(
            f"no column holds probabilities of the classes; {there}",
            hint="Ask the model for log-probabilities (logprobs=True, top_logprobs=20) and save "
            "them next to each answer; or ask several times for each row, and give --votes",
        )
    missing = next((name for name in wanted.names if name not in row), wanted.names[0])
    if len(numbers) == 1:
        one = f"type --map CLASS={numbers[0]}, for 1 - p of the other class; " if n == 2 else ""
        return InvalidInputError(
            f"only column {numbers[0]} holds a number, but there are {n} classes",
            hint=f"Give each class a column; {one}a table with a row for each has to be pivoted",
        )
    columns = numbers if is_whole else [f"COLUMN_{number + 1}" for number in range(n)]
    order = ", if that is their order" if is_whole else ""
    return InvalidInputError(
        f"there is no column {missing}; {there}",
        hint=f"Name the column of each class: {as_map(wanted.classes, columns)}{order}; count "
        "texts with --votes",
    )


def _may_be_all(values: Sequence[float]) -> bool:
    """Say whether numbers may be those of all classes: others, as of tokens, are not offered."""
    return max(values) <= 0 or any(_is_near(sum(values), len(values), k) for k in (1, 100))


def _is_near(total: float, n: int, whole: float) -> bool:
    """Say whether a sum of rounded numbers of n classes may be a whole."""
    return abs(total / whole - 1) < n * ROUNDING + 0.02


def _read(row: Answer, wanted: Wanted) -> Row:
    cells = row if isinstance(row, dict) else {"the row": row}
    columns = _columns_of(cells, wanted)
    if columns is None and (column := _positive(cells, wanted)) is not None:
        return _of_one(cells, column, wanted)
    if columns is None:
        in_one = None if cells.keys() & {*wanted.names} else in_cells(cells, wanted)
        if in_one is None:
            raise _missing(cells, wanted)
        columns, cells = wanted.names, dict(zip(wanted.names, in_one, strict=True))
    if all(_is_blank(cells[name]) for name in columns):
        raise SilentError(
            f"the cells of {listed(columns)} are empty",
            hint="Give the numbers of the model in some rows; rows without them are left out",
        )
    blank = [name for name in columns if cells[name] in (None, "")]
    values = {name: as_number(cells[name], name) for name in columns if name not in blank}
    for name, value in values.items():
        if math.isnan(value) or value == math.inf:
            raise InvalidInputError(
                f"column {name}: the number is {value:g}",
                hint="Leave the row out, or give the numbers of the model there",
            )
    least, most = min(values.values(), default=0.0), max(values.values(), default=0.0)
    is_named = columns not in (wanted.names, wanted.classes) and _LOGARITHM.search(columns[0])
    if values and (is_named or (least < 0 and most <= ROUNDING)):
        return _from_logarithms(columns, values)
    if blank:
        raise InvalidInputError(
            f"column {blank[0]}: the cell is empty",
            hint="Give a number in every row, or leave the row out",
        )
    if least < 0:
        raise _not_logarithms(columns, least, most)
    scores = np.array([values[name] for name in columns])
    _check_all_there(cells, wanted, columns, float(scores.sum()))
    mass = cells.get(MASS)
    known = None if mass in (None, "") else as_number(mass, MASS)
    return Row(scores, mass=known, columns=columns)


def _positive(row: Mapping[str, object], wanted: Wanted) -> str | None:
    """Return the only column of two classes, which --map gives to one of them."""
    mapped = _mapped(row, wanted)
    is_one = len(wanted.classes) == 2 and len(mapped) == 1
    return next(iter(mapped.values())) if is_one and not {*wanted.classes} & {*row} else None


def _of_one(row: Mapping[str, object], column: str, wanted: Wanted) -> Row:
    """Return the probabilities of two classes, of which one has a column."""
    cell = row[column]
    if _is_blank(cell):
        raise SilentError(f"the cell of {column} is empty", hint="Give a number in every row")
    p = as_number(cell, column)
    if not 0 <= p <= 1:
        raise InvalidInputError(
            f"column {column}: the number is {p:g}, but it is the only one of two classes",
            hint="Give probabilities from 0 to 1: 1 - p is taken for the other class",
        )
    pairs = [(p, column) if name == column else (1 - p, f"1 - {column}") for name in wanted.names]
    scores, columns = zip(*pairs, strict=True)
    return Row(np.array(scores), columns=columns)


def _is_blank(cell: object) -> bool:
    return is_missing(cell) or str(cell).strip().casefold() in _BLANK


def _from_logarithms(columns: tuple[str, ...], values: Mapping[str, float]) -> Row:
    """Return the row of log-probabilities; an empty cell is a class that was not reported."""
    logs = np.array([min(values.get(name, -math.inf), 0.0) for name in columns])
    most = float(logs.max())
    total = math.inf if max(values.values()) > ROUNDING else float(np.exp(logs).sum())
    if not total <= 1 + max(len(values) * ROUNDING, _rounding(values.values())):
        raise _not_logarithms(columns, min(values.values()), max(values.values()))
    if most == -math.inf:
        raise InvalidInputError(
            f"the log-probabilities of {listed(columns)} are all -inf",
            hint="Leave the row out, or give the numbers of the model there",
        )
    missing = np.array([name not in values for name in columns])
    if most < _OF_TOKENS:  # of whole sequences: only their differences can be computed with
        scores, mass, bound = np.exp(logs - most), None, math.exp(min(values.values()) - most)
        scores, bound = scores / scores.sum(), bound / scores.sum()
    else:
        scores, mass = np.exp(logs), min(total, 1.0)
        tokens = tuple(Token(name, min(value, 0.0)) for name, value in values.items())
        bound = Reported(tokens).bound
    ceiling = np.where(missing, bound, scores) if missing.any() else None
    return Row(scores, ceiling, mass=mass, columns=columns, logarithms=True)


def _rounding(logs: Iterable[float]) -> float:
    """Return how far the sum of exponentials may be off, by the decimals of the logarithms."""
    decimals = max(len(f"{log:.6f}".rstrip("0").partition(".")[2]) for log in logs)
    return 10.0**-decimals if decimals > 1 else 0.0


def _not_logarithms(columns: Sequence[str], least: float, most: float) -> InvalidInputError:
    """Return the error for numbers below 0 that are not log-probabilities."""
    return InvalidInputError(
        f"the columns {listed(columns)} hold numbers from {least:g} to {most:g}, but neither "
        "probabilities nor log-probabilities: those are 0 at most, and their exponentials sum to 1 "
        "at most",
        hint="Take a softmax of logits first: p = exp(x) / sum(exp(x))",
    )


def _check_all_there(
    row: Mapping[str, object], wanted: Wanted, columns: tuple[str, ...], total: float
) -> None:
    """Refuse columns that lack a class: one more is called like them, and they do not sum to 1."""
    if columns in (wanted.names, wanted.classes):
        return
    if any(_is_near(total, len(columns), whole) for whole in (1, 100)):
        return
    before, _, after = columns[0].casefold().partition(wanted.names[0].casefold())
    others = [
        name
        for name in row.keys() - {*columns, *RESERVED}
        if name.casefold().startswith(before)
        and name.casefold().endswith(after)
        and is_number(str(row[name]))
    ]
    if others and (before or after):
        raise InvalidInputError(
            f"the columns {listed(columns)} sum to {total:.3g}, and {listed(sorted(others))} "
            "are next to them",
            hint="Name all classes with --classes; if these are all, type "
            f"{as_map(wanted.classes, columns)}",
        )


COLUMNS = Source(
    "columns", "a column for each class, or a cell with all", _is_row, _read, texts=_texts
)
