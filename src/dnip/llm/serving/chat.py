"""Coefficients applied to chat completions: to answers that are a label, or JSON with one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dnip.base.columns import CORRECTED, DEFERRED
from dnip.base.errors import BackendError, InvalidInputError
from dnip.base.objects import once
from dnip.llm.answers.fill import fill_unreported
from dnip.llm.answers.label_matching import matcher_of, variants
from dnip.llm.answers.tokens import Reported, read_reported
from dnip.llm.decisions import Correction, Decision
from dnip.llm.decisions.correction import Given, load_coefficients, mark_of, marked, reweighted
from dnip.method.coefficients import Coefficients
from dnip.tables.provenance import Question, fixed_messages, question_of

#: The likeliest tokens to ask for: the most that services give.
TOP = 20

#: What a chat is called whose coefficients have no fingerprint.
CHAT = "chat"

# More tokens at one place are hostile.
_MOST_TOKENS = 10_000

_Completion = TypeVar("_Completion")


class PassedError(InvalidInputError):
    """A chat that cannot be corrected, and passes as it is.

    Parameters
    ----------
    reason : str
        In a word: ``"stream"``, ``"n"``, ``"tools"``, ``"refusal"`` and ``"label"`` are as they
        should be; ``"logprobs"``, ``"tokens"``, ``"question"`` and ``"corrected"`` may surprise.
    message : str
    hint : str, optional
    """

    def __init__(self, reason: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason

    @property
    def is_usual(self) -> bool:
        """Whether nothing is wrong: there is no single label to correct."""
        return self.reason in ("stream", "n", "tools", "refusal", "label")


def correct(
    completion: _Completion,
    *,
    coefficients: Given | Sequence[Given],
    messages: Sequence[Mapping[str, Any]] | None = None,
    model: str | None = None,
) -> _Completion:
    """Return a chat completion with its label corrected by coefficients.

    The label is replaced where the whole answer is one, or a JSON object in which one value is. Ask
    for it with ``logprobs=True, top_logprobs=20``. Options in another order are another question:
    name them in the prompt in the order of the fit.

    Parameters
    ----------
    completion : ChatCompletion of the package openai, or mapping
        It is not changed.
    coefficients : Coefficients, path, or sequence of Coefficients
        Of several, those with the fingerprint of the question are taken.
    messages : sequence of mappings, optional
        What was asked. With them, coefficients for another question are refused.
    model : str, optional
        As it was asked for, if the completion gives it a longer name.

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
    one = isinstance(coefficients, Coefficients | str | os.PathLike)
    several: Any = [coefficients] if one else coefficients
    known = load_coefficients(dict(enumerate(several))).values()
    body = completion if isinstance(completion, Mapping) else completion.model_dump()  # type: ignore[attr-defined]
    try:
        chosen = choose(check_chats(known), (model, body.get("model")), messages)
        new, found = correct_chat(body, chosen)
    except PassedError as error:
        if error.is_usual:
            return completion
        raise
    if isinstance(completion, Mapping):
        return new  # type: ignore[return-value]
    copy: Any = completion.model_copy(deep=True)  # type: ignore[attr-defined]
    copy.choices[0].message.content = new["choices"][0]["message"]["content"]
    if found.deferred is not None:
        setattr(copy.choices[0], DEFERRED, found.deferred)
    copy.model = new.get("model")
    setattr(copy, CORRECTED, new[CORRECTED])
    return copy  # type: ignore[no-any-return]


def name_of(coefficients: Coefficients) -> str:
    """Return what a chat is called in marks, counts and records: its fingerprint."""
    question = question_of(coefficients.fit)
    return CHAT if question is None else question.fingerprint


def check_chats(coefficients: Iterable[Coefficients]) -> tuple[Coefficients, ...]:
    """Refuse coefficients of which nobody could tell which are meant, or with odd labels.

    Raises
    ------
    InvalidInputError
        If there are several, of which one has no fingerprint, or two have the same; or if a label
        begins another one.
    """
    known = tuple(coefficients)
    names = [name_of(one) for one in known]
    if len(known) > 1 and (CHAT in names or len(set(names)) < len(names)):
        raise InvalidInputError(
            "of several coefficients for chats each needs a fingerprint of its own; they have "
            f"{', '.join('none' if name == CHAT else name for name in names)}",
            hint="Fit on tables of `dnip prompt`, `dnip import` or --record, or give one alone",
        )
    for one in known:
        matcher_of(one.classes)
    return known


def choose(
    coefficients: Sequence[Coefficients], models: Sequence[object], messages: object
) -> Coefficients:
    """Return the coefficients for the question of a chat; None stands for what is not known.

    A model may have two names: as it is asked for, and a longer one in its answers.

    Raises
    ------
    PassedError
        If all are for other questions.
    """
    fixed = None if messages is None else fixed_messages(messages)
    changes: tuple[str, ...] = ()
    for one in coefficients:
        question = question_of(one.fit)
        if question is None:
            return one
        named = question.model if question.model in models else models[-1]
        model = named if isinstance(named, str) else None
        found = question.changes(Question.of(model, "chat", question.options, fixed))
        if not found:
            return one
        changes = changes or found
    raise PassedError(
        "question",
        f"the coefficients are for another question: {'; '.join(changes)}",
        hint="Fit on answers to this question",
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
    kept = [_cut(one, request) if isinstance(one, Mapping) else one for one in choices]
    return {**completion, "choices": kept}


def _cut(choice: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    logprobs, top = choice.get("logprobs"), request.get("top_logprobs") or 0
    if not request.get("logprobs") or not isinstance(logprobs, Mapping):
        return {**choice, "logprobs": None} if "logprobs" in choice else dict(choice)
    content = logprobs.get("content")
    if not (isinstance(content, list) and all(isinstance(one, Mapping) for one in content)):
        return dict(choice)
    tokens = [{**one, "top_logprobs": (one.get("top_logprobs") or [])[:top]} for one in content]
    return {**choice, "logprobs": {**logprobs, "content": tokens}}


def correct_chat(
    completion: Mapping[str, Any], coefficients: Coefficients
) -> tuple[dict[str, Any], Correction]:
    """Return a completion with its label corrected, and the decision before and after.

    Raises
    ------
    PassedError
        If there is no single label in it, or nothing tells how probable the labels are.
    """
    name, classes = name_of(coefficients), coefficients.classes
    if (mark := mark_of(completion)) is not None:
        raise PassedError("corrected", f"the answer is corrected already, by {mark}")
    choice, text = _answer(completion)
    label = _find_label(text, classes)
    captured, p = _probabilities(choice, text, label, classes)
    before = Decision(name, "choice", classes, p, classes[label.place], min(captured, 1.0))
    after, deferred = reweighted(before, coefficients)
    new = text[: label.start] + label.written(str(after.choice)) + text[label.end :]
    changed = {**choice, "message": {**choice["message"], "content": new}}
    if deferred is not None:
        changed[DEFERRED] = deferred
    body = marked({**completion, "choices": [changed]}, {name: coefficients.digest})
    return body, Correction(before, after, deferred=deferred)


def _answer(completion: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the only answer of a completion, and its text."""
    choices = completion.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        raise PassedError("n", "the completion does not hold one answer")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise PassedError("label", "the answer has no message")
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        raise PassedError("refusal", "the model refuses to answer")
    if message.get("tool_calls") or message.get("function_call"):
        raise PassedError("tools", "the answer calls a tool")
    if not isinstance(message.get("content"), str):
        raise PassedError("label", "the answer has no text")
    return choice, message["content"]


class _Label(NamedTuple):
    """A label within a text."""

    place: int
    start: int
    end: int
    spelt: str
    name: str
    in_json: type | None = None

    def written(self, name: str) -> str:
        """Return the name of a class, spelt as this one is."""
        ways = (str, str.lower, str.upper, str.capitalize)
        spell = next(way for way in ways if way(self.name) == self.spelt)
        text = spell(name)
        if self.in_json is None:
            return text
        if self.in_json is str:
            return json.dumps(text, ensure_ascii=False)[1:-1]
        if type(_json(text)) is not self.in_json:
            raise PassedError("label", "the class is no JSON value of the kind that the answer has")
        return text


@cache
def _spellings(classes: tuple[str, ...]) -> dict[str, int]:
    """Return the ways to write each label, without spaces around it."""
    return {way.strip(): n for n, name in enumerate(classes) for way in variants(name)}


def _find_label(text: str, classes: tuple[str, ...]) -> _Label:
    """Return the label that a text is, or that is one value of a JSON object."""
    known, whole = _spellings(classes), text.strip()
    if whole in known:
        start = text.index(whole)
        return _Label(known[whole], start, start + len(whole), whole, classes[known[whole]])
    content = _json(whole)
    values = content.values() if isinstance(content, dict) else ()
    found = [(value, spelt) for value in values if (spelt := _spelt(value)) in known]
    if len(found) == 1:
        [(value, spelt)] = found
        quote = '"' * isinstance(value, str)
        written = {json.dumps(spelt)[1:-1], json.dumps(spelt, ensure_ascii=False)[1:-1]}
        pattern = "|".join(map(re.escape, written))
        places = [*re.finditer(rf":\s*{quote}({pattern}){quote}(?=\s*[,}}])", text)]
        if len(places) == 1:
            n, place = known[spelt], places[0]
            return _Label(n, place.start(1), place.end(1), spelt, classes[n], type(value))
    raise PassedError("label", "the answer is no label, and no JSON object with one")


def _spelt(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _json(text: str) -> Any:  # noqa: ANN401
    """Return a JSON value, None for a text that is none or has a key twice."""
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None


def _probabilities(
    choice: Mapping[str, Any], text: str, label: _Label, classes: tuple[str, ...]
) -> tuple[float, Any]:
    """Return what all labels have together where the label begins, and the share of each."""
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not content:
        raise PassedError(
            "logprobs",
            "the answer has no log-probabilities",
            hint="Ask for them: logprobs=True, top_logprobs=20",
        )
    try:
        match = matcher_of(classes).match(_reported_at(content, text, label))
        match.check_clear()
    except PassedError:
        raise
    except (BackendError, InvalidInputError) as error:
        raise PassedError("tokens", error.message, hint=error.hint) from error
    captured = float(match.captured.sum())
    if captured == 0:
        raise PassedError("tokens", "no reported token begins a label")
    ceiling = match.captured if match.ceiling is None else match.ceiling
    return captured, fill_unreported([match.captured], [ceiling])[0]


def _reported_at(content: list[Any], text: str, label: _Label) -> Reported:
    """Return the tokens that were reported at the place where the label begins."""
    whole = text.strip()
    written = [_bytes(entry) for entry in content]
    begin = b"".join(written).find(whole.encode(errors="surrogatepass"))
    if begin < 0:
        raise PassedError("tokens", "the tokens do not make the text of the answer")
    lead = len(text) - len(text.lstrip())
    at = begin + len(text[lead : label.start].encode(errors="surrogatepass"))
    ends = np.cumsum([len(one) for one in written])
    place = int(np.searchsorted(ends, at, side="right"))
    before = written[place][: at - int(ends[place]) + len(written[place])]
    listed = content[place].get("top_logprobs")
    if before.strip() or not isinstance(listed, list) or len(listed) > _MOST_TOKENS:
        raise PassedError("tokens", "the label does not begin with a token")
    return read_reported({"choices": [{"logprobs": {"content": [content[place]]}}]})


def _bytes(entry: object) -> bytes:
    """Return a token as it stands in the text; some hold half a character."""
    token = entry.get("token") if isinstance(entry, Mapping) else None
    given = entry.get("bytes") if isinstance(entry, Mapping) else None
    try:
        return bytes(given) if isinstance(given, list) else str(token).encode()
    except (ValueError, TypeError):
        raise PassedError("tokens", "a token is no text") from None
