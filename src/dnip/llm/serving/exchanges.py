"""What the sidecar corrects: a request on its way to the upstream, and the answer on its way back.

There are two APIs, that of decisions and that of chats.
"""

from __future__ import annotations

import json
import os
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from dnip.base.errors import CoefficientsFormatError, CorrectedError, InvalidInputError, listed
from dnip.base.validation import TwiceError, once
from dnip.llm.decisions import (
    Correction,
    as_listed,
    asked_question,
    by_question,
    check_options,
    correct,
    in_shape_of,
    with_options_in_order,
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
    read_chat,
    with_logprobs,
)
from dnip.llm.serving.recording import Answered, Said
from dnip.llm.serving.reports import LOG, Metrics
from dnip.llm.serving.upstream import FailedError
from dnip.method.coefficients import Coefficients

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
                hint="Fit on answers of the server that is to be corrected; `dnip prompt` asks for "
                "them with --endpoint chat",
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


# What shows that a file has changed; None where there is no regular file.
_Stamp: TypeAlias = tuple[int, int, int] | None


class WatchedCoefficients:
    """Coefficients by name, read again when their file changes.

    A new file that is missing, damaged, half-written, no regular file, or for other classes changes
    nothing: the coefficients before it stay, and a line in the log says so once.

    Parameters
    ----------
    files : mapping
        Paths of coefficients files, by name.

    Attributes
    ----------
    current : dict of Coefficients
        By name.

    Raises
    ------
    CoefficientsFormatError
        If a file cannot be read or is damaged.
    """

    def __init__(self, files: Files) -> None:
        self._files = dict(files)
        self._stamps = {name: _stamp(path) for name, path in files.items()}
        self.current = {name: Coefficients.load(path) for name, path in files.items()}

    def refresh(self) -> None:
        """Read what has changed."""
        for name, path in self._files.items():
            stamp = _stamp(path)
            if stamp == self._stamps[name]:
                continue
            self._stamps[name] = stamp
            try:
                if stamp is None:
                    raise CoefficientsFormatError(f"{path}: there is no regular file")
                new = Coefficients.load(path)
                if new.classes != self.current[name].classes:
                    raise CoefficientsFormatError(f"{path}: its classes are {listed(new.classes)}")
                self.current[name] = new
            except CoefficientsFormatError as error:
                LOG.warning("%s; %r keeps the coefficients that it had", error.message, name)


def _stamp(path: str | os.PathLike[str]) -> _Stamp:
    try:
        file = os.stat(path)  # noqa: PTH116  # asked for with every answer: a Path costs more
    except OSError:
        return None
    is_regular = stat.S_ISREG(file.st_mode)
    return (file.st_mtime_ns, file.st_size, file.st_ino) if is_regular else None


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


class _Api:
    """Requests of one API, and the coefficients for them.

    Parameters
    ----------
    files : mapping
        Coefficients files, by name.
    metrics : Metrics
    passes : bool
        Whether a question that does not fit passes, or is refused.
    """

    #: What its requests are called that are for no coefficients, or for one of several.
    name: str
    #: What is said of a request where there are no coefficients at all.
    idle: str

    def __init__(self, files: Files, metrics: Metrics, *, passes: bool) -> None:
        self.watched = WatchedCoefficients(files)
        self._metrics, self._passes = metrics, passes
        self._is_idle = not files
        if len(files) == 1:
            [self.name] = files

    def ask(self, body: bytes) -> Asked | None:
        """Return a request as it is sent on; None where the answer passes as it is.

        Raises
        ------
        FailedError
            422 for one that does not fit, or cannot be read, and may not pass.
        """
        if self._is_idle:
            self._metrics.passed(self.name, "coefficients", self.idle)
            return None
        self.watched.refresh()
        try:
            request = _read(body)
            if isinstance(request, dict):
                return self._asked(request, body)
            reason, text = "json", "it is not a JSON object"
        except (ValueError, RecursionError) as error:
            reason, text = _unreadable(error)
        text = f"cannot be read: {text}"
        if not self._passes:
            self._metrics.missed(self.name, reason, text, quiet=True)
            raise FailedError(422, f"the request {text}")
        self._metrics.passed(self.name, reason, f"a request passed on as it is, for it {text}")
        return None

    def _asked(self, request: dict[str, Any], body: bytes) -> Asked | None:
        """Return a request as it is sent on; `body` is what was read."""
        raise NotImplementedError


# Why a decision was not corrected, by the error that it ends in.
_REASONS = (
    (CorrectedError, "corrected"),
    (CoefficientsFormatError, "options"),
    (PassedError, "question"),
)


class Decisions(_Api):
    """Requests for decisions; the options of each question are put in the order of the fit."""

    name = DECISION
    idle = "a decision passed on as it is: all coefficients are for chats"

    def _asked(self, request: dict[str, Any], body: bytes) -> Asked | None:
        fitting = dict(self.watched.current)
        questions = request.get("questions")
        ordered: dict[str, _Ordered] = {}
        sent = []
        for name, content in by_question(questions):
            if name in fitting and isinstance(content, Mapping):
                try:
                    ordered[name] = _in_order(name, content, fitting[name])
                    content = ordered[name].sent  # noqa: PLW2901
                except InvalidInputError as error:
                    self._missed(name, error)
                    del fitting[name]
            sent.append((name, content))
        if any(one.sent is not one.original for one in ordered.values()):
            body = written({**request, "questions": in_shape_of(questions, sent)})
        return Asked(body, partial(self._answered, fitting, ordered, request.get("model")))

    def _answered(
        self,
        fitting: dict[str, Coefficients],
        ordered: Mapping[str, _Ordered],
        named: object,
        content: bytes,
    ) -> Answered:
        body = _read_answer(content)
        model = body.get("model") if isinstance(body, dict) else None
        model = model if isinstance(model, str) else None
        for name, fitted in [*fitting.items()]:
            question = question_of(fitted.fit)
            if question is None or question.model in (named, model):
                continue  # answers may have a longer name for the model
            try:
                _check_same(name, question, question.of_model(model))
            except PassedError as error:
                self._missed(name, error)
                del fitting[name]
        if isinstance(body, dict) and any(o.sent is not o.original for o in ordered.values()):
            answers = [
                (name, as_listed(answer, ordered[name].original) if name in ordered else answer)
                for name, answer in by_question(body.get("answers"))
            ]
            body = {**body, "answers": in_shape_of(body.get("answers"), answers)}
        try:
            changed, corrections = correct(body, fitting, self._missed)
        except InvalidInputError as error:
            raise _refused(error.message) from None
        self._metrics.add(corrections, len(body["answers"]) - len(corrections))
        self._report_others(body["answers"])
        for correction in corrections:
            if not correction.explained:
                name = correction.before.question
                text = f"question {name!r}: no known definition gives the confidence"
                self._metrics.missed(name, "confidence", text)
        decisions = [correction.before for correction in corrections]
        asked = {name: one.question for name, one in ordered.items()}
        said = [
            Said(decision, fitting[decision.question].classes, asked.get(decision.question))
            for decision in decisions
        ]
        return Answered(body, changed, said)

    def _report_others(self, answers: Any) -> None:  # noqa: ANN401 - JSON
        """Say once that an answer passes because no coefficients are for its questions."""
        names = [name for name, _ in by_question(answers)]
        if names and self.watched.current.keys().isdisjoint(names):
            text = f"an answer passed on as it is: no coefficients are for {listed(names)}"
            self._metrics.missed(DECISION, "coefficients", text)

    def _missed(self, name: str, error: InvalidInputError) -> None:
        """Count a question that cannot be corrected, and refuse it unless it may pass."""
        reason = next((word for kind, word in _REASONS if isinstance(error, kind)), "damaged")
        changes = error.changes if isinstance(error, PassedError) else ()
        refused = not (self._passes or reason == "corrected")
        text = f"passed on as it is: {error.message}"
        self._metrics.missed(name, reason, text, changes, quiet=refused)
        if refused:
            raise _refused(error.message) from None


class Chats(_Api):
    """Requests for chat completions; the upstream is asked for log-probabilities, too.

    Parameters
    ----------
    files : mapping
        Coefficients files, by name.
    metrics : Metrics
    passes : bool
        Whether another question, or another model, passes, or is refused.
    collect : (str, sequence of str), optional
        The name and the classes of a chat whose answers are read, and stay as they are.
    """

    name = CHAT
    idle = "a chat passed on as it is: no coefficients are for chats. Give --chat NAME=FILE"

    def __init__(
        self,
        files: Files,
        metrics: Metrics,
        *,
        passes: bool,
        collect: tuple[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__({**files}, metrics, passes=passes)
        check_chats(self.watched.current.values())
        self._collect = collect
        if collect is not None:
            self.name, self._is_idle = collect[0], False

    def _asked(self, request: dict[str, Any], body: bytes) -> Asked | None:
        try:
            if reason := passing(request):
                raise PassedError(reason, f"{_PASSING[reason]} is not corrected")
            question = chat_question(request, (), request.get("model"))
            if self._collect is None:
                choose(self.watched.current, question)
        except PassedError as error:
            self.missed(error)
            return None
        return Asked(
            written(with_logprobs(request)), partial(self._answered, request, question), body
        )

    def missed(self, error: PassedError, name: str | None = None) -> None:
        """Count a chat that is not corrected, and refuse another question if it may not pass."""
        name = name or error.name or self.name
        if error.reason == "question" and not self._passes:
            self._metrics.missed(name, error.reason, error.message, quiet=True)
            raise _refused(error.message) from None
        text = f"a chat passed on as it is: {error}"
        self._metrics.passed(name, error.reason, text, error.changes)

    def _answered(self, request: dict[str, Any], question: Question, content: bytes) -> Answered:
        body = _read_answer(content)
        if not isinstance(body, dict):
            raise FailedError(502, "the upstream's answer is not a JSON object")
        changed, name, said = body, None, []
        try:
            if self._collect is not None:
                name, classes = self._collect[0], tuple(self._collect[1])
                before = read_chat(body, classes, name).decision
                correction = Correction(before, before)
            else:
                name = choose(self.watched.current, question, body.get("model"))
                fitted = self.watched.current[name]
                classes = fitted.classes
                changed, correction = correct_chat(body, fitted, name)
            said = [Said(correction.before, classes, replace(question, options=classes))]
            self._metrics.add([correction], 0)
        except PassedError as error:
            self.missed(error, name)
        return Answered(body, as_asked(changed, request), said)


class _Ordered(NamedTuple):
    """A question as the client asked it, with its options in the order of the fit, and its sense.

    `question` is None where its options are not known.
    """

    original: Mapping[str, Any]
    sent: Mapping[str, Any]
    question: Question | None


def _in_order(name: str, content: Mapping[str, Any], fitted: Coefficients) -> _Ordered:
    """Return a question with its options in order; refuse another one."""
    check_options(name, content, fitted.classes)
    question = question_of(fitted.fit)
    options = fitted.classes if question is None else question.options
    sent = with_options_in_order(content, options)
    asked = asked_question(None, sent)
    _check_same(name, question, asked)
    return _Ordered(content, sent, asked)


def _check_same(name: str, question: Question | None, asked: Question | None) -> None:
    """Refuse a question that differs from that of the fit."""
    if question is None or asked is None:
        return
    if changes := question.changes(asked):
        told = "; ".join(changes)
        raise PassedError(
            "question",
            f"question {name!r} is another one than that of the coefficients: {told}",
            changes=changes,
        )


def _refused(message: str) -> FailedError:
    # a status after which clients do not ask again
    return FailedError(422, f"the answer cannot be corrected: {message}")


def _unreadable(error: ValueError | RecursionError) -> tuple[str, str]:
    """Return why a request cannot be read: the reason that is counted, and what is said."""
    if isinstance(error, UnicodeDecodeError):
        return "encoding", "it is not UTF-8 text; send it unpacked"
    if isinstance(error, json.JSONDecodeError):
        return "json", f"it is not JSON: {error}"
    if isinstance(error, TwiceError):
        return "twice", str(error)
    if isinstance(error, RecursionError):
        return "nested", "it is nested too deep"
    return "number", "it holds a number that JSON cannot"


def _read_answer(content: bytes) -> Any:  # noqa: ANN401 - JSON
    try:
        return _read(content)
    except (ValueError, RecursionError):
        raise FailedError(
            502, f"the upstream's answer is not JSON, or has a key twice ({len(content):,} bytes)"
        ) from None


def _read(content: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value; one that readers may understand in two ways is refused."""
    return _DECODER.decode(content.removeprefix(BOM_UTF8).decode(errors="surrogatepass"))


def written(body: object) -> bytes:
    """Return a value as JSON; numbers that JSON cannot hold are refused."""
    return _ENCODER.encode(body).encode()


_DECODER = json.JSONDecoder(object_pairs_hook=once)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
