"""What was asked, and of which model: all that is the same for every row of a table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from dnip.base.escaping import valid_unicode

# How messages call what may differ.
_NAMES = {
    "model": "model",
    "form": "form of the question",
    "options": "options, or their order",
    "fixed": "wording of the question",
}


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

    Examples
    --------
    >>> asked = Question.of("m", "decision", ["World", "Sports"], "Which topic?")
    >>> asked.fingerprint
    'f90526d969b79aa7'
    >>> asked.changes(Question.of("m", "decision", ["Sports", "World"], "Which topic?"))
    ("the options, or their order: ('World', 'Sports') at the fit, ('Sports', 'World') now",)
    """

    model: str | None
    form: str
    options: tuple[str, ...]
    fixed: str | None

    @classmethod
    def of(cls, model: str | None, form: str, options: Sequence[str], fixed: object = None) -> Self:
        """Return a question; `fixed` is any JSON value."""
        text = None if fixed is None else _hash(fixed)
        return cls(model and valid_unicode(model), form, tuple(map(valid_unicode, options)), text)

    @classmethod
    def read(cls, kept: object) -> Self | None:
        """Return a question from the metadata of a table or a fit; None where there is none."""
        if not isinstance(kept, Mapping):
            return None
        model, form, options, fixed = (kept.get(name) for name in _NAMES)
        texts = isinstance(options, list) and all(isinstance(one, str) for one in options)
        known = isinstance(model, str | None) and isinstance(fixed, str | None)
        if not (texts and known and isinstance(form, str)):
            return None
        return cls(model, form, tuple(options or ()), fixed)

    @property
    def fingerprint(self) -> str:
        """A hash of all of it: 16 hexadecimal digits."""
        return _hash([self.model, self.form, self.options, self.fixed])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, the fingerprint among them."""
        own = {**vars(self), "options": list(self.options)}
        return {"fingerprint": self.fingerprint, **own}

    def changes(self, now: Question, only: str | None = None) -> tuple[str, ...]:
        """Say, in a sentence each, what is another now; what is not known is not compared."""
        names = _NAMES if only is None else [only]
        pairs = ((name, getattr(self, name), getattr(now, name)) for name in names)
        return tuple(
            f"the {_NAMES[name]}: {before} at the fit, {after} now"
            for name, before, after in pairs
            if None not in (before, after) and before != after
        )


def fingerprint(model: str | None, form: str, options: Sequence[str], fixed: object = None) -> str:
    """Return the fingerprint of a question; see `Question.of`."""
    return Question.of(model, form, options, fixed).fingerprint


def fixed_messages(messages: object) -> list[list[str]]:
    """Return what is fixed of a chat: its messages before the last one of the user.

    Examples
    --------
    >>> turns = [{"role": "system", "content": "Name it."}, {"role": "user", "content": "x"}]
    >>> fixed_messages(turns)
    [['system', 'Name it.']]
    """
    given = messages if isinstance(messages, list | tuple) else []
    found = [one for one in given if isinstance(one, Mapping)]
    users = [place for place, one in enumerate(found) if one.get("role") == "user"]
    before = found[: users[-1]] if users else found
    return [[str(one.get("role")), _text(one.get("content"))] for one in before]


def _text(content: object) -> str:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        texts = [part.get("text") for part in content]
        if all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    return content if isinstance(content, str) else json.dumps(content, sort_keys=True)


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
