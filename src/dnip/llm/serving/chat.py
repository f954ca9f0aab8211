"""Coefficients applied to chat completions: to answers that name one label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from dnip.base.errors import BackendError, InvalidInputError, shown
from dnip.base.typing import Floats
from dnip.llm.answers.answer import Answer, SilentError, UnclearError, read_choice
from dnip.llm.answers.fill import fill_unreported
from dnip.llm.answers.reader import LabelReader, Reading, reader_of
from dnip.llm.answers.stating import SEVERAL, Mention
from dnip.llm.decisions import Correction, Decision, load_coefficients, mark_of, marked, reweighted
from dnip.llm.questions import TEXT, Question, Way, chat_question, question_of, way_of_reading
from dnip.method.coefficients import Coefficients, CoefficientsLike
from dnip.tables.columns import CORRECTED, DEFERRED

#: The likeliest tokens to ask for: the most that services give.
TOP = 20

#: What a chat is called whose coefficients have no fingerprint.
CHAT = "chat"

_Completion = TypeVar("_Completion")


class PassedError(InvalidInputError):
    """A chat that cannot be corrected, and passes as it is.

    Parameters
    ----------
    reason : str
        In a word: ``"stream"``, ``"n"``, ``"tools"``, ``"refusal"``, ``"label"`` (none is stated)
        and ``"several"`` are as they should be; ``"logprobs"``, ``"tokens"``, ``"question"`` and
        ``"corrected"`` may surprise.
    message : str
    hint : str, optional
    name : str, optional
        What the coefficients are called that are nearest to the question.
    changes : tuple of str
        What differs from their question, in a sentence each.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        hint: str | None = None,
        name: str | None = None,
        changes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        self.name = name
        self.changes = changes

    @property
    def is_usual(self) -> bool:
        """Whether nothing is wrong: there is no single label to correct."""
        return self.reason in ("stream", "n", "tools", "refusal", "label", "several")


def correct(
    completion: _Completion,
    *,
    coefficients: CoefficientsLike | Sequence[CoefficientsLike],
    request: Mapping[str, Any] | None = None,
) -> _Completion:
    """Return a chat completion with its label corrected by coefficients.

    The label that the answer states is replaced, as `dnip import` reads it; a reason is left as it
    is. Ask for it with ``logprobs=True, top_logprobs=20``. Where the label changes, the
    log-probabilities of the old one are left out. Options in another order are another question:
    name them in the prompt in the order of the fit.

    Parameters
    ----------
    completion : ChatCompletion of the package openai, or mapping
        It is not changed.
    coefficients : Coefficients, Fit or path, or sequence of these
        Of several, those with the fingerprint of the question are taken.
    request : mapping, optional
        What was asked, as `client.chat.completions.create` takes it. With it, coefficients for
        another question are refused: other messages before the user's last one, or another form of
        the answer, such as another ``response_format``.

    Returns
    -------
    The same type
        An answer without a single label (a refusal, a call of a tool, free text, several answers)
        stays as it is. A corrected one has the hash of the coefficients in ``dnip_corrected_by``,
        and behind the name of the model.

    Raises
    ------
    InvalidInputError
        For a completion without log-probabilities, with damaged ones, of another question or model
        than the coefficients are for, or one that is corrected already.

    Examples
    --------
    >>> top = [{"token": "b", "logprob": -0.5}, {"token": "a", "logprob": -0.9}]
    >>> logprobs = {"content": [{"token": "b", "logprob": -0.5, "top_logprobs": top}]}
    >>> completion = {"choices": [{"message": {"content": "b"}, "logprobs": logprobs}]}
    >>> fitted = Coefficients(["a", "b"], [2, 1], 2)
    >>> correct(completion, coefficients=fitted)["choices"][0]["message"]["content"]
    'a'
    """
    is_single = isinstance(coefficients, str) or not isinstance(coefficients, Sequence)
    several: Any = [coefficients] if is_single else coefficients
    known = check_chats(load_coefficients(dict(enumerate(several))).values())
    if not isinstance(completion, Mapping) and not hasattr(completion, "model_dump"):
        raise InvalidInputError(
            f"completion is {shown(completion)}, which is no answer to a chat",
            hint="Give what the client library returned, or the answer's JSON as a dictionary",
        )
    body = completion if isinstance(completion, Mapping) else completion.model_dump()
    try:
        asked = None
        if request is not None:
            whole = {**request, **(request.get("extra_body") or {})}
            asked = chat_question(whole, (), request.get("model"))
        name = choose(known, asked, body.get("model"))
        new, correction = correct_chat(body, known[name], name)
    except PassedError as error:
        if error.is_usual:
            return completion
        raise
    if isinstance(completion, Mapping):
        return new  # type: ignore[return-value]
    copy: Any = completion.model_copy(deep=True)  # type: ignore[attr-defined]
    [choice] = new["choices"]
    copy.choices[0].message.content = choice["message"]["content"]
    if choice.get("logprobs") is None:
        copy.choices[0].logprobs = None
    if correction.deferred is not None:
        setattr(copy.choices[0], DEFERRED, correction.deferred)
    copy.model = new.get("model")
    setattr(copy, CORRECTED, new[CORRECTED])
    return copy  # type: ignore[no-any-return]


def _name_of(coefficients: Coefficients) -> str:
    """Return what a chat is called in marks, counts and records: its fingerprint."""
    question = question_of(coefficients.fit)
    return CHAT if question is None else question.fingerprint


def check_chats(coefficients: Iterable[Coefficients]) -> dict[str, Coefficients]:
    """Return coefficients by fingerprint; refuse those of which nobody could tell which are meant.

    Raises
    ------
    InvalidInputError
        If there are several, of which one has no fingerprint, or two have the same.
    """
    known = tuple(coefficients)
    names = [_name_of(fitted) for fitted in known]
    if len(known) > 1 and (CHAT in names or len(set(names)) < len(names)):
        raise InvalidInputError(
            "of several coefficients for chats each needs a fingerprint of its own; they have "
            f"{', '.join('none' if name == CHAT else name for name in names)}",
            hint="Fit on tables of `dnip prompt`, `dnip import` or --record, or give one alone",
        )
    return dict(zip(names, known, strict=True))


def choose(
    coefficients: Mapping[str, Coefficients], asked: Question | None, model: object = None
) -> str:
    """Return the name of the coefficients for the question of a chat.

    Parameters
    ----------
    coefficients : mapping of Coefficients
        By name. Those that do not know in which form they were asked are for answers in text.
    asked : Question or None
        What the request asks, of the model as it names it; the unknown is not compared.
    model : str, optional
        As the answer names it, which may be longer.

    Raises
    ------
    PassedError
        If all are for other questions; it has the name of those that differ least.
    """
    differences: dict[str, tuple[str, ...]] = {}
    for name, fitted in coefficients.items():
        fits = question_of(fitted.fit) or Question.of(None, CHAT, fitted.classes)
        fits = replace(fits, answer=fits.answer or TEXT)
        now = asked or Question.of(None, CHAT, ())
        named = fits.model if now.model == fits.model else model
        now = now.of_model(named if isinstance(named, str) else None)
        differences[name] = fits.changes(replace(now, options=fits.options))
        if not differences[name]:
            return name
    name = min(differences, key=lambda name: len(differences[name]))
    raise PassedError(
        "question",
        f"the coefficients are for another question: {'; '.join(differences[name])}",
        hint="Fit on answers to this question",
        name=name,
        changes=differences[name],
    )


def passing(request: Mapping[str, Any]) -> str | None:
    """Return why the answer to a request cannot be corrected, in a word; None if it can."""
    if request.get("stream"):
        return "stream"
    if request.get("n") not in (None, 1):
        return "n"
    return "tools" if request.get("tools") or request.get("functions") else None


def with_logprobs(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request that asks for the likeliest tokens, too."""
    return {**request, "logprobs": True, "top_logprobs": TOP}


def as_asked(completion: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a completion with the log-probabilities that the client asked for, and no others."""
    choices = completion.get("choices")
    if not isinstance(choices, list):
        return dict(completion)
    cut = [_cut(choice, request) if isinstance(choice, Mapping) else choice for choice in choices]
    return {**completion, "choices": cut}


def _cut(choice: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    logprobs, top = choice.get("logprobs"), request.get("top_logprobs") or 0
    if not request.get("logprobs") or not isinstance(logprobs, Mapping):
        return {**choice, "logprobs": None} if "logprobs" in choice else dict(choice)
    content = logprobs.get("content")
    if not (isinstance(content, list) and all(isinstance(token, Mapping) for token in content)):
        return dict(choice)
    tokens = [
        {**token, "top_logprobs": (token.get("top_logprobs") or [])[:top]} for token in content
    ]
    return {**choice, "logprobs": {**logprobs, "content": tokens}}


class ChatLabel(NamedTuple):
    """The label that a completion states: the choice and the text that it stands in, and where.

    `decision` has the probability of every class, and the mass of all of them.
    """

    choice: Mapping[str, Any]
    text: str
    places: tuple[Mention, ...]
    decision: Decision


def correct_chat(
    completion: Mapping[str, Any], coefficients: Coefficients, name: str = CHAT
) -> tuple[dict[str, Any], Correction]:
    """Return a completion with its label corrected, and the decision before and after.

    Raises
    ------
    PassedError
        If there is no single label in it, or nothing tells how probable the labels are.
    """
    classes = coefficients.classes
    way = way_of_reading(coefficients.fit, classes)
    choice, text, places, before = read_chat(completion, classes, name, way)
    after, deferred = reweighted(before, coefficients)
    changed = dict(choice)
    if after.choice != before.choice:
        for place in reversed(places):
            spelt = text[place.start : place.end]
            own = way.names and spelt.casefold() != classes[place.label].casefold()
            names = way.names if own else classes
            new = _written(place, spelt, names, names[classes.index(str(after.choice))])
            text = text[: place.start] + new + text[place.end :]
        # The tokens of the old label would contradict it.
        changed |= {"message": {**choice["message"], "content": text}, "logprobs": None}
    if deferred is not None:
        changed[DEFERRED] = deferred
    body = marked({**completion, "choices": [changed]}, {name: coefficients.digest})
    return body, Correction(before, after, deferred=deferred)


def read_chat(
    completion: Mapping[str, Any], classes: tuple[str, ...], name: str, way: Way | None = None
) -> ChatLabel:
    """Return the label of a completion, and how probable the model found each class.

    It is read as in the fit: `way_of_reading`.

    Raises
    ------
    PassedError
        If there is no single label in it, or nothing tells how probable the labels are.
    """
    if (mark := mark_of(completion)) is not None:
        raise PassedError("corrected", f"the answer is corrected already, by {mark}")
    choice, answer = _answer(completion)
    names, key, last = way or Way()
    reader = reader_of(names or classes, classes, key, last=last)
    reading = reader.locate(answer)
    if not reading.is_spelt:
        raise PassedError("tokens", "the tokens do not make the text of the answer")
    label = _the_label(reading)
    captured, p = _probabilities(answer, reading, reader)
    decision = Decision(name, "choice", classes, p, classes[label], min(captured, 1.0))
    return ChatLabel(choice, str(answer.content), reading.mentions, decision)


def _answer(completion: Mapping[str, Any]) -> tuple[Mapping[str, Any], Answer]:
    """Return the only choice of a completion, and the answer that it holds."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        raise PassedError("n", "the completion does not hold one answer")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise PassedError("label", "the answer has no message")
    if message.get("tool_calls") or message.get("function_call"):
        raise PassedError("tools", "the answer calls a tool")
    try:
        answer = read_choice(choice)
    except BackendError as error:
        raise PassedError("tokens", error.message, hint=error.hint) from error
    if answer.refused:
        raise PassedError("refusal", "the model refuses to answer")
    if answer.content is None:
        raise PassedError("label", "the answer has no text")
    return choice, answer


def _the_label(reading: Reading) -> int:
    """Return the label that an answer states."""
    if not reading.mentions:
        reason = "several" if reading.reason == SEVERAL else "label"
        raise PassedError(reason, f"the answer states {reading.reason}")
    return reading.mentions[0].label


def _written(label: Mention, spelt: str, classes: tuple[str, ...], name: str) -> str:
    """Return the name of a class, spelt as the label is."""
    ways = (str, str.lower, str.upper, str.capitalize, str.title)
    spell = next((way for way in ways if way(classes[label.label]) == spelt), str)
    text = spell(name)
    if label.in_json is None:
        return text
    if label.in_json is str:
        return json.dumps(text, ensure_ascii=False)[1:-1]
    try:
        kind = type(json.loads(text, parse_int=float))
    except ValueError:
        kind = str
    if kind is not label.in_json:
        raise PassedError("label", "the class is not a JSON value of the kind that the answer has")
    return text


def _probabilities(answer: Answer, reading: Reading, reader: LabelReader) -> tuple[float, Floats]:
    """Return what all labels have together where the label begins, and the share of each."""
    try:
        match = reader.weigh_label(answer, reading)
    except BackendError as error:
        is_silent = isinstance(error, SilentError) and not isinstance(error, UnclearError)
        reason = "logprobs" if is_silent else "tokens"
        raise PassedError(reason, error.message, hint=error.hint) from error
    captured = float(match.captured.sum())
    ceiling = match.captured if match.ceiling is None else match.ceiling
    return captured, fill_unreported([match.captured], [ceiling])[0]
