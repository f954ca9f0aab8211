"""An answer of a language model, from JSON: its text, and the tokens reported at each position."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, NamedTuple

from dnip.base.errors import BackendError

# How tokenizers write a space, a new line, and a byte that is no character by itself.
_MARKS = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
_SPACE = "▁".encode()
# How services write half a character.
_HALF = re.compile(r"\ufffd|\\x[0-9a-f]{2}")
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
# A text that stands in its tokens more often than this is not looked for further.
_MOST_PLACES = 100
#: How vLLM writes a token when asked for ids instead of text.
ID_PREFIX = "token_id:"
# Where a token has its text, its log-probability and its number; services differ.
_TEXTS = ("token", "decoded_token", "text", "tok_str", "content")
_NUMBERS = ("logprob", "log_prob", "logProbability", "log_probability", "lp", "logprobs")
_IDS = ("id", "token_id", "tokenId")
# Where a position lists its likeliest tokens.
_LISTS = ("top_logprobs", "topLogprobs", "top_probs", "probs")
# Servers round: a log-probability above 0 by less than this is 0.
ROUNDING = 1e-3
# What stands for a token that is not reported; so does null.
_UNREPORTED = -9999.0
# More tokens at one position are hostile.
_MOST_TOKENS = 10_000


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
    raw : bytes or None
        Its bytes, if the server reports them: some tokens hold half a character.
    """

    text: str
    logprob: float
    token_id: int | None = None
    raw: bytes | None = None

    @property
    def probability(self) -> float:
        """The probability itself."""
        return math.exp(self.logprob)

    @property
    def spelt(self) -> bytes:
        """Its bytes, without marks for spaces."""
        return spelt(self.text, self.raw)


def spelt(text: str, raw: bytes | None) -> bytes:
    r"""Return the bytes of a token, spaces without the marks of tokenizers.

    What is told of bytes counts where the text is empty, holds half a character or says the same.

    Examples
    --------
    >>> spelt("▁ham", None), spelt("<0xC3>", None), spelt("\ufffd", b"\xc3"), spelt("ham", b"\x01")
    (b' ham', b'\xc3', b'\xc3', b'ham')
    """
    whole = text.encode(errors="surrogatepass")
    if raw is not None and (raw == whole or not text or _HALF.search(text)):
        return raw.replace(_SPACE, b" ")
    if byte := _BYTE.fullmatch(text):
        return bytes.fromhex(byte[1])
    return text.translate(_MARKS).encode(errors="surrogatepass")


@dataclass(frozen=True)
class Reported:
    """The tokens that a server reports at one place.

    Attributes
    ----------
    tokens : tuple of Token
        Each token once.
    sampled : Token or None
        The token that the server chose, if it says so.
    is_alone : bool
        Whether only the chosen token was reported.
    """

    tokens: tuple[Token, ...]
    sampled: Token | None = None
    is_alone: bool = False

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


@dataclass(frozen=True, eq=False)
class Position:
    """A place of an answer. What was reported there is read when it is wanted.

    Attributes
    ----------
    text : str or None
        The chosen token; None if it is not told.
    raw : bytes or None
        Its bytes, if they are told.
    read : callable
        Returns what was reported.
    """

    text: str | None
    raw: bytes | None
    read: Callable[[], Reported]

    @cached_property
    def reported(self) -> Reported:
        """The tokens that were reported."""
        return self.read()

    @property
    def spelt(self) -> bytes:
        """The bytes of the chosen token, or of the likeliest one."""
        return self.reported.chosen.spelt if self.text is None else spelt(self.text, self.raw)


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer.

    Attributes
    ----------
    content : str or None
        Its text, thoughts included where the server does not keep them apart.
    positions : tuple of Position
        Of all tokens that were reported; some may be thoughts, or end the sequence.
    cut : bool
        Whether it was cut at the limit of tokens.
    refused : bool
        Whether the model refuses to answer.
    """

    content: str | None
    positions: tuple[Position, ...] = ()
    cut: bool = False
    refused: bool = False

    def until(self, stop: str | None) -> Answer:
        """Return the answer up to a text that ends it, which some servers do not leave out."""
        if stop is None or self.content is None:
            return self
        return replace(self, content=self.content.partition(stop)[0])


def find(pieces: Sequence[bytes], whole: bytes) -> int | None:
    """Return where a text stands last among tokens, behind at most spaces of its first one.

    The tokens may end before the text does.
    """
    stream, starts = b"".join(pieces), [0, *accumulate(map(len, pieces))]
    mirrored, sought, begin = stream[::-1], whole[::-1], 0
    for _ in range(_MOST_PLACES):  # from behind: searching forwards takes no more than linear time
        if (begin := mirrored.find(sought, begin)) < 0:
            break
        at = len(stream) - begin - len(whole)
        if not stream[starts[bisect_right(starts, at) - 1] : at].strip():
            return at
        begin += 1
    lead = len(stream) - len(stream.lstrip())
    rest = stream[lead:].rstrip()
    return lead if rest and whole.startswith(rest) else None


def as_bytes(text: str) -> bytes:
    """Return a text as tokens spell it, half characters included."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


# --- from JSON ---
class SilentError(BackendError):
    """An answer whose tokens do not tell how probable the labels are."""


class UnclearError(SilentError):
    """An answer whose tokens are there, but not those of its label."""


def read_completion(payload: object) -> Answer:
    """Read an answer.

    Parameters
    ----------
    payload : object
        The response's JSON, in any of these shapes: completions (``logprobs.top_logprobs``, a
        mapping per position), chat (``logprobs.content[].top_logprobs``, a list per position), and
        llama.cpp's own (``completion_probabilities[]`` with ``top_logprobs``, ``top_probs`` or
        ``probs``). Of several choices the first is read.

    Raises
    ------
    BackendError
        If the JSON is not in a known shape. What is reported at a position is read, and refused,
        when it is wanted.

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
        if not isinstance(text, str | None):
            raise TypeError(f"the text is {type(text).__name__}")
        refusal = None if message is None else message.get("refusal")
        refused = bool(refusal) or reason in ("content_filter", "refusal")
        positions = tuple(_positions(choice.get("logprobs")))
        return Answer(text, positions, reason == "length", refused)


def no_logprobs() -> SilentError:
    """Return the error for an answer without log-probabilities."""
    return SilentError(
        "the answer has no log-probabilities",
        hint="Choose a model that gives them (logprobs=True, top_logprobs=20), or count votes of "
        "repeated samples with --votes",
    )


def text_of_token(entry: Mapping[str, Any]) -> str | None:
    """Return the text of a token, None where it has none."""
    return next((entry[key] for key in _TEXTS if isinstance(entry.get(key), str)), None)


def number_of_token(entry: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return the log-probability of a token, None where it has none."""
    return next((entry[key] for key in _NUMBERS if key in entry and _is_cell(entry[key])), None)


def tops_of(entry: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return the likeliest tokens at a position, None where they are not listed."""
    lists = [entry[key] for key in _LISTS if key in entry]
    return max((tops for tops in lists if isinstance(tops, list | dict)), key=len, default=None)


def _is_cell(value: object) -> bool:
    return not isinstance(value, list | dict)


@contextmanager
def _understanding() -> Iterator[None]:
    """Raise a BackendError for JSON that is not in a known shape."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason, hint = "", "Is this the whole answer of an OpenAI-compatible server?"
        if isinstance(error, _ProbabilityError):
            reason, hint = f": {error}", "Save log-probabilities there, or call probabilities prob"
        text = f"the server's answer is not understood{reason}"
        raise BackendError(text, hint=hint, retryable=True) from error


class _ProbabilityError(ValueError):
    """A number that is not a log-probability."""


def _positions(logprobs: object) -> Iterator[Position]:
    """Yield the positions of an answer; none if there are no log-probabilities."""
    if not isinstance(logprobs, dict):
        return
    if isinstance(logprobs.get("content"), list):
        for entry in logprobs["content"]:
            text = text_of_token(entry)
            yield Position(_named(text)[0], _bytes(entry), partial(_from_entry, entry, text))
        return
    tops, tokens = logprobs.get("top_logprobs") or (), logprobs.get("tokens") or ()
    for number in range(max(len(tops), len(tokens))):
        text = tokens[number] if tokens else None
        yield Position(_named(text)[0], None, partial(_from_mapping, logprobs, number, text))


def _from_mapping(logprobs: dict[str, Any], number: int, text: str | None) -> Reported:
    """Read a position of completions: ``{token: logprob}``."""
    with _understanding():
        tops = logprobs.get("top_logprobs") or ()
        top = dict((tops[number] if number < len(tops) else None) or {})
        logprob = logprobs["token_logprobs"][number] if logprobs.get("token_logprobs") else None
        n_listed = len(top)
        if text is not None and logprob is not None:
            top.setdefault(text, logprob)
        tokens = {name: _token(name, value) for name, value in top.items()}
        return _reported(tokens.values(), tokens.get(text or ""), n_listed)


def _from_entry(entry: dict[str, Any], text: str | None) -> Reported:
    """Read a position with a list of tokens."""
    with _understanding():
        listed = tops_of(entry) or ()
        if len(listed) > _MOST_TOKENS:
            raise ValueError("too many tokens")
        tokens, n_listed = [_entry(top) for top in listed], len(listed)
        texts = map(text_of_token, listed)
        sampled = next((top for name, top in zip(texts, tokens, strict=True) if name == text), None)
        if sampled is None and text is not None and number_of_token(entry) is not None:
            sampled = _entry(entry)
            likelier = [top for top in tokens if top and sampled and top.logprob > sampled.logprob]
            n_listed += bool(tokens) and not likelier  # some lists leave the chosen token out
            tokens.append(sampled)
        return _reported(tokens, sampled, n_listed)


def _entry(entry: dict[str, Any]) -> Token | None:
    text, logprob = text_of_token(entry), number_of_token(entry)
    if text is None or not (entry.keys() & {*_NUMBERS, "prob"}):
        raise LookupError("a token has no text or no number")
    if not entry.keys() & {*_NUMBERS}:
        logprob = math.log(entry["prob"]) if entry["prob"] > 0 else -math.inf
    token_id = next((entry[key] for key in _IDS if key in entry), None)
    return _token(text, logprob, token_id, _bytes(entry))


def _token(
    text: str, logprob: object, token_id: int | None = None, raw: bytes | None = None
) -> Token | None:
    """Return a token, None for one that is not reported."""
    if logprob is None:
        return None
    value = float(logprob)  # type: ignore[arg-type]
    if math.isnan(value) or value > ROUNDING:
        raise _ProbabilityError(
            f"{text!r:.40} has the log-probability {value:g}; the logarithm of a probability is "
            "never above 0"
        )
    if value <= _UNREPORTED:
        return None
    name, number = _named(text)
    return Token(name or "", min(value, 0.0), token_id if number is None else number, raw)


def _named(text: str | None) -> tuple[str | None, int | None]:
    """Return the text of a token, and its number where it is written as one."""
    if text is not None and text.startswith(ID_PREFIX):
        return "", int(text.removeprefix(ID_PREFIX))
    return text, None


def _bytes(entry: dict[str, Any]) -> bytes | None:
    raw = entry.get("bytes")
    return bytes(raw) if isinstance(raw, list) and raw else None


def _reported(tokens: Iterable[Token | None], sampled: Token | None, n_listed: int) -> Reported:
    reported = tuple(token for token in dict.fromkeys(tokens) if token is not None)
    if not reported:
        raise no_logprobs()
    return Reported(reported, sampled, n_listed < 2)
