"""From saved answers to a probability table."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dnip.base.arrays import normalise_rows
from dnip.base.errors import InvalidInputError, listed
from dnip.base.files import atomic_path, path_text
from dnip.base.validation import check_classes
from dnip.prompting.answers.collecting import Collector
from dnip.prompting.answers.files import Found, read_values
from dnip.prompting.answers.gold import BY_ROW, read_gold
from dnip.prompting.answers.places import Places
from dnip.prompting.answers.rounding import decimals, raise_zeros
from dnip.prompting.answers.source import Wanted
from dnip.prompting.engines.base import Fill
from dnip.prompting.fill import fill_unreported, open_decisions
from dnip.prompting.run import metadata_path
from dnip.tables import ProbabilityTable
from dnip.tables.ids import check_ids
from dnip.tables.labels import UNLABELLED, LabelRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.base.typing import Labels, Probabilities
    from dnip.prompting.answers.collecting import Kept
    from dnip.prompting.answers.gold import Gold

#: A file of answers, or an answer (or a list of them) as parsed from JSON.
Answers: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | list[Any]"


@dataclass(frozen=True)
class ImportSummary:
    """What an import came to.

    Attributes
    ----------
    files : tuple of str
        The files of answers.
    n : int
        Rows of the table.
    n_labelled : int
        Of these, rows with a gold label.
    source : str
        The kind of answers.
    model, question : str or None
        Where the answers name them.
    mean_mass : float or None
        Captured mass on average, where it is known.
    n_open : int
        Rows whose decision depends on what stands for labels that were not reported.
    n_fallback : int
        Rows whose answer names no class, so that its first token is read.
    refused, failed : tuple of str
        Ids (or places) of answers that are refusals and of requests that failed. They are not in
        the table: a row of it says something of every class.
    n_other : int
        Answers without the question, which are not in the table either.
    decimals : int or None
        To how many decimals the probabilities are rounded; None where they are not.
    n_raised : int
        Rows in which half a unit of the last decimal stands for zeros.
    n_tied : int
        Rows whose most probable classes are equally probable, so that the lowest is decided for.
    n_one_class : int
        Rows that give everything to one class: no weights could change the decision.
    """

    files: tuple[str, ...]
    n: int
    n_labelled: int
    source: str
    model: str | None
    question: str | None
    mean_mass: float | None
    n_open: int
    n_fallback: int
    refused: tuple[str, ...]
    failed: tuple[str, ...]
    n_other: int
    decimals: int | None
    n_raised: int
    n_tied: int
    n_one_class: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


class Import(NamedTuple):
    """A table of saved answers, and what is to be known of it."""

    table: ProbabilityTable
    summary: ImportSummary


def read_answers(
    answers: Sequence[Answers],
    classes: Sequence[str],
    *,
    source: str | None = None,
    question: str | None = None,
    names: Mapping[str, str] | None = None,
    gold: str | os.PathLike[str] | None = None,
    on: str | None = None,
    label: str | None = None,
    fill: Fill | str = Fill.HALF,
) -> Import:
    """Read saved answers of one model into a probability table.

    Parameters
    ----------
    answers : sequence of path-like, mapping or list
        Files of answers (JSON, JSON lines, CSV, Parquet), or answers as parsed from JSON.
    classes : sequence of str
        Class names, in the order of the table.
    source : str, optional
        A name in `dnip.prompting.answers.registry.SOURCES`; recognised by content by default.
    question : str, optional
        Which question of an answer to read; needed where there are several.
    names : mapping of str to str, optional
        What the answers call a class, where that is not its own name.
    gold : path-like, optional
        A file with gold labels; without it, labels in the answers are read.
    on : str, optional
        The name of the ids, in the answers and in the gold file; ``"id"`` by default, and in the
        answers whatever their source calls it. ``"row"`` joins the gold file by order.
    label : str, optional
        The name of the labels in the gold file, or in the answers where there is none.
    fill : Fill or str
        The probability to take for a label that was not reported.

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
    names_of_classes = check_classes(classes)
    wanted = Wanted(
        names_of_classes, _names(names_of_classes, names), question or "", own_labels=gold is None
    )
    if on == BY_ROW and gold is None:
        raise InvalidInputError(f"--on {BY_ROW} joins gold labels", hint="Give them with --gold")
    truth = None if gold is None else read_gold(Path(gold), names_of_classes, on, label)
    collector = Collector(wanted, source, on, None if truth is not None else label)
    collector.add_all(_values(answers))
    files = [path_text(os.fspath(one)) for one in answers if isinstance(one, str | os.PathLike)]
    origin = files[0] if len(files) == 1 else f"{len(files)} files" if files else "answers"
    kept = collector.kept
    if not kept:
        raise InvalidInputError(
            f"{origin}: there are no answers with probabilities; refused: "
            f"{len(collector.refused):,}, failed: {len(collector.failed):,}",
            hint="Give a file that holds answers, one per line or in a list",
        )
    location = Places(origin, wanted.names, places=[one.where for one in kept])
    filled = _fill(kept, location, fill)
    ids = _ids(kept, location)
    masses = [one.row.mass for one in kept]
    table = ProbabilityTable(
        filled.probabilities,
        _labels(kept, ids, truth, collector.n_answers, location, names_of_classes),
        ids,
        names_of_classes,
        origin,
        np.array(masses) if all(mass is not None for mass in masses) else None,
    )
    summary = ImportSummary(
        files=tuple(files),
        n=len(table),
        n_labelled=0 if table.labels is None else int((table.labels != UNLABELLED).sum()),
        source=collector.source,
        model=collector.model,
        question=collector.question or None,
        mean_mass=None if table.mass is None else float(table.mass.mean()),
        n_open=filled.n_open,
        n_fallback=sum(one.row.fallback for one in kept),
        refused=tuple(collector.refused),
        failed=tuple(collector.failed),
        n_other=collector.n_other,
        decimals=filled.decimals,
        n_raised=filled.n_raised,
        n_tied=filled.n_tied,
        n_one_class=filled.n_one_class,
    )
    return Import(table, summary)


def write_import(imported: Import, out: str | os.PathLike[str]) -> None:
    """Write the table, and beside it ``<out>.meta.json`` with the summary.

    Raises
    ------
    InvalidInputError
        For an unknown suffix.
    OutputError
        If a file cannot be written.
    """
    imported.table.write(out)
    with atomic_path(metadata_path(Path(out))) as temporary:
        settings = {"package_version": version("dnip")}
        content = {"settings": settings, "summary": imported.summary.to_dict()}
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _values(answers: Sequence[Answers]) -> Iterator[Found]:
    for number, one in enumerate(answers, 1):
        if isinstance(one, str | os.PathLike):
            yield from read_values(Path(one))
        else:
            yield Found(f"answer {number}", one)


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


class _Filled(NamedTuple):
    """Probabilities of all rows, and the counts of the summary that follow from them."""

    probabilities: Probabilities
    n_open: int
    decimals: int | None
    n_raised: int
    n_tied: int
    n_one_class: int


def _fill(kept: Sequence[Kept], location: Places, fill: Fill | str) -> _Filled:
    """Fill what was not reported, and raise what was rounded to zero."""
    scores = np.array([one.row.scores for one in kept])
    rows = [one.row for one in kept]
    places = None
    n_open = n_raised = 0
    if any(row.ceiling is not None for row in rows):
        ceiling = np.array([row.scores if row.ceiling is None else row.ceiling for row in rows])
        n_open = int(open_decisions(scores, ceiling).sum())
        p = fill_unreported(scores, ceiling, fill)
    else:
        p, *_ = normalise_rows(scores, location)
        places = decimals(scores)
    n_one_class = int((np.count_nonzero(p, axis=1) == 1).sum())
    if places:  # with whole numbers, half a unit would be half of everything
        n_raised = int((scores == 0).any(axis=1).sum())
        p, *_ = normalise_rows(raise_zeros(scores, places), location)
    n_tied = int((np.count_nonzero(p == p.max(axis=1, keepdims=True), axis=1) > 1).sum())
    return _Filled(p, n_open, places, n_raised, n_tied, n_one_class)


def _ids(kept: Sequence[Kept], location: Places) -> Any:  # noqa: ANN401
    """Return the rows' ids, None where answers have none."""
    ids = [one.row_id for one in kept]
    if all(one is None for one in ids):
        return None
    if any(one is None for one in ids):
        raise InvalidInputError(
            f"{location.cell(ids.index(None))}: the answer has no id, but others have",
            hint="Give all answers an id, or none",
        )
    return check_ids(ids, n_examples=len(ids), location=location)


def _labels(
    kept: Sequence[Kept],
    ids: Sequence[str] | None,
    gold: Gold | None,
    n_answers: int,
    location: Places,
    classes: tuple[str, ...],
) -> Labels | None:
    """Return the class index of each row, -1 where it has no label; None without any label."""
    if gold is None:
        cells = [one.label for one in kept]
        return None if all(c is None for c in cells) else LabelRule(classes).read(cells, location)
    if gold.by_row:
        if len(gold.labels) != n_answers:
            raise InvalidInputError(
                f"{location.whole()}: there are {n_answers:,} answers, but "
                f"{len(gold.labels):,} gold labels",
                hint="Joining by row needs one gold label for each answer, failed ones included",
            )
        keys = [str(one.number) for one in kept]
    elif ids is None:
        raise InvalidInputError(
            f"{location.whole()}: the answers have no ids to join the gold labels on",
            hint='Write "id" beside each answer, name another key with --on, or give --on row '
            "where the gold file has the same order",
        )
    else:
        keys = list(ids)
    found = np.array([gold.labels.get(key, UNLABELLED) for key in keys], np.int64)
    if not any(key in gold.labels for key in keys):
        raise InvalidInputError(
            f"{location.whole()}: no answer's id is in the gold file: the first are {keys[0]!r} "
            f"and, in the gold file, {next(iter(gold.labels), '')!r}",
            hint="Name the column of the ids with --on",
        )
    return found
