"""The sources of answers, by the name that ``--from`` takes; those of one page stand here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dnip.base.errors import CoefficientsFormatError, InvalidInputError, counted, listed
from dnip.base.typing import Floats
from dnip.llm.decisions import read_decisions
from dnip.llm.decisions.answers import answers_of
from dnip.llm.sources.harness import HARNESS
from dnip.llm.sources.rows import ANSWERS, ROWS, by_class, parsed
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number, other_options
from dnip.llm.sources.token_logprobs import TOKEN_LOGPROBS
from dnip.tables.columns import ID, LABEL, MASS


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
        _tells(one) or (_are_texts(one) if isinstance(one, list) else not isinstance(one, dict))
        for one in cells
    )


def _tells(cell: object) -> bool:
    """Whether a cell holds a number for each class: a list of them, or the result of a pipeline."""
    numbers = (
        isinstance(cell, list) and len(cell) > 1 and {type(one) for one in cell} <= {int, float}
    )
    return numbers or _is_classification(cell)


def _in_cell(content: dict[str, Any], wanted: Wanted) -> Row | None:
    """Read the one cell that holds a number for each class; None if there is none."""
    cells = {name: parsed(cell) for name, cell in content.items() if name not in (ID, LABEL)}
    cells = {name: cell for name, cell in cells.items() if _tells(cell)}
    if len(cells) > 1:
        fitting = {name: cell for name, cell in cells.items() if len(cell) == len(wanted.names)}
        if len(fitting) != 1:
            raise InvalidInputError(
                f"the columns {listed(tuple(cells))} hold several numbers each",
                hint="Keep the one with the probabilities of the classes",
            )
        cells = fitting
    for name, cell in cells.items():
        if _is_classification(cell):
            return _read_classification(cell, wanted)
        if len(cell) != len(wanted.names):
            raise InvalidInputError(
                f"{name} holds {len(cell)} numbers, but there are {len(wanted.names)} classes",
                hint="Name all classes with --classes, in the order of the numbers",
            )
        return Row(np.array(cell, np.float64))
    return None


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
    if len(missing) == len(wanted.names) and (row := _in_cell(content, wanted)) is not None:
        return row
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
_PIPELINES = "pipelines of Hugging Face transformers"
_IN_ORDER = (
    Source("decisions", _SERVERS, _is_decision, _read_decision, _questions_of, _decided),
    HARNESS,
    Source("hugging-face", _PIPELINES, _is_classification, _read_classification),
    TOKEN_LOGPROBS,
    ROWS,
    Source(
        "columns",
        "a column for each class, or a cell with all",
        _is_flat,
        _read_columns,
        texts=_texts,
    ),
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
