"""Requests to decision servers: whether their questions have the options that are corrected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dnip.deploying.decisions.answers import YES_NO, by_question, order_of


def check_asked(body: object, question: str, classes: Collection[str]) -> None:
    """Refuse a request whose question has other options; what is not known is left to the answer.

    Parameters
    ----------
    body : JSON value
        The whole request, of either shape.
    question : str
        A question that has coefficients.
    classes : collection of str
        Their classes.

    Raises
    ------
    CoefficientsFormatError
        If the classes are not the options.

    Examples
    --------
    >>> topic = {"type": "choice", "criteria": {"a": None, "b": None}}
    >>> check_asked({"questions": {"topic": topic}}, "topic", ["b", "a"])
    """
    asked = body.get("questions") if isinstance(body, Mapping) else None
    for name, content in by_question(asked):
        if name == question and isinstance(content, Mapping) and (names := _options(content)):
            order_of(question, classes, *names)


def _options(question: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the options of a question, and other names of them; nothing where none are known."""
    kind = question.get("type")
    if kind in list(YES_NO):
        return [("false", "true"), ("no", "yes")]
    given = question.get("criteria") or question.get("choices") or question.get("levels")
    if not isinstance(given, Mapping | list) or kind not in ("choice", "score"):
        return []
    entries = [
        one.get("value", one.get("label")) if isinstance(one, Mapping) else one for one in given
    ]
    names = tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in entries)
    return [names] if kind == "choice" else [tuple(map(str, range(len(names)))), names]
