"""The JSON of an OpenAI-compatible server, as an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from dnip.base.errors import BackendError
from dnip.llm.answers.tokens import Answer, Position, Reported, SilentError, Token

#: How vLLM writes a token when asked for ids instead of text.
ID_PREFIX = "token_id:"
# Servers round: a log-probability above 0 by less than this is 0.
_ROUNDING = 1e-3
# What stands for a token that is not reported; so does null.
_UNREPORTED = -9999.0
# The field in which a place lists its likeliest tokens; servers and versions differ.
_LISTS = ("top_logprobs", "topLogprobs", "top_probs", "probs")
# More tokens at one place are hostile.
_MOST_TOKENS = 10_000


def read_completion(payload: object) -> Answer:
    """Read an answer.

    Parameters
    ----------
    payload : object
        The response's JSON, in any of these shapes: completions (``logprobs.top_logprobs``, a
        mapping per place), chat (``logprobs.content[].top_logprobs``, a list per place), and
        llama.cpp's own (``completion_probabilities[]`` with ``top_logprobs``, ``top_probs`` or
        ``probs``). Of several choices the first is read.

    Raises
    ------
    BackendError
        If the JSON is of no known shape. What is reported at a place is read, and refused, when it
        is wanted.

    Examples
    --------
    >>> logprobs = {"tokens": [" a"], "top_logprobs": [{" a": -0.5, " b": -1.5}]}
    >>> answer = read_completion({"choices": [{"text": " a", "logprobs": logprobs}]})
    >>> reported = answer.positions[0].reported
    >>> [token.text for token in reported.tokens], round(reported.bound, 3)
    ([' a', ' b'], 0.17)
    """
    with _understanding():
        if not isinstance(payload, dict):
            raise TypeError(f"it is {type(payload).__name__}, not an object")
        return read_choice(choices_of(payload)[0])


def choices_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers to a prompt, those of llama.cpp in the shape of chat completions."""
    if "completion_probabilities" not in payload:
        return payload["choices"]  # type: ignore[no-any-return]
    logprobs = {"content": payload["completion_probabilities"]}
    message, reason = {"content": payload.get("content")}, payload.get("stop_type")
    reason = "length" if reason == "limit" else reason
    return [{"message": message, "logprobs": logprobs, "finish_reason": reason}]


def read_choice(choice: dict[str, Any]) -> Answer:
    """Read one of the answers to a prompt, in the shape of chat completions or completions."""
    with _understanding():
        message, reason = choice.get("message"), choice.get("finish_reason")
        text = choice.get("text") if message is None else message.get("content")
        refusal = None if message is None else message.get("refusal")
        refused = bool(refusal) or reason in ("content_filter", "refusal")
        positions = tuple(_positions(choice.get("logprobs")))
        return Answer(_text(text), positions, reason == "length", refused)


def no_logprobs() -> SilentError:
    """Return the error for an answer without log-probabilities."""
    return SilentError(
        "the server gives no log-probabilities",
        hint="Choose a model that gives them (logprobs=True, top_logprobs=20), or count votes of "
        "repeated samples with --votes",
    )


@contextmanager
def _understanding() -> Iterator[None]:
    """Raise a BackendError for JSON of no known shape."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = f": {error}" if isinstance(error, _ProbabilityError) else ""
        raise BackendError(
            f"the server's answer is not understood{reason}",
            hint="Is this the whole answer of an OpenAI-compatible server?",
            retryable=True,
        ) from error


class _ProbabilityError(ValueError):
    """A number that is no log-probability."""


def _positions(logprobs: object) -> Iterator[Position]:
    """Yield the places of an answer; none if there are no log-probabilities."""
    if not isinstance(logprobs, dict):
        return
    if isinstance(logprobs.get("content"), list):
        yield from map(_position, logprobs["content"])
        return
    tops, tokens = logprobs.get("top_logprobs") or (), logprobs.get("tokens") or ()
    for place in range(max(len(tops), len(tokens))):
        text = tokens[place] if tokens else None
        name = None if text is None else _named(text)[0]
        yield Position(name, None, partial(_from_mapping, logprobs, place, text))


def _position(entry: dict[str, Any]) -> Position:
    """Return a place as chat completions and llama.cpp have it: with a list of tokens."""
    text = entry.get("token", entry.get("content"))
    name = None if text is None else _named(text)[0]
    return Position(name, _bytes(entry), partial(_from_entry, entry))


def _from_mapping(logprobs: dict[str, Any], place: int, text: str | None) -> Reported:
    """Read a place of completions: ``{token: logprob}``."""
    with _understanding():
        tops = logprobs.get("top_logprobs") or ()
        top = dict((tops[place] if place < len(tops) else None) or {})
        number = logprobs["token_logprobs"][place] if logprobs.get("token_logprobs") else None
        n_listed = len(top)
        if text is not None and number is not None:
            top.setdefault(text, number)
        tokens = {name: _token(name, number) for name, number in top.items()}
        return _reported(tokens.values(), tokens.get(text or ""), n_listed)


def _from_entry(entry: dict[str, Any]) -> Reported:
    """Read a place with a list of tokens."""
    with _understanding():
        listed = next((entry[key] for key in _LISTS if entry.get(key)), ())
        if len(listed) > _MOST_TOKENS:
            raise ValueError("too many tokens")
        tokens = [_entry(one) for one in listed]
        text = entry.get("token", entry.get("content"))
        names = (one.get("token", one.get("tok_str")) for one in listed)
        sampled = next(
            (token for name, token in zip(names, tokens, strict=True) if name == text), None
        )
        if sampled is None and text is not None and "logprob" in entry:
            sampled = _entry(entry)
            tokens.append(sampled)
        return _reported(tokens, sampled, len(listed))


def _entry(entry: dict[str, Any]) -> Token | None:
    text = entry["token"] if "token" in entry else entry["tok_str"]
    if "logprob" in entry:
        return _token(text, entry["logprob"], entry.get("id"), _bytes(entry))
    probability = entry["prob"]
    logprob = math.log(probability) if probability > 0 else -math.inf
    return _token(text, logprob, entry.get("id"), _bytes(entry))


def _token(
    text: str, logprob: object, token_id: int | None = None, raw: bytes | None = None
) -> Token | None:
    """Return a token, None for one that is not reported."""
    if logprob is None:
        return None
    value = float(logprob)  # type: ignore[arg-type]
    if math.isnan(value) or value > _ROUNDING:
        raise _ProbabilityError(
            f"{text!r:.40} has the log-probability {value:g}; the logarithm of a probability is "
            "never above 0"
        )
    name, number = _named(text)
    return (
        Token(name, min(value, 0.0), token_id if number is None else number, raw)
        if value > _UNREPORTED
        else None
    )


def _named(text: str) -> tuple[str, int | None]:
    """Return the text of a token, and its number where it is written as one."""
    if text.startswith(ID_PREFIX):
        return "", int(text.removeprefix(ID_PREFIX))
    return text, None


def _bytes(entry: dict[str, Any]) -> bytes | None:
    given = entry.get("bytes")
    return bytes(given) if isinstance(given, list) and given else None


def _reported(tokens: Iterable[Token | None], sampled: Token | None, n_listed: int) -> Reported:
    once = tuple(token for token in dict.fromkeys(tokens) if token is not None)
    if not once:
        raise no_logprobs()
    return Reported(once, sampled, n_listed < 2)


def _text(text: object) -> str | None:
    if not isinstance(text, str | None):
        raise TypeError(f"the text is {type(text).__name__}")
    return text
