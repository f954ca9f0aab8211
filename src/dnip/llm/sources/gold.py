"""Gold labels from a file of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Labels
from dnip.llm.files import Places, read_values
from dnip.llm.sources.columns import parsed
from dnip.llm.sources.source import Wanted, as_map
from dnip.tables.cells import check_ids, check_scalars, is_missing
from dnip.tables.columns import ID
from dnip.tables.labels import LABEL, UNLABELLED, read_labels

#: What to join by instead of an id, to join rows in their order.
BY_ROW = "row"
# Labels of unknown spelling that a hint maps, at most.
_MOST_MAPS = 8
#: What stands under a name that is not there.
MISSING = object()


def nested(held: dict[str, Any], name: str) -> object:
    """Return what stands under a name, or under names in one another, ``a.b.c``; else `MISSING`.

    Examples
    --------
    >>> nested({"a": {"b": {"c": 7}}}, "a.b.c"), nested({"a.b": 8}, "a.b")
    (7, 8)
    """
    if name in held:
        return held[name]
    first, dot, rest = name.partition(".")
    inner = held.get(first) if dot else None
    return nested(inner, rest) if isinstance(inner, dict) else MISSING


def class_indices(cells: Sequence[object], wanted: Wanted, location: Places) -> Labels:
    """Return the class index of each gold label, -1 where there is none.

    A label is a class name, what ``--map`` calls the class, or a class index. Names count without
    their case where that is clear.

    Raises
    ------
    InvalidInputError
        For a label that is not a class, and one that could be two.

    Examples
    --------
    >>> wanted = Wanted(("Business", "Sport"), ("biz", "Sport"))
    >>> class_indices(["biz", "sport", 0, ""], wanted, Places("gold.csv", (), places="abcd"))
    array([ 0,  1,  0, -1])
    >>> class_indices(["BIZ", "Biz"], wanted, Places("gold.csv", (), places="ab"))
    array([0, 0])
    """
    classes, cells = wanted.classes, [_only(cell) for cell in cells]
    texts = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
    called = {name: n for n, name in enumerate(wanted.names) if name not in classes}
    for name, n in called.items():
        if name.isdecimal() and int(name) != n and name in texts:
            raise InvalidInputError(
                f"{location.cell(texts.index(name))}: the label {name} may be the class "
                f"{classes[n]}, as --map says, or the index of another",
                hint="Write class names as labels",
            )
    times = Counter(name.casefold() for name in (*classes, *called))
    folded = {name.casefold(): n for name, n in called.items() if times[name.casefold()] == 1}
    meant = [called.get(text, folded.get(text.casefold())) for text in texts]
    plain = [cell if n is None else classes[n] for n, cell in zip(meant, cells, strict=True)]
    try:
        return read_labels(plain, classes, location)
    except InvalidInputError as error:
        known = {*times, ""}
        words = [cell.strip() for cell in cells if isinstance(cell, str)]
        unknown = {word.casefold(): word for word in reversed(words) if not word.isdecimal()}
        others = [word for key, word in reversed(unknown.items()) if key not in known]
        if not others:
            raise
        free = [name for name in classes if name.casefold() not in unknown]
        names = free if len(free) == len(others) == 1 else ["CLASS"] * len(others)
        maps = as_map(names[:_MOST_MAPS], others[:_MOST_MAPS])
        hint = f"The classes are {listed(classes, most=10)}, and a row has one; say which class a "
        hint += f"label means: {maps}"
        raise InvalidInputError(error.message, hint=hint) from error


def _only(cell: object) -> object:
    """Return the only item of a list, which may be written as a text; None for an empty one."""
    value = parsed(cell)
    if not isinstance(value, list):
        return cell
    return value[0] if len(value) == 1 else value or None


class Gold(NamedTuple):
    """Labels of a file of their own.

    Attributes
    ----------
    labels : dict of str to int
        Class indices, -1 for an unlabelled row, by id; by row, by the number of the row from 0.
    ids : list
        By row, the ids that stand there, None where there are none.
    """

    labels: dict[str, int]
    ids: list[object]


def read_gold(
    path: Path, wanted: Wanted, on: str | None, label: str | None, *, last: bool = False
) -> Gold:
    """Read gold labels.

    Parameters
    ----------
    path : Path
        CSV, Parquet or JSON lines.
    wanted : Wanted
        The classes, and what else the labels may call them.
    on : str or None
        The column of the ids, or ``"row"``; None for ``"id"``.
    label : str or None
        The column of the labels; None for ``"label"``.
    last : bool, default=False
        Whether of several labels of an id the last one counts.

    Raises
    ------
    InvalidInputError
        For a missing column, an id with two labels, and a label that is not a class.
    """
    on, label = on or ID, label or LABEL
    ids: list[object] = []
    own: list[object] = []
    cells: list[object] = []
    places: list[str] = []
    for where, row in read_values(path):
        held = row if isinstance(row, dict) else {}
        cells.append(_cell(held, label, where))
        ids.append(len(ids) if on == BY_ROW else _cell(held, on, where))
        own.append(held.get(ID))
        places.append(where)
    location = Places(str(path), (), places=places)
    check_scalars(ids, on, location)
    indices = class_indices(cells, wanted, location).tolist()
    first = dict(zip(reversed(ids), reversed(places), strict=True))
    unique = [*dict.fromkeys(ids)]
    where_unique = Places(str(path), (), places=[first[name] for name in unique])
    checked = check_ids(unique, n_examples=len(unique), location=where_unique)
    names = dict(zip(unique, checked.tolist(), strict=True))
    labels: dict[str, int] = {}
    for key, index, where in zip(ids, indices, places, strict=True):
        name = names[key]
        if labels.setdefault(name, index) != index and not last:
            raise InvalidInputError(
                f"{where}: the id {name!r} has two different labels, {_class(wanted, index)} here "
                f"and {_class(wanted, labels[name])} in {first[key]}",
                hint="Give --last to take the last one, or leave the wrong rows out",
            )
        labels[name] = index
    return Gold(labels, own)


def _cell(held: dict[str, Any], name: str, where: str) -> object:
    """Return the cell of a row; what is nested in answers has a plain name in a table."""
    value = nested(held, name)
    value = held.get(name.rpartition(".")[2], MISSING) if value is MISSING else value
    if value is MISSING:
        raise InvalidInputError(
            f"{where}: there is no column {name}; the columns are {listed([*held]) or 'none'}",
            hint="Name the labels with --label, and their ids with --on id=COLUMN; --on row joins "
            "rows in order",
        )
    return value


def _class(wanted: Wanted, index: int) -> str:
    return "none" if index == UNLABELLED else wanted.classes[index]


def join_by_row(
    gold: Gold, numbers: Sequence[int], ids: Sequence[str] | None, n_answers: int, source: str
) -> Labels:
    """Return the class index of each row, -1 where it has no label.

    Parameters
    ----------
    gold : Gold
    numbers : sequence of int
        Which of all answers each row is.
    ids : sequence of str or None
        The ids of the rows.
    n_answers : int
        Answers in all, refusals and failed requests included.
    source : str
        The answers, for messages.

    Raises
    ------
    InvalidInputError
        For another number of gold labels than of answers, or ids in another order.
    """
    if len(gold.labels) != n_answers:
        raise InvalidInputError(
            f"{source}: there are {n_answers:,} answers, but {len(gold.labels):,} gold labels",
            hint="Joining by row needs a gold label for each answer, failed ones included",
        )
    theirs = [str(gold.ids[number]) for number in numbers]
    if ids is not None and set(theirs) & set(ids):
        pairs = zip(numbers, ids, theirs, strict=True)
        for number, name, other in pairs:
            if name != other:
                raise InvalidInputError(
                    f"{source}: answer {number + 1} has the id {name!r}, but row {number + 1} of "
                    f"the labels {other!r}: they are not in the same order",
                    hint=f"Join them by their ids: leave out --on {BY_ROW}",
                )
    return np.array([gold.labels[str(number)] for number in numbers], np.int64)


def join_by_id(gold: dict[str, int], ids: Sequence[str] | None, source: str) -> Labels:
    """Return the class index of each row, -1 where it has no label.

    Raises
    ------
    InvalidInputError
        If the rows have no ids, or none that is in the gold file.
    """
    if ids is None:
        raise InvalidInputError(
            f"{source}: the answers have no ids to join the gold labels on",
            hint='Write "id" next to each answer, name another key with --on, or give --on row '
            "where the gold file has the same order",
        )
    if not any(name in gold for name in ids):
        raise InvalidInputError(
            f"{source}: no answer's id is in the gold file: the first are {ids[0]!r} and, in the "
            f"gold file, {next(iter(gold), '')!r}",
            hint="Name the ids with --on, or --on A=B where the labels have another column of them",
        )
    return np.array([gold.get(name, UNLABELLED) for name in ids], np.int64)
