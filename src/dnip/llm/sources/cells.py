"""What a cell may hold: values as texts, and a number for each class, by name or in order."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError, counted, listed
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number, other_options
from dnip.tables.cells import is_number
from dnip.tables.columns import ID
from dnip.tables.labels import LABEL

# What a cell begins with that holds more than a text: JSON, or Python's repr of a value.
_NESTED = re.compile(r"\s*(?:[\[{(]|[A-Za-z_]\w*[(=])")
# How pydantic writes an object as a text: its fields, with spaces between.
_FIELDS = re.compile(r"[a-z_]+=")
_BETWEEN_FIELDS = re.compile(r"(?<=['\"\])}\w]) (?=[a-z_]+=)")
# What reprs of SDKs hold that is not Python: <FinishReason.STOP: 'STOP'>, <dict len=11>.
_ENUM = re.compile(r"<[\w.]+(?:: ('[^'<>]*'|\d+)| len=\d+)?>")
# How NumPy writes an array of numbers.
_ARRAY = re.compile(r"\s*\[+[-+\d.e\s]+\]+\s*", re.IGNORECASE)
# How far the sum of scores may be from 1: by so much in all, and by rounding for each class.
_MISSED, _ROUNDED = 0.01, 0.005


def parsed(cell: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the value that a text writes, as JSON, Python's repr or that of an SDK; else the cell.

    Examples
    --------
    >>> parsed('{"a": -0.5}'), parsed("{'a': -0.5}"), parsed("TopLogprob(token='a', logprob=-0.5)")
    ({'a': -0.5}, {'a': -0.5}, {'token': 'a', 'logprob': -0.5})
    >>> parsed("So it is (b)"), parsed("[0.25 0.75]")
    ('So it is (b)', [0.25, 0.75])
    """
    if not isinstance(cell, str) or _NESTED.match(cell) is None:
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    text = _ENUM.sub(lambda match: match[1] or "None", cell.strip())
    if _FIELDS.match(text):
        text = f"fields({_BETWEEN_FIELDS.sub(', ', text)})"
    if _ARRAY.fullmatch(text):
        text = re.sub(r"(?<=[\d.])\s+(?=[-+\d.])", ",", text)
    try:
        return ast.literal_eval(_Plain().visit(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return cell


class _Plain(ast.NodeTransformer):
    """Turns objects into their named fields, or the one value in them, and tuples into lists."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.args:
            return self.visit(node.args[0])  # type: ignore[no-any-return]
        values = [self.visit(keyword.value) for keyword in node.keywords]
        return ast.Dict([ast.Constant(keyword.arg) for keyword in node.keywords], values)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return ast.List([self.visit(element) for element in node.elts])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id) if node.id in ("nan", "inf") else node.id)


class Scores(NamedTuple):
    """Numbers, one for each class.

    Attributes
    ----------
    values : sequence
    names : sequence of str or None
        What they belong to; None for numbers in the order of the classes.
    """

    values: Sequence[Any]
    names: Sequence[str] | None = None

    def are_of(self, wanted: Wanted) -> bool:
        """Say whether they are named like the classes."""
        names = self.names or ()
        return sorted(names) == sorted(wanted.called(names))

    def in_order(self, wanted: Wanted) -> list[float]:
        """Return the numbers in the order of the classes.

        Raises
        ------
        InvalidInputError
            If they are not those of the classes.
        """
        n = len(wanted.names)
        if self.names is None:
            if len(self.values) != n:
                raise InvalidInputError(
                    f"there are {len(self.values)} numbers, but {n} classes",
                    hint="Name all classes with --classes, in the order of the numbers",
                )
            return [
                as_number(value, name)
                for name, value in zip(wanted.names, self.values, strict=True)
            ]
        options = dict(zip(self.names, self.values, strict=True))
        if len(options) < max(n, len(self.names)):
            raise InvalidInputError(
                f"it holds {counted(len(self.names), 'score')} for {len(options)} of {n} classes",
                hint="Keep the score of every class: a pipeline returns it with top_k=None",
            )
        names = wanted.called(options)
        if set(options) != set(names):
            raise other_options(tuple(options), wanted)
        return [as_number(options[name], name) for name in names]


def scores_in(value: object, depth: int = 3) -> list[Scores]:
    """Return the ways in which a value gives a number to each class; none where it does not.

    Examples
    --------
    >>> scores_in({"displayNames": ["ham", "spam"], "confidences": [0.25, 0.75]})
    [Scores(values=[0.25, 0.75], names=['ham', 'spam'])]
    >>> scores_in([[0.25, 0.75]])
    [Scores(values=[0.25, 0.75], names=None)]
    """
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        [value] = value
    if isinstance(value, list):
        if _are(value, (int, float)):
            return [Scores(value)] if len(value) > 1 else []
        return _named(map(_pair, value))
    if not isinstance(value, dict):
        return []
    lists = [cells for cells in value.values() if isinstance(cells, list)]
    numbers = [cells for cells in lists if _are(cells, (int, float)) and len(cells) > 1]
    texts = [cells for cells in lists if _are(cells, (str,))]
    pairs = [pair for pair in product(numbers, texts) if len({*map(len, pair)}) == 1]
    if numbers:
        return [Scores(*pair) for pair in pairs] or [Scores(cells) for cells in numbers]
    named = _named([_inner(name, item) for name, item in value.items()] if len(value) > 1 else [])
    inner = [item for item in value.values() if isinstance(item, list | dict) and depth]
    return named or [scores for item in inner for scores in scores_in(item, depth - 1)]


def _are(cells: list[Any], kinds: tuple[type, ...]) -> bool:
    return bool(cells) and {*map(type, cells)} <= {*kinds}


def _named(pairs: Any) -> list[Scores]:  # noqa: ANN401 - pairs, or None for what is not one
    every = [*pairs]
    if not every or None in every:
        return []
    return [Scores([value for _, value in every], [str(name) for name, _ in every])]


def _pair(entry: object) -> tuple[str, float] | None:
    """Return a label and its score, or another text and number that an entry is made of."""
    if isinstance(entry, dict) and {"label", "score"} <= entry.keys():
        return entry["label"], entry["score"]
    cells = [*entry.values()] if isinstance(entry, dict) else entry
    if not isinstance(cells, list) or len(cells) != 2:
        return None
    numbers = [cell for cell in cells if type(cell) in (int, float)]
    numbers = numbers or [cell for cell in cells if isinstance(cell, str) and is_number(cell)]
    texts = [cell for cell in cells if isinstance(cell, str) and cell not in numbers]
    return (texts[0], numbers[0]) if texts and numbers else None


def _inner(name: str, item: object) -> tuple[str, float] | None:
    """Return a name and its number, which may be the only one in an object."""
    if isinstance(item, dict) and len(item) == 1:
        [item] = item.values()
    return (name, item) if isinstance(item, int | float) and not isinstance(item, bool) else None


def _ranked(cells: Mapping[str, object]) -> list[Scores]:
    """Return what pairs of numbered columns give, such as top1 and top1_prob."""
    pairs: dict[str, list[object]] = {}
    for name, cell in cells.items():
        if number := re.search(r"\d+", name):
            pairs.setdefault(number[0], []).append(cell)
    return _named(map(_pair, pairs.values())) if len(pairs) > 1 else []


def are_shares(content: object, wanted: Wanted) -> bool:
    """Say whether a cell holds probabilities of the classes, by name, that share 1."""
    cells = map(parsed, content.values()) if isinstance(content, dict) else ()
    named = [
        Scores([*cell.values()], [*cell])
        for cell in cells
        if isinstance(cell, dict) and _are([*cell.values()], (int, float))
    ]
    return any(
        scores.are_of(wanted) and min(scores.values) >= 0 and _is_share(scores.values)
        for scores in named
    )


def in_cells(content: dict[str, Any], wanted: Wanted) -> list[float] | None:
    """Read the one cell that holds a number for each class; None if there is none."""
    cells = {name: parsed(cell) for name, cell in content.items() if name not in (ID, LABEL)}
    ways, n = {name: scores_in(cell) for name, cell in cells.items()}, len(wanted.names)
    lists = {name: cell for name, cell in cells.items() if isinstance(cell, list)}
    beside = [scores for scores in scores_in(lists) if scores.names is not None]
    every = [*beside, *(scores for way in ways.values() for scores in way), *_ranked(cells)]
    named = [scores for scores in every if scores.are_of(wanted)]
    likely = [scores for name, way in ways.items() if "prob" in name.lower() for scores in way]
    fitting = [scores for scores in every if not scores.names and len(scores.values) == n]
    for candidates in (named[:1], beside[:1], likely, fitting, every):
        if len(candidates) == 1:
            return _shared(candidates[0], wanted)
    if not every:
        return None
    holders = [name for name, way in ways.items() if way]
    raise InvalidInputError(
        f"the columns {listed(holders)} hold several numbers each",
        hint="Keep the one with the probabilities of the classes",
    )


def _shared(scores: Scores, wanted: Wanted) -> list[float]:
    """Return the numbers of the classes, which share a probability of 1 where they are named."""
    values = scores.in_order(wanted)
    if scores.names is not None and min(values) >= 0 and not _is_share(values):
        raise InvalidInputError(
            f"the scores of the classes sum to {sum(values):.3g}, not to 1",
            hint="Let the classes share a probability of 1: a pipeline does so with top_k=None and "
            "without multi_label",
        )
    return values


def _is_share(values: Sequence[float]) -> bool:
    slack = _MISSED + _ROUNDED * len(values)
    return any(math.isclose(sum(values) / whole, 1, abs_tol=slack) for whole in (1, 100))


def _is_classification(content: Answer) -> bool:
    if isinstance(content, dict):
        return isinstance(content.get("labels"), list) and isinstance(content.get("scores"), list)
    return (
        isinstance(content, list)
        and len(content) > 0
        and all(isinstance(entry, dict) and {"label", "score"} <= entry.keys() for entry in content)
    )


def _read_classification(content: Answer, wanted: Wanted) -> Row:
    pairs = (
        _named(zip(content["labels"], content["scores"], strict=True))
        if isinstance(content, dict)
        else scores_in(content)
    )
    return Row(np.array(_shared(pairs[0], wanted)))


PIPELINES = Source(
    "hugging-face",
    "pipelines of Hugging Face transformers",
    _is_classification,
    _read_classification,
)
