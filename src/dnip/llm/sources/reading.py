"""From saved answers to a probability table."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base import __version__
from dnip.base.arrays import check_mass
from dnip.base.classes import UNLABELLED, check_classes
from dnip.base.columns import MASS, QUESTION, RESERVED, ROW, class_columns
from dnip.base.errors import InvalidInputError, listed, warn
from dnip.base.files import valid_unicode, write_text
from dnip.base.typing import Floats
from dnip.base.validation import check_choice
from dnip.llm.answers.fill import Fill, fill_rows
from dnip.llm.answers.reader import LabelReader, reader_of
from dnip.llm.answers.tokens import Answer as ModelAnswer
from dnip.llm.files import Found, Places, read_values
from dnip.llm.sources.collecting import Collector
from dnip.llm.sources.gold import BY_ROW, class_indices, join_by_id, join_by_row, read_gold
from dnip.llm.sources.registry import SOURCES
from dnip.llm.sources.source import Row, Wanted
from dnip.llm.sources.summary import Import, ImportSummary
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.cells import check_ids
from dnip.tables.guards import tell_own_labels
from dnip.tables.provenance import metadata_path
from dnip.tables.reading import layout_of
from dnip.tables.text import json_rows, parts_of

# An id of one of several answers to a row.
_STEM = re.compile(r"(.+)[-_.:/#][a-z]*[0-9]+")

# Why answers are left out.
_LOST = ("refused", "unmatched", "failed", "several", "silent")
# What log-likelihoods of choices may be divided by.
_BY = ("characters",)

#: A file of answers, or an answer (or a list of them) as parsed from JSON.
Answers: TypeAlias = "str | os.PathLike[str] | dict[str, Any] | list[Any]"


def read_answers(
    answers: Sequence[Answers],
    classes: Sequence[str] | None,
    *,
    source: str | None = None,
    question: str | None = None,
    names: Mapping[str, str] | None = None,
    gold: str | os.PathLike[str] | None = None,
    on: str | None = None,
    label: str | None = None,
    keep: Sequence[str] = (),
    fill: Fill | str = Fill.HALF,
    votes: bool = False,
    only: str | None = None,
    normalise: str | None = None,
) -> Import:
    """Read saved answers of one model into a probability table.

    Parameters
    ----------
    answers : sequence of path-like, dict or list
        Files of answers (JSON, JSON lines, CSV, Parquet), folders that a sidecar
        recorded, or answers as parsed from JSON.
    classes : sequence of str or None
        Class names, in the order of the table; None for those of a recorded folder.
    source : str, optional
        A name in `dnip.llm.sources.registry.SOURCES`; recognised by content by default.
    question : str, optional
        Which question of an answer to read; needed where there are several.
    names : mapping of str to str, optional
        What the answers or the gold labels call a class, where that is not its own name.
    gold : path-like, optional
        A file with gold labels; without it, labels in the answers are read.
    on : str, optional
        The name of the ids, in the answers and in the gold file; ``"id"`` by default, and in the
        answers whatever their source calls it. ``"row"`` joins the gold file by order.
    label : str, optional
        The name of the labels in the gold file, or in the answers where there is none.
    keep : sequence of str
        The names of what is carried into the table, such as the text of a row.
    fill : Fill or str
        The probability to take for a label that was not reported.
    votes : bool, default=False
        Whether to count the answers of each row as votes, as `LabelNames` reads them. Answers are
        of one row if they have the same id, or are several to one prompt. A probability is a share
        of the row's votes, to which each class gets half a vote more, and captured mass the share
        of its answers that are votes. A row without a vote is left out.
    only : str, optional
        The model, or the first letters of a question's fingerprint, whose answers are read.
    normalise : {"characters"}, optional
        Divide the log-likelihoods of choices by the lengths of their texts, which are no handicap
        then; for samples of harnesses.

    Returns
    -------
    Import
        The table and a summary.

    Raises
    ------
    InvalidInputError
        For answers that are damaged or do not agree; the message names the file and the line.

    Examples
    --------
    >>> answer = {"type": "choice", "choice": "b", "probabilities": {"a": 0.25, "b": 0.75}}
    >>> table, summary = read_answers([{"answers": {"topic": answer}}], ["a", "b"])
    >>> table.probabilities, summary.source, summary.question
    (array([[0.25, 0.75]]), 'decisions', 'topic')
    """
    classes, columns = _columns(answers, classes)
    if on == BY_ROW and gold is None:
        raise InvalidInputError(f"--on {BY_ROW} joins gold labels", hint="Give them with --gold")
    _check_keep(keep, classes)
    wanted = Wanted(
        classes,
        _names(classes, {**columns, **(names or {})}),
        question or "",
        own_labels=gold is None,
        by_character=normalise is not None and bool(check_choice("normalise", normalise, _BY)),
    )
    truth = None if gold is None else read_gold(Path(gold), wanted, on, label)
    given = None if source is None else SOURCES[check_choice("--from", source, list(SOURCES))]
    beside = label if gold is None else None
    collector = Collector(wanted, given, votes, on, beside, keep, only)
    collector.add_all(_values(answers))
    if not votes and _unreported(collector, classes):  # they may be names of labels only
        other = Collector(replace(wanted, names=classes), given, votes, on, beside, keep, only)
        with suppress(InvalidInputError):
            other.add_all(_values(answers))
            if not _unreported(other, ()):
                collector = other
                warn("the answers know the classes by their own names: --map is for labels alone")
    files = [valid_unicode(os.fspath(one)) for one in answers if isinstance(one, str | os.PathLike)]
    origin = files[0] if len(files) == 1 else f"{len(files)} files" if files else "answers"
    polled = _count_votes(collector, reader_of(wanted.names)) if votes else None
    if not collector.kept:
        raise _nothing_read(origin, collector, polled)
    rows = [*collector.kept.values()]
    present = {row.number for row in rows}
    location = Places(origin, (*wanted.names, MASS), places=[row.where for row in rows])
    scores, ceiling = _scores(rows, location)
    p, counts = fill_rows(scores, ceiling, location, fill)
    ids, n_unknown = _ids(rows, location), 0
    if truth is None:
        cells = [row.label for row in rows]
        known = any(cell is not None for cell in cells)
        labels = class_indices(cells, wanted, location) if known else None
    elif on == BY_ROW:
        labels = join_by_row(truth, [row.number for row in rows], collector.n_answers, origin)
    else:
        labels = join_by_id(truth, None if ids is None else ids.tolist(), origin)
        labelled = {name for name, index in truth.items() if index != UNLABELLED}
        lost_ids = [*collector.refused, *collector.failed, *collector.several, *collector.silent]
        seen = [*lost_ids, *([] if ids is None else ids)]
        n_unknown = len(labelled.difference(seen))
    table = ProbabilityTable(p, None, ids, classes, origin, _mass(rows, location))
    table = ProbabilityTable(replace(table.rows, labels=labels))
    labels = np.full(len(rows), UNLABELLED) if table.labels is None else table.labels
    scored = labels != UNLABELLED
    n_alike = int((scored & (labels == p.argmax(axis=1))).sum())
    tell_own_labels(origin, n_alike, int(scored.sum()))
    assert collector.source is not None  # it has read rows
    summary = ImportSummary(
        files=tuple(files),
        n=len(table),
        n_labelled=int(scored.sum()),
        source="votes" if votes else collector.source.name,
        model=collector.model,
        question=collector.question or None,
        columns=tuple(collector.questions) if collector.source.takes_first else (),
        mean_mass=None if table.mass is None else float(table.mass.mean()),
        unreported=()
        if ceiling is None
        else tuple(classes[label] for label in _never_reported(scores)),
        n_nameless=sum(row.names_none for row in rows),
        left_out=tuple(
            number + 1 for number in range(collector.n_answers) if number not in present
        ),
        refused=tuple(collector.refused),
        failed=tuple(collector.failed),
        several=tuple(collector.several),
        silent=tuple(collector.silent),
        n_other=collector.n_other,
        n_unknown=n_unknown,
        **{**counts, **({"n_normalised": 0} if table.mass is not None else {})},
        class_columns=rows[0].columns if rows[0].columns != wanted.names else (),
        naming=() if scored.any() else tuple(collector.naming or ()),
        votes=polled,
        asked=collector.asked_for,
        others=_others(rows, keep, numbered=ids is None and not votes),
    )
    return Import(table, summary)


def _nothing_read(
    origin: str, collector: Collector, polled: Mapping[str, float] | None
) -> InvalidInputError:
    """Return the error for answers of which none could be read."""
    lost = {"refused": len(collector.refused), **(polled or {})}
    lost |= {"failed": len(collector.failed), "several": len(collector.several)}
    lost["silent"] = len(collector.silent)
    kinds = [name for name in _LOST if name in lost]
    return InvalidInputError(
        f"{origin}: there are no answers with probabilities or votes; "
        + ", ".join(f"{name}: {lost[name]:,}" for name in kinds),
        hint="Give a file that holds answers, and say with --map how they name the classes",
    )


def write_import(imported: Import, out: str | os.PathLike[str]) -> None:
    """Write the table, and beside it ``<out>.meta.json`` with the summary.

    Raises
    ------
    InvalidInputError
        For an unknown suffix.
    OutputError
        If a file cannot be written.
    """
    settings, summary = {"package_version": __version__}, imported.summary
    classes, others = imported.table.classes, summary.others
    # Beside other columns, p_ tells which are the classes.
    columns = class_columns(classes, {*classes} if others.keys() - {ROW} else frozenset())
    with open_writer(out, classes) as writer:
        writer.write(replace(imported.table.rows, others=others, columns=columns))
    content = {"settings": settings, "summary": summary.to_dict(), QUESTION: summary.asked}
    write_text(metadata_path(Path(out)), json.dumps(content, indent=2) + "\n")


def _unreported(collector: Collector, classes: Sequence[str]) -> bool:
    """Say whether no row has anything for a class that is not called by its own name."""
    scores = np.array([row.scores for row in collector.kept.values()])
    never = _never_reported(scores) if len(scores) else []
    return any(collector.wanted.names[label] not in classes for label in never)


def _others(rows: Sequence[Row], keep: Sequence[str], *, numbered: bool) -> dict[str, list[object]]:
    """Return what is carried along: the numbers of rows without an id, and what is kept."""
    numbers: dict[str, list[object]] = {ROW: [row.number + 1 for row in rows]} if numbered else {}
    return numbers | {name: [_scalar(row.kept[name]) for row in rows] for name in keep}


def _scalar(value: object) -> object:
    """Return a value that a cell can hold: lists and objects as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _check_keep(keep: Sequence[str], classes: Sequence[str]) -> None:
    """Refuse what cannot be carried: columns that mean something else in a table."""
    for name in keep:
        is_class = name in classes or name.startswith("p_")
        if is_class or name in RESERVED - {ROW} or keep.count(name) > 1:
            what = "would be read as a class" if is_class else "is in a table already"
            raise InvalidInputError(
                f"--keep {name}: a column of this name {what}",
                hint="Keep columns of other names, each once",
            )


def _values(answers: Sequence[Answers]) -> Iterator[Found]:
    for number, one in enumerate(answers, 1):
        if isinstance(one, str | os.PathLike) and Path(one).is_dir():
            seen: set[str] = set()
            for part in parts_of(Path(one)):
                for count, row in enumerate(json_rows(part, seen), 1):
                    yield Found(f"{part}: row {count}", row)
        elif isinstance(one, str | os.PathLike):
            yield from read_values(Path(one))
        else:
            yield Found(f"answer {number}", one)


def _columns(
    answers: Sequence[Answers], classes: Sequence[str] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the classes, and the columns that hold them in a recorded folder."""
    folders = [one for one in answers if isinstance(one, str | os.PathLike) and Path(one).is_dir()]
    layout = layout_of(folders[0], classes) if folders else None
    if layout is not None:
        return layout.classes, dict(zip(layout.classes, layout.probabilities, strict=True))
    if classes is None:
        hint = "Name the classes with --classes A,B,C"
        raise InvalidInputError("the answers do not tell the order of the classes", hint=hint)
    return check_classes(classes), {}


def _names(classes: tuple[str, ...], given: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return what the answers call each class."""
    unknown = [name for name in given or () if name not in classes]
    if unknown:
        raise InvalidInputError(
            f"--map names {unknown[0]!r}, which is no class",
            hint=f"The classes are {listed(classes)}",
        )
    names = tuple((given or {}).get(name, name) for name in classes)
    if len(set(names)) < len(names):
        raise InvalidInputError(
            f"two classes have the same name in the answers: {listed(names)}",
            hint="Give each class a name of its own with --map",
        )
    return names


def _count_votes(collector: Collector, reader: LabelReader) -> dict[str, float]:
    """Give rows their shares of votes, and refuse those without a vote; return the counts."""
    polled, cast = _of_one_stem([*collector.kept.values()]), []
    collector.kept, collector.n_answers = {}, len(polled)
    texts = [text for row in polled for text in row.texts]
    if len(texts) == len(polled) > 1:
        raise InvalidInputError(
            f"{polled[1].where}: the id {polled[1].row_id!r} is given once, as all are",
            hint="For votes, give all answers to a row the same id, and name its key with --on",
        )
    for number, row in enumerate(polled):
        found = [reader.vote(ModelAnswer(text)) for text in row.texts]
        if n := len(found) - found.count(None):
            cast.append(n)
            scores, share = reader.shares(found).captured, n / len(found)
            scores = scores / share
            collector.kept[number] = replace(row, scores=scores, mass=share, number=number)
        else:
            collector.refused.append(row.where if row.row_id is None else str(row.row_id))
    counted = {"answers": len(texts), "refused": texts.count(None)}
    counted["unmatched"] = len(texts) - texts.count(None) - sum(cast)
    counts = {"fewest": min(cast, default=0), "most": max(cast, default=0)}
    return {**counted, **counts, "added": 0.5}


def _of_one_stem(polled: list[Row]) -> list[Row]:
    """Join answers whose ids differ only in a last number, such as 7-0 and 7-1, where all do."""
    stems = [_STEM.fullmatch(str(row.row_id)) for row in polled]
    if not all(stems) or not all(len(row.texts) == 1 for row in polled):
        return polled
    joined: dict[object, Row] = {}
    for row, stem in zip(polled, stems, strict=True):
        first = replace(row, row_id=stem and stem[1], texts=[])
        joined.setdefault((first.row_id, str(row.label)), first).texts.extend(row.texts)
    enough = 2 * len(joined) <= len(polled)
    return [*joined.values()] if enough else polled


def _scores(rows: Sequence[Row], location: Places) -> tuple[Floats, Floats | None]:
    """Return what all rows report, and its ceilings where a row did not report all."""
    scores = np.array([row.scores for row in rows])
    if all(row.ceiling is None for row in rows):
        return scores, None
    never = _never_reported(scores)
    nameless = any(row.names_none for row in rows)
    if never and (nameless or len(never) > scores.shape[1] - 2):
        raise InvalidInputError(
            f"{location.source}: no answer reports a token of {location.columns[never[0]]}",
            hint="Give the word that stands for it in the answers with --map (token_id:7 is the "
            "token with this number), or ask for more top_logprobs",
        )
    return scores, np.array([row.scores if row.ceiling is None else row.ceiling for row in rows])


def _never_reported(scores: Floats) -> list[int]:
    """Return the classes of which no row reports a token."""
    return np.flatnonzero((scores == 0).all(axis=0)).tolist()


def _ids(rows: Sequence[Row], location: Places) -> NDArray[np.object_] | None:
    """Return the rows' ids, None where answers have none."""
    ids = [row.row_id for row in rows]
    if all(one is None for one in ids):
        return None
    if None in ids:
        raise InvalidInputError(
            f"{location.cell(ids.index(None))}: the answer has no id, but others have",
            hint="Give all answers an id, or none",
        )
    return check_ids(ids, n_examples=len(ids), location=location)


def _mass(rows: Sequence[Row], location: Places) -> Floats | None:
    """Return the captured mass of each row, None unless it is known of all."""
    known = [row.mass for row in rows if row.mass is not None]
    if len(known) < len(rows):
        return None
    column = len(location.columns) - 1
    return check_mass(known, n_examples=len(known), location=location, column=column)
