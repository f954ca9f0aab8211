"""The question that a model is asked with every row, and whether it is still the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

from dnip.base.files import valid_unicode
from dnip.method.coefficients import FitRecord
from dnip.tables.origin import QUESTION, changes_of_origin

#: How labels were read, next to a question in the metadata of a table: what answers call them, the
#: key of JSON, and whether the last label counts.
NAMES, KEY, READ, LAST = "names", "key", "read", "last"
# What makes a prompt, next to the text of the row.
_PROMPT = ("task", "demonstrations", "scoring")

#: The form of an answer for which a request asks in no way but by words.
TEXT = "text"

# Where a request may say what the answer must be: the server, the key, and what the key holds.
_FORMS = {
    "guided_json": "schema",  # vLLM
    "guided_choice": "choice",
    "guided_regex": "regex",
    "guided_grammar": "grammar",
    "json_schema": "schema",  # llama.cpp
    "grammar": "grammar",
    "regex": "regex",  # SGLang
    "ebnf": "grammar",
    "logit_bias": "logit_bias",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "functions": "functions",
    "function_call": "function_call",
}
# How vLLM's structured_outputs calls the same.
_STRUCTURED = {"json": "schema", "choice": "choice", "regex": "regex", "grammar": "grammar"}


def origin_of_run(settings: Mapping[str, Any]) -> dict[str, str | None]:
    """Return which model and which prompt made a table, of the settings of the run.

    Returns
    -------
    dict
        ``model``, ``revision``, ``precision`` and ``prompt_sha256``: a hash of the task's wording,
        the demonstrations and the chat template. None stands for what is not known.
    """
    engine = settings["engine"]
    prompt = {name: settings.get(name) for name in _PROMPT}
    prompt["chat_template"] = engine.get("chat_template")
    digest = hashlib.sha256(json.dumps(prompt, sort_keys=True).encode())
    return {
        "model": _text(engine.get("model")),
        "revision": _text(engine.get("commit") or engine.get("revision")),
        "precision": _text(engine.get("dtype")),
        "prompt_sha256": digest.hexdigest(),
    }


def _text(value: object) -> str | None:
    return None if value is None else valid_unicode(str(value))


def question_of(record: FitRecord) -> Question | None:
    """Return the question that coefficients were fitted on, from the record of the fit."""
    origin = None if record.data is None else record.data.origin
    return None if origin is None else Question.read(origin.get(QUESTION))


class Way(NamedTuple):
    """How labels are read.

    Attributes
    ----------
    names : tuple of str
        What answers call the classes; none where these are their own names.
    key, last
        As `dnip.llm.answers.stating.Rule` takes them.
    """

    names: tuple[str, ...] = ()
    key: str | None = None
    last: bool = False


def way_of_reading(record: FitRecord, classes: Sequence[str]) -> Way:
    """Return how the labels of a fit were read; a fit that does not know read what is stated."""
    origin = None if record.data is None else record.data.origin
    question = (origin or {}).get(QUESTION)
    held = question if isinstance(question, Mapping) else {}
    called, key = held.get(NAMES), held.get(KEY)
    called = called if isinstance(called, Mapping) else {}
    names = tuple(str(called.get(name, name)) for name in classes) if called else ()
    return Way(
        names if len({*names}) == len(names) else (),
        key if isinstance(key, str) else None,
        held.get(READ) == LAST,
    )


@dataclass(frozen=True)
class Question:
    """A question that is put to a model with every row.

    Parameters
    ----------
    model : str or None
        As the server names it in its answers; None where it is not known.
    form : {"plain", "chat", "decision"}
        How it is asked.
    options : tuple of str
        In the order in which they are asked.
    fixed : str or None
        What stands around the text of every row: the instructions of a decision, or the messages of
        a chat before the last one of the user; its hash is kept. None where it is not known.
    answer : str, optional
        In which form a chat must answer, such as ``"text"`` or ``"schema 1f2e3d4c"``; None where
        it is not known.

    Examples
    --------
    >>> asked = Question.of("m", "decision", ["World", "Sports"], "Which topic?")
    >>> asked.fingerprint
    'f90526d969b79aa7'
    >>> asked.changes(Question.of("m", "decision", ["Sports", "World"], "Which topic?"))
    ("the options, or their order: ['World', 'Sports'] at the fit, ['Sports', 'World'] now",)
    """

    model: str | None
    form: str
    options: tuple[str, ...]
    fixed: str | None
    answer: str | None = None

    @classmethod
    def of(
        cls,
        model: str | None,
        form: str,
        options: Sequence[str],
        fixed: object = None,
        answer: str | None = None,
    ) -> Self:
        """Return a question; `fixed` is any JSON value."""
        text = None if fixed is None else _hash(fixed)
        return cls(None, form, tuple(map(valid_unicode, options)), text, answer).of_model(model)

    def of_model(self, model: str | None) -> Self:
        """Return the same question, put to another model."""
        return replace(self, model=model and valid_unicode(model))

    @classmethod
    def read(cls, content: object) -> Self | None:
        """Return a question from the metadata of a table or a fit; None where there is none."""
        if not isinstance(content, Mapping):
            return None
        model, form, options, fixed, answer = (content.get(f.name) for f in fields(cls))
        texts = isinstance(options, list) and all(isinstance(option, str) for option in options)
        known = all(isinstance(value, str | None) for value in (model, fixed, answer))
        if not (texts and known and isinstance(form, str)):
            return None
        return cls(model, form, tuple(options or ()), fixed, answer)

    @property
    def fingerprint(self) -> str:
        """A hash of all of it: 16 hexadecimal digits."""
        answer = [] if self.answer is None else [self.answer]  # as before there was such a thing
        return _hash([self.model, self.form, self.options, self.fixed, *answer])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, the fingerprint among them."""
        return {"fingerprint": self.fingerprint, **vars(self), "options": list(self.options)}

    def changes(self, now: Question) -> tuple[str, ...]:
        """Say, in a sentence each, what is another now; what is not known is not compared."""
        return changes_of_origin({QUESTION: self.to_dict()}, {QUESTION: now.to_dict()})


def chat_question(
    request: Mapping[str, Any], classes: Sequence[str], model: object = None
) -> Question:
    """Return the question that a chat request asks.

    Parameters
    ----------
    request : mapping
        Its body: ``messages``, and whatever says in which form the answer must be.
    classes : sequence of str
    model : JSON value, optional
        As the server names it in its answers; what is no text is not known.

    Examples
    --------
    >>> messages = [{"role": "system", "content": "Name it."}, {"role": "user", "content": "x"}]
    >>> asked = chat_question({"messages": messages}, ["World", "Sports"], "m")
    >>> asked.form, asked.answer
    ('chat', 'text')
    """
    fixed = fixed_messages(request.get("messages"))
    named = model if isinstance(model, str) else None
    return Question.of(named, "chat", classes, fixed, answer_form(request))


def fixed_messages(messages: object) -> list[list[str]]:
    """Return what is fixed of a chat: its messages before the last one of the user.

    Examples
    --------
    >>> turns = [{"role": "system", "content": "Name it."}, {"role": "user", "content": "x"}]
    >>> fixed_messages(turns)
    [['system', 'Name it.']]
    """
    turns, last = _turns(messages)
    return [[str(turn.get("role")), _text_of(turn.get("content"))] for turn in turns[:last]]


def user_text(messages: object) -> str:
    """Return what changes from chat to chat: the last message of the user.

    Examples
    --------
    >>> user_text([{"role": "system", "content": "Name it."}, {"role": "user", "content": "x"}])
    'x'
    """
    turns, last = _turns(messages)
    return _text_of(turns[last].get("content")) if last < len(turns) else ""


def _turns(messages: object) -> tuple[list[Mapping[str, Any]], int]:
    """Return the messages of a chat, and which of them is the last one of the user."""
    turns = messages if isinstance(messages, list | tuple) else []
    known = [turn for turn in turns if isinstance(turn, Mapping)]
    users = [number for number, turn in enumerate(known) if turn.get("role") == "user"]
    return known, users[-1] if users else len(known)


def _text_of(content: object) -> str:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, list) and all(isinstance(piece, Mapping) for piece in content):
        texts = [piece.get("text") for piece in content]
        if all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    return content if isinstance(content, str) else json.dumps(content, sort_keys=True)


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def answer_form(request: Mapping[str, Any]) -> str:
    """Return in which form a request wants its answer: ``"text"``, or what it says, with a hash.

    Examples
    --------
    >>> answer_form({"messages": []}), answer_form({"response_format": {"type": "json_object"}})
    ('text', 'json')
    >>> schema = {"type": "object", "required": ["topic"]}
    >>> wanted = {"type": "json_schema", "json_schema": {"name": "topic", "schema": schema}}
    >>> answer_form({"response_format": wanted}) == answer_form({"guided_json": schema})
    True
    """
    parts = dict(_response_format(request.get("response_format")))
    structured = request.get("structured_outputs")
    holders = [(_FORMS, request)]
    if isinstance(structured, Mapping):
        holders.append((_STRUCTURED, structured))
    for names, holder in holders:
        parts |= {part: holder[name] for name, part in names.items() if holder.get(name)}
    if isinstance(bias := parts.get("logit_bias"), Mapping):
        parts["logit_bias"] = {token: value for token, value in bias.items() if value}
    told = [name if value is True else f"{name} {_form_hash(value)}"
            for name, value in sorted(parts.items()) if value]  # fmt: skip
    return ", ".join(told) or TEXT


def _response_format(wanted: object) -> dict[str, Any]:
    """Return what the key response_format says, of whatever server."""
    if not isinstance(wanted, Mapping):
        return {"response_format": wanted}
    match wanted.get("type"):
        case "text":
            return {}
        case "json_object":
            return {"schema": wanted["schema"]} if wanted.get("schema") else {"json": True}
        case "json_schema":
            inner = wanted.get("json_schema")
            inner = inner if isinstance(inner, Mapping) else wanted
            return {"schema": inner.get("schema") or {}, "strict": bool(inner.get("strict"))}
    return {"response_format": wanted}


def _form_hash(value: object) -> str:
    text = json.dumps(_canonical(value), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def _canonical(value: object, *, is_ordered: bool = False) -> object:
    """Return a value with its keys sorted, but for properties: they come in this order."""
    if isinstance(value, Mapping):
        names = list(value) if is_ordered else sorted(value, key=str)
        return {
            str(name): _canonical(value[name], is_ordered=name == "properties") for name in names
        }
    if isinstance(value, list | tuple):
        return [_canonical(entry) for entry in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
