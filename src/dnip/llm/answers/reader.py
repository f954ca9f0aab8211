"""From an answer to the label that it states, and the probability of each label there."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import accumulate, zip_longest
from typing import NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Floats
from dnip.llm.answers.answer import (
    ID_PREFIX,
    Answer,
    Position,
    Reported,
    SilentError,
    UnclearError,
    as_bytes,
    find,
    no_logprobs,
)
from dnip.llm.answers.stating import NONE, WORD_BREAKS, Mention, Rule, Statement, without_thoughts

# What may stand before a label in its first token: spaces, quotes, brackets, marks of Markdown.
_LEAD = re.compile(rb"(?:[\s\"'`*_~(\[{<>#:=-]|\xe2\x80[\x98\x9c]|\xc2\xab)*")
_MINUS = re.compile(b"|".join(map(str.encode, "−–－﹣")))
_SIGNED, _FRACTION = re.compile(rb"-\d"), re.compile(rb"[.,]\d")
# A longer piece of text is no label.
_LONGEST = 200


@dataclass(frozen=True, eq=False)
class Match:
    """Probabilities of the labels at one place.

    Attributes
    ----------
    captured : ndarray of shape (N,)
        Probability of each label; 0 for a label that was not reported.
    ceiling : ndarray of shape (N,) or None
        The highest probability that each label can have; None if all labels were reported.
    ambiguous : float
        Probability of tokens that begin the names of several labels.
    alike : tuple of str
        These names.
    is_alone : bool
        Whether only the chosen token was reported.
    """

    captured: Floats
    ceiling: Floats | None
    ambiguous: float = 0.0
    alike: tuple[str, ...] = ()
    is_alone: bool = False

    def check_told(self) -> None:
        """Refuse what only the chosen token tells.

        Raises
        ------
        SilentError
            If no other is reported.
        """
        if self.is_alone:
            raise SilentError(
                "only the chosen token is reported, not the likeliest ones",
                hint="Ask again with top_logprobs=20",
            )

    def check_clear(self) -> None:
        """Refuse what the tokens of several labels outweigh.

        Raises
        ------
        UnclearError
            If they do.
        """
        if self.ambiguous > self.captured.sum():
            raise UnclearError(
                f"the likeliest token of a label begins several labels ({listed(self.alike)}), and "
                "no later token shows which",
                hint="Ask for whole labels (max_tokens), or for labels whose first tokens differ, "
                "such as letters",
            )


@dataclass(frozen=True, eq=False)
class Reading:
    """What an answer states, and where.

    Attributes
    ----------
    mentions : tuple of Mention
        Where the one label is stated, in order; none if no label is. They lie in the content, if
        the tokens spell it.
    reason : str
        Why no label is stated, as in `Statement`.
    is_cut : bool
        Whether the answer ends within a label.
    begin, end : int
        The places of the answer among all tokens, thoughts and the end of the sequence left out.
    place : int or None
        Where the first mention begins, or the answer if it is cut; None if no token begins there.
    is_spelt : bool
        Whether the tokens spell the content.
    """

    mentions: tuple[Mention, ...] = ()
    reason: str = ""
    is_cut: bool = False
    begin: int = 0
    end: int = 0
    place: int | None = None
    is_spelt: bool = False

    @property
    def tells(self) -> bool:
        """Whether it can be read: a label is stated, or begun, or the answer is one token long."""
        is_token = self.end - self.begin == 1  # as where the request asked for no more
        return bool(self.mentions) or self.is_cut or (self.reason == NONE and is_token)


@dataclass(frozen=True)
class LabelReader:
    """Reads answers.

    `Rule` says which label is stated. Its probability, and that of the others, is read at the place
    where it is first stated:

    - A token that begins the name of one label counts for this label, and of several such tokens
      that continue each other the longest, which a tokenizer would choose. Those that are written
      in other ways, with a space or in another case, add up.
    - Along the label that the answer names, its tokens are multiplied; so labels that begin alike
      are told apart at the place where they part. A token that is a label whole is this label,
      unless the answer goes on to a longer one.
    - A lone Latin letter does not count for a longer name, because it begins too many other words,
      unless the answer itself spells its label so. It raises the ceiling of its label if no longer
      token is reported.
    - A token that begins the names of several labels counts for none of them; if it is a whole
      word, it raises their ceilings.
    - If ids of tokens are known, ids are compared.

    Parameters
    ----------
    names : tuple of tuple of str
        For each label, the ways in which it is written.
    exact : bool, default=False
        Whether these are the only ways.
    token_ids : tuple of int, optional
        For each label, the id of its first token.
    key, last
        As for `Rule`.

    Examples
    --------
    >>> from dnip.llm.answers.answer import read_completion
    >>> logprobs = {"tokens": [" Tech"], "top_logprobs": [{" Tech": -0.5, " Sport": -1.5}]}
    >>> answer = read_completion({"choices": [{"text": " Tech", "logprobs": logprobs}]})
    >>> reader = LabelReader((("Technology",), ("Sports",)))
    >>> reading = reader.locate(answer)
    >>> reading.is_cut, reader.weigh(answer, reading).captured.round(3)
    (True, array([0.607, 0.223]))
    """

    names: tuple[tuple[str, ...], ...]
    exact: bool = False
    token_ids: tuple[int, ...] | None = None
    key: str | None = None
    last: bool = False

    def __post_init__(self) -> None:
        ids, n = self.token_ids, len(self.names)
        if ids is not None and (len(ids) != n or len(set(ids)) < len(ids)):
            raise InvalidInputError(
                f"token_ids must be {n} different token ids, one per label; got {list(ids)}"
            )

    @cached_property
    def _rule(self) -> Rule:
        return Rule(self.names, self.exact, self.key, self.last)

    @cached_property
    def _pieces(self) -> _Pieces:
        return _Pieces(self.names, self.exact)

    def state(self, text: str) -> Statement:
        """Return what a text states, thoughts left out."""
        answer = without_thoughts(text)
        stated, shift = self._rule.state(answer), len(text) - len(answer)
        return stated._replace(mentions=_moved(stated.mentions, shift))

    def vote(self, answer: Answer) -> int | None:
        """Return the label that an answer votes for; None if it states none, or is cut."""
        if answer.cut or answer.content is None:
            return None
        mentions = self.state(answer.content).mentions
        return mentions[0].label if mentions else None

    def shares(self, votes: Sequence[int | None]) -> Floats:
        """Return the share of each label in votes, shape (N,); None is no vote.

        Each label gets half a vote more than it has, so that none stands at 0 for want of answers.
        Together they have the share of answers that are votes.

        Examples
        --------
        >>> LabelReader((("a",), ("b",))).shares([0, 0, 0, None])
        array([0.65625, 0.09375])
        """
        cast = [vote for vote in votes if vote is not None]
        counts = np.bincount(cast, minlength=len(self.names)) + 0.5
        shares: Floats = counts / counts.sum() * (len(cast) / len(votes))
        return shares

    def locate(self, answer: Answer) -> Reading:
        """Find the label that an answer states, in its text and among its tokens."""
        positions, content = answer.positions, answer.content
        text = None if content is None else without_thoughts(content)
        whole = (text or "").strip()
        if not positions or (text is not None and not whole):
            return Reading(*self.state(content or ""), is_spelt=True)
        pieces = [position.spelt for position in positions]
        at = find(pieces, as_bytes(whole)) if whole else None
        starts, stream = [0, *accumulate(map(len, pieces))], b"".join(pieces)
        is_spelt = at is not None
        if self.token_ids is not None and not stream:
            return self._by_chosen_id(answer, whole)
        if at is None:  # the tokens alone tell what was said
            whole = without_thoughts(stream.decode(errors="surrogateescape"))
            at = len(stream) - len(as_bytes(whole))
        begin = min(bisect_right(starts, at), len(pieces)) - 1
        end = min(bisect_right(starts, at + len(as_bytes(whole)) - 1), len(pieces))
        lead = stream[starts[begin] : at].decode(errors="surrogateescape")
        spelt = lead + whole
        (mentions, reason), start, is_cut = self._rule.state(spelt), None, False
        if mentions:
            offset = starts[begin] + len(as_bytes(spelt[: mentions[0].start]))
            start = bisect_right(starts, offset) - 1
            if start >= len(pieces) or not _LEAD.fullmatch(stream[starts[start] : offset]):
                start = None
        elif self._pieces.role(as_bytes(spelt.rstrip())).begins:
            start, is_cut = begin, True
        if is_spelt and content is not None:
            mentions = _moved(mentions, len(content.rstrip()) - len(whole) - len(lead))
        return Reading(mentions, reason, is_cut, begin, end, start, is_spelt)

    def _by_chosen_id(self, answer: Answer, whole: str) -> Reading:
        """Find the label among tokens whose ids alone are known: the last of the stated one."""
        labels = [self._label_of(position) for position in answer.positions]
        stated = self._rule.state(whole)
        wanted = {mention.label for mention in stated.mentions} or {*labels} - {None}
        places = [place for place, label in enumerate(labels) if label in wanted]
        if not places:
            return Reading((), NONE, end=len(labels))
        label = labels[places[-1]]
        mentions = stated.mentions or (Mention(label or 0, 0, 0),)
        return Reading(mentions, end=len(labels), place=places[-1])

    def weigh(self, answer: Answer, reading: Reading, fallback: int | None = None) -> Match:
        """Return the probabilities of the labels where an answer names one.

        Parameters
        ----------
        answer : Answer
        reading : Reading
            Of this answer. ``Reading()`` is an answer of which only the first token is read.
        fallback : int, optional
            The place to read where no label is named; by default the first one of the answer.

        Raises
        ------
        SilentError
            If no tokens were reported.
        BackendError
            If what was reported is damaged.
        """
        if not answer.positions:
            raise no_logprobs()
        start = reading.begin if fallback is None else fallback
        end = start + 1
        if reading.place is not None:
            start, end = reading.place, len(answer.positions)
        reported = answer.positions[start].reported
        if self.token_ids is not None and any(
            token.token_id is not None for token in reported.tokens
        ):
            return self._by_id(reported)
        sums = _Sums(len(self.names))
        self._walk(sums, answer.positions[start:end])
        match = sums.match([names[0].strip() for names in self.names])
        return replace(match, is_alone=reported.is_alone)

    def weigh_label(self, answer: Answer, reading: Reading) -> Match:
        """Return the probabilities of the labels, or say why an answer does not tell them.

        Raises
        ------
        SilentError
            If its tokens do not.
        BackendError
            If what was reported is damaged.
        """
        if answer.positions and reading.mentions and reading.place is None:
            raise UnclearError(
                "the label does not begin with a token",
                hint="Ask for an answer with a space or a new line before the label",
            )
        match = self.weigh(answer, reading)
        match.check_told()
        match.check_clear()
        if reading.mentions and not match.captured.any():
            raise UnclearError(
                "no reported token begins a label", hint="Ask for the label as it is called"
            )
        return match

    def nothing(self) -> Match:
        """Return the match for an empty report: any label may have any probability."""
        return Match(np.zeros(len(self.names)), np.ones(len(self.names)))

    def _label_of(self, position: Position) -> int | None:
        """Return the label whose first token was chosen, by its id."""
        ids, chosen = self.token_ids or (), position.reported.chosen.token_id
        return ids.index(chosen) if chosen in ids else None

    def _by_id(self, reported: Reported) -> Match:
        known = {token.token_id: token.probability for token in reported.tokens}
        ids = self.token_ids or ()
        captured = np.array([known.get(number, 0.0) for number in ids])
        missing = np.array([number not in known for number in ids])
        ceiling = np.where(missing, reported.bound, captured) if missing.any() else None
        return Match(captured, ceiling)

    def _walk(
        self, sums: _Sums, positions: Sequence[Position], prefix: bytes = b"", share: float = 1.0
    ) -> None:
        """Add what is reported at the first position, and behind its chosen token."""
        reported, before = positions[0].reported, self._pieces.role(prefix)
        probability: dict[bytes, float] = {}
        for token in reported.tokens:
            probability[token.spelt] = probability.get(token.spelt, 0.0) + token.probability
        roles = {text: self._pieces.role(prefix + text) for text in probability if text}
        chosen = reported.chosen.spelt
        goes_on = len(positions) > 1 and self._spells_on(positions[1], prefix + chosen)
        spelt = chosen if goes_on else b""
        for text, (whole, begins, is_word) in roles.items():
            p, is_chosen = share * probability[text], text == chosen and len(positions) > 1
            if text == spelt:
                self._walk(sums, positions[1:], prefix + text, p)
            elif whole is not None:
                sums.add(whole, p)
            elif len(begins) > 1:
                sums.add_unclear(begins, p, is_word=is_word)
            elif begins:
                [label] = begins
                longer = (other for other in roles if other != text and other.startswith(text))
                if _is_letter(prefix + text) and not _is_letter(prefix + spelt):
                    sums.letters[label] += p
                elif is_chosen or not any(_stands_for(roles[other], label) for other in longer):
                    sums.add(label, p)
        if before.whole is not None:  # it ends here, unless a token goes on
            on = math.fsum(probability[text] for text, role in roles.items() if role != _NO_ROLE)
            sums.add(before.whole, share * max(0.0, 1.0 - on))
        alive = before.begins if prefix else range(len(self.names))
        sums.bound(alive, share * reported.bound)

    def _spells_on(self, position: Position, text: bytes) -> bool:
        """Whether a token at the next place goes on with a label that a text begins."""
        begins = self._pieces.role(text).begins
        if not begins:
            return False
        tokens = position.reported.tokens
        roles = [self._pieces.role(text + token.spelt) for token in tokens]
        return any(role.whole in begins or role.begins & begins for role in roles)


class _Role(NamedTuple):
    """What a piece of text says of labels.

    Attributes
    ----------
    whole : int or None
        The label that it is.
    begins : frozenset of int
        The labels that it begins.
    is_word : bool
        Whether it is a word of these.
    """

    whole: int | None
    begins: frozenset[int]
    is_word: bool = False


_NO_ROLE = _Role(None, frozenset())


class _Name(NamedTuple):
    """A way in which a label is written."""

    label: int
    key: bytes
    exact: bool


@dataclass(frozen=True)
class _Pieces:
    """What pieces of text, such as tokens, say of the labels."""

    names: tuple[tuple[str, ...], ...]
    exact: bool

    def role(self, piece: bytes) -> _Role:
        """Return what a piece of text says of labels that it begins with."""
        return self._roles(piece) if len(piece) <= _LONGEST else _NO_ROLE

    @cached_property
    def _names(self) -> list[_Name]:
        """The names of all labels, the longest first."""
        pairs = [(label, name) for label, names in enumerate(self.names) for name in names]
        if not self.exact:
            pairs = [(label, name.strip()) for label, name in pairs]
        folded = Counter(_fold(name.encode(errors="surrogatepass")) for _, name in pairs)
        names = []
        for label, text in sorted(pairs, key=lambda pair: -len(pair[1])):
            raw = _MINUS.sub(b"-", text.encode(errors="surrogatepass"))
            chunks = WORD_BREAKS.split(text)
            key = _fold(raw)
            exact = self.exact or len(text) == 1 or not all(chunks) or folded[key] > 1
            names.append(_Name(label, raw if exact else key, exact))
        return names

    @cached_property
    def _roles(self) -> Callable[[bytes], _Role]:
        return lru_cache(maxsize=1 << 16)(self._role)

    def _role(self, piece: bytes) -> _Role:
        piece = _MINUS.sub(b"-", piece)
        lead = _LEAD.match(piece)
        for begin in range(1 if self.exact or lead is None else lead.end() + 1):
            role = self._role_of(piece[begin:])
            if role is not _NO_ROLE or _SIGNED.match(piece, begin):  # "-1" is not 1
                return role
        return _NO_ROLE

    def _role_of(self, piece: bytes) -> _Role:
        if not piece:
            return _NO_ROLE
        folded, whole, begins, is_word = _fold(piece), None, set(), False
        for name in self._names:
            text = piece if name.exact else folded
            if len(text) < len(name.key) and name.key.startswith(text):
                begins.add(name.label)
                is_word |= not _begins_word(name.key[len(text) :])
            elif whole is None and not begins and text.startswith(name.key):
                whole = None if _goes_on(name.key, text[len(name.key) :]) else name.label
            elif text == name.key:  # it may be the label, or go on to a longer one
                whole = name.label
        if whole is None and not begins:
            return _NO_ROLE
        return _Role(whole, frozenset(begins), is_word)


def _goes_on(key: bytes, rest: bytes) -> bool:
    """Return whether a word or a number goes on, so that it is another one."""
    return _begins_word(rest) or (key[-1:].isdigit() and _FRACTION.match(rest) is not None)


def _begins_word(piece: bytes) -> bool:
    letter = piece.decode(errors="ignore")[:1]
    return letter.isalnum() or letter == "_"


def _fold(piece: bytes) -> bytes:
    """Return a piece without its case, and with spaces between words; it may end in a character."""
    text = piece.decode(errors="surrogateescape").casefold()
    return WORD_BREAKS.sub(" ", text).encode(errors="surrogateescape")


class _Sums:
    """What is reported of each label, added up."""

    def __init__(self, n: int) -> None:
        self.parts: list[list[float]] = [[] for _ in range(n)]
        self.letters, self.most = np.zeros(n), np.zeros(n)
        self.unclear: list[float] = []
        self.alike: set[int] = set()

    def add(self, label: int, p: float) -> None:
        self.parts[label].append(p)

    def add_unclear(self, labels: frozenset[int], p: float, *, is_word: bool) -> None:
        self.unclear.append(p)
        self.alike |= labels
        if is_word:
            self.bound(labels, p)

    def bound(self, labels: Iterable[int], p: float) -> None:
        for label in labels:
            self.most[label] = max(self.most[label], p)

    def match(self, names: Sequence[str]) -> Match:
        captured = np.array([math.fsum(parts) for parts in self.parts])
        missing = np.array([not parts for parts in self.parts])
        alike = tuple(names[label] for label in sorted(self.alike))
        most = np.where(missing, np.maximum(self.letters, self.most), captured)
        return Match(captured, most if missing.any() else None, math.fsum(self.unclear), alike)


@cache
def reader_of(
    names: tuple[str, ...],
    also: tuple[str, ...] = (),
    key: str | None = None,
    *,
    last: bool = False,
) -> LabelReader:
    """Return the reader of labels.

    Parameters
    ----------
    names : tuple of str
        What the labels are called. Names such as ``token_id:7`` are ids of tokens whose texts are
        not told.
    also : tuple of str
        Other names of the labels, in the same order; they count where they are no other's.
    key, last
        As for `Rule`.
    """
    if all(name.removeprefix(ID_PREFIX).isdecimal() and ID_PREFIX in name for name in names):
        ids = tuple(int(name.removeprefix(ID_PREFIX)) for name in names)
        return LabelReader(tuple((name,) for name in names), token_ids=ids)
    taken = {name.casefold() for name in names}
    ways = (
        (name, *([own] if own.casefold() not in taken else []))
        for name, own in zip_longest(names, also, fillvalue=names[0])
    )
    return LabelReader(tuple(ways), key=key, last=last)


def _stands_for(role: _Role, label: int) -> bool:
    return role.whole == label or label in role.begins


def _is_letter(text: bytes) -> bool:
    letter = text.strip()
    return len(letter) == 1 and letter.isalpha()


def _moved(mentions: Iterable[Mention], shift: int) -> tuple[Mention, ...]:
    """Return the same labels in a text that begins so much earlier."""
    return tuple(
        mention._replace(start=mention.start + shift, end=mention.end + shift)
        for mention in mentions
    )
