"""Requests to decision servers: what their questions ask, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dnip.llm.decisions.answers import YES_NO, order_of
from dnip.tables.provenance import Question


def asked_question(model: str | None, content: Mapping[str, Any]) -> Question | None:
    """Return the question that a request asks; None where its options are not known.

    What stands beside the options, such as instructions and descriptions, is its wording.

    Examples
    --------
    >>> topic = {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": None}}
    >>> asked_question("m", topic).options
    ('a', 'b')
    """
    names = _options(content)
    fixed = {key: value for key, value in content.items() if key != "name"}
    return Question.of(model, "decision", names[-1], fixed) if names else None


def check_options(name: str, content: Mapping[str, Any], classes: Collection[str]) -> None:
    """Refuse a question whose options are not the classes; what is not known is left to the answer.

    Raises
    ------
    CoefficientsFormatError
        If they are not.

    Examples
    --------
    >>> topic = {"type": "choice", "criteria": {"a": None, "b": None}}
    >>> check_options("topic", topic, ["b", "a"])
    """
    if names := _options(content):
        order_of(name, classes, *names)


def in_order(content: Mapping[str, Any], classes: Sequence[str]) -> Mapping[str, Any]:
    """Return a choice with its options in the order of the classes; other questions as they are.

    Models prefer what stands first, or last: another order is another question.

    Examples
    --------
    >>> topic = {"type": "choice", "criteria": {"a": None, "b": None}}
    >>> in_order(topic, ["b", "a"])["criteria"]
    {'b': None, 'a': None}
    """
    names = _options(content) if content.get("type") == "choice" else []
    if not names or names[0] == tuple(classes):
        return content
    key = next(key for key in _LISTS if content.get(key))
    given = content[key]
    places = order_of("", classes, *names)
    entries = [*given.items()] if isinstance(given, Mapping) else given
    new: Any = [entries[place] for place in places]
    return {**content, key: dict(new) if isinstance(given, Mapping) else new}


def as_listed(answer: object, content: Mapping[str, Any]) -> object:
    """Return an answer with its options in the order of the request."""
    given = answer.get("probabilities") if isinstance(answer, Mapping) else None
    places = {name: place for place, name in enumerate(_options(content)[0])}
    if isinstance(given, Mapping):
        items = sorted(given.items(), key=lambda one: places.get(str(one[0]), len(places)))
        return {**answer, "probabilities": dict(items)}  # type: ignore[dict-item]
    if isinstance(given, list) and all(isinstance(one, Mapping) for one in given):
        listed = sorted(given, key=lambda one: places.get(_name(one.get("value")), len(places)))
        return {**answer, "probabilities": listed}  # type: ignore[dict-item]
    return answer


# Where a question has its options.
_LISTS = ("criteria", "choices", "levels")


def _options(question: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the options of a question, and other names of them; nothing where none are known."""
    kind = question.get("type")
    if kind in list(YES_NO):
        return [("false", "true"), ("no", "yes")]
    given = next((question[key] for key in _LISTS if question.get(key)), None)
    if not isinstance(given, Mapping | list) or kind not in ("choice", "score"):
        return []
    entries = [
        one.get("value", one.get("label")) if isinstance(one, Mapping) else one for one in given
    ]
    names = tuple(map(_name, entries))
    return [names] if kind == "choice" else [tuple(map(str, range(len(names)))), names]


def _name(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
