"""Read the JSON of an OpenAI-compatible server: tokens, their log-probabilities, and texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, NamedTuple

from dnip.base.errors import BackendError

#: How vLLM writes a token when asked for ids instead of text.
_ID_PREFIX = "token_id:"
#: Servers round: a log-probability above 0 by less than this is 0.
_ROUNDING = 1e-3
#: The field in which a position lists its likeliest tokens; servers and versions differ.
_LISTS = ("top_logprobs", "top_probs", "probs")


class Token(NamedTuple):
    """One reported token.

    Attributes
    ----------
    text : str
        As the server writes it; empty if the server reports the token by its id alone.
    logprob : float
        Natural logarithm of its probability, 0 or less.
    token_id : int or None
        Its number in the vocabulary, if the server reports it.
    """

    text: str
    logprob: float
    token_id: int | None = None

    @property
    def probability(self) -> float:
        """The probability itself."""
        return math.exp(self.logprob)


@dataclass(frozen=True)
class Reported:
    """The tokens that a server reports at one position.

    Attributes
    ----------
    tokens : tuple of Token
        Each token once.
    sampled : Token or None
        The token that the server chose, if it says so.
    """

    tokens: tuple[Token, ...]
    sampled: Token | None = None

    @property
    def chosen(self) -> Token:
        """The token that the server chose, or else the likeliest one."""
        return self.sampled or max(self.tokens, key=lambda token: token.logprob)

    @property
    def bound(self) -> float:
        """The highest probability that an unreported token can have.

        The likeliest tokens are reported, so an unreported one has at most the smallest reported
        probability. It also has at most the probability that is left over. Some servers add the
        chosen token whatever its rank, so the chosen token does not count as the smallest.
        """
        left_over = max(0.0, 1.0 - math.fsum(token.probability for token in self.tokens))
        ranked = sorted(self.tokens, key=lambda token: token.logprob)
        if len(ranked) > 1 and ranked[0] == self.sampled:
            ranked = ranked[1:]
        return min(ranked[0].probability, left_over)


@dataclass(frozen=True)
class Answer:
    """The tokens that a server reports for a whole answer.

    Attributes
    ----------
    positions : tuple of Reported
        One for each token before the end of the answer.
    cut : bool
        Whether the answer was cut at the limit of tokens.
    """

    positions: tuple[Reported, ...]
    cut: bool


def read_reported(payload: object) -> Reported:
    """Read the tokens reported for the first position of the answer.

    Parameters
    ----------
    payload : object
        The response's JSON, in any of these shapes: completions (``logprobs.top_logprobs``, a
        mapping per position), chat (``logprobs.content[].top_logprobs``, a list per position), and
        llama.cpp's own (``completion_probabilities[]`` with ``top_logprobs``, ``top_probs`` or
        ``probs``).

    Raises
    ------
    BackendError
        If the server gives no log-probabilities, or the JSON is of no known shape.

    Examples
    --------
    >>> logprobs = {"tokens": [" a"], "top_logprobs": [{" a": -0.5, " b": -1.5}]}
    >>> reported = read_reported({"choices": [{"logprobs": logprobs}]})
    >>> [token.text for token in reported.tokens], round(reported.bound, 3)
    ([' a', ' b'], 0.17)
    """
    with _understanding():
        first = next(_positions(payload), None)
    if first is None:
        raise _no_logprobs()
    return first


def read_answer(payload: object, stop: str | None = None) -> Answer:
    """Read the tokens reported for every position of an answer.

    Parameters
    ----------
    payload : object
        As for `read_reported`.
    stop : str, optional
        Text that ends the answer. Some servers report its tokens, but leave it out of the text.

    Raises
    ------
    BackendError
        As `read_reported`; but an empty answer needs no log-probabilities.

    Examples
    --------
    >>> logprobs = {"tokens": [" So", " a"], "top_logprobs": [{" So": -0.5}, {" a": -0.1}]}
    >>> answer = read_answer({"choices": [{"text": " So a", "logprobs": logprobs}]})
    >>> [reported.chosen.text for reported in answer.positions], answer.cut
    ([' So', ' a'], False)
    """
    with _understanding():
        positions = tuple(_positions(payload))
        text, reason = _text_and_end(payload)
    if text and not positions:
        raise _no_logprobs()
    written = [reported.chosen.text for reported in positions]
    whole = "".join(written)
    if stop is not None and stop in whole:
        begins = accumulate(map(len, written), initial=0)
        kept = sum(begin < whole.index(stop) for begin in islice(begins, len(written)))
        positions = positions[:kept]
    elif reason == "stop" and text is not None and written and not text.endswith(written[-1]):
        positions = positions[:-1]  # it ends the sequence, and is no text
    return Answer(positions, reason == "length")


def read_text(payload: object) -> str | None:
    """Read the text of a sampled answer; None if it was cut at the limit of tokens.

    The thoughts of a reasoning model are left out: text between ``<think>`` and ``</think>``, and
    thoughts in a field of their own. If the thoughts do not end, the answer is empty.

    Raises
    ------
    BackendError
        If the JSON is of no known shape.

    Examples
    --------
    >>> read_text({"choices": [{"message": {"content": "<think>no?</think>yes"}}]})
    'yes'
    >>> read_text({"choices": [{"text": " and so", "finish_reason": "length"}]}) is None
    True
    """
    with _understanding():
        choice = _choice(payload)
        text = _checked_text(
            choice["message"]["content"] if "message" in choice else choice["text"]
        )
    if choice.get("finish_reason") == "length":
        return None
    thoughts, _, answer = (text or "").rpartition("</think>")
    return "" if "<think>" in answer and not thoughts else answer


@contextmanager
def _understanding() -> Iterator[None]:
    """Raise a BackendError for JSON of no known shape."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BackendError(
            f"the server's answer is not understood: {type(error).__name__}: {error}",
            hint="Is this an OpenAI-compatible server?",
            retryable=True,
        ) from error


def _no_logprobs() -> BackendError:
    return BackendError(
        "the server gives no log-probabilities",
        hint="Choose a model that gives them, or count votes of repeated samples with --votes",
    )


def _positions(payload: object) -> Iterator[Reported]:
    """Yield the positions of an answer; none if there are no log-probabilities."""
    if isinstance(payload, dict) and "completion_probabilities" in payload:
        if not payload["completion_probabilities"]:
            raise LookupError("completion_probabilities is empty")
        yield from map(_from_position, payload["completion_probabilities"])
        return
    logprobs = _choice(payload).get("logprobs")
    if isinstance(logprobs, dict) and logprobs.get("content"):
        yield from map(_from_position, logprobs["content"])
    elif isinstance(logprobs, dict) and logprobs.get("top_logprobs"):
        for place in range(len(logprobs["top_logprobs"])):
            yield _from_mapping(logprobs, place)


def _text_and_end(payload: Any) -> tuple[str | None, str | None]:  # noqa: ANN401
    """Return the answer's text and the reason why it ends; None if unknown."""
    if "choices" not in payload:
        return payload.get("content"), "length" if payload.get("stop_type") == "limit" else None
    choice = _choice(payload)
    text = choice["message"].get("content") if "message" in choice else choice.get("text")
    return _checked_text(text), choice.get("finish_reason")


def _checked_text(text: object) -> str | None:
    if not isinstance(text, str | None):
        raise TypeError(f"the text is {type(text).__name__}")
    return text


def _choice(payload: object) -> dict[str, Any]:
    if not isinstance(payload, dict):
        raise TypeError(f"it is {type(payload).__name__}, not an object")
    if not payload.get("choices"):
        keys = ", ".join(map(str, payload)) or "nothing"
        raise KeyError(f"it has no choices, but {keys}")
    choice = payload["choices"][0]
    if not isinstance(choice, dict):
        raise TypeError(f"its first choice is {type(choice).__name__}")
    return choice


def _from_mapping(logprobs: dict[str, Any], place: int) -> Reported:
    """Completions: ``{token: logprob}`` of a position."""
    top = dict(logprobs["top_logprobs"][place])
    sampled = logprobs["tokens"][place] if logprobs.get("tokens") else None
    chosen = logprobs["token_logprobs"][place] if logprobs.get("token_logprobs") else None
    if sampled is not None and chosen is not None:
        top.setdefault(sampled, chosen)
    tokens = {text: _token(text, logprob) for text, logprob in top.items()}
    return _reported(tokens.values(), tokens.get(sampled))


def _from_position(position: dict[str, Any]) -> Reported:
    """Chat and llama.cpp: a list of tokens for each position."""
    listed = next((position[key] for key in _LISTS if position.get(key)), None)
    if listed is None:
        raise KeyError(f"no {', '.join(_LISTS)}")
    tokens = [_entry(entry) for entry in listed]
    text = position.get("token", position.get("content"))
    sampled = next(
        (token for token in tokens if text in (token.text, f"{_ID_PREFIX}{token.token_id}")), None
    )
    if sampled is None and "logprob" in position:
        sampled = _entry(position)
        tokens.append(sampled)
    return _reported(tokens, sampled)


def _entry(entry: dict[str, Any]) -> Token:
    text = entry["token"] if "token" in entry else entry["tok_str"]
    if "logprob" in entry:
        return _token(text, entry["logprob"], entry.get("id"))
    probability = entry["prob"]
    logprob = math.log(probability) if probability > 0 else -math.inf
    return _token(text, logprob, entry.get("id"))


def _token(text: str, logprob: float, token_id: int | None = None) -> Token:
    value = float(logprob)
    if math.isnan(value) or value > _ROUNDING:
        raise ValueError(f"{text!r} has log-probability {logprob}")
    if text.startswith(_ID_PREFIX):
        return Token("", min(value, 0.0), int(text.removeprefix(_ID_PREFIX)))
    return Token(text, min(value, 0.0), token_id)


def _reported(tokens: Iterable[Token], sampled: Token | None) -> Reported:
    once = tuple(dict.fromkeys(tokens))
    if not once:
        raise KeyError("no token is reported")
    return Reported(once, sampled)
