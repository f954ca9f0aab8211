"""Answers gathered one by one: what all must agree on, and what is kept of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dnip.base.classes import LABEL
from dnip.base.columns import ID, QUESTION
from dnip.base.errors import BackendError, CorrectedError, InvalidInputError, listed
from dnip.llm.answers.tokens import SilentError
from dnip.llm.decisions.correction import mark_of
from dnip.llm.files import Found
from dnip.llm.sources.cells import parsed
from dnip.llm.sources.columns import ANSWERS
from dnip.llm.sources.gold import BY_ROW, MISSING, nested
from dnip.llm.sources.logs import answers_in, unwrapped
from dnip.llm.sources.registry import SOURCES, recognise
from dnip.llm.sources.rows import ROWS
from dnip.llm.sources.source import Answer, Row, Source, Wanted
from dnip.tables.provenance import Question, fixed_messages

#: Under which names a request stands beside its answer, or within what a log keeps of it.
_REQUESTS = ("request", "body", "proxy_server_request")
#: Under which name answers hold the model that gave them.
_MODEL = ("model", "modelVersion", "model_version", "model_name")
#: Under which names they hold an id of their own.
_IDS = (ID, "request_id", "doc_id")


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
    only : str or None
        A model, or the first letters of a fingerprint: other answers are left out.
    model, question : str or None
        What the answers say.
    kept : dict of Row
        The rows of the table to be, by number; by id and label where texts are kept.
    n_answers : int
        Answers so far, those that are not kept included.
    refused, failed, several, silent : list of str
        The ids (or places) of answers that are refusals, of requests that failed, of answers that
        name several classes, and of those without log-probabilities of the likeliest tokens.
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
    """

    wanted: Wanted
    source: Source | None = None
    voting: bool = False
    on: str | None = None
    label: str | None = None
    keep: Sequence[str] = ()
    only: str | None = None
    model: str | None = None
    question: str | None = None
    kept: dict[object, Row] = field(default_factory=dict)
    n_answers: int = 0
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    several: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    silence: InvalidInputError | None = None
    n_other: int = 0
    questions: dict[str, None] = field(default_factory=dict)
    asked: dict[Question, int] = field(default_factory=dict)
    naming: dict[str, None] | None = None

    def add_all(self, found: Iterable[Found]) -> None:
        """Add values of files: answers, or lists of answers.

        Raises
        ------
        InvalidInputError
            For the first answer that is damaged, or does not agree with those before.
        """
        for where, content in _flattened(found):
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
        if self.silence is not None and not self.kept:
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
        content, batch_id, failed = open_envelope(saved)
        if failed:
            self.failed.append(where if batch_id is None else str(batch_id))
            return
        content = unwrapped(content)
        if isinstance(content, dict) and SOURCES["decisions"].recognises(content.get("raw")):
            content = content["raw"]  # beside what LangChain corrected
        if self.source is ROWS and isinstance(saved, dict) and not ROWS.recognises(content):
            row_id = self._id([saved], batch_id, None)
            self.failed.append(where if row_id is None else str(row_id))  # the cell is empty
            return
        source = self._check_source(content)
        asked = self._asked(source, content, messages_beside(saved))
        self.asked[asked] = self.asked.get(asked, 0) + 1
        if not self._is_chosen(asked):
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
        silence = None
        if not self.voting:
            try:
                row = source.read(content, replace(self.wanted, question=question))
            except SilentError as error:
                silence = InvalidInputError(f"{where}: {error.message}", hint=error.hint)
        holders = [one for one in (saved, content) if isinstance(one, dict) and "lc" not in one]
        row_id = self._id(holders, batch_id, row)
        if row is None or row.names_several or silence is not None:
            lost = self.refused if row is None else self.several
            if silence is not None:
                lost, self.silence = self.silent, self.silence or silence
            lost.append(where if row_id is None else str(row_id))
            return
        label = self._label_of(holders, row)
        kept = {name: _held(holders, name, "--keep") for name in self.keep}
        row = replace(row, row_id=row_id, label=label, where=where, number=number, kept=kept)
        self._check_numbers(row)
        self._look_for_names(saved)
        # Other labels stay apart: then the id is there twice.
        key = (str(row_id), str(label)) if self.voting and row_id is not None else number
        self.kept.setdefault(key, row).texts.extend(texts.get(question, ()))

    def _check_numbers(self, row: Row) -> None:
        """Refuse a table in which some rows hold log-probabilities, and others do not."""
        first = next(iter(self.kept.values()), row)
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
        naming = [*cells] if self.naming is None else [*self.naming]
        naming = [name for name in naming if name not in ANSWERS]  # of the model
        self.naming = {
            name: None for name in naming if str(cells.get(name)).strip().casefold() in known
        }

    def _check_source(self, content: Answer) -> Source:
        self.source = self.source or recognise(content)
        if self.source is None:
            known = "; ".join(f"{name}: {source.title}" for name, source in SOURCES.items())
            raise InvalidInputError(
                "this is an answer of no known source", hint=f"The sources are {known}"
            )
        if not self.source.recognises(content):
            raise InvalidInputError(
                f"this is no answer of the source {self.source.name} ({self.source.title})",
                hint="Import answers of another kind into a table of their own",
            )
        return self.source

    def _asked(self, source: Source, content: Answer, messages: object) -> Question:
        """Return the question of an answer, as far as the answer and its request tell."""
        holders = [content, content.get("response_metadata")] if isinstance(content, dict) else []
        held = [one for one in holders if isinstance(one, dict)]
        if held and isinstance(kept := held[0].get(QUESTION), str):  # of a sidecar's record
            with suppress(ValueError, RecursionError):
                if (recorded := Question.read(json.loads(kept))) is not None:
                    return recorded
        named = (one.get(key) for one in held for key in _MODEL)
        model = next((name for name in named if isinstance(name, str)), None)
        if messages is not None and source.name in ("logprobs", ROWS.name):
            return Question.of(model, "chat", self.wanted.classes, fixed_messages(messages))
        if source.name != "logprobs":
            return Question.of(model, "", ())
        choices = held[0].get("choices") if held else None
        is_text = isinstance(choices, list) and any("text" in one for one in choices)
        return Question.of(model, "plain" if is_text else "chat", self.wanted.classes)

    def _check_asked(self) -> None:
        """Refuse answers to several questions or of several models; list them with their counts."""
        known = {one: n for one, n in self.asked.items() if one.model is not None or one.form}
        if self.only and not any(map(self._is_chosen, known)):
            raise InvalidInputError(
                f"no answer is of the model or the question {self.only!r}; there are "
                f"{_counted(known)}"
            )
        chosen = {one: n for one, n in known.items() if self._is_chosen(one)}
        parts = zip(*(vars(one).values() for one in chosen), strict=True)
        if any(len({*known} - {None}) > 1 for known in parts):
            models = "a model, or " if len({one.model for one in chosen}) > 1 else ""
            raise InvalidInputError(
                f"the answers are to {len(chosen)} questions or of as many models: "
                f"{_counted(chosen)}",
                hint=f"Choose one with --only: {models}the first letters of a fingerprint; "
                "messages before the user's last one are part of a question",
            )
        self.model = next((one.model for one in chosen if one.model is not None), None)

    @property
    def asked_for(self) -> dict[str, Any] | None:
        """What is known of the question, for the metadata of the table."""
        chosen = [one for one in self.asked if self._is_chosen(one)]
        whole = [one for one in chosen if one.model == self.model and one.options]
        return max(whole, key=lambda one: one.fixed is not None).to_dict() if whole else None

    def _is_chosen(self, asked: Question) -> bool:
        found = asked.fingerprint.startswith(self.only or "")
        return self.only is None or asked.model == self.only or found

    def _check_question(self, names: list[str]) -> str:
        """Return the question to read: the one that is wanted, or the only one that there is."""
        beside = (self.on, self.label or LABEL)
        self.questions.update((one, None) for one in names if one not in beside)
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
        own = [held.get(key) for key in _IDS for held in holders]
        found = [batch_id, *own, row and row.row_id]
        return next((one for one in found if one is not None), None)

    def _label_of(self, holders: list[dict[str, Any]], row: Row) -> object:
        if not self.wanted.own_labels:
            return None
        if self.label is not None:
            return _held(holders, self.label, "--label")
        own = next((held[LABEL] for held in holders if LABEL in held), None)
        return row.label if own is None else own


def open_envelope(saved: Answer) -> tuple[Answer, object, bool]:
    """Take an answer out of a line of a batch; other answers stay as they are.

    Lines of OpenAI's batches hold the answer in ``response.body``, those of Gemini's in
    ``response``, those of Anthropic's in ``result.message``.

    Returns
    -------
    content, batch_id, failed
        The answer; the id that the batch gave to the request, None outside of batches; and whether
        the request failed, so that there is no answer.

    Examples
    --------
    >>> line = {"custom_id": "7", "response": {"status_code": 200, "body": {"answers": {}}}}
    >>> open_envelope(line)
    ({'answers': {}}, '7', False)
    >>> open_envelope({"custom_id": "8", "response": None, "error": {"code": "expired"}})
    (None, '8', True)
    """
    if not isinstance(saved, dict):
        return saved, None, False
    if saved.get("status") == "failure":  # of LiteLLM's log
        return None, saved.get("id"), True
    response, error = saved.get("response"), saved.get("error")
    batch_id = saved.get("custom_id", saved.get("key"))
    if batch_id is not None and isinstance(result := saved.get("result"), dict):
        return result.get("message"), batch_id, result.get("type") != "succeeded"
    if isinstance(response, dict):
        body = response.get("body", response)
        status = response.get("status_code", 200)
        return body, batch_id, status != 200 or bool(error) or not isinstance(body, dict)
    # A line without an answer; an error may also be saved in place of one.
    if error and saved.keys() <= {"id", "custom_id", "key", "response", "error"}:
        return None, batch_id, True
    return saved, None, False


def messages_beside(saved: Answer) -> list[Any] | None:
    """Return the messages of the request that was saved with an answer; None where none were.

    Examples
    --------
    >>> line = {"custom_id": "7", "body": {"messages": [{"role": "user", "content": "x"}]}}
    >>> messages_beside({**line, "response": {}})
    [{'role': 'user', 'content': 'x'}]
    >>> messages_beside({"response": {}}) is None
    True
    """
    if not isinstance(saved, dict):
        return None
    if isinstance(found := parsed(saved.get("messages")), list):
        return found
    inner = (messages_beside(parsed(saved.get(key))) for key in _REQUESTS)
    return next((one for one in inner if one is not None), None)


def _held(holders: list[dict[str, Any]], name: str, option: str) -> object:
    """Return what stands beside an answer, or in the document that a harness asked about."""
    holders = [*holders, *(one["doc"] for one in holders if isinstance(one.get("doc"), dict))]
    for held in holders:
        if (found := nested(held, name)) is not MISSING:
            return found
    there = listed([*dict.fromkeys(key for held in holders for key in held)]) or "nothing"
    raise InvalidInputError(
        f"there is no {name}; there are {there}", hint=f"Give another name with {option}"
    )


def _counted(asked: Mapping[Question, int]) -> str:
    """List questions with how many answers each has."""
    return listed(
        [
            f"{one.model or 'an unknown model'}{', ' + one.form if one.form else ''} "
            f"({one.fingerprint[:8]}): {n:,}"
            for one, n in asked.items()
        ]
    )


def _flattened(found: Iterable[Found]) -> Iterator[Found]:
    """Yield answers, also those in lists and in files of tools."""
    for where, content in found:
        answers = None if recognise(content) is not None else answers_in(content, where)
        if answers is not None:
            yield from _flattened(
                Found(f"{where}, answer {number}", one) for number, one in enumerate(answers, 1)
            )
        else:
            yield Found(where, content)
