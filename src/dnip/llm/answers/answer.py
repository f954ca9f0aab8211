"""An answer of a language model: its text, and the tokens that were reported at each position."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

# How tokenizers write a space, a new line, and a byte that is no character by itself.
_MARKS = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
# A text that stands in its tokens more often than this is not looked for further.
_MOST_PLACES = 100


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


#: How the text of a token is found.
Spell = Callable[[str, bytes | None], bytes]


def _by_bytes(text: str, raw: bytes | None) -> bytes:
    """Return the bytes that the server reports, or else those of the text."""
    return unmarked(text, None) if raw is None else raw


def unmarked(text: str, raw: bytes | None) -> bytes:
    r"""Return the bytes of a text whose spaces may be marked as tokenizers do.

    Examples
    --------
    >>> unmarked("▁ham", None), unmarked("<0xC3>", None)
    (b' ham', b'\xc3')
    """
    if byte := _BYTE.fullmatch(text):
        return bytes.fromhex(byte[1])
    return text.translate(_MARKS).encode(errors="surrogatepass")


def _as_written(text: str, raw: bytes | None) -> bytes:
    """Return the bytes of a text as it is."""
    return text.encode(errors="surrogatepass")


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

    def spelt(self, spell: Spell) -> bytes:
        """Return the text of the chosen token, or of the likeliest one."""
        if self.text is None:
            chosen = self.reported.chosen
            return spell(chosen.text, chosen.raw)
        return spell(self.text, self.raw)


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


def spelling_of(positions: Sequence[Position], whole: str) -> tuple[Spell, list[bytes], int | None]:
    """Return how tokens are spelt, their texts, and where in these a text begins; None if not."""
    for spell in (_by_bytes, unmarked, _as_written):
        pieces = [position.spelt(spell) for position in positions]
        if whole and (at := _find(pieces, as_bytes(whole))) is not None:
            return spell, pieces, at
    return unmarked, [position.spelt(unmarked) for position in positions], None


def _find(pieces: Sequence[bytes], whole: bytes) -> int | None:
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
