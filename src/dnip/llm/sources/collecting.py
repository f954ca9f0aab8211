"""Answers gathered one by one: what all must agree on, and what is kept of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import BackendError, CorrectedError, InvalidInputError, listed, warn
from dnip.llm.answers.completions import ID_PREFIX, SilentError
from dnip.llm.answers.stating import NO_KEY, NONE, SEVERAL
from dnip.llm.decisions.correction import mark_of
from dnip.llm.files import Found
from dnip.llm.questions import KEY, LAST, NAMES, READ, Question, chat_question
from dnip.llm.sources.columns import ANSWERS, COLUMNS, ROWS, are_shares, parsed, scores_in
from dnip.llm.sources.gold import BY_ROW, MISSING, nested
from dnip.llm.sources.harness import answers_in, check_known, unwrapped
from dnip.llm.sources.registry import SOURCES, recognise
from dnip.llm.sources.source import Answer, Row, Source, Wanted
from dnip.tables.columns import ID
from dnip.tables.labels import LABEL
from dnip.tables.origin import QUESTION

#: Under which names a request stands beside its answer, or within what a log keeps of it.
_REQUESTS = ("request", "body", "proxy_server_request")
#: Under which name answers hold the model that gave them.
_MODEL = ("model", "modelVersion", "model_version", "model_name")
#: Under which names they hold an id of their own.
_IDS = (ID, "request_id", "doc_id")
#: Under which names an object holds a list of rows.
_HOLDERS = ("data", "results", "responses", "predictions", "rows", "records", "items", "answers")
#: Under which names a line of a batch holds the id of its request.
_BATCH_IDS = ("custom_id", "key", "recordId")
# Columns of which one value at a time makes a table.
_MIXED = re.compile(
    r"(?:.*[_. -])?(?:model|seed|fold|split|epoch|step|checkpoint|run)(?:[_. -]?(?:id|name|no))?",
    re.IGNORECASE,
)
#: Why answers are left out, in words.
LOST = {
    "refused": "the model refuses",
    "failed": "the request failed",
    "several": "several labels are stated",
    "unstated": "no label is stated",
    "silent": "there are no probabilities",
}
#: By the reasons of statements.
LOSSES = {SEVERAL: "several", NONE: "unstated", NO_KEY: "unstated"}


class Lost(NamedTuple):
    """An answer that is left out.

    Attributes
    ----------
    kind : str
        One of `LOST`.
    name : str
        Its id, or where it lies.
    why : str
        In words.
    said : str
        What it says, where that is why.
    """

    kind: str
    name: str
    why: str
    said: str = ""


@dataclass
class Collector:
    """Reads answers that must be of one source, one model and one question.

    Attributes
    ----------
    wanted : Wanted
        Without a question, the answers may hold one only.
    source : Source or None
        Recognised in the first answer where it is not given.
    voting : bool
        Whether the texts of answers are kept, all those to one row together.
    on, label : str or None
        The names under which answers hold their ids and labels, where they are given.
    keep : sequence of str
        The names of what is carried into the table.
    only : sequence of str
        A model, or the first letters of a fingerprint, or COLUMN=VALUE: others are left out.
    model, question : str or None
        What the answers say.
    rows : dict of Row
        The rows of the table to be, by number; by id and label where texts are kept.
    n_answers : int
        Answers so far, those that are left out included.
    lost : list of Lost
        Answers that are left out.
    silence : SilentError or None
        Why the first of the last ones is left out.
    n_other : int
        Answers without the question, or of another one than is asked for.
    questions : dict
        The names of all questions so far, as keys.
    asked : dict of Question to int
        How many answers there are to each question, of each model.
    naming : dict or None
        Columns, but those of answers, that hold the names of classes and nothing else, as keys;
        None before the first row.
    mixtures : dict of dict
        How many rows have each value, of columns such as model, seed and fold.
    """

    wanted: Wanted
    source: Source | None = None
    voting: bool = False
    on: str | None = None
    label: str | None = None
    keep: Sequence[str] = ()
    only: Sequence[str] = ()
    model: str | None = None
    question: str | None = None
    rows: dict[object, Row] = field(default_factory=dict)
    n_answers: int = 0
    lost: list[Lost] = field(default_factory=list)
    silence: InvalidInputError | None = None
    n_other: int = 0
    questions: dict[str, None] = field(default_factory=dict)
    asked: dict[Question, int] = field(default_factory=dict)
    naming: dict[str, None] | None = None
    mixtures: dict[str, dict[str, int]] = field(default_factory=dict)

    def add_all(self, values: Iterable[Found]) -> None:
        """Add values of files: answers, or lists of answers.

        Raises
        ------
        InvalidInputError
            For the first answer that is damaged, or does not agree with those before.
        """
        for where, content in flattened(values):
            try:
                self._add(where, content)
            except (InvalidInputError, BackendError) as error:
                raise InvalidInputError(f"{where}: {error.message}", hint=error.hint) from error
            except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
                kind = "" if self.source is None else f" of the source {self.source.name}"
                raise InvalidInputError(
                    f"{where}: the answer is not whole, or not in a shape{kind} that is known",
                    hint="Import answers as their service wrote them, or leave this one out",
                ) from error
        self._check_asked()
        if self.silence is not None and not self.rows:
            raise self.silence
        if self.n_other == self.n_answers > 0 and not any(self.questions):
            raise InvalidInputError(
                f"these are rows without questions, of which --question {self.question} could "
                "choose one",
                hint="Leave --question out; columns of classes are named with --map CLASS=COLUMN",
            )
        if self.n_other == self.n_answers > 0:
            raise InvalidInputError(
                f"no answer has the question {(self.question or '')!r}; the questions are "
                f"{listed(tuple(self.questions))}",
                hint="Name one of them with --question",
            )

    def _add(self, where: str, saved: Answer) -> None:
        number = self.n_answers
        self.n_answers += 1
        content, batch_id, failed = _open_envelope(saved)
        content = unwrapped(content)
        if isinstance(content, dict) and SOURCES["decisions"].recognises(content.get("raw")):
            content = content["raw"]  # beside what LangChain corrected
        is_empty = self.source is ROWS and not failed and not ROWS.recognises(content)
        if failed or (is_empty and isinstance(saved, dict)):
            row_id = batch_id if failed else self._id([saved], batch_id, None)
            if failed:
                self._lose("failed", row_id, where)
            else:
                self._lose("silent", row_id, where, "no log-probabilities are there")
            return
        is_wanted = self._is_wanted_row(saved)
        source = self._check_source(content)
        asked = self._asked(source, content, _request_beside(saved))
        self.asked[asked] = self.asked.get(asked, 0) + 1
        if not is_wanted or not self._is_chosen(asked):
            self.n_other += 1
            return
        texts = source.texts(content) if self.voting else {}
        names = list(texts or source.questions(content))
        question = self._check_question(names)
        if question not in names:
            self.n_other += 1
            return
        if (by := mark_of(content, question)) is not None:
            raise CorrectedError.at("the answer", by)
        row: Row | None = Row(np.empty(0))
        reason, why = None, ""
        if not self.voting:
            try:
                row = source.read(content, replace(self.wanted, question=question))
            except SilentError as error:
                silence = InvalidInputError(f"{where}: {error.message}", hint=error.hint)
                self.silence, reason, row = self.silence or silence, "silent", None
                why = error.message
        holders = [held for held in (saved, content) if isinstance(held, dict) and "lc" not in held]
        row_id = self._id(holders, batch_id, row)
        if row is None or row.reason:
            reason = reason or ("refused" if row is None else LOSSES[row.reason])
        if row is None or reason is not None:
            self._lose(reason or "", row_id, where, why, "" if row is None else row.said)
            return
        label = self._label_of(holders, row)
        carried = {name: _held(holders, name, "--keep") for name in self.keep}
        row = replace(row, row_id=row_id, label=label, where=where, number=number, kept=carried)
        self._check_numbers(row)
        if not (self.voting and source is COLUMNS):  # whose texts are answers
            self._look_for_names(saved)
        # Other labels stay apart: then the id is there twice.
        key = (str(row_id), str(label)) if self.voting and row_id is not None else number
        self.rows.setdefault(key, row).texts.extend(texts.get(question, ()))

    def _lose(self, kind: str, row_id: object, where: str, why: str = "", said: str = "") -> None:
        name = where if row_id is None else str(row_id)
        if kind == "unstated" and self.wanted.key is not None:
            why = f"no key {self.wanted.key} whose value is a label"
        self.lost.append(Lost(kind, name, why or LOST[kind], said))

    def _check_numbers(self, row: Row) -> None:
        """Refuse a table in which some rows hold log-probabilities, and others do not."""
        first = next(iter(self.rows.values()), row)
        if row.columns and row.logarithms != first.logarithms:
            logarithms, others = (row, first) if row.logarithms else (first, row)
            raise InvalidInputError(
                f"the numbers of row {logarithms.number + 1} are all below 0, as log-probabilities "
                f"are, but those of row {others.number + 1} are not",
                hint="Take a softmax of logits first: p = exp(x) / sum(exp(x))",
            )

    def _look_for_names(self, saved: Answer) -> None:
        """Note which columns of a row hold the name of a class, as those of all rows before."""
        known = {name.casefold() for name in (*self.wanted.classes, *self.wanted.names)}
        cells = saved if isinstance(saved, dict) else {}
        columns = [*cells] if self.naming is None else [*self.naming]
        self.naming = {
            name: None
            for name in columns
            if name not in ANSWERS and str(cells.get(name)).strip().casefold() in known
        }

    def _check_source(self, content: Answer) -> Source:
        self.source = self.source or recognise(content)
        if self.source is ROWS and not self.rows and are_shares(content, self.wanted):
            self.source = COLUMNS
        if self.source is None:
            known = "; ".join(f"{name}: {source.title}" for name, source in SOURCES.items())
            raise InvalidInputError(
                "this is an answer of no known source", hint=f"The sources are {known}"
            )
        if not self.source.recognises(content):
            raise InvalidInputError(
                f"this is not an answer of the source {self.source.name} ({self.source.title})",
                hint="Import answers of another kind into a table of their own",
            )
        return self.source

    def _asked(
        self, source: Source, content: Answer, request: Mapping[str, Any] | None
    ) -> Question:
        """Return the question of an answer, as far as the answer and its request tell."""
        nested = content.get("response_metadata") if isinstance(content, dict) else None
        holders = [holder for holder in (content, nested) if isinstance(holder, dict)]
        if holders and isinstance(recorded := holders[0].get(QUESTION), str):  # by a sidecar
            with suppress(ValueError, RecursionError):
                if (question := Question.read(json.loads(recorded))) is not None:
                    return question
        models = (holder.get(key) for holder in holders for key in _MODEL)
        model = next((name for name in models if isinstance(name, str)), None)
        if request is not None and source.name in ("logprobs", ROWS.name):
            question = chat_question(request, self.wanted.classes, model)
            # Messages next to the answer do not show what else was asked for.
            is_whole = {"response", "choices"}.isdisjoint(request)
            return question if is_whole else replace(question, answer=None)
        if source.name != "logprobs":
            return Question.of(model, "", ())
        choices = holders[0].get("choices") if holders else None
        is_text = isinstance(choices, list) and any("text" in choice for choice in choices)
        return Question.of(model, "plain" if is_text else "chat", self.wanted.classes)

    def _check_asked(self) -> None:
        """Refuse answers to several questions or of several models; list them with their counts."""
        known = {asked: n for asked, n in self.asked.items() if asked.model or asked.form}
        chosen = {asked: n for asked, n in known.items() if self._is_chosen(asked)}
        if self.only and self.n_other == self.n_answers > 0 and not self.questions:
            columns = (f"{name}: {listed([*counts])}" for name, counts in self.mixtures.items())
            there = listed([*filter(None, [_counted(known), *columns])]) or "none"
            raise InvalidInputError(
                f"no answer is of {listed(self.only)}; models and columns: {there}",
                hint="Give --only a model, the first letters of a fingerprint, or COLUMN=VALUE",
            )
        fields = zip(*(vars(asked).values() for asked in chosen), strict=True)
        if any(len({*values} - {None}) > 1 for values in fields):
            models = "a model, or " if len({asked.model for asked in chosen}) > 1 else ""
            raise InvalidInputError(
                f"the answers are to {len(chosen)} questions or of as many models: "
                f"{_counted(chosen)}",
                hint=f"Choose one with --only: {models}the first letters of a fingerprint; "
                "messages before the user's last one are part of a question",
            )
        self.model = next((asked.model for asked in chosen if asked.model is not None), None)

    @property
    def asked_for(self) -> dict[str, Any] | None:
        """What is known of the question, for the metadata of the table."""
        chosen = [asked for asked in self.asked if self._is_chosen(asked)]
        whole = [asked for asked in chosen if asked.model == self.model and asked.options]
        if not whole:
            return None
        asked = max(whole, key=lambda asked: asked.fixed is not None).to_dict()
        names, key, last = self.wanted.names, self.wanted.key, self.wanted.last
        is_text = self.source in (SOURCES["logprobs"], ROWS)
        if is_text and names != self.wanted.classes and not names[0].startswith(ID_PREFIX):
            asked[NAMES] = dict(zip(self.wanted.classes, names, strict=True))
        return asked | ({KEY: key} if key is not None else {}) | ({READ: LAST} if last else {})

    def _is_chosen(self, asked: Question) -> bool:
        names = [only for only in self.only if not self._pairs_of(only)]
        return all(asked.model == name or asked.fingerprint.startswith(name) for name in names)

    def _pairs_of(self, only: str) -> tuple[str, str] | None:
        """Return the column and the value that rows are chosen by; None for a model."""
        column, equals, value = only.partition("=")
        return (column, value) if equals and column in self.mixtures else None

    def _is_wanted_row(self, saved: Answer) -> bool:
        """Count a row by columns such as model and seed; return whether it is to be read."""
        cells = saved if isinstance(saved, dict) else {}
        asked = {only.partition("=")[0] for only in self.only if "=" in only}
        for name, cell in cells.items():
            if (name in asked or _MIXED.fullmatch(name)) and isinstance(cell, str | int | float):
                counts = self.mixtures.setdefault(name, {})
                counts[str(cell)] = counts.get(str(cell), 0) + 1
        pairs = filter(None, map(self._pairs_of, self.only))
        return all(str(cells.get(column)) == value for column, value in pairs)

    def warn_of_mixtures(self) -> None:
        """Warn where rows are of several models, seeds, folds or the like."""
        used = {self.on, self.label, *self.keep, *(only.partition("=")[0] for only in self.only)}
        several = {
            name: listed([f"{value} ({n:,})" for value, n in counts.items()])
            for name, counts in self.mixtures.items()
            if len(counts) > 1 and name not in used
        }
        if several and self.source in (COLUMNS, ROWS):
            kinds = "; ".join(f"{name}: {values}" for name, values in several.items())
            choice = " ".join(
                f"--only {name}={next(iter(self.mixtures[name]))}" for name in several
            )
            warn(
                f"rows of several kinds are in one table ({kinds}); coefficients are for one of "
                f"them: choose, as with {choice}"
            )

    def _check_question(self, names: list[str]) -> str:
        """Return the question to read: the one that is wanted, or the only one that there is."""
        beside = (self.on, self.label or LABEL)
        self.questions.update((name, None) for name in names if name not in beside)
        first = self.source is not None and self.source.takes_first
        if not self.wanted.question and len(self.questions) > 1 and not first:
            raise InvalidInputError(
                f"there are several questions: {listed(tuple(self.questions))}",
                hint="Name one of them with --question",
            )
        self.question = self.wanted.question or next(iter(self.questions), None)
        return self.question or ""

    def _id(self, holders: list[dict[str, Any]], batch_id: object, row: Row | None) -> object:
        if self.on not in (None, BY_ROW):
            return _held(holders, str(self.on), "--on")
        ids = [batch_id, *(held.get(key) for key in _IDS for held in holders), row and row.row_id]
        return next((row_id for row_id in ids if row_id is not None), None)

    def _label_of(self, holders: list[dict[str, Any]], row: Row) -> object:
        if not self.wanted.own_labels:
            return None
        labels = [held[LABEL] for held in holders if LABEL in held]
        label = next(iter(labels), None)
        if self.label is not None:
            label = _held(holders, self.label, "--label")
        elif label is None:
            label = row.label
        return label[0] if isinstance(label, list) and len(label) == 1 else label


def _open_envelope(saved: Answer) -> tuple[Answer, object, bool]:
    """Return the answer in a line of a batch, the id of its request, and whether that failed.

    Lines of OpenAI's batches hold the answer in ``response.body``, those of Gemini's in
    ``response``, of Bedrock's in ``modelOutput``, of Anthropic's in ``result.message``. Other
    answers stay as they are.

    Examples
    --------
    >>> line = {"custom_id": "7", "response": {"status_code": 200, "body": {"answers": {}}}}
    >>> _open_envelope(line)
    ({'answers': {}}, '7', False)
    >>> _open_envelope({"custom_id": "8", "response": None, "error": {"code": "expired"}})
    (None, '8', True)
    """
    if not isinstance(saved, dict):
        return saved, None, saved is None
    if saved.get("status") == "failure":  # of LiteLLM's log
        return None, saved.get("id"), True
    response, error = saved.get("response", saved.get("modelOutput")), saved.get("error")
    batch_id = next((saved[key] for key in _BATCH_IDS if saved.get(key) is not None), None)
    if batch_id is not None and isinstance(result := saved.get("result"), dict):
        return result.get("message"), batch_id, result.get("type") != "succeeded"
    if isinstance(response, dict):
        body = response.get("body", response)
        status = response.get("status_code", 200)
        return body, batch_id, status != 200 or bool(error) or not isinstance(body, dict)
    # A line without an answer; an error may also be saved in place of one.
    if error and saved.keys() <= {*_BATCH_IDS, "id", "response", "error", "modelInput"}:
        return None, batch_id, True
    return saved, None, False


def _request_beside(saved: Answer) -> dict[str, Any] | None:
    """Return the request of a chat that was saved with an answer; None where none was."""
    if not isinstance(saved, dict):
        return None
    if isinstance(messages := parsed(saved.get("messages")), list):
        return {**saved, "messages": messages}
    inner = (_request_beside(parsed(saved.get(key))) for key in _REQUESTS)
    return next((request for request in inner if request is not None), None)


def _held(holders: list[dict[str, Any]], name: str, option: str) -> object:
    """Return what stands beside an answer, or in the document that a harness asked about."""
    documents = [held["doc"] for held in holders if isinstance(held.get("doc"), dict)]
    holders = [*holders, *documents]
    for held in holders:
        if (value := nested(held, name)) is not MISSING:
            return value
    there = listed([*dict.fromkeys(key for held in holders for key in held)]) or "nothing"
    raise InvalidInputError(
        f"there is no {name}; there are {there}",
        hint=f"Give another name with {option}"
        + f"; if the labels alone have {name}, --on id={name}" * (option == "--on"),
    )


def _counted(asked: Mapping[Question, int]) -> str:
    """List questions with how many answers each has."""
    return listed(
        [
            f"{question.model or 'an unknown model'}{', ' + question.form if question.form else ''}"
            f" ({question.fingerprint[:8]}): {n:,}"
            for question, n in asked.items()
        ]
    )


def flattened(values: Iterable[Found]) -> Iterator[Found]:
    """Yield answers, also those in lists and in files of tools."""
    for where, content in values:
        check_known(content, where)
        source = recognise(content)
        may_hold = source is None or (source in (COLUMNS, ROWS) and isinstance(content, dict))
        answers = answers_in(content, where) if may_hold else None
        if answers is None and may_hold and isinstance(content, dict):
            answers = _rows_within(content)
        if answers is None:
            yield Found(where, content)
            continue
        inner = (Found(f"{where}, answer {n}", answer) for n, answer in enumerate(answers, 1))
        yield from flattened(inner)


def _rows_within(content: dict[str, Any]) -> list[Answer] | None:
    """Return the rows that an object holds in a list, or by their ids; None for one row."""
    for key in _HOLDERS:
        rows = content.get(key)
        if not isinstance(rows, list) or not rows or scores_in(rows):
            continue
        is_token = any(isinstance(row, dict) and "token" in row for row in rows)
        if not is_token and all(recognise(row) is not None for row in rows):
            return rows
    whole = (SOURCES["decisions"], SOURCES["logprobs"], SOURCES["lm-eval"])
    if len(content) > 1 and all(recognise(answer) in whole for answer in content.values()):
        return [{"custom_id": name, "response": {"body": body}} for name, body in content.items()]
    return None
