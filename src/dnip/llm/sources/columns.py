"""Rows of tables: a column for each class, all in one cell, or the likeliest tokens."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError, counted, listed
from dnip.llm.answers.answer import (
    ROUNDING,
    Reported,
    SilentError,
    Token,
    number_of_token,
    text_of_token,
    tops_of,
)
from dnip.llm.sources.services import TOKEN_LOGPROBS, read_choices
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_map, as_number, other_options
from dnip.tables.cells import is_missing, is_number
from dnip.tables.columns import ID, MASS, RESERVED, probability_columns
from dnip.tables.labels import LABEL

# --- cells: values as texts, and a number for each class, by name or in order ---
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

    def values_of(self, wanted: Wanted) -> list[float]:
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
        scores.are_of(wanted) and min(scores.values) >= 0 and share_one(scores.values)
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
    values = scores.values_of(wanted)
    if scores.names is not None and min(values) >= 0 and not share_one(values):
        raise InvalidInputError(
            f"the scores of the classes sum to {sum(values):.3g}, not to 1",
            hint="Let the classes share a probability of 1: a pipeline does so with top_k=None and "
            "without multi_label",
        )
    return values


def share_one(values: Sequence[float]) -> bool:
    """Say whether numbers may be the probabilities of all classes, rounded, or in per cent."""
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
    if isinstance(content, dict):
        pairs = _named(zip(content["labels"], content["scores"], strict=True))
    else:
        pairs = scores_in(content)
    return Row(np.array(_shared(pairs[0], wanted)))


PIPELINES = Source(
    "hugging-face",
    "pipelines of Hugging Face transformers",
    _is_classification,
    _read_classification,
)


# --- a column for each class ---
#: What a column of texts is called that holds the answers.
ANSWERS = (
    *("answer", "response", "output", "completion", "text", "prediction", "content"),
    *("generation", "generated_text", "outputText"),
)
_LOGARITHM = re.compile(r"log_?prob|log_?lik|logp\b", re.IGNORECASE)
# Smaller log-probabilities are of whole sequences, whose sum says nothing about the prompt.
_OF_TOKENS = -20.0
# What stands in the cells of a row without numbers.
_BLANK = ("", "n/a", "na", "nan", "none", "null")


def _is_row(content: Answer) -> bool:
    """Say whether a value is a row of texts and numbers, or holds numbers for all classes."""
    if not isinstance(content, dict):
        return any(scores.names is None for scores in scores_in(content))
    cells = [cell for cell in content.values() if isinstance(cell, list | dict)]
    return all(map(_are_texts, cells)) or any(map(scores_in, [*cells, content]))


def _are_texts(cells: object) -> bool:
    return isinstance(cells, list) and all(isinstance(cell, str | None) for cell in cells)


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the columns of texts, those together whose names differ in a last number only."""
    cells = content if isinstance(content, dict) else {}
    columns = {name: cell if isinstance(cell, list) else [cell] for name, cell in cells.items()}
    columns = {name: cell for name, cell in columns.items() if name != ID and _are_texts(cell)}
    stems = {name: re.sub(r"[\W_]*\d+$", "", name) for name in columns}
    texts: dict[str, list[str | None]] = {}
    for name, cell in columns.items():
        several = stems[name] and [*stems.values()].count(stems[name]) > 1
        texts.setdefault(stems[name] if several else name, []).extend(cell)
    return texts


@lru_cache
def columns_called(names: Sequence[str], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets of columns that are called like the classes, the shortest names first.

    All columns of a set have the same text before the name of their class, and the same after it.
    Letters count without their case, and marks between them as one where that is clear.

    Examples
    --------
    >>> columns_called(("ham", "spam"), ("id", "p_ham", "p_spam", "ham", "spam"))
    [('ham', 'spam'), ('p_ham', 'p_spam')]
    >>> columns_called(("World", "Sci/Tech"), ("P(World)", "P(Sci/Tech)", "prob.world"))
    [('P(World)', 'P(Sci/Tech)')]
    """
    sets: dict[tuple[str, ...], None] = {}
    for fold in (str, _folded):
        known = {fold(column): column for column in columns if column not in RESERVED}
        first, *others = map(fold, names)
        if len({first, *others}) < len(names) or len(known) < len({*columns} - RESERVED):
            continue
        for column in known:
            for match in re.finditer(re.escape(first), column):
                before, after = column[: match.start()], column[match.end() :]
                called = [known.get(f"{before}{name}{after}") for name in (first, *others)]
                if None not in called:
                    sets[tuple(map(str, called))] = None
    return sorted(sets, key=lambda called: len("".join(called)))


def _folded(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text.casefold())


def _mapped(row: Mapping[str, object], wanted: Wanted) -> dict[str, str]:
    """Return the columns that ``--map`` names, by class."""
    pairs = zip(wanted.classes, wanted.names, strict=True)
    return {name: column for name, column in pairs if column != name and column in row}


def _columns_of(row: Mapping[str, object], wanted: Wanted) -> tuple[str, ...] | None:
    """Return the columns of the classes, None if they are not there.

    They are those that ``--map`` names, and one set that is called like the other classes.
    """
    mapped = _mapped(row, wanted)
    names = tuple(name for name in wanted.classes if name not in mapped)
    free = tuple(column for column in row if column not in mapped.values())
    sets = columns_called(names, free) if names else [()]
    others = [columns for columns in sets if columns != names]
    if logs := [columns for columns in others if _LOGARITHM.search(columns[0])]:
        sets = logs[:1]
    elif names in sets and not (others and _are_labels(row, names)):
        sets = [names]
    if len(sets) > 1:
        raise InvalidInputError(
            f"several columns are called like {names[0]}: "
            f"{listed([columns[0] for columns in sets])}",
            hint=f"Choose some: {' or '.join(as_map(names, columns) for columns in others)}",
        )
    if sets:
        columns = mapped | dict(zip(names, sets[0], strict=True))
        return tuple(columns[name] for name in wanted.classes)
    numbered = probability_columns(len(wanted.classes) + 1)
    if {*numbered[:-1]} <= row.keys() and numbered[-1] not in row:
        return numbered[:-1]
    return None


def _are_labels(row: Mapping[str, object], names: Sequence[str]) -> bool:
    """Return whether columns hold zeros and ones only, as those of labels do."""
    return all(str(row[name]).strip() in ("0", "1", "0.0", "1.0") for name in names)


def _missing(row: Mapping[str, object], wanted: Wanted) -> InvalidInputError:
    """Return the error for a row without a column for each class: what is there, what to type."""
    n, first = len(wanted.classes), ",".join(wanted.classes)
    cells = {name: cell for name, cell in row.items() if name not in RESERVED}
    numbers = [name for name, cell in cells.items() if is_number(str(cell))]
    values = [as_number(cells[name], name) for name in numbers] if len(numbers) == n else []
    is_whole = bool(values) and (max(values) <= 0 or share_one(values))
    if len(row) == 1 and len("".join(row).split()) > 1:
        hint = "Separate columns with commas, semicolons, tabs or bars"
    elif all(map(is_number, row)) and not any(map(str.isdecimal, row)):
        hint = f"As the first line holds numbers, write one above it, such as {first}"
    elif not is_whole and any(isinstance(cells.get(name), str) for name in ANSWERS):
        hint = (
            "As no column holds probabilities of the classes, ask the model for log-probabilities "
            "(logprobs=True, top_logprobs=20) and save them next to each answer; or ask several "
            "times for each row, and give --votes"
        )
    elif len(numbers) == 1:
        one = f"type --map CLASS={numbers[0]}, for 1 - p of the other class; " if n == 2 else ""
        hint = (
            f"As only column {numbers[0]} holds a number, give each class a column; {one}a table "
            "with a row for each has to be pivoted"
        )
    else:
        columns = numbers if is_whole else [f"COLUMN_{number + 1}" for number in range(n)]
        order = ", if that is their order" if is_whole else ""
        hint = f"Name the column of each class: {as_map(wanted.classes, columns)}{order}; count "
        hint += "texts with --votes"
    missing = next((name for name in wanted.names if name not in row), wanted.names[0])
    what = f"there is no column {missing}; the columns are {listed(tuple(row))}"
    return InvalidInputError(what, hint=hint)


def _read_columns(row: Answer, wanted: Wanted) -> Row:
    cells = row if isinstance(row, dict) else {"the row": row}
    columns, mapped = _columns_of(cells, wanted), _mapped(cells, wanted)
    is_one = len(wanted.classes) == 2 and len(mapped) == 1 and not {*wanted.classes} & {*cells}
    if columns is None and is_one:  # of the positive class
        [column] = mapped.values()
        p, other = cells[column], f"1 - {column}"
        cells = {**cells, other: p if _is_blank(p) else 1 - as_number(p, column)}
        columns = tuple(column if name == column else other for name in wanted.names)
    if columns is None:
        in_one = None if cells.keys() & {*wanted.names} else in_cells(cells, wanted)
        if in_one is None:
            raise _missing(cells, wanted)
        columns, cells = wanted.names, dict(zip(wanted.names, in_one, strict=True))
    if all(_is_blank(cells[name]) for name in columns):
        raise SilentError(
            f"the cells of {listed(columns)} are empty",
            hint="Give the numbers of the model in some rows; rows without them are left out",
        )
    values = {
        name: as_number(cells[name], name) for name in columns if cells[name] not in (None, "")
    }
    least, most = min(values.values(), default=0.0), max(values.values(), default=0.0)
    is_named = columns not in (wanted.names, wanted.classes) and _LOGARITHM.search(columns[0])
    if values and (is_named or (least < 0 and most <= ROUNDING)):
        return _from_logarithms(columns, values)
    if least < 0:
        raise _not_logarithms(columns, least, most)
    scores = np.array([as_number(cells[name], name) for name in columns])
    _check_all_there(cells, wanted, columns, scores.tolist())
    mass = cells.get(MASS)
    known = None if mass in (None, "") else as_number(mass, MASS)
    return Row(scores, mass=known, columns=columns)


def _is_blank(cell: object) -> bool:
    return is_missing(cell) or str(cell).strip().casefold() in _BLANK


def _from_logarithms(columns: tuple[str, ...], values: Mapping[str, float]) -> Row:
    """Return the row of log-probabilities; an empty cell is a class that was not reported."""
    logs = np.array([min(values.get(name, -math.inf), 0.0) for name in columns])
    most = float(logs.max())
    total = math.inf if max(values.values()) > ROUNDING else float(np.exp(logs).sum())
    if not total <= 1 + max(len(values) * ROUNDING, _rounding(values.values())):
        raise _not_logarithms(columns, min(values.values()), max(values.values()))
    if most == -math.inf:
        raise InvalidInputError(
            f"the log-probabilities of {listed(columns)} are all -inf",
            hint="Leave the row out, or give the numbers of the model there",
        )
    missing = np.array([name not in values for name in columns])
    if most < _OF_TOKENS:  # of whole sequences: only differences can be computed with
        scores, mass, bound = np.exp(logs - most), None, math.exp(min(values.values()) - most)
        scores, bound = scores / scores.sum(), bound / scores.sum()
    else:
        scores, mass = np.exp(logs), min(total, 1.0)
        tokens = tuple(Token(name, min(value, 0.0)) for name, value in values.items())
        bound = Reported(tokens).bound
    ceiling = np.where(missing, bound, scores) if missing.any() else None
    return Row(scores, ceiling, mass=mass, columns=columns, logarithms=True)


def _rounding(logs: Iterable[float]) -> float:
    """Return how far the sum of exponentials may be off, by the decimals of the logarithms."""
    decimals = max(len(f"{log:.6f}".rstrip("0").partition(".")[2]) for log in logs)
    return 10.0**-decimals if decimals > 1 else 0.0


def _not_logarithms(columns: Sequence[str], least: float, most: float) -> InvalidInputError:
    """Return the error for numbers below 0 that are not log-probabilities."""
    return InvalidInputError(
        f"the columns {listed(columns)} hold numbers from {least:g} to {most:g}, but neither "
        "probabilities nor log-probabilities: those are 0 at most, and their exponentials sum to 1 "
        "at most",
        hint="Take a softmax of logits first: p = exp(x) / sum(exp(x))",
    )


def _check_all_there(
    row: Mapping[str, object], wanted: Wanted, columns: tuple[str, ...], values: Sequence[float]
) -> None:
    """Refuse columns that lack a class: one more is called like them, and they do not sum to 1."""
    if columns in (wanted.names, wanted.classes) or share_one(values):
        return
    before, _, after = columns[0].casefold().partition(wanted.names[0].casefold())
    others = [
        name
        for name in row.keys() - {*columns, *RESERVED}
        if name.casefold().startswith(before)
        and name.casefold().endswith(after)
        and is_number(str(row[name]))
    ]
    if others and (before or after):
        raise InvalidInputError(
            f"the columns {listed(columns)} sum to {sum(values):.3g}, and {listed(sorted(others))} "
            "are next to them",
            hint="Name all classes with --classes; if these are all, type "
            f"{as_map(wanted.classes, columns)}",
        )


COLUMNS = Source(
    "columns", "a column for each class, or a cell with all", _is_row, _read_columns, texts=_texts
)


# --- log-probabilities in a cell, or in pairs of columns ---
#: What a question is called that is answered by pairs of columns.
_PAIRS = "token_1, logprob_1, …"
_TOKEN = re.compile(r"(?:top_?)?token_?(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"(?:top_?)?(?:token_?)?log_?prob_?(\d+)", re.IGNORECASE)


def _entries(value: object) -> list[dict[str, Any]] | None:
    """Return the tokens that a value lists for one position, None if it lists none."""
    if isinstance(value, dict) and value and all(isinstance(top, dict) for top in value.values()):
        tops = [*value.values()]  # vLLM's, by the numbers of tokens
    elif isinstance(value, dict):
        tops = [{"token": token, "logprob": number} for token, number in value.items()]
    elif isinstance(value, list):
        tops = [
            {"token": top[0], "logprob": top[1]} if isinstance(top, list) and len(top) == 2 else top
            for top in value
        ]
    else:
        return None
    entries = _all(map(_entry, tops))
    if entries is None:
        return None
    numbers = [entry["logprob"] for entry in entries]
    if max(numbers) > ROUNDING:  # probabilities
        if min(numbers) < 0 or len(numbers) < 2 or sum(numbers) > 1 + ROUNDING:
            return None
        return [{"token": entry["token"], "prob": entry["logprob"]} for entry in entries]
    return entries


def _entry(top: object) -> dict[str, Any] | None:
    """Return a token with its number; None for anything else."""
    if not isinstance(top, dict):
        return None
    text, number = text_of_token(top), number_of_token(top)
    number = top.get("prob") if number is None else number
    if text is None or isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return {"token": text, "logprob": number}


def _positions_in(value: object, text: str | None) -> list[dict[str, Any]] | None:
    """Return the positions of an answer, each with its likeliest tokens; None if there are none.

    A list of tokens without lists of their own is read as the likeliest tokens of one position,
    unless they make up the text, or are more probable than 1 together: then each is a position.

    Examples
    --------
    >>> _positions_in([{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.5}], "a")
    [{'top_logprobs': [{'token': 'a', 'logprob': -0.5}, {'token': 'b', 'logprob': -1.5}]}]
    """
    if isinstance(value, dict):
        lists = [value.get(key) for key in ("content", "top_logprobs", "logprobs")]
        lists = [inner for inner in lists if isinstance(inner, list | dict) and inner]
        if lists:
            alone = _entry(value) is not None  # the only position
            return _positions_in([value] if alone else lists[0], text)
    if isinstance(value, list) and any(isinstance(_tops(entry), list | dict) for entry in value):
        return _all(map(_position, value))
    entries = _entries(value)
    if entries is None:
        lists = _all(map(_entries, value)) or [] if isinstance(value, list) else []
        return [{"top_logprobs": tops} for tops in lists] or None
    if isinstance(value, list):
        written = "".join(entry["token"] for entry in entries).strip()
        sure = sum(math.exp(entry.get("logprob", -math.inf)) for entry in entries)
        if sure > 1 + ROUNDING or (len(entries) > 1 and written == (text or "").strip()):
            return [{**entry, "top_logprobs": [entry]} for entry in entries]
    return [{"top_logprobs": entries}]


def _all(values: Iterable[Any | None]) -> list[Any] | None:
    """Return all values, None if one is not there, or there are none."""
    every = list(values)
    return None if None in every or not every else every


def _tops(entry: object) -> object:
    return tops_of(entry) if isinstance(entry, dict) else None


def _position(entry: object) -> dict[str, Any] | None:
    """Return a position of an answer as chat completions have it."""
    chosen, tops = _entry(entry), _entries(_tops(entry))
    return None if chosen is None else {**chosen, "top_logprobs": tops or [chosen]}


def _holders(row: Answer) -> dict[str, object]:
    """Return what tells log-probabilities in a row, by column, that of the most tokens first."""
    if not isinstance(row, dict):
        return {}
    text, holders = _text_of(row), {}
    for name, cell in row.items():
        value = parsed(cell)
        if name in (ID, LABEL) or not isinstance(value, list | dict):
            continue
        if _positions_in(value, text) or TOKEN_LOGPROBS.recognises(value):
            holders[name] = value
    if pairs := [*_pairs(row)]:
        holders[_PAIRS] = pairs
    return dict(sorted(holders.items(), key=lambda holder: -_size(holder[1])))


def _size(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _pairs(row: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """Yield the tokens of pairs of columns, those of empty cells left out."""
    numbers = {match[1]: cell for name, cell in row.items() if (match := _NUMBER.fullmatch(name))}
    for name, token in row.items():
        match = _TOKEN.fullmatch(name)
        number = numbers.get(match[1]) if match else None
        if isinstance(token, str) and number not in (None, ""):
            yield {"token": token, "logprob": as_number(number, f"logprob_{match and match[1]}")}


def _text_of(row: Mapping[str, object]) -> str | None:
    texts = (row[name] for name in ANSWERS if name in row)
    return next((text for text in texts if isinstance(text, str)), None)


def _read_tokens(row: Answer, wanted: Wanted) -> Row:
    value, text = _holders(row)[wanted.question], _text_of(row)
    positions = _positions_in(value, text)
    if positions is None:  # a whole answer
        return TOKEN_LOGPROBS.read(value, wanted)
    # One token tells the answer; the text may be the question.
    answer = {"message": {"content": text if len(positions) > 1 else None}}
    return read_choices([{**answer, "logprobs": {"content": positions}}], wanted)


ROWS = Source(
    "rows",
    "rows with the likeliest tokens in a cell, or in columns token_1, logprob_1, …",
    lambda row: bool(_holders(row)),
    _read_tokens,
    questions=lambda row: tuple(_holders(row)),
    takes_first=True,
)
