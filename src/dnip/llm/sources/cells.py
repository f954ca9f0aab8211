"""What a cell may hold: values as texts, the result of a pipeline, a list of numbers."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dnip.base.classes import LABEL
from dnip.base.columns import ID
from dnip.base.errors import InvalidInputError, counted, listed
from dnip.base.typing import Floats
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number, other_options

# What a cell begins with that holds more than a text: JSON, or Python's repr of a value.
_NESTED = re.compile(r"\s*(?:[\[{(]|[A-Za-z_]\w*\()")
# What reprs of SDKs hold that is not Python: <FinishReason.STOP: 'STOP'>, <dict len=11>.
_ENUM = re.compile(r"<[\w.]+(?:: ('[^'<>]*'|\d+)| len=\d+)>")
# How far the sum of scores may be from 1: by so much in all, and by rounding for each class.
_MISSED, _ROUNDED = 0.01, 0.005


def parsed(cell: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the value that a text writes, as JSON, Python's repr or that of an SDK; else the cell.

    Examples
    --------
    >>> parsed('{"a": -0.5}'), parsed("{'a': -0.5}"), parsed("TopLogprob(token='a', logprob=-0.5)")
    ({'a': -0.5}, {'a': -0.5}, {'token': 'a', 'logprob': -0.5})
    >>> parsed("So it is (b)")
    'So it is (b)'
    """
    if not isinstance(cell, str) or _NESTED.match(cell) is None:
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        text = _ENUM.sub(lambda match: match[1] or "None", cell.strip())
        return ast.literal_eval(_Plain().visit(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return cell


class _Plain(ast.NodeTransformer):
    """Turns objects into their named fields, or the one value in them, and tuples into lists."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        values = [self.visit(one.value) for one in node.keywords]
        if node.args:
            return self.visit(node.args[0])  # type: ignore[no-any-return]
        return ast.Dict([ast.Constant(one.arg) for one in node.keywords], values)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return ast.List([self.visit(one) for one in node.elts])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id) if node.id in ("nan", "inf") else node.id)


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
    names = wanted.called(options)
    if set(options) != set(names):
        raise other_options(tuple(options), wanted)
    return np.array([as_number(options[name], name) for name in names])


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


def has_numbers(cell: object) -> bool:
    """Whether a cell holds a number for each class: a list of them, or the result of a pipeline."""
    numbers = (
        isinstance(cell, list) and len(cell) > 1 and {type(one) for one in cell} <= {int, float}
    )
    return numbers or _is_classification(cell)


def in_cell(content: dict[str, Any], wanted: Wanted) -> Row | None:
    """Read the one cell that holds a number for each class; None if there is none."""
    cells = {name: parsed(cell) for name, cell in content.items() if name not in (ID, LABEL)}
    cells = {name: cell for name, cell in cells.items() if has_numbers(cell)}
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


PIPELINES = Source(
    "hugging-face",
    "pipelines of Hugging Face transformers",
    _is_classification,
    _read_classification,
)
