"""Samples of lm-evaluation-harness, which logs them with ``--log_samples``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats
from dnip.prompting.answers.source import Answer, Row, Source, Wanted, as_number

# Models round: a logarithm of a probability above 0 by less than this is 0.
_ROUNDING = 1e-3


def read_choices(
    values: Sequence[object], texts: Sequence[str], gold: object, wanted: Wanted
) -> Row:
    """Read the classes' probabilities and the gold label.

    Parameters
    ----------
    values : sequence of length N
        The log-likelihood of each choice, as a number or a text.
    texts : sequence of str
        The choices. Where they are the names of the classes, they are matched by name; otherwise
        the first choice is the first class.
    gold : object
        The place of the right choice, from 0, or its text.
    wanted : Wanted

    Raises
    ------
    InvalidInputError
        For another number of choices, and for values that are no log-likelihoods.

    Examples
    --------
    >>> wanted = Wanted(("no", "yes"), ("no", "yes"))
    >>> row = read_choices(["-0.5", "-1.5"], ["yes", "no"], 0, wanted)
    >>> row.scores.round(3), round(row.mass, 3), row.label
    (array([0.269, 0.731]), 0.83, 'yes')
    """
    n = len(wanted.names)
    if len(values) != n:
        raise InvalidInputError(
            f"it holds {len(values)} log-likelihoods, but there are {n} classes",
            hint="Name the choices of the task with --classes, in its order",
        )
    places = list(range(n))
    choices = [text.strip() for text in texts]
    if sorted(choices) == sorted(wanted.names):
        places = [choices.index(name) for name in wanted.names]
    logs = _logarithms(values)[places]
    mass = min(float(np.exp(logs).sum()), 1.0)
    place = _place(gold, choices) if wanted.own_labels else None
    label = wanted.classes[places.index(place)] if place in places else gold
    # Without the factor, products of many small probabilities would underflow.
    scores = np.exp(logs - logs.max())
    return Row(scores / scores.sum(), mass=mass, label=label)


def _place(gold: object, choices: Sequence[str]) -> int | None:
    """Return the place of the right choice, None where it is not told."""
    as_place = int(gold) if isinstance(gold, int | str) and str(gold).isdecimal() else None
    if not isinstance(gold, str) or gold not in choices:
        return as_place
    if as_place not in (None, choices.index(gold)):
        raise InvalidInputError(
            f"the target {gold!r} may be the place of a choice, or its text",
            hint="Give the labels in a file of their own, with --gold",
        )
    return choices.index(gold)


def _logarithms(values: Sequence[object]) -> Floats:
    logs = np.array([as_number(value, "log-likelihood") for value in values])
    bad = ~(logs <= _ROUNDING)
    if bad.any() or logs.max() == -np.inf:
        raise InvalidInputError(
            f"a log-likelihood is {logs[bad.argmax()]:g}",
            hint="The logarithm of a probability is a number of 0 at most",
        )
    return logs


def _is_lm_eval(content: Answer) -> bool:
    return isinstance(content, dict) and {"doc_id", "resps"} <= content.keys()


def _filter(content: Answer) -> list[str]:
    """Return the filter: a file holds a row for each document and filter."""
    return [str(content.get("filter", ""))]


def _read_lm_eval(content: Answer, wanted: Wanted) -> Row:
    logs = _log_likelihoods(content, wanted)
    return read_choices(logs, _choices(content)[: len(logs)], content.get("target"), wanted)


def _log_likelihoods(content: dict[str, Any], wanted: Wanted) -> list[Any]:
    """Return the numbers of the choices; those without a context may follow, and are left out."""
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
    n = len(wanted.names)
    return logs[:n] if len(logs) == 2 * n else logs


def _choices(content: dict[str, Any]) -> list[str]:
    """Return the texts whose log-likelihoods were asked for, none where they are not logged."""
    asked = content.get("arguments")
    texts = []
    for one in asked.values() if isinstance(asked, dict) else asked or []:
        pair = list(one.values()) if isinstance(one, dict) else one
        texts.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    return texts


def _texts(content: Answer) -> dict[str, list[str]]:
    """Return what was generated: a list of repeats for each request."""
    texts = [text for one in content["resps"] for text in one if isinstance(text, str)]
    return {_filter(content)[0]: texts}


HARNESSES = (
    Source(
        "lm-eval", "samples of lm-evaluation-harness", _is_lm_eval, _read_lm_eval, _filter, _texts
    ),
)
