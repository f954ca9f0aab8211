"""From saved answers to a probability table, and what is to be known of it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import join
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base import __version__
from dnip.base.errors import BackendError, CorrectedError, InvalidInputError, listed, shown, warn
from dnip.base.files import valid_unicode, write_text
from dnip.base.typing import Floats, Labels
from dnip.base.validation import check_choice
from dnip.llm.answers.answer import ID_PREFIX, Answer as ModelAnswer, SilentError
from dnip.llm.answers.fill import Fill, fill_rows
from dnip.llm.decisions import mark_of
from dnip.llm.files import Found, Places, read_values
from dnip.llm.questions import KEY, LAST, NAMES, READ, Question, chat_question
from dnip.llm.sources.columns import ANSWERS, COLUMNS, ROWS, are_shares
from dnip.llm.sources.gold import BY_ROW, Gold, class_indices, join_by_id, join_by_row, read_gold
from dnip.llm.sources.opening import SOURCES, Saved, flattened, opened, recognise
from dnip.llm.sources.services import TOKEN_LOGPROBS
from dnip.llm.sources.source import LOST, Answer, LeftOutError, Row, Source, Wanted
from dnip.tables import ProbabilityTable, Scan, open_writer
from dnip.tables.cells import check_ids, check_mass
from dnip.tables.columns import ID, MASS, RESERVED, ROW, class_columns
from dnip.tables.formats import json_rows, parts_of
from dnip.tables.labels import LABEL, UNLABELLED, check_classes
from dnip.tables.origin import LEFT_OUT, QUESTION, metadata_path, warn_of_left_out
from dnip.tables.table import tell_own_labels

# So many reasons are shown.
_MOST_REASONS = 3
# Under which name answers hold the model that gave them, and an id of their own.
_MODEL = ("model", "modelVersion", "model_version", "model_name")
_IDS = (ID, "request_id", "doc_id")
# Columns of which one value at a time makes a table.
_MIXED = re.compile(
    r"(?:.*[_. -])?(?:model|seed|fold|split|epoch|step|checkpoint|run)(?:[_. -]?(?:id|name|no))?",
    re.IGNORECASE,
)
# An id of one of several answers to a row.
_STEM = re.compile(r"(.+)[-_.:/#][a-z]*[0-9]+")
# What log-likelihoods of choices may be divided by.
_BY = ("characters",)

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
        A name in `dnip.llm.sources.opening.SOURCES`; recognised by content by default.
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
        on=on,
        label=label if gold is None else None,
        own_labels=gold is None,
        keep=keep,
        only=(only,) if isinstance(only, str) else tuple(only),
        voting=votes,
        by_character=normalise is not None and bool(check_choice("normalise", normalise, _BY)),
        key=key,
        last=check_choice("answer", answer, ("stated", "last")) == "last",
    )
    truth = None
    if gold is not None:
        truth = read_gold(Path(gold), wanted, on_gold or on, label, last=last)
    kind = None if source is None else SOURCES[check_choice("--from", source, list(SOURCES))]
    paths = [one for one in answers if isinstance(one, str | os.PathLike)]
    files = tuple(valid_unicode(os.fspath(path)) for path in paths)
    origin = files[0] if len(files) == 1 else f"{len(files)} files" if files else "answers"
    read = _read(_values(answers), wanted, kind)
    if votes:
        read = _with_votes(read)
    if not read.rows:
        raise _nothing_read(origin, read)
    read.kinds.check_one()
    table, counts = _scored(read, origin, fill)
    labels = _joined(read, table, truth)
    table = ProbabilityTable(table.changed(labels=labels))
    _warn_of_own_labels(table)
    read.kinds.warn_of_mixtures()
    summary = _summary(read, table, truth, files, counts)
    warn_of_left_out(origin, summary.why)
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
    settings, summary = {"package_version": __version__}, imported.summary
    classes, others = imported.table.classes, summary.others
    # Beside other columns, p_ tells which are the classes.
    columns = class_columns(classes, marked=bool(others.keys() - {ROW}))
    with open_writer(out) as writer:
        writer.write(imported.table.changed(others=others, columns=columns))
    content = {"settings": settings, "summary": summary.to_dict(), QUESTION: summary.asked}
    content[LEFT_OUT] = summary.why
    write_text(metadata_path(Path(out)), json.dumps(content, indent=2) + "\n")


# --- reading: which answers, and what each of them says ---
class _Kinds:
    """Of what kinds answers are. Those that are read are of one source, model and question.

    Attributes
    ----------
    source : Source or None
        Recognised in the first answer where it is not given.
    chosen, others : _Counts
        Of the answers that ``--only`` chooses, and of the others.
    questions : dict
        The names of the questions in answers, as keys.
    """

    def __init__(self, wanted: Wanted, source: Source | None) -> None:
        self.wanted, self.source = wanted, source
        self.chosen, self.others = _Counts(), _Counts()
        self.questions: dict[str, None] = {}

    @property
    def model(self) -> str | None:
        """The model that is read, where answers tell."""
        return next((asked.model for asked in self.chosen.asked if asked.model), None)

    @property
    def question(self) -> str:
        """The name of the question that is read: the one that is wanted, or the first."""
        return self.wanted.question or next(iter(self.questions), "")

    def question_to(self, saved: Saved, *, is_first: bool) -> tuple[Source, str | None]:
        """Return the source of an answer, and which of its questions is read; None for no one."""
        source = self._source_of(saved, is_first=is_first)
        if not self._takes(saved, source):
            return source, None
        names = [*source.texts(saved.content)] if self.wanted.voting else []
        names = names or [*source.questions(saved.content)]
        if not names:
            raise LeftOutError("silent", "no log-probabilities are there")
        self.questions.update((name, None) for name in names if name not in self._beside)
        if not self.wanted.question and len(self.questions) > 1 and not source.takes_first:
            raise InvalidInputError(
                f"there are several questions: {listed([*self.questions])}",
                hint="Name one of them with --question",
            )
        return source, self.question if self.question in names else None

    def _source_of(self, saved: Saved, *, is_first: bool) -> Source:
        """Return the source of an answer; all are of one."""
        self.source = self.source or recognise(saved.content)
        if self.source is ROWS and is_first and are_shares(saved.content, self.wanted):
            self.source = COLUMNS
        if self.source is None:
            known = "; ".join(f"{name}: {source.title}" for name, source in SOURCES.items())
            raise InvalidInputError(
                "this is an answer of no known source", hint=f"The sources are {known}"
            )
        is_row = self.source is ROWS and isinstance(saved.line, dict)  # its cell may be empty
        if not is_row and not self.source.recognises(saved.content):
            raise InvalidInputError(
                f"this is not an answer of the source {self.source.name} ({self.source.title})",
                hint="Import answers of another kind into a table of their own",
            )
        return self.source

    def _takes(self, saved: Saved, source: Source) -> bool:
        """Count an answer by its model, question and columns; return whether it is to be read."""
        asked = _question_of(saved, source, self.wanted.classes)
        cells = saved.line if isinstance(saved.line, dict) else {}
        values = self.wanted.only_values
        kinds = {
            name: str(cell)
            for name, cell in cells.items()
            if (name in values or _MIXED.fullmatch(name)) and isinstance(cell, str | int | float)
        }
        is_row = all(str(cells.get(name)) == value for name, value in values.items())
        is_chosen = is_row and self._is_chosen(asked)
        (self.chosen if is_chosen else self.others).add(asked, kinds)
        return is_chosen

    def check_one(self) -> None:
        """Refuse answers to several questions or of several models; list them with their counts."""
        chosen = self.chosen.named
        fields = zip(*(vars(asked).values() for asked in chosen), strict=True)
        if any(len({*values} - {None}) > 1 for values in fields):
            raise InvalidInputError(
                f"the answers are to {len(chosen)} questions or of as many models: "
                f"{_counted(chosen)}",
                hint="Choose one with --only: the first letters of a fingerprint, or a model; "
                "messages before the user's last one are part of a question",
            )

    def none_chosen(self) -> InvalidInputError:
        """Return the error where answers are there, but none of the kind that is wanted."""
        if not self.chosen.asked:
            columns = (
                f"{name}: {listed([*counts])}" for name, counts in self.others.columns.items()
            )
            there = listed([*filter(None, [_counted(self.others.named), *columns])]) or "none"
            return InvalidInputError(
                f"no answer is of {listed(self.wanted.only)}; models and columns: {there}",
                hint="Give --only a model, the first letters of a fingerprint, or COLUMN=VALUE",
            )
        if names := [name for name in self.questions if name]:
            return InvalidInputError(
                f"no answer has the question {self.question!r}; the questions are {listed(names)}",
                hint="Leave --question out, or name one of these; columns of classes are named "
                "with --map CLASS=COLUMN",
            )
        if self.wanted.question:
            return InvalidInputError(
                f"the answers have no questions, of which --question {self.wanted.question} could "
                "choose one",
                hint="Leave --question out; columns of classes are named with --map CLASS=COLUMN",
            )
        return InvalidInputError(
            f"there is nothing to read but what holds ids or labels ({listed(self._beside)})",
            hint="Name it with --question to read it; without --votes, probabilities are read",
        )

    def to_dict(self) -> dict[str, Any] | None:
        """Return what is known of the question, for the metadata of the table."""
        whole = [
            asked for asked in self.chosen.asked if asked.model == self.model and asked.options
        ]
        if not whole:
            return None
        asked = max(whole, key=lambda asked: asked.fixed is not None).to_dict()
        names, classes = self.wanted.names, self.wanted.classes
        is_text = self.source in (TOKEN_LOGPROBS, ROWS)
        if is_text and names != classes and not names[0].startswith(ID_PREFIX):
            asked[NAMES] = dict(zip(classes, names, strict=True))
        if self.wanted.key is not None:
            asked[KEY] = self.wanted.key
        if self.wanted.last:
            asked[READ] = LAST
        return asked

    def warn_of_mixtures(self) -> None:
        """Warn where rows are of several models, seeds, folds or the like."""
        wanted = self.wanted
        used = {wanted.on, wanted.label, *wanted.keep, *wanted.only_values}
        several = {
            name: listed([f"{value} ({n:,})" for value, n in counts.items()])
            for name, counts in self.chosen.columns.items()
            if len(counts) > 1 and name not in used
        }
        if several and self.source in (COLUMNS, ROWS):
            kinds = "; ".join(f"{name}: {values}" for name, values in several.items())
            # The values of the first row, beside what was asked for: at least this row has all.
            first = [f"{name}={next(iter(self.chosen.columns[name]))}" for name in several]
            choice = join([word for one in (*wanted.only, *first) for word in ("--only", one)])
            warn(
                f"rows of several kinds are in one table ({kinds}); coefficients are for one of "
                f"them: choose, as with {choice}"
            )

    @property
    def _beside(self) -> list[str]:
        """What holds the ids and the labels, which are no question."""
        return [*filter(None, (self.wanted.on, self.wanted.label or LABEL))]

    def _is_chosen(self, asked: Question) -> bool:
        return all(
            asked.model == name or asked.fingerprint.startswith(name)
            for name in self.wanted.only
            if "=" not in name
        )


class _Counts:
    """How many answers there are of each kind.

    Attributes
    ----------
    asked : dict of Question to int
        To each question, of each model.
    columns : dict of dict
        With each value, of columns such as model, seed and fold.
    """

    def __init__(self) -> None:
        self.asked: Counter[Question] = Counter()
        self.columns: dict[str, Counter[str]] = {}

    @property
    def named(self) -> dict[Question, int]:
        """Those whose answers tell a model or a form."""
        return {asked: n for asked, n in self.asked.items() if asked.model or asked.form}

    def add(self, asked: Question, kinds: Mapping[str, str]) -> None:
        """Count an answer, by its question and by its values."""
        self.asked[asked] += 1
        for name, value in kinds.items():
            self.columns.setdefault(name, Counter())[value] += 1


def _question_of(saved: Saved, source: Source, classes: tuple[str, ...]) -> Question:
    """Return the question of an answer, as far as the answer and its request tell."""
    content = saved.content if isinstance(saved.content, dict) else {}
    if isinstance(recorded := content.get(QUESTION), str):  # by a sidecar
        with suppress(ValueError, RecursionError):
            if (question := Question.read(json.loads(recorded))) is not None:
                return question
    within = content.get("response_metadata")
    holders = [content, within if isinstance(within, dict) else {}]
    models = (holder.get(key) for holder in holders for key in _MODEL)
    model = next((name for name in models if isinstance(name, str)), None)
    request = saved.request
    if source not in (TOKEN_LOGPROBS, ROWS) or (request is None and source is ROWS):
        return Question.of(model, "", ())
    if request is not None:
        question = chat_question(request, classes, model)
        # Messages next to the answer do not show what else was asked for.
        is_whole = {"response", "choices"}.isdisjoint(request)
        return question if is_whole else replace(question, answer=None)
    choices = content.get("choices")
    is_text = isinstance(choices, list) and any("text" in choice for choice in choices)
    return Question.of(model, "plain" if is_text else "chat", classes)


def _counted(asked: Mapping[Question, int]) -> str:
    """List questions with how many answers each has."""
    return listed(
        [
            f"{question.model or 'an unknown model'}{', ' + question.form if question.form else ''}"
            f" ({question.fingerprint[:8]}): {n:,}"
            for question, n in asked.items()
        ]
    )


class _Lost(NamedTuple):
    """An answer that is left out: its id, or where it lies, and why."""

    name: str
    cause: LeftOutError


class _Kept(NamedTuple):
    """A row of the table to be.

    Attributes
    ----------
    row : Row or None
        What the answer says of the classes; None where votes are to be counted.
    number : int
        Which of all answers it is, from 0.
    where : str
        Where it lies.
    row_id, label : object
        What stands next to it, None where nothing does.
    cells : dict
        What is carried into the table, by name.
    texts : list
        The answers to the row, where their votes are counted; None for a refusal.
    """

    row: Row | None
    number: int
    where: str
    row_id: object
    label: object
    cells: dict[str, object]
    texts: list[str | None]


@dataclass
class _Read:
    """What was read of answers."""

    wanted: Wanted
    kinds: _Kinds
    rows: list[_Kept] = field(default_factory=list)
    lost: list[_Lost] = field(default_factory=list)
    n_answers: int = 0
    n_other: int = 0
    # Columns, but those of answers, that hold names of classes and nothing else; None before a row.
    naming: list[str] | None = None
    # The row of each id and label, where votes are to be counted.
    polled: dict[object, _Kept] = field(default_factory=dict)
    # What was counted where answers are votes, and the answers that are none.
    votes: dict[str, float] | None = None
    unread: list[_Lost] = field(default_factory=list)

    @property
    def places(self) -> list[str]:
        """Where the rows lie."""
        return [kept.where for kept in self.rows]

    def add(self, where: str, line: Answer) -> None:
        """Read an answer."""
        saved, wanted, number = opened(line), self.wanted, self.n_answers
        texts: Sequence[str | None] = ()
        row = cause = None
        self.n_answers += 1
        try:
            if saved.failed:
                raise LeftOutError("failed")
            source, question = self.kinds.question_to(saved, is_first=not self.rows)
            if question is None:
                self.n_other += 1
                return
            if (by := mark_of(saved.content, question)) is not None:
                raise CorrectedError.at("the answer", by)
            if wanted.voting:
                texts = source.texts(saved.content).get(question, ())
            else:
                row = source.read(saved.content, replace(wanted, question=question))
        except LeftOutError as error:
            cause = error
        except SilentError as error:
            cause = LeftOutError("silent", error.message, error.hint)
        row_id = saved.batch_id if saved.failed else _id_of(saved, wanted)
        if cause is not None:
            self.lost.append(_Lost(where if row_id is None else str(row_id), cause))
            return
        label = _label_of(saved, wanted, row)
        cells = {name: saved.held(name, "--keep") for name in wanted.keep}
        kept = _Kept(row, number, where, row_id, label, cells, [])
        # Other labels stay apart: then the id is there twice.
        key = (str(row_id), str(label)) if wanted.voting and row_id is not None else number
        known = self.polled.setdefault(key, kept) if wanted.voting else kept
        known.texts.extend(texts)
        if known is kept:
            self.rows.append(kept)
        if not (wanted.voting and source is COLUMNS):  # whose texts are answers
            self._look_for_names(line if isinstance(line, dict) else {})

    def _look_for_names(self, cells: dict[str, Any]) -> None:
        known = {name.casefold() for name in (*self.wanted.classes, *self.wanted.names)}
        columns = cells if self.naming is None else self.naming
        self.naming = [
            name
            for name in columns
            if name not in ANSWERS and str(cells.get(name)).strip().casefold() in known
        ]


def _read(values: Iterator[Found], wanted: Wanted, source: Source | None) -> _Read:
    """Read answers, or lists of answers.

    Raises
    ------
    InvalidInputError
        For the first answer that is damaged, or does not agree with those before.
    """
    read = _Read(wanted, _Kinds(wanted, source))
    for where, line in flattened(values):
        try:
            read.add(where, line)
        except (InvalidInputError, BackendError) as error:
            raise InvalidInputError(f"{where}: {error.message}", hint=error.hint) from error
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            kind = "" if read.kinds.source is None else f" of the source {read.kinds.source.name}"
            raise InvalidInputError(
                f"{where}: the answer is not whole, or not in a shape{kind} that is known",
                hint="Import answers as their service wrote them, or leave this one out",
            ) from error
    return read


def _id_of(saved: Saved, wanted: Wanted) -> object:
    if wanted.on not in (None, BY_ROW):
        return saved.held(str(wanted.on), "--on")
    ids = [saved.batch_id, *(held.get(key) for key in _IDS for held in saved.holders)]
    return next((row_id for row_id in ids if row_id is not None), None)


def _label_of(saved: Saved, wanted: Wanted, row: Row | None) -> object:
    if not wanted.own_labels:
        return None
    if wanted.label is not None:
        return saved.held(wanted.label, "--label")
    label = next((held[LABEL] for held in saved.holders if LABEL in held), None)
    return row.label if label is None and row is not None else label


def _nothing_read(origin: str, read: _Read) -> InvalidInputError:
    """Return the error for answers of which none could be read."""
    if not read.n_answers:
        return InvalidInputError(f"{origin}: there are no answers", hint="Give other files")
    lost = read.unread or read.lost
    if not lost:
        return read.kinds.none_chosen()
    told = (f"{one['reason']}: {one['n']:,}, such as {one['example']}" for one in _reasons(lost))
    [(commonest, _)] = Counter(one.cause.why for one in lost).most_common(1)
    return InvalidInputError(
        f"{origin}: there are no answers with probabilities or votes; {'; '.join(told)}",
        hint=next(one.cause.hint for one in lost if one.cause.why == commonest),
    )


def _reasons(lost: Sequence[_Lost]) -> list[dict[str, Any]]:
    """Return why answers are left out, the commonest reasons, each with an example."""
    counts = Counter(one.cause.why for one in lost)
    first = {one.cause.why: one for one in reversed(lost)}
    return [
        {"reason": why, "n": n, "example": shown(first[why].cause.said or first[why].name)}
        for why, n in counts.most_common(_MOST_REASONS)
    ]


# --- votes ---
def _with_votes(read: _Read) -> _Read:
    """Return the rows with their shares of votes; those without a vote are lost."""
    if not read.rows:
        return read
    polled, reader = _of_one_stem(read.rows), read.wanted.reader
    texts = [text for kept in polled for text in kept.texts]
    if len(texts) == len(polled) > 1:
        row_id, where = polled[1].row_id, polled[1].where
        told = f"the id {row_id!r} is given once, as all are"
        raise InvalidInputError(
            f"{where}: {'the answer has no id' if row_id is None else told}",
            hint="For votes, give all answers to a row the same id, and name its key with --on",
        )
    rows, lost, unread, cast = [], [*read.lost], [], []
    for number, kept in enumerate(polled):
        votes = [reader.vote(ModelAnswer(text)) for text in kept.texts]
        name = kept.where if kept.row_id is None else str(kept.row_id)
        for text, vote in zip(kept.texts, votes, strict=True):
            if text is None:
                unread.append(_Lost(name, LeftOutError("refused")))
            elif vote is None:
                reason = reader.state(text).reason
                unread.append(_Lost(name, LeftOutError.unread(reason, text, read.wanted.key)))
        if n := len(votes) - votes.count(None):
            cast.append(n)
            share = n / len(votes)
            row = Row(reader.shares(votes) / share, mass=share)
            rows.append(kept._replace(row=row, number=number))
        else:
            lost.append(_Lost(name, LeftOutError("refused", "no answer to the row is a vote")))
    counts = {
        "answers": len(texts),
        "refused": texts.count(None),
        "unmatched": len(texts) - texts.count(None) - sum(cast),
        "fewest": min(cast, default=0),
        "most": max(cast, default=0),
        "added": 0.5,
    }
    n = len(polled)
    return replace(read, rows=rows, lost=lost, n_answers=n, votes=counts, unread=unread)


def _of_one_stem(polled: list[_Kept]) -> list[_Kept]:
    """Join answers whose ids differ only in a last number, such as 7-0 and 7-1, where all do."""
    stems = [_STEM.fullmatch(str(kept.row_id)) for kept in polled]
    if not all(stems) or not all(len(kept.texts) == 1 for kept in polled):
        return polled
    joined: dict[object, _Kept] = {}
    for kept, stem in zip(polled, stems, strict=True):
        first = kept._replace(row_id=stem and stem[1], texts=[])
        joined.setdefault((first.row_id, str(first.label)), first).texts.extend(kept.texts)
    enough = 2 * len(joined) <= len(polled)
    return [*joined.values()] if enough else polled


# --- scoring and joining ---
def _scored(read: _Read, origin: str, fill: Fill | str) -> tuple[ProbabilityTable, dict[str, Any]]:
    """Return the table of what was read, without labels, and fields of its summary."""
    _check_numbers(read)
    rows = [kept.row for kept in read.rows if kept.row is not None]
    classes, names = read.wanted.classes, read.wanted.names
    location = Places(origin, (*names, MASS), places=read.places)
    scores, ceiling, never = np.array([row.scores for row in rows]), None, []
    if any(row.ceiling is not None for row in rows):
        ceiling = np.array([row.scores if row.ceiling is None else row.ceiling for row in rows])
        never = np.flatnonzero((scores == 0).all(axis=0)).tolist()
    if never and (len(never) > len(names) - 2 or any(row.names_none for row in rows)):
        raise InvalidInputError(
            f"{origin}: no answer reports a token of {names[never[0]]}",
            hint="Give the word for it in the answers with --map (token_id:7 is the token with "
            "this number), or ask for more top_logprobs",
        )
    p, counts = fill_rows(scores, ceiling, location, fill)
    ids, mass = _ids(read, location), _mass(rows, location)
    counts |= {"n_normalised": 0} if mass is not None else {}
    counts["unreported"] = tuple(classes[n] for n in never)
    return ProbabilityTable(p, None, ids, classes, origin, mass), counts


def _check_numbers(read: _Read) -> None:
    """Refuse a table in which some rows hold log-probabilities, and others do not."""
    first = {kept.row.logarithms: kept.number + 1 for kept in reversed(read.rows)
             if kept.row is not None and kept.row.columns}  # fmt: skip
    if len(first) > 1:
        raise InvalidInputError(
            f"the numbers of row {first[True]} are all below 0, as log-probabilities are, but "
            f"those of row {first[False]} are not",
            hint="Take a softmax of logits first: p = exp(x) / sum(exp(x))",
        )


def _ids(read: _Read, location: Places) -> NDArray[np.object_] | None:
    """Return the rows' ids, None where answers have none."""
    ids = [kept.row_id for kept in read.rows]
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


def _joined(read: _Read, table: ProbabilityTable, truth: Gold | None) -> Labels | None:
    """Return the gold labels of the rows: of a file, or those next to the answers, or none."""
    ids = None if table.ids is None else table.ids.tolist()
    if truth is None:
        cells = [kept.label for kept in read.rows]
        if all(cell is None for cell in cells):
            return None
        return class_indices(cells, read.wanted, Places(table.source, (), places=read.places))
    if read.wanted.on == BY_ROW:
        numbers = [kept.number for kept in read.rows]
        return join_by_row(truth, numbers, ids, read.n_answers, table.source)
    return join_by_id(truth.labels, ids, table.source)


def _warn_of_own_labels(table: ProbabilityTable) -> None:
    labels = np.full(len(table), UNLABELLED) if table.labels is None else table.labels
    scored = labels != UNLABELLED
    n_alike = int((scored & (labels == table.probabilities.argmax(axis=1))).sum())
    tell_own_labels(table.source, n_alike, int(scored.sum()))


# --- what an import came to ---
def _summary(
    read: _Read,
    table: ProbabilityTable,
    truth: Gold | None,
    files: tuple[str, ...],
    counts: Mapping[str, Any],
) -> ImportSummary:
    """Return what an import came to."""
    rows, wanted, kinds, source = read.rows, read.wanted, read.kinds, read.kinds.source
    assert source is not None  # it has read rows
    numbers = {kept.number for kept in rows}
    n_labelled = 0 if table.labels is None else int((table.labels != UNLABELLED).sum())
    is_vote = read.votes is not None
    lost = read.unread if read.votes else read.lost
    n_read = int(read.votes["answers"]) if read.votes else len(read.lost) + len(rows)
    columns = rows[0].row.columns if rows[0].row else ()
    others: dict[str, list[object]] = {}
    if table.ids is None and not is_vote:
        others[ROW] = [kept.number + 1 for kept in rows]
    for name in wanted.keep:
        others[name] = [_scalar(kept.cells[name]) for kept in rows]
    return ImportSummary(
        files=files,
        n=len(table),
        n_labelled=n_labelled,
        source="votes" if is_vote else source.name,
        model=kinds.model,
        question=kinds.question or None,
        columns=tuple(kinds.questions) if source.takes_first else (),
        mean_mass=None if table.mass is None else float(table.mass.mean()),
        n_nameless=sum(kept.row is not None and kept.row.names_none for kept in rows),
        left_out=tuple(n + 1 for n in range(read.n_answers) if n not in numbers),
        why={"n": len(lost), "of": n_read, "reasons": _reasons(lost)},
        n_other=read.n_other,
        n_unknown=0 if truth is None or wanted.on == BY_ROW else _unknown(truth, table, read),
        class_columns=columns if columns != wanted.names else (),
        naming=() if n_labelled else tuple(read.naming or ()),
        votes=read.votes,
        asked=kinds.to_dict(),
        others=others,
        **{kind: tuple(one.name for one in read.lost if one.cause.kind == kind) for kind in LOST},  # type: ignore[arg-type]
        **counts,
    )


def _unknown(truth: Gold, table: ProbabilityTable, read: _Read) -> int:
    """Return how many labels are of ids that no answer has."""
    labelled = {name for name, index in truth.labels.items() if index != UNLABELLED}
    known = {one.name for one in read.lost}.union(() if table.ids is None else table.ids)
    return len(labelled - known)


def _scalar(value: object) -> object:
    """Return a value that a cell can hold: lists and objects as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


# --- files, classes and their names ---
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
    layout = Scan(folders[0], classes).layout if folders else None
    # Records of an earlier version do not mark which columns are classes.
    if layout is not None and (classes is not None or layout.probabilities != layout.classes):
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
