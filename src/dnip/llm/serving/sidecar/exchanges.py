"""What the sidecar corrects: a request on its way to the upstream, and the answer on its way back.

There are two APIs, that of decisions and that of chats.
"""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from dnip.base.errors import CoefficientsFormatError, CorrectedError, InvalidInputError, listed
from dnip.base.validation import TwiceError, once
from dnip.llm.decisions import correct
from dnip.llm.decisions.answers import (
    as_listed,
    asked_question,
    by_question,
    check_options,
    in_order,
    in_shape_of,
)
from dnip.llm.questions import Question, chat_question, question_of
from dnip.llm.serving.chat import (
    CHAT,
    PassedError,
    as_asked,
    check_chats,
    choose,
    correct_chat,
    passing,
    with_logprobs,
)
from dnip.llm.serving.sidecar.log import LOG
from dnip.llm.serving.sidecar.metrics import Metrics
from dnip.llm.serving.sidecar.recording import Answered
from dnip.llm.serving.sidecar.upstream import FailedError
from dnip.llm.serving.sidecar.watching import WatchedCoefficients
from dnip.method.coefficients import Coefficients


class _OtherQuestionError(InvalidInputError):
    """A question, or a model, that the coefficients are not for."""


#: Coefficients files by name.
Files: TypeAlias = Mapping[str, str | os.PathLike[str]]


def by_api(coefficients: Files, chats: Files) -> tuple[Files, Files]:
    """Return the files for decisions and those for chats: a file says what it was fitted on.

    Raises
    ------
    InvalidInputError
        For a file that was fitted on what is not corrected, on decisions where it is given for
        chats, and for a name that is given twice.
    """
    if both := [name for name in chats if name in coefficients]:
        raise InvalidInputError(
            f"the name {both[0]!r} is given twice", hint="Give every file a name of its own"
        )
    of_decisions, of_chats = dict(coefficients), dict(chats)
    for name, path in {**coefficients, **chats}.items():
        form = _form_of(path)
        if form == "plain":
            raise InvalidInputError(
                f"{path} was fitted on prompts that a model continues: it corrects neither "
                "decisions nor chats",
                hint="Fit on answers of the server that is to be corrected",
            )
        if form == CHAT and name in coefficients:
            of_chats[name] = of_decisions.pop(name)
        if form == "decision" and name in chats:
            raise InvalidInputError(
                f"{path} was fitted on decisions, not on chats",
                hint="Give it by --coefficients QUESTION=FILE, or fit on chats",
            )
    return of_decisions, of_chats


def _form_of(path: str | os.PathLike[str]) -> str | None:
    """Return how the question was asked that a file was fitted on; None if it does not say."""
    question = question_of(Coefficients.load(path).fit)
    return None if question is None else question.form


# Why a question was not corrected, by the error that it ends in.
_REASONS = (
    (CorrectedError, "corrected"),
    (CoefficientsFormatError, "options"),
    (_OtherQuestionError, "question"),
)


@dataclass(frozen=True)
class Asked:
    """A request on its way.

    Attributes
    ----------
    body : bytes
        What is sent on.
    answered : callable
        From the content of an answer to what leaves.
    plain : bytes or None
        What is sent on if the upstream refuses `body`.
    """

    body: bytes
    answered: Callable[[bytes], Answered]
    plain: bytes | None = None


#: What decisions are called that no coefficients are for.
DECISION = "decision"

# What a chat asks for that is not corrected, by the reason.
_PASSING = {"stream": "a stream", "n": "one of several answers", "tools": "a call of a tool"}

# A question in the order of the fit, None if it is so already; and what it asks, if that is known.
_Fitting: TypeAlias = tuple[Mapping[str, Any] | None, Question | None]


class Decisions:
    """Requests for decisions; the options of each question are put in the order of the fit.

    Parameters
    ----------
    files : mapping
        Coefficients files, by question.
    metrics : Metrics
    passes : bool
        Whether a question that does not fit passes, or is refused.
    """

    def __init__(self, files: Files, metrics: Metrics, *, passes: bool) -> None:
        self.watched = WatchedCoefficients(files)
        self._metrics, self._passes = metrics, passes
        self._last: dict[str, tuple[str, Coefficients, _Fitting]] = {}

    def ask(self, body: bytes) -> Asked | None:
        """Return a request as it is sent on; None where no answer is corrected."""
        fitting = dict(self.watched.current)
        if not fitting:
            reason = "a decision passed on as it is: all coefficients are for chats"
            passed(self._metrics, DECISION, "coefficients", reason)
            return None
        asked = _read_request(body)
        questions = asked.get("questions") if isinstance(asked, dict) else None
        originals: dict[str, Mapping[str, Any]] = {}
        known: dict[str, Question] = {}
        sent = []
        for name, content in by_question(questions):
            new = content
            if name in fitting and isinstance(content, Mapping):
                try:
                    ordered, question = self._fitting(name, content, fitting[name])
                    new, originals[name] = ordered or content, content
                    if question is not None:
                        known[name] = question
                except InvalidInputError as error:
                    self._missed(name, error)
                    fitting.pop(name)
            sent.append((name, new))
        if any(new is not originals.get(name, new) for name, new in sent):
            body = written({**asked, "questions": in_shape_of(questions, sent)})
        requested = asked.get("model") if isinstance(asked, dict) else None
        return Asked(
            body, partial(self._answered, fitting, originals, dict(sent), known, requested)
        )

    def _fitting(self, name: str, content: Mapping[str, Any], fitted: Coefficients) -> _Fitting:
        """Return a question with its options in order, and what it asks; refuse another one.

        The same question comes again and again, so the last one of each name is kept.
        """
        text = json.dumps(content)
        last = self._last.get(name)
        if last is not None and last[0] == text and last[1] is fitted:
            return last[2]
        check_options(name, content, fitted.classes)
        question = question_of(fitted.fit)
        new = in_order(content, fitted.classes if question is None else question.options)
        asked = asked_question(None, new)
        _check_same(name, question, asked)
        fitting = None if new is content else new, asked
        self._last[name] = text, fitted, fitting
        return fitting

    def _answered(
        self,
        fitting: dict[str, Coefficients],
        originals: Mapping[str, Mapping[str, Any]],
        sent: Mapping[str, Mapping[str, Any]],
        known: Mapping[str, Question],
        requested: object,
        content: bytes,
    ) -> Answered:
        body = _read_answer(content)
        model = body.get("model") if isinstance(body, dict) else None
        model = model if isinstance(model, str) else None
        for name, fitted in [*fitting.items()]:
            question = question_of(fitted.fit)
            if question is None or question.model in (requested, model):
                continue  # answers may have a longer name for the model
            try:
                _check_same(name, question, question.of_model(model))
            except InvalidInputError as error:
                self._missed(name, error)
                fitting.pop(name)
        is_ordered = any(sent[name] is not content for name, content in originals.items())
        if isinstance(body, dict) and is_ordered:
            answers = [
                (name, as_listed(answer, originals[name]) if name in originals else answer)
                for name, answer in by_question(body.get("answers"))
            ]
            body = {**body, "answers": in_shape_of(body.get("answers"), answers)}
        try:
            changed, corrections = correct(body, fitting, self._missed)
        except InvalidInputError as error:
            raise _refused(error.message) from None
        self._metrics.add(corrections, len(body["answers"]) - len(corrections))
        self._tell_others(body["answers"])
        for correction in corrections:
            if not correction.explained:
                name = correction.before.question
                text = f"question {name!r}: no known definition gives the confidence"
                _miss(self._metrics, name, "confidence", text)
        return Answered(body, changed, corrections, fitting, known)

    def _tell_others(self, answers: Any) -> None:  # noqa: ANN401 - JSON
        """Say once that an answer passes because no coefficients are for its questions."""
        names = [name for name, _ in by_question(answers)]
        if names and self.watched.current.keys().isdisjoint(names):
            text = f"an answer passed on as it is: no coefficients are for {listed(names)}"
            _miss(self._metrics, DECISION, "coefficients", text)

    def _missed(self, name: str, error: InvalidInputError) -> None:
        """Count a question that cannot be corrected, and refuse it unless it may pass."""
        reason = next((word for kind, word in _REASONS if isinstance(error, kind)), "damaged")
        refused = not (self._passes or reason == "corrected")
        _miss(self._metrics, name, reason, f"passed on as it is: {error.message}", quiet=refused)
        if refused:
            raise _refused(error.message) from None


class Chats:
    """Requests for chat completions; the upstream is asked for log-probabilities, too.

    Parameters
    ----------
    files : mapping
        Coefficients files, by name.
    metrics : Metrics
    passes : bool
        Whether another question, or another model, passes, or is refused.
    """

    def __init__(self, files: Files, metrics: Metrics, *, passes: bool) -> None:
        self.watched = WatchedCoefficients(files)
        check_chats(self.watched.current.values())
        self._metrics, self._passes = metrics, passes

    def ask(self, body: bytes) -> Asked | None:
        """Return a request as it is sent on; None where the answer needs no correction."""
        asked = _read_request(body)
        if not isinstance(asked, dict):
            return None  # the upstream says what is wrong with it
        try:
            if not self.watched.current:
                raise PassedError(
                    "coefficients", "no coefficients are for chats", hint="Give --chat NAME=FILE"
                )
            if reason := passing(asked):
                raise PassedError(reason, f"{_PASSING[reason]} is not corrected")
            choose(self.watched.current, asked)
        except PassedError as error:
            self.missed(error)
            return None
        return Asked(written(with_logprobs(asked)), partial(self._answered, asked), body)

    def missed(self, error: PassedError) -> None:
        """Count a chat that is not corrected, and refuse another question if it may not pass."""
        if error.reason == "question" and not self._passes:
            self._metrics.add_missed(error.name, error.reason)
            raise _refused(error.message) from None
        passed(self._metrics, error.name, error.reason, f"a chat passed on as it is: {error}")

    def _answered(self, asked: dict[str, Any], content: bytes) -> Answered:
        body = _read_answer(content)
        if not isinstance(body, dict):
            raise FailedError(502, "the upstream's answer is not a JSON object")
        changed: dict[str, Any] = body
        corrections, known, questions = [], {}, {}
        try:
            name = choose(self.watched.current, asked, body.get("model"))
            fitted = self.watched.current[name]
            changed, correction = correct_chat(body, fitted, name)
            corrections, known = [correction], {name: fitted}
            questions = {name: chat_question(asked, fitted.classes)}
            self._metrics.add(corrections, 0)
        except PassedError as error:
            self.missed(error)
        return Answered(body, as_asked(changed, asked), corrections, known, questions)


def _check_same(name: str, question: Question | None, asked: Question | None) -> None:
    """Refuse a question that differs from that of the fit."""
    if question is None or asked is None:
        return
    if changes := question.changes(asked):
        raise _OtherQuestionError(
            f"question {name!r} is another one than that of the coefficients: {'; '.join(changes)}"
        )


def passed(metrics: Metrics, name: str, reason: str, text: str) -> None:
    """Count an answer that passes as it is; the first time, the reason stands in the log."""
    metrics.add((), 1)
    _miss(metrics, name, reason, text)


def _miss(metrics: Metrics, name: str, reason: str, text: str, *, quiet: bool = False) -> None:
    """Count what is not corrected as it should be; the first time, it stands in the log."""
    is_first = metrics.add_missed(name, reason) == 1
    if is_first and not quiet:
        LOG.warning("%s", text, extra={"question": name, "reason": reason})


def _refused(message: str) -> FailedError:
    # a status after which clients do not ask again
    return FailedError(422, f"the answer cannot be corrected: {message}")


def _read_request(body: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of a request, None if it is not JSON; one with a key twice is refused."""
    try:
        return _DECODER.decode(body.removeprefix(BOM_UTF8).decode())
    except TwiceError:
        raise FailedError(422, "the request has a key twice") from None
    except (ValueError, RecursionError):
        return None


def _read_answer(content: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of an answer; one that readers may understand in two ways is refused."""
    try:
        return _DECODER.decode(content.removeprefix(BOM_UTF8).decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        raise FailedError(
            502, f"the upstream's answer is not JSON, or has a key twice ({len(content):,} bytes)"
        ) from None


def written(body: object) -> bytes:
    """Return a value as JSON; numbers that JSON cannot hold are refused."""
    try:
        return _ENCODER.encode(body).encode()
    except ValueError:
        raise FailedError(502, "the upstream's answer holds a number that JSON cannot") from None


_DECODER = json.JSONDecoder(object_pairs_hook=once)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
