"""From saved answers to a probability table, and what is to be known of it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base import __version__
from dnip.base.errors import InvalidInputError, listed, shown, warn
from dnip.base.files import valid_unicode, write_text
from dnip.base.typing import Floats, Labels
from dnip.base.validation import check_choice
from dnip.llm.answers.answer import Answer as ModelAnswer
from dnip.llm.answers.fill import Fill, fill_rows
from dnip.llm.files import Found, Places, read_values
from dnip.llm.sources.collecting import LOSSES, LOST, Collector, Lost
from dnip.llm.sources.gold import BY_ROW, Gold, class_indices, join_by_id, join_by_row, read_gold
from dnip.llm.sources.registry import SOURCES
from dnip.llm.sources.source import Row, Wanted
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.cells import check_ids, check_mass
from dnip.tables.columns import MASS, RESERVED, ROW, class_columns
from dnip.tables.files import layout_of
from dnip.tables.formats import json_rows, parts_of
from dnip.tables.labels import UNLABELLED, check_classes
from dnip.tables.origin import LEFT_OUT, QUESTION, metadata_path, warn_of_left_out
from dnip.tables.table import tell_own_labels

# An id of one of several answers to a row.
_STEM = re.compile(r"(.+)[-_.:/#][a-z]*[0-9]+")

# What to do where answers are lost for a reason.
_HINTS = {
    "refused": "Change the prompt, or give other rows",
    "failed": "Send the requests again",
    "several": "Ask for one label, alone or first",
    "unstated": "Say with --map how the answers name the classes; or ask for the label alone, or "
    "first, or as JSON, and give --key for a key of it",
    "silent": "Ask again with logprobs=True, top_logprobs=20",
}
# So many reasons are shown.
_MOST_REASONS = 3
# What log-likelihoods of choices may be divided by.
_BY = ("characters",)

#: Fields of a summary that follow from the numbers.
Counts: TypeAlias = dict[str, Any]

#: A file of answers, or an answer (or a list of them) as parsed from JSON.
Answers: TypeAlias = "str | os.PathLike[str] | dict[str, Any] | list[Any]"


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
        The kind of answers; ``"votes"`` where these were counted.
    model, question : str or None
        Where the answers name them.
    columns : tuple of str
        Columns of rows that hold log-probabilities, of which `question` was read.
    mean_mass : float or None
        Captured mass on average, where it is known.
    n_open : int
        Rows whose decision depends on what stands for labels that were not reported.
    unreported : tuple of str
        Classes of which no answer reports a token.
    n_nameless : int
        Rows whose answer is one token that is no class, so that this token is read.
    left_out : tuple of int
        The numbers of all answers that are not in the table, counted from 1.
    refused, failed, several, unstated, silent : tuple of str
        Ids (or lines) of answers that are refusals, of requests that failed, of answers that state
        several classes or none, and of answers without probabilities. They are not in the table: a
        row of it says something of every class.
    why : dict
        How many answers are left out, ``n``, ``of`` so many, and the commonest ``reasons``.
    n_other : int
        Answers without the question, which are not in the table either.
    n_unknown : int
        Labels in the gold file of ids that no answer has.
    decimals : int or None
        To how many decimals the probabilities are rounded; None where they are not.
    n_normalised : int
        Rows whose numbers did not sum to 1, so that they were divided by their sum.
    n_tied : int
        Rows whose most probable classes are equally probable, so that the lowest is decided for.
    n_one_class : int
        Rows that give everything to one class: no weights could change the decision.
    class_columns : tuple of str
        The columns of a table that were read, where they are not called like the classes.
    naming : tuple of str
        Columns that hold the names of classes and nothing else, where no row has a label.
    votes : dict or None
        Where votes were counted: ``answers``, of which ``refused`` and ``unmatched`` are no vote,
        the ``fewest`` and ``most`` votes of a row, and what is ``added`` to those of each class.
        ``refused`` above are the rows without any.
    asked : dict or None
        What is known of the question, as `dnip.llm.questions.Question.to_dict` returns it.
    others : dict
        Columns that are written beside those of the table: what is kept, and the numbers of rows
        that have no id. `to_dict` leaves them out.
    """

    files: tuple[str, ...]
    n: int
    n_labelled: int
    source: str
    model: str | None
    question: str | None
    columns: tuple[str, ...]
    mean_mass: float | None
    n_open: int
    unreported: tuple[str, ...]
    n_nameless: int
    left_out: tuple[int, ...]
    refused: tuple[str, ...]
    failed: tuple[str, ...]
    several: tuple[str, ...]
    unstated: tuple[str, ...]
    silent: tuple[str, ...]
    why: dict[str, Any]
    n_other: int
    decimals: int | None
    n_normalised: int
    n_tied: int
    n_one_class: int
    n_unknown: int = 0
    class_columns: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()
    votes: dict[str, float] | None = None
    asked: dict[str, Any] | None = None
    others: dict[str, list[object]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = asdict(replace(self, others={}))
        del values["others"]
        return values


class Import(NamedTuple):
    """A table of saved answers, and what is to be known of it."""

    table: ProbabilityTable
    summary: ImportSummary


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
    only: str | Sequence[str] = (),
    normalise: str | None = None,
    key: str | None = None,
    answer: str = "stated",
    last: bool = False,
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
    only : str or sequence of str
        Which answers are read: those of a model, or of a question, by the first letters of its
        fingerprint; or rows where ``"COLUMN=VALUE"``.
    normalise : {"characters"}, optional
        Divide the log-likelihoods of choices by the lengths of their texts, which are no handicap
        then; for samples of harnesses.
    key : str, optional
        Of answers in JSON, the key whose value is the label.
    answer : {"stated", "last"}
        Which label is read: the one that is stated, or else the only one of the last sentence.
    last : bool, default=False
        Whether of several labels of an id in the file with gold labels the last one counts.

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
    on, _, on_gold = on.partition("=") if on else (None, "", "")
    if on == BY_ROW and gold is None:
        raise InvalidInputError(f"--on {BY_ROW} joins gold labels", hint="Give them with --gold")
    _check_keep(keep, classes)
    wanted = Wanted(
        classes,
        _names(classes, {**columns, **(names or {})}),
        question or "",
        own_labels=gold is None,
        by_character=normalise is not None and bool(check_choice("normalise", normalise, _BY)),
        key=key,
        last=check_choice("answer", answer, ("stated", "last")) == "last",
    )
    truth = None
    if gold is not None:
        truth = read_gold(Path(gold), wanted, on_gold or on, label, last=last)
    kind = None if source is None else SOURCES[check_choice("--from", source, list(SOURCES))]
    only = [only] if isinstance(only, str) else only
    read = Collector(wanted, kind, votes, on, label if gold is None else None, keep, only)
    read.add_all(_values(answers))
    polls = _count_votes(read) if votes else None
    paths = [one for one in answers if isinstance(one, str | os.PathLike)]
    files = tuple(valid_unicode(os.fspath(path)) for path in paths)
    origin = files[0] if len(files) == 1 else f"{len(files)} files" if files else "answers"
    if not read.rows:
        raise _nothing_read(origin, read, (polls and polls.unread) or read.lost)
    table, counts = _scored(read, origin, fill)
    labels = _labels(read, table, truth)
    table = ProbabilityTable(replace(table.rows, labels=labels))
    _warn_of_own_labels(table)
    read.warn_of_mixtures()
    summary = _summary(read, table, polls, files, counts)
    if truth is not None and on != BY_ROW:
        summary = replace(summary, n_unknown=_unknown(truth, table, read))
    warn_of_left_out(origin, summary.why)
    return Import(table, summary)


def _scored(read: Collector, origin: str, fill: Fill | str) -> tuple[ProbabilityTable, Counts]:
    """Return the table of what was read, without labels, and what is to be known of its numbers."""
    rows, classes = [*read.rows.values()], read.wanted.classes
    columns = (*read.wanted.names, MASS)
    location = Places(origin, columns, places=[row.where for row in rows])
    scores, ceiling = _scores(rows, location)
    p, counts = fill_rows(scores, ceiling, location, fill)
    ids, mass = _ids(rows, location), _mass(rows, location)
    counts |= {"n_normalised": 0} if mass is not None else {}
    never = [] if ceiling is None else _never_reported(scores)
    counts["unreported"] = tuple(classes[n] for n in never)
    return ProbabilityTable(p, None, ids, classes, origin, mass), counts


def _labels(read: Collector, table: ProbabilityTable, truth: Gold | None) -> Labels | None:
    """Return the gold labels of the rows: of a file, or those next to the answers, or none."""
    rows, ids = [*read.rows.values()], None if table.ids is None else table.ids.tolist()
    if truth is None:
        cells = [row.label for row in rows]
        places = Places(table.source, (), places=[row.where for row in rows])
        is_told = any(cell is not None for cell in cells)
        return class_indices(cells, read.wanted, places) if is_told else None
    if read.on == BY_ROW:
        numbers = [row.number for row in rows]
        return join_by_row(truth, numbers, ids, read.n_answers, table.source)
    return join_by_id(truth.labels, ids, table.source)


def _unknown(truth: Gold, table: ProbabilityTable, read: Collector) -> int:
    """Return how many labels are of ids that no answer has."""
    labelled = {name for name, index in truth.labels.items() if index != UNLABELLED}
    known = {one.name for one in read.lost}.union(() if table.ids is None else table.ids)
    return len(labelled - known)


def _warn_of_own_labels(table: ProbabilityTable) -> None:
    labels = np.full(len(table), UNLABELLED) if table.labels is None else table.labels
    scored = labels != UNLABELLED
    n_alike = int((scored & (labels == table.probabilities.argmax(axis=1))).sum())
    tell_own_labels(table.source, n_alike, int(scored.sum()))


def _summary(
    read: Collector,
    table: ProbabilityTable,
    polls: _Polls | None,
    files: tuple[str, ...],
    counts: Counts,
) -> ImportSummary:
    """Return what an import came to."""
    rows, source = [*read.rows.values()], read.source
    assert source is not None  # it has read rows
    numbers = {row.number for row in rows}
    n_labelled = 0 if table.labels is None else int((table.labels != UNLABELLED).sum())
    lost = read.lost if polls is None else polls.unread
    n_read = len(read.lost) + len(rows) if polls is None else int(polls.counts["answers"])
    is_numbered = table.ids is None and polls is None
    others: dict[str, list[object]] = {ROW: [row.number + 1 for row in rows]} if is_numbered else {}
    others |= {name: [_scalar(row.kept[name]) for row in rows] for name in read.keep}
    return ImportSummary(
        files=files,
        n=len(table),
        n_labelled=n_labelled,
        source=source.name if polls is None else "votes",
        model=read.model,
        question=read.question or None,
        columns=tuple(read.questions) if source.takes_first else (),
        mean_mass=None if table.mass is None else float(table.mass.mean()),
        n_nameless=sum(row.names_none for row in rows),
        left_out=tuple(n + 1 for n in range(read.n_answers) if n not in numbers),
        why={"n": len(lost), "of": n_read, "reasons": _reasons(lost)},
        n_other=read.n_other,
        class_columns=rows[0].columns if rows[0].columns != read.wanted.names else (),
        naming=() if n_labelled else tuple(read.naming or ()),
        votes=None if polls is None else polls.counts,
        asked=read.asked_for,
        others=others,
        **{kind: tuple(one.name for one in read.lost if one.kind == kind) for kind in LOST},  # type: ignore[arg-type]
        **counts,
    )


def _nothing_read(origin: str, collector: Collector, lost: Sequence[Lost]) -> InvalidInputError:
    """Return the error for answers of which none could be read."""
    if not collector.n_answers:
        return InvalidInputError(f"{origin}: there are no answers", hint="Give other files")
    kind = Counter(one.kind for one in lost).most_common(1)[0][0]
    has_key = kind == "unstated" and collector.wanted.key is not None
    told = (f"{one['reason']}: {one['n']:,}, such as {one['example']}" for one in _reasons(lost))
    return InvalidInputError(
        f"{origin}: there are no answers with probabilities or votes; {'; '.join(told)}",
        hint="Give --key the name of another key" if has_key else _HINTS[kind],
    )


def _reasons(lost: Sequence[Lost]) -> list[dict[str, Any]]:
    """Return why answers are left out, the three commonest reasons, each with an example."""
    counts = Counter(one.why for one in lost)
    first = {one.why: one for one in reversed(lost)}
    return [
        {"reason": why, "n": n, "example": shown(first[why].said or first[why].name)}
        for why, n in counts.most_common(_MOST_REASONS)
    ]


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
    for number, source in enumerate(answers, 1):
        if not isinstance(source, str | os.PathLike):
            yield Found(f"answer {number}", source)
        elif Path(source).is_dir():
            seen: set[str] = set()
            for path in parts_of(Path(source)):
                for count, row in enumerate(json_rows(path, seen), 1):
                    yield Found(f"{path}: row {count}", row)
        else:
            yield from read_values(Path(source))


def _columns(
    answers: Sequence[Answers], classes: Sequence[str] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the classes, and the columns that hold them in a recorded folder."""
    paths = [Path(path) for path in answers if isinstance(path, str | os.PathLike)]
    folders = [path for path in paths if path.is_dir()]
    layout = layout_of(folders[0], classes) if folders else None
    if layout is not None:
        return layout.classes, dict(zip(layout.classes, layout.probabilities, strict=True))
    if classes is None:
        hint = "Name the classes with --classes A,B,C"
        raise InvalidInputError("the answers do not name the order of the classes", hint=hint)
    return check_classes(classes), {}


def _names(classes: tuple[str, ...], called: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the answers call each class."""
    unknown = [name for name in called if name not in classes]
    if unknown:
        raise InvalidInputError(
            f"--map names {unknown[0]!r}, which is not a class",
            hint=f"The classes are {listed(classes)}",
        )
    names = tuple(called.get(name, name) for name in classes)
    if len(set(names)) < len(names):
        raise InvalidInputError(
            f"two classes have the same name in the answers: {listed(names)}",
            hint="Give each class a name of its own with --map",
        )
    return names


class _Polls(NamedTuple):
    """What was counted where answers are votes, and the answers that are none."""

    counts: dict[str, float]
    unread: list[Lost]


def _count_votes(read: Collector) -> _Polls:
    """Give rows their shares of votes, and lose those without a vote."""
    polled, reader = _of_one_stem([*read.rows.values()]), read.wanted.reader
    read.rows, read.n_answers = {}, len(polled)
    texts = [text for row in polled for text in row.texts]
    if len(texts) == len(polled) > 1:
        raise InvalidInputError(
            f"{polled[1].where}: the id {polled[1].row_id!r} is given once, as all are",
            hint="For votes, give all answers to a row the same id, and name its key with --on",
        )
    cast, unread = [], []
    for number, row in enumerate(polled):
        votes = [reader.vote(ModelAnswer(text)) for text in row.texts]
        name = row.where if row.row_id is None else str(row.row_id)
        for text, vote in zip(row.texts, votes, strict=True):
            if vote is None:
                kind = "refused" if text is None else LOSSES[reader.state(text).reason]
                unread.append(Lost(kind, name, LOST[kind], text or ""))
        if n := len(votes) - votes.count(None):
            cast.append(n)
            share = n / len(votes)
            scores = reader.shares(votes).captured / share
            read.rows[number] = replace(row, scores=scores, mass=share, number=number)
        else:
            read.lost.append(Lost("refused", name, "no answer to the row is a vote"))
    counts = {
        "answers": len(texts),
        "refused": texts.count(None),
        "unmatched": len(texts) - texts.count(None) - sum(cast),
        "fewest": min(cast, default=0),
        "most": max(cast, default=0),
        "added": 0.5,
    }
    return _Polls(counts, unread)


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
            hint="Give the word for it in the answers with --map (token_id:7 is the "
            "token with this number), or ask for more top_logprobs",
        )
    return scores, np.array([row.scores if row.ceiling is None else row.ceiling for row in rows])


def _never_reported(scores: Floats) -> list[int]:
    """Return the classes of which no row reports a token."""
    return np.flatnonzero((scores == 0).all(axis=0)).tolist()


def _ids(rows: Sequence[Row], location: Places) -> NDArray[np.object_] | None:
    """Return the rows' ids, None where answers have none."""
    ids = [row.row_id for row in rows]
    if all(row_id is None for row_id in ids):
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
        if known:
            without = f"{len(rows) - len(known):,} of {len(rows):,} rows"
            warn(f"captured mass is left out, for {without} have none")
        return None
    column = len(location.columns) - 1
    return check_mass(known, n_examples=len(known), location=location, column=column)


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
    columns = class_columns(classes, marked=bool(others.keys() - {ROW}))
    with open_writer(out, classes) as writer:
        writer.write(replace(imported.table.rows, others=others, columns=columns))
    content = {"settings": settings, "summary": summary.to_dict(), QUESTION: summary.asked}
    content[LEFT_OUT] = summary.why
    write_text(metadata_path(Path(out)), json.dumps(content, indent=2) + "\n")
