"""Tables with a column for each class: probabilities, or log-probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from dnip.base.classes import is_number
from dnip.base.columns import ID, MASS, RESERVED, probability_columns
from dnip.base.errors import InvalidInputError, listed
from dnip.llm.answers.tokens import Reported, Token
from dnip.llm.sources.cells import has_numbers, in_cell
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_map, as_number

#: What a column of texts is called that holds the answers.
ANSWERS = ("answer", "response", "output", "completion", "text", "prediction", "content")
_LOGARITHM = re.compile(r"log_?prob|log_?lik|logp\b", re.IGNORECASE)
# How far a log-probability may be above 0, and a sum of probabilities above 1.
_ROUNDING = 1e-3
# Smaller log-probabilities are of whole sequences, whose sum says nothing about the prompt.
_OF_TOKENS = -20.0


def is_flat(content: Answer) -> bool:
    """Say whether an answer is a row of texts, numbers, lists of these, or a pipeline's results."""
    cells = content.values() if isinstance(content, dict) else [{}]
    return all(
        not isinstance(cell, list | dict) or _are_texts(cell) or has_numbers(cell) for cell in cells
    )


def _are_texts(cells: object) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, str | None) for cell in cells)


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the columns of texts, of one in each row or of several."""
    columns = {name: cell if isinstance(cell, list) else [cell] for name, cell in content.items()}
    return {name: cells for name, cells in columns.items() if name != ID and _are_texts(cells)}


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
            for place in re.finditer(re.escape(first), column):
                before, after = column[: place.start()], column[place.end() :]
                own = [known.get(f"{before}{name}{after}") for name in (first, *others)]
                if None not in own:
                    sets[tuple(map(str, own))] = None
    return sorted(sets, key=lambda own: len("".join(own)))


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text.casefold())


def _columns_of(row: Mapping[str, object], wanted: Wanted) -> tuple[str, ...] | None:
    """Return the columns of the classes, None if they are not there."""
    for names in dict.fromkeys((wanted.names, wanted.classes)):
        sets = class_columns(names, tuple(row))
        logs = [own for own in sets if own != names and _LOGARITHM.search(own[0])]
        if logs:
            return logs[0]
        if names in sets:
            if len(sets) > 1:
                _check_one_label(row, wanted, names, sets[1])
            return names
        if len(sets) > 1:
            raise InvalidInputError(
                f"several columns are called like {names[0]}: {listed([own[0] for own in sets])}",
                hint=f"Choose some: {' or '.join(as_map(wanted.classes, own) for own in sets)}",
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
        f"the columns {listed(names)} hold 0 and 1 only, and {listed(others)} stand beside them",
        hint=f"If the latter are probabilities, type {as_map(wanted.classes, others)}, and give "
        f"the labels in one column with --label{several}",
    )


def _missing(row: Mapping[str, object], wanted: Wanted) -> InvalidInputError:
    """Return the error for a row without a column for each class."""
    answers = [name for name in ANSWERS if isinstance(row.get(name), str)]
    numbers = [
        name
        for name, cell in row.items()
        if name not in RESERVED and not isinstance(cell, bool) and is_number(str(cell))
    ]
    missing = [name for name in wanted.names if name not in row]
    if answers and len(numbers) < 2 and len(missing) == len(wanted.names):
        return InvalidInputError(
            f"column {answers[0]} holds answers, but no column holds probabilities",
            hint="Ask the model for log-probabilities (logprobs=True, top_logprobs=20) and save "
            "them beside each answer; or ask several times for each row, and give --votes",
        )
    several = len(numbers) == len(wanted.classes)
    shown = numbers if several else [f"COLUMN_{n + 1}" for n in range(len(wanted.classes))]
    order = ", if that is their order" if several else ""
    return InvalidInputError(
        f"there is no column {missing[0]}; the columns are {listed(tuple(row))}",
        hint=f"Name the column of each class: {as_map(wanted.classes, shown)}{order}; count texts "
        "with --votes",
    )


def _read(row: Answer, wanted: Wanted) -> Row:
    columns = _columns_of(row, wanted)
    if columns is None:
        in_one = None if row.keys() & {*wanted.names} else in_cell(row, wanted)
        if in_one is None:
            raise _missing(row, wanted)
        return in_one
    blank = [name for name in columns if row[name] in (None, "")]
    values = {name: as_number(row[name], name) for name in columns if name not in blank}
    for name, value in values.items():
        if math.isnan(value) or value == math.inf:
            raise InvalidInputError(
                f"column {name}: the number is {value:g}",
                hint="Leave the row out, or give the numbers of the model there",
            )
    least, most = min(values.values(), default=0.0), max(values.values(), default=0.0)
    is_named = columns not in (wanted.names, wanted.classes) and _LOGARITHM.search(columns[0])
    if values and (is_named or (least < 0 and most <= _ROUNDING)):
        return _from_logarithms(columns, values)
    if blank:
        raise InvalidInputError(
            f"column {blank[0]}: the cell is empty",
            hint="Give a number in every row, or leave the row out",
        )
    if least < 0:
        raise _not_logarithms(columns, least, most)
    scores = np.array([values[name] for name in columns])
    _check_all_there(row, wanted, columns, float(scores.sum()))
    mass = row.get(MASS)
    known = None if mass in (None, "") else as_number(mass, MASS)
    return Row(scores, mass=known, columns=columns)


def _from_logarithms(columns: tuple[str, ...], values: Mapping[str, float]) -> Row:
    """Return the row of log-probabilities; an empty cell is a class that was not reported."""
    logs = np.array([min(values.get(name, -math.inf), 0.0) for name in columns])
    most = float(logs.max())
    total = math.inf if max(values.values()) > _ROUNDING else float(np.exp(logs).sum())
    if not total <= 1 + len(values) * _ROUNDING:
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
    is_whole = any(abs(total / whole - 1) < len(columns) * _ROUNDING + 0.02 for whole in (1, 100))
    if is_whole or columns in (wanted.names, wanted.classes):
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
            "stand beside them",
            hint="Name all classes with --classes; if these are all, type "
            f"{as_map(wanted.classes, columns)}",
        )


COLUMNS = Source(
    "columns", "a column for each class, or a cell with all", is_flat, _read, texts=_texts
)
