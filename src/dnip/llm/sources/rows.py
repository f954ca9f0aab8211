"""Answers in rows of a table: log-probabilities in a cell, or in pairs of columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dnip.base.classes import LABEL
from dnip.base.columns import ID
from dnip.llm.sources.cells import parsed
from dnip.llm.sources.columns import ANSWERS
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number
from dnip.llm.sources.token_logprobs import TOKEN_LOGPROBS, read_choices

#: What a question is called that is answered by pairs of columns.
_PAIRS = "token_1, logprob_1, …"
_TOKEN = re.compile(r"(?:top_?)?token_?(\d+)", re.IGNORECASE)
_LOGPROB = re.compile(r"(?:top_?)?(?:token_?)?log_?prob_?(\d+)", re.IGNORECASE)
_OF_TOKEN = ("token", "decoded_token", "text")
_OF_NUMBER = ("logprob", "log_prob", "logprobs", "lp")
# How far a log-probability may be above 0, and a sum of probabilities above 1.
_ROUNDING = 1e-3


def _entries(value: object) -> list[dict[str, Any]] | None:
    """Return the tokens that a value lists for one place, None if it lists none."""
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        pairs = [*value.values()]  # vLLM's, by the numbers of tokens
    elif isinstance(value, dict):
        pairs = [{"token": token, "logprob": number} for token, number in value.items()]
    elif isinstance(value, list):
        pairs = [
            {"token": one[0], "logprob": one[1]} if isinstance(one, list) and len(one) == 2 else one
            for one in value
        ]
    else:
        return None
    found = [_entry(one) for one in pairs]
    if not found or None in found:
        return None
    entries = [one for one in found if one is not None]
    numbers = [one["logprob"] for one in entries]
    if max(numbers) > _ROUNDING:  # probabilities
        if min(numbers) < 0 or len(numbers) < 2 or sum(numbers) > 1 + _ROUNDING:
            return None
        return [{"token": one["token"], "prob": one["logprob"]} for one in entries]
    return entries


def _entry(one: object) -> dict[str, Any] | None:
    """Return a token with its log-probability; with those at its place, if it lists them."""
    if not isinstance(one, dict):
        return None
    token = next((one[key] for key in _OF_TOKEN if isinstance(one.get(key), str)), None)
    number = next((one[key] for key in _OF_NUMBER if key in one), one.get("prob"))
    if token is None or isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return {"token": token, "logprob": number}


def places(value: object, text: str | None) -> list[dict[str, Any]] | None:
    """Return the places of an answer, each with its likeliest tokens; None if a value tells none.

    A list of tokens without lists of their own is read as the likeliest tokens of one place, unless
    they make up the text, or are more probable than 1 together: then each is a place.

    Examples
    --------
    >>> places([{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.5}], "a")
    [{'top_logprobs': [{'token': 'a', 'logprob': -0.5}, {'token': 'b', 'logprob': -1.5}]}]
    """
    if isinstance(value, dict):
        inner = [value.get("content"), value.get("top_logprobs")]
        if any(isinstance(one, list | dict) and one for one in inner):
            alone = _entry(value) is not None  # the only place
            return places([value] if alone else inner[0] or inner[1], text)
    if isinstance(value, list) and any(isinstance(_tops(one), list | dict) for one in value):
        return _all(_place(one) for one in value)
    entries = _entries(value)
    if entries is None:
        found = _all(map(_entries, value)) if isinstance(value, list) else None
        return found and [{"top_logprobs": one} for one in found]
    if isinstance(value, list):
        written = "".join(one["token"] for one in entries).strip()
        sure = sum(math.exp(one.get("logprob", -math.inf)) for one in entries)
        if sure > 1 + _ROUNDING or (len(entries) > 1 and written == (text or "").strip()):
            return [{**one, "top_logprobs": [one]} for one in entries]
    return [{"top_logprobs": entries}]


def _all(found: Iterable[Any | None]) -> list[Any] | None:
    """Return all of them, None if one is not there, or there are none."""
    every = list(found)
    return None if None in every or not every else every


def _tops(one: object) -> object:
    return one.get("top_logprobs", one.get("topLogprobs")) if isinstance(one, dict) else None


def _place(one: object) -> dict[str, Any] | None:
    """Return a place of an answer as chat completions have it."""
    own, tops = _entry(one), _entries(_tops(one))
    if own is None:
        return None
    return {**own, "top_logprobs": tops or [own]}


def _found(row: Answer) -> dict[str, object]:
    """Return what tells log-probabilities in a row, by column, that of the most tokens first."""
    if not isinstance(row, dict):
        return {}
    text, found = _text_of(row), {}
    for name, cell in row.items():
        value = parsed(cell)
        if name in (ID, LABEL) or not isinstance(value, list | dict):
            continue
        if places(value, text) or TOKEN_LOGPROBS.recognises(value):
            found[name] = value
    if pairs := [*_pairs(row)]:
        found[_PAIRS] = pairs
    return dict(sorted(found.items(), key=lambda one: -_size(one[1])))


def _size(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, inner))


def _pairs(row: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """Yield the tokens of pairs of columns, those of empty cells left out."""
    numbers = {match[1]: cell for name, cell in row.items() if (match := _LOGPROB.fullmatch(name))}
    for name, token in row.items():
        match = _TOKEN.fullmatch(name)
        number = numbers.get(match[1]) if match else None
        if isinstance(token, str) and number not in (None, ""):
            yield {"token": token, "logprob": as_number(number, f"logprob_{match and match[1]}")}


def _text_of(row: Mapping[str, object]) -> str | None:
    texts = (row[name] for name in ANSWERS if name in row)
    return next((text for text in texts if isinstance(text, str)), None)


def _read(row: Answer, wanted: Wanted) -> Row | None:
    value, text = _found(row)[wanted.question], _text_of(row)
    found = places(value, text)
    if found is None:  # a whole answer
        return TOKEN_LOGPROBS.read(value, wanted)
    told = text if len(found) > 1 else None  # the one token tells it; the text may be the question
    answer = {"message": {"content": told}, "logprobs": {"content": found}, "finish_reason": None}
    return read_choices("the row", [answer], wanted)


ROWS = Source(
    "rows",
    "rows with the likeliest tokens in a cell, or in columns token_1, logprob_1, …",
    lambda row: bool(_found(row)),
    _read,
    questions=lambda row: tuple(_found(row)),
    takes_first=True,
)
