"""Samples of lm-evaluation-harness: the log-likelihood of each choice, and the gold label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number

# Models round: a logarithm of a probability above 0 by less than this is 0.
_ROUNDING = 1e-3


def _is_sample(content: Answer) -> bool:
    return isinstance(content, dict) and {"doc_id", "resps"} <= content.keys()


def _filter(content: Answer) -> list[str]:
    """Return the filter: a file holds a row for each document and filter."""
    return [str(content.get("filter", ""))]


def _read(content: Answer, wanted: Wanted) -> Row:
    """Read the log-likelihood of each choice, and the gold label.

    Where the texts of the choices are the names of the classes, they are matched by name; otherwise
    the first choice is the first class.
    """
    n, values = len(wanted.names), _log_likelihoods(content)
    if len(values) == 2 * n:  # those without a context follow
        values = values[:n]
    if len(values) != n:
        raise InvalidInputError(
            f"it holds {len(values)} log-likelihoods, but there are {n} classes",
            hint="Name the choices of the task with --classes, in its order",
        )
    logs = np.array([as_number(value, "log-likelihood") for value in values])
    bad = ~(logs <= _ROUNDING)
    if bad.any() or logs.max() == -np.inf:
        raise InvalidInputError(
            f"a log-likelihood is {logs[bad.argmax()]:g}",
            hint="The logarithm of a probability is a number of 0 at most",
        )
    choices, places = [text.strip() for text in _choices(content)[:n]], list(range(n))
    # What long choices have together says nothing of the prompt.
    mass = None if any(" " in text for text in choices) else min(float(np.exp(logs).sum()), 1.0)
    if wanted.by_character:
        if not all(choices) or len(choices) < n:
            raise InvalidInputError(
                "the texts of the choices are not there, so their lengths are not known",
                hint="Write the samples with --log_samples, which keeps the arguments",
            )
        logs, mass = logs / [len(text) for text in choices], None
    if sorted(choices) == sorted(wanted.names):
        places = [choices.index(name) for name in wanted.names]
    logs, gold = logs[places], content.get("target")
    place = _place(gold, choices) if wanted.own_labels else None
    label = wanted.classes[places.index(place)] if place in places else gold
    # Without the factor, products of many small probabilities would underflow.
    scores = np.exp(logs - logs.max())
    return Row(scores / scores.sum(), mass=mass, label=label)


def _place(gold: object, choices: Sequence[str]) -> int | None:
    """Return the place of the right choice, given by its number or its text; None if untold."""
    as_place = int(gold) if isinstance(gold, int | str) and str(gold).isdecimal() else None
    if not isinstance(gold, str) or gold not in choices:
        return as_place
    if as_place not in (None, choices.index(gold)):
        raise InvalidInputError(
            f"the target {gold!r} may be the place of a choice, or its text",
            hint="Give the labels in a file of their own, with --gold",
        )
    return choices.index(gold)


def _log_likelihoods(content: dict[str, Any]) -> list[Any]:
    found = content.get("filtered_resps") or content["resps"]
    logs = []
    for one in found if isinstance(found, list) else [found]:
        while isinstance(one, list) and len(one) == 1 and isinstance(one[0], list):
            one = one[0]  # noqa: PLW2901  # resps hold a list of repeats for each request
        if not isinstance(one, list) or len(one) != 2:
            raise InvalidInputError(
                f"it holds {one!r:.60} instead of log-likelihoods",
                hint="Import samples of tasks with output_type: multiple_choice",
            )
        logs.append(one[0])
    return logs


def _choices(content: dict[str, Any]) -> list[str]:
    """Return the texts whose log-likelihoods were asked for, none where they are not logged."""
    asked = content.get("arguments")
    texts = []
    for one in asked.values() if isinstance(asked, dict) else asked or []:
        pair = list(one.values()) if isinstance(one, dict) else one
        texts.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    if not texts:
        doc = content.get("doc")
        told = doc.get("choices") if isinstance(doc, dict) else None
        told = told.get("text") if isinstance(told, dict) else told
        texts = [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
    return texts


def _generated(content: Answer) -> dict[str, list[str]]:
    """Return what was generated: a list of repeats for each request."""
    texts = [text for one in content["resps"] for text in one if isinstance(text, str)]
    return {_filter(content)[0]: texts}


HARNESS = Source(
    "lm-eval", "samples of lm-evaluation-harness", _is_sample, _read, _filter, _generated
)
