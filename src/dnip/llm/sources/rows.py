"""Answers in rows of a table: log-probabilities in a cell, or in pairs of columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dnip.llm.answers.completions import ROUNDING, number_of_token, text_of_token, tops_of
from dnip.llm.sources.cells import parsed
from dnip.llm.sources.columns import ANSWERS
from dnip.llm.sources.services import TOKEN_LOGPROBS, read_choices
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number
from dnip.tables.columns import ID
from dnip.tables.labels import LABEL

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


def _read(row: Answer, wanted: Wanted) -> Row | None:
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
    _read,
    questions=lambda row: tuple(_holders(row)),
    takes_first=True,
)
