"""Where a table comes from: the hash of its content, the model, the prompt and the question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from dnip.base.columns import QUESTION
from dnip.base.files import read_text, valid_unicode
from dnip.base.typing import Labels, Probabilities
from dnip.method.coefficients import FitRecord

#: What makes a prompt, beside the text of the row.
_PROMPT = ("task", "demonstrations", "scoring")

# What a table tells of its origin, and the words for it.
_ORIGIN = {
    "model": "model",
    "revision": "revision of the model",
    "precision": "precision",
    "prompt_sha256": "prompt (its hash)",
}


class DataHash:
    """SHA-256 of probabilities, labels and class names, the same in every file format.

    Parameters
    ----------
    classes : sequence of str
        Class names.
    labelled : bool
        Whether there is a label column.
    n_rows : int
        Rows in all the blocks that will come.

    Examples
    --------
    >>> whole = DataHash(["no", "yes"], labelled=False, n_rows=1)
    >>> whole.add(np.array([[0.5, 0.5]]), None)
    >>> whole.hexdigest()[:12]
    'a8882babdb2f'
    """

    def __init__(self, classes: Sequence[str], *, labelled: bool, n_rows: int) -> None:
        header = {"classes": classes, "labelled": labelled, "shape": (n_rows, len(classes))}
        self._digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        self._kind = np.min_scalar_type(-len(classes))
        self._labels: list[Labels] = []  # hashed after all probabilities

    def add(self, probabilities: Probabilities, labels: Labels | None) -> None:
        """Add the next rows."""
        self._digest.update(np.ascontiguousarray(probabilities, "<f8").data)
        if labels is not None:
            self._labels.append(labels.astype(self._kind))

    def hexdigest(self) -> str:
        """Return the hash; no rows can be added after it."""
        for labels in self._labels:
            self._digest.update(labels.astype("<i8").data)
        self._labels = []
        return self._digest.hexdigest()


def metadata_path(table: Path) -> Path:
    """Return where the metadata of a table lies."""
    return table.with_name(f"{table.name}.meta.json")


def origin_of(table: Path) -> dict[str, Any] | None:
    """Return the model and the prompt of a table, or None where its metadata do not tell.

    Parameters
    ----------
    table : Path
        A table file.

    Returns
    -------
    dict or None
        ``model``, ``revision``, ``precision`` and ``prompt_sha256``: a hash of the task's wording,
        the demonstrations and the chat template. None stands for what is not known. Where the
        question is known, `question` holds it as `Question.to_dict` returns it.

    Examples
    --------
    >>> origin_of(Path("no such table.csv")) is None
    True
    """
    if not table.is_file():
        return None
    try:
        content = json.loads(read_text(metadata_path(table)))
        question = Question.read(content.get(QUESTION))
        asked = {} if question is None else {QUESTION: question.to_dict()}
        settings = content.get("settings", {})
        if question is not None and "engine" not in settings:
            return asked
        engine = settings["engine"]
        prompt = {name: settings[name] for name in _PROMPT}
        prompt["chat_template"] = engine.get("chat_template")
        digest = hashlib.sha256(json.dumps(prompt, sort_keys=True).encode())
        return {
            "model": _text(engine["model"]),
            "revision": _text(engine.get("commit") or engine.get("revision")),
            "precision": _text(engine.get("dtype")),
            "prompt_sha256": digest.hexdigest(),
            **asked,
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # written by hand, or by another program


def changes_of_origin(
    at_fit: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """Say, in a sentence each, what of model, prompt and question is not as it was at the fit."""
    if at_fit is None or now is None:
        return ()
    changes = tuple(
        f"the {name} differs: {at_fit.get(key)} at the fit, {now.get(key)} now"
        for key, name in _ORIGIN.items()
        if at_fit.get(key) != now.get(key) and (key in at_fit) == (key in now)
    )
    before, asked = Question.read(at_fit.get(QUESTION)), Question.read(now.get(QUESTION))
    return changes if before is None or asked is None else (*changes, *before.changes(asked))


def question_of(record: FitRecord) -> Question | None:
    """Return the question that coefficients were fitted on, from the record of the fit."""
    origin = None if record.data is None else record.data.origin
    return None if origin is None else Question.read(origin.get(QUESTION))


def _text(value: object) -> str | None:
    return None if value is None else valid_unicode(str(value))


# What may differ between two questions, and the words for it.
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
        return cls(None, form, tuple(map(valid_unicode, options)), text).of_model(model)

    def of_model(self, model: str | None) -> Self:
        """Return the same question, put to another model."""
        return replace(self, model=model and valid_unicode(model))

    @classmethod
    def read(cls, content: object) -> Self | None:
        """Return a question from the metadata of a table or a fit; None where there is none."""
        if not isinstance(content, Mapping):
            return None
        model, form, options, fixed = (content.get(name) for name in _NAMES)
        texts = isinstance(options, list) and all(isinstance(option, str) for option in options)
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
        fields = {**vars(self), "options": list(self.options)}
        return {"fingerprint": self.fingerprint, **fields}

    def changes(self, now: Question) -> tuple[str, ...]:
        """Say, in a sentence each, what is another now; what is not known is not compared."""
        pairs = ((text, getattr(self, name), getattr(now, name)) for name, text in _NAMES.items())
        return tuple(
            f"the {text}: {before} at the fit, {after} now"
            for text, before, after in pairs
            if None not in (before, after) and before != after
        )


def fixed_messages(messages: object) -> list[list[str]]:
    """Return what is fixed of a chat: its messages before the last one of the user.

    Examples
    --------
    >>> turns = [{"role": "system", "content": "Name it."}, {"role": "user", "content": "x"}]
    >>> fixed_messages(turns)
    [['system', 'Name it.']]
    """
    turns = messages if isinstance(messages, list | tuple) else []
    known = [turn for turn in turns if isinstance(turn, Mapping)]
    users = [number for number, turn in enumerate(known) if turn.get("role") == "user"]
    before = known[: users[-1]] if users else known
    return [[str(turn.get("role")), _text_of(turn.get("content"))] for turn in before]


def _text_of(content: object) -> str:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, list) and all(isinstance(piece, Mapping) for piece in content):
        texts = [piece.get("text") for piece in content]
        if all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    return content if isinstance(content, str) else json.dumps(content, sort_keys=True)


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
