"""The sources of answers, by the name that ``--from`` takes; those of one page stand here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dnip.base.columns import ID, MASS
from dnip.base.errors import CoefficientsFormatError, InvalidInputError, counted, listed
from dnip.base.typing import Floats
from dnip.llm.decisions import read_decisions
from dnip.llm.decisions.answers import answers_of
from dnip.llm.sources.rows import ANSWERS, ROWS, by_class
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number, other_options
from dnip.llm.sources.token_logprobs import TOKEN_LOGPROBS


def _is_decision(content: Answer) -> bool:
    answers = content.get("answers") if isinstance(content, dict) else None
    return isinstance(answers, dict | list) and not _is_flat({"": answers or {}})


def _read_decision(content: Answer, wanted: Wanted) -> Row | None:
    decision = read_decisions(content, [wanted.question])[0]
    if decision.refused:
        return None
    try:
        order = decision.ordered(wanted.names)
    except CoefficientsFormatError as error:
        raise other_options(decision.options, wanted) from error
    # As the server gave them: whether it rounded is lost when they are normalised.
    scores = decision.probabilities[order] * decision.total
    return Row(scores, mass=decision.mass)


def _questions_of(content: Answer) -> list[str]:
    return [name for name, _ in answers_of(content)]


def _decided(content: Answer) -> dict[str, list[str | None]]:
    return {name: [answer.get("choice")] for name, answer in answers_of(content)}


def in_class_order(options: Mapping[str, object], wanted: Wanted) -> Floats:
    """Return the numbers of the options, in the order of the classes.

    Raises
    ------
    InvalidInputError
        If the options are not the classes, or one of them has no number.

    Examples
    --------
    >>> in_class_order({"b": 0.75, "a": 0.25}, Wanted(("A", "B"), ("a", "b")))
    array([0.25, 0.75])
    """
    if set(options) != set(wanted.names):
        raise other_options(tuple(options), wanted)
    return np.array([as_number(options[name], name) for name in wanted.names])


def _is_harness(content: Answer) -> bool:
    return isinstance(content, dict) and {"doc_id", "resps"} <= content.keys()


def _filter(content: Answer) -> list[str]:
    """Return the filter: a file holds a row for each document and filter."""
    return [str(content.get("filter", ""))]


def _read_harness(content: Answer, wanted: Wanted) -> Row:
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
    if sorted(choices) == sorted(wanted.names):
        places = [choices.index(name) for name in wanted.names]
    logs, gold = logs[places], content.get("target")
    place = _place(gold, choices) if wanted.own_labels else None
    label = wanted.classes[places.index(place)] if place in places else gold
    # Without the factor, products of many small probabilities would underflow.
    scores = np.exp(logs - logs.max())
    mass = min(float(np.exp(logs).sum()), 1.0)
    return Row(scores / scores.sum(), mass=mass, label=label)


# Models round: a logarithm of a probability above 0 by less than this is 0.
_ROUNDING = 1e-3


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
    return texts


def _generated(content: Answer) -> dict[str, list[str]]:
    """Return what was generated: a list of repeats for each request."""
    texts = [text for one in content["resps"] for text in one if isinstance(text, str)]
    return {_filter(content)[0]: texts}


def _is_classification(content: Answer) -> bool:
    if isinstance(content, dict):
        return isinstance(content.get("labels"), list) and isinstance(content.get("scores"), list)
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(one, dict) and {"label", "score"} <= one.keys() for one in content)
    )


def _read_classification(content: Answer, wanted: Wanted) -> Row:
    if isinstance(content, dict):
        pairs = list(zip(content["labels"], content["scores"], strict=True))
    else:
        pairs = [(one["label"], one["score"]) for one in content]
    options = {str(label): score for label, score in pairs}
    if len(options) < max(len(wanted.names), len(pairs)):
        raise InvalidInputError(
            f"it holds {counted(len(pairs), 'score')} for {len(options)} of {len(wanted.names)} "
            "classes",
            hint="Run the pipeline with top_k=None, so that it returns the score of every class",
        )
    scores = in_class_order(options, wanted)
    if not math.isclose(scores.sum(), 1, abs_tol=_MISSED + _ROUNDED * len(scores)):
        raise InvalidInputError(
            f"the scores of the classes sum to {scores.sum():.3g}, not to 1",
            hint="Run the pipeline with top_k=None and without multi_label, so that the classes "
            "share a probability of 1",
        )
    return Row(scores)


def _is_flat(content: Answer) -> bool:
    cells = content.values() if isinstance(content, dict) else [{}]
    return all(
        _are_texts(one) if isinstance(one, list) else not isinstance(one, dict) for one in cells
    )


def _are_texts(cells: list[object]) -> bool:
    return all(isinstance(one, str | None) for one in cells)


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the columns of texts, of one in each row or of several."""
    columns = {name: cell if isinstance(cell, list) else [cell] for name, cell in content.items()}
    return {name: cells for name, cells in columns.items() if name != ID and _are_texts(cells)}


def _read_columns(content: Answer, wanted: Wanted) -> Row:
    if (row := by_class(content, wanted)) is not None:
        return row
    missing = [name for name in wanted.names if name not in content]
    told = [name for name in ANSWERS if isinstance(content.get(name), str)]
    if told and len(missing) == len(wanted.names):
        raise InvalidInputError(
            f"column {told[0]} holds answers, but no column holds probabilities",
            hint="Ask the model for log-probabilities (logprobs=True, top_logprobs=20) and save "
            "them beside each answer; or ask several times for each row, and give --votes",
        )
    if missing:
        raise InvalidInputError(
            f"there is no column {missing[0]}; the columns are {listed(tuple(content))}",
            hint="Name the column of a class with --map CLASS=COLUMN; count texts with --votes",
        )
    scores = in_class_order({name: content[name] for name in wanted.names}, wanted)
    mass = content.get(MASS)
    return Row(scores, mass=None if mass in (None, "") else as_number(mass, MASS))


# How far the sum of scores may be from 1: by so much in all, and by rounding for each class.
_MISSED, _ROUNDED = 0.01, 0.005

_SERVERS = "System One, OpenAI decisions, LangChain"
_HARNESS = "samples of lm-evaluation-harness"
_PIPELINES = "pipelines of Hugging Face transformers"
_IN_ORDER = (
    Source("decisions", _SERVERS, _is_decision, _read_decision, _questions_of, _decided),
    Source("lm-eval", _HARNESS, _is_harness, _read_harness, _filter, _generated),
    Source("hugging-face", _PIPELINES, _is_classification, _read_classification),
    TOKEN_LOGPROBS,
    ROWS,
    Source("columns", "a column for each class", _is_flat, _read_columns, texts=_texts),
)
#: By name, in the order in which they are tried on an answer.
SOURCES = {one.name: one for one in _IN_ORDER}


def recognise(content: object) -> Source | None:
    """Return the source that a value is an answer of, None if there is none.

    Examples
    --------
    >>> recognise([{"label": "ham", "score": 0.9}, {"label": "spam", "score": 0.1}]).name
    'hugging-face'
    >>> recognise({"a": [1]}) is None
    True
    """
    return next((one for one in SOURCES.values() if one.recognises(content)), None)
