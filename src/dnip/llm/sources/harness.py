"""Samples of log-likelihoods, as lm-evaluation-harness logs them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.llm.answers.answer import ROUNDING
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number


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
    logs = [as_number(value, "log-likelihood") for value in values]
    bad = [log for log in logs if not log <= ROUNDING]
    if bad or max(logs) == -math.inf:
        raise InvalidInputError(
            f"a log-likelihood is {(bad or logs)[0]:g}",
            hint="The logarithm of a probability is a number of 0 at most",
        )
    choices, order = [text.strip() for text in _choices(content)[:n]], list(range(n))
    # What long choices have together says nothing of the prompt.
    is_long = wanted.by_character or any(" " in text for text in choices)
    if wanted.by_character:
        if not all(choices) or len(choices) < n:
            raise InvalidInputError(
                "the texts of the choices are not there, so their lengths are not known",
                hint="Write the samples with --log_samples, which keeps the arguments",
            )
        logs = [log / len(text) for log, text in zip(logs, choices, strict=True)]
    names = wanted.called(choices)
    if sorted(choices) == sorted(names):
        order = [choices.index(name) for name in names]
    gold = content.get("target")
    right = _right_choice(gold, choices) if wanted.own_labels else None
    label = wanted.classes[order.index(right)] if right in order else gold
    mass = None if is_long else min(math.fsum(map(math.exp, logs)), 1.0)
    # Without the factor, products of many small probabilities would underflow.
    scores = np.exp(np.array(logs)[order] - max(logs))
    return Row(scores / scores.sum(), mass=mass, label=label)


def _right_choice(gold: object, choices: Sequence[str]) -> int | None:
    """Return the number of the right choice, which may be named by its text; None if untold."""
    number = int(gold) if isinstance(gold, int | str) and str(gold).isdecimal() else None
    if not isinstance(gold, str) or gold not in choices:
        return number
    if number not in (None, choices.index(gold)):
        raise InvalidInputError(
            f"the target {gold!r} may be the number of a choice, or its text",
            hint="Give the labels in a file of their own, with --gold",
        )
    return choices.index(gold)


def _log_likelihoods(content: dict[str, Any]) -> list[Any]:
    responses = content.get("filtered_resps") or content["resps"]
    logs = []
    for response in responses if isinstance(responses, list) else [responses]:
        pair = response
        while isinstance(pair, list) and len(pair) == 1 and isinstance(pair[0], list):
            pair = pair[0]  # resps hold a list of repeats for each request
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidInputError(
                f"it holds {pair!r:.60} instead of log-likelihoods",
                hint="Import samples of tasks with output_type: multiple_choice",
            )
        logs.append(pair[0])
    return logs


def _choices(content: dict[str, Any]) -> list[str]:
    """Return the texts whose log-likelihoods were asked for, none where they are not logged."""
    arguments = content.get("arguments")
    texts = []
    for argument in arguments.values() if isinstance(arguments, dict) else arguments or []:
        pair = list(argument.values()) if isinstance(argument, dict) else argument
        texts.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    if not texts:
        doc = content.get("doc")
        choices = doc.get("choices") if isinstance(doc, dict) else None
        choices = choices.get("text") if isinstance(choices, dict) else choices
        listed = choices if isinstance(choices, list) else ()
        texts = [text for text in listed if isinstance(text, str)]
    return texts


def _generated(content: Answer) -> dict[str, list[str]]:
    """Return what was generated: a list of repeats for each request."""
    texts = [text for repeats in content["resps"] for text in repeats if isinstance(text, str)]
    return {_filter(content)[0]: texts}


HARNESS = Source(
    "lm-eval", "samples of lm-evaluation-harness", _is_sample, _read, _filter, _generated
)
