"""From an answer to the label that it names, and the probability of each label."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Floats
from dnip.llm.answers.answer import (
    Answer,
    Position,
    Reported,
    Spell,
    as_bytes,
    spelling_of,
    unmarked,
)
from dnip.llm.answers.completions import ID_PREFIX, SilentError, no_logprobs
from dnip.llm.answers.naming import NO_ROLE, LabelNames, Mention, Role, is_lead, without_thoughts


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
        InvalidInputError
            If they do.
        """
        if self.ambiguous > self.captured.sum():
            raise InvalidInputError(
                f"the likeliest token of a label begins several labels ({listed(self.alike)}), and "
                "no later token tells which",
                hint="Ask for whole labels (max_tokens), or for labels whose first tokens differ, "
                "such as letters",
            )


@dataclass(frozen=True, eq=False)
class Reading:
    """What an answer names, and where.

    Attributes
    ----------
    mentions : tuple of Mention
        The label that it names, none, or several that may be meant, the last one first. They lie
        in the content, if the tokens spell it.
    is_cut : bool
        Whether the answer ends within a label.
    begin, end : int
        The places of the answer among all tokens, thoughts and the end of the sequence left out.
    place : int or None
        Where the last label begins, or the answer if it is cut; None if no token begins there.
    is_spelt : bool
        Whether the tokens spell the content.
    spell : callable
        How the texts of tokens are found.
    """

    mentions: tuple[Mention, ...]
    is_cut: bool = False
    begin: int = 0
    end: int = 0
    place: int | None = None
    is_spelt: bool = False
    spell: Spell = unmarked


@dataclass(frozen=True)
class LabelReader:
    """Reads answers.

    `LabelNames` says which label is named. Its probability, and that of the others, is read at the
    place where it begins:

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

    Examples
    --------
    >>> from dnip.llm.answers.completions import read_completion
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

    def __post_init__(self) -> None:
        ids, n = self.token_ids, len(self.names)
        if ids is not None and (len(ids) != n or len(set(ids)) < len(ids)):
            raise InvalidInputError(
                f"token_ids must be {n} different token ids, one per label; got {list(ids)}"
            )

    @cached_property
    def _labels(self) -> LabelNames:
        return LabelNames(self.names, self.exact)

    def vote(self, answer: Answer) -> int | None:
        """Return the label that an answer votes for; None for no or several labels, or if cut."""
        if answer.cut or answer.content is None:
            return None
        mentions = self._labels.mentions(without_thoughts(answer.content))
        return mentions[0].label if len(mentions) == 1 else None

    def shares(self, votes: Sequence[int | None]) -> Match:
        """Return what votes say of each label; None is no vote.

        Each label gets half a vote more than it has, so that none stands at 0 for want of answers.
        Together they have the share of answers that are votes.

        Examples
        --------
        >>> LabelReader((("a",), ("b",))).shares([0, 0, 0, None]).captured
        array([0.65625, 0.09375])
        """
        cast = [vote for vote in votes if vote is not None]
        counts = np.bincount(cast, minlength=len(self.names)) + 0.5
        return Match(counts / counts.sum() * (len(cast) / len(votes)), None)

    def locate(self, answer: Answer) -> Reading:
        """Find the label that an answer names, in its text and among its tokens."""
        positions, content = answer.positions, answer.content
        text = None if content is None else without_thoughts(content)
        whole = (text or "").strip()
        if not positions or (text is not None and not whole):
            return Reading(self._labels.mentions(text or ""), is_spelt=True)
        spell, pieces, at = spelling_of(positions, whole)
        starts, stream = [0, *accumulate(map(len, pieces))], b"".join(pieces)
        is_spelt = at is not None
        if at is None:  # the tokens alone tell what was said
            all_of_it = stream.decode(errors="surrogateescape")
            whole = without_thoughts(all_of_it)
            at = len(stream) - len(as_bytes(whole))
        begin = min(bisect_right(starts, at), len(pieces)) - 1
        end = min(bisect_right(starts, at + len(as_bytes(whole)) - 1), len(pieces))
        lead = stream[starts[begin] : at].decode(errors="surrogateescape")
        spelt = lead + whole
        mentions, start, is_cut = self._labels.mentions(spelt), None, False
        if mentions:
            offset = starts[begin] + len(as_bytes(spelt[: mentions[0].start]))
            start = bisect_right(starts, offset) - 1
            if start >= len(pieces) or not is_lead(stream[starts[start] : offset]):
                start = None
        elif self._labels.role(as_bytes(spelt.rstrip())).begins:
            start, is_cut = begin, True
        if self.token_ids is not None:
            labels = {n: self._label_of(position) for n, position in enumerate(positions)}
            known = [(n, label) for n, label in labels.items() if label is not None]
            if known:
                start, mentions = known[-1][0], (Mention(known[-1][1], 0, 0),)
        elif is_spelt and content is not None:
            shift = len(content.rstrip()) - len(whole) - len(lead)
            mentions = tuple(mention.moved(shift) for mention in mentions)
        return Reading(mentions, is_cut, begin, end, start, is_spelt, spell)

    def weigh(self, answer: Answer, reading: Reading, fallback: int | None = None) -> Match:
        """Return the probabilities of the labels where an answer names one.

        Parameters
        ----------
        answer : Answer
        reading : Reading
            Of this answer. ``Reading(())`` is an answer of which only the first token is read.
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
        self._walk(sums, answer.positions[start:end], reading.spell)
        match = sums.match([names[0].strip() for names in self.names])
        return replace(match, is_alone=reported.is_alone)

    def weigh_label(self, answer: Answer, reading: Reading) -> Match:
        """Return the probabilities of the labels, or say why an answer does not tell them.

        Raises
        ------
        SilentError
            If its tokens do not.
        InvalidInputError
            If they do not tell labels apart that begin alike.
        BackendError
            If what was reported is damaged.
        """
        if answer.positions and reading.mentions and reading.place is None:
            raise SilentError(
                "the label does not begin with a token",
                hint="Ask for an answer in which a space or a new line stands before the label",
            )
        match = self.weigh(answer, reading)
        match.check_told()
        match.check_clear()
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
        self,
        sums: _Sums,
        positions: Sequence[Position],
        spell: Spell,
        prefix: bytes = b"",
        share: float = 1.0,
    ) -> None:
        """Add what is reported at the first position, and behind its chosen token."""
        reported, before = positions[0].reported, self._labels.role(prefix)
        probability: dict[bytes, float] = {}
        for token in reported.tokens:
            text = spell(token.text, token.raw)
            probability[text] = probability.get(text, 0.0) + token.probability
        roles = {text: self._labels.role(prefix + text) for text in probability if text}
        chosen = spell(reported.chosen.text, reported.chosen.raw)
        spelt = (
            chosen
            if len(positions) > 1 and self._goes_on(positions[1], prefix + chosen, spell)
            else b""
        )
        for text, (whole, begins, is_word) in roles.items():
            p, is_chosen = share * probability[text], text == chosen and len(positions) > 1
            if text == spelt:
                self._walk(sums, positions[1:], spell, prefix + text, p)
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
            on = math.fsum(probability[text] for text, role in roles.items() if role != NO_ROLE)
            sums.add(before.whole, share * max(0.0, 1.0 - on))
        alive = before.begins if prefix else range(len(self.names))
        sums.bound(alive, share * reported.bound)

    def _goes_on(self, position: Position, text: bytes, spell: Spell) -> bool:
        """Whether a token at the next place goes on with a label that a text begins."""
        begins = self._labels.role(text).begins
        if not begins:
            return False
        tokens = position.reported.tokens
        roles = [self._labels.role(text + spell(token.text, token.raw)) for token in tokens]
        return any(role.whole in begins or role.begins & begins for role in roles)


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
def reader_of(names: tuple[str, ...]) -> LabelReader:
    """Return the reader of labels that a model may write in several ways.

    Names such as ``token_id:7`` are ids of tokens whose texts are not told.
    """
    if all(name.removeprefix(ID_PREFIX).isdecimal() and ID_PREFIX in name for name in names):
        ids = tuple(int(name.removeprefix(ID_PREFIX)) for name in names)
        return LabelReader(tuple((name,) for name in names), token_ids=ids)
    return LabelReader(tuple((name,) for name in names))


def _stands_for(role: Role, label: int) -> bool:
    return role.whole == label or label in role.begins


def _is_letter(text: bytes) -> bool:
    letter = text.strip()
    return len(letter) == 1 and letter.isalpha()
