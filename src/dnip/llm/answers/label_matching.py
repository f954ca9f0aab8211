"""Which reported tokens, and which words of a text, stand for which label."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats
from dnip.llm.answers.tokens import Reported, Token


@dataclass(frozen=True, eq=False)
class Match:
    """Probabilities of the labels at one position.

    Attributes
    ----------
    captured : ndarray of shape (N,)
        Probability of each label; 0 for a label that was not reported.
    ceiling : ndarray of shape (N,) or None
        The highest probability that each label can have; None if all labels were reported.
    ambiguous : float
        Probability of tokens that begin the answers of several labels.
    """

    captured: Floats
    ceiling: Floats | None
    ambiguous: float

    def check_clear(self) -> None:
        """Refuse what the tokens of several labels outweigh.

        Raises
        ------
        InvalidInputError
            If they do.
        """
        if self.ambiguous > self.captured.sum():
            raise InvalidInputError(
                "the likeliest token of a label begins several labels and so tells none of them",
                hint="Ask again with label words whose first tokens differ, such as letters",
            )


@dataclass(frozen=True)
class LabelMatcher:
    """Finds labels among reported tokens.

    Rules:

    - If the server reports token ids and the labels' ids are known, ids are compared.
    - Otherwise texts are compared, with leading space and case. A token stands for a label if it
      begins an answer of this label and of no other. If several tokens do, the longest one counts,
      because a tokenizer would choose it; the shorter ones begin other words as well.
    - A label may have several answers, such as with and without a leading space in a chat. Their
      probabilities are added, and so are those of different tokens with the same text.
    - A single Latin letter does not count, because it begins too many other words: " A" is more
      often an article than the beginning of "Ab". But it raises the ceiling of its label if no
      longer token is reported.
    - A token that begins the answers of several labels counts for none of them.

    Parameters
    ----------
    answers : tuple of tuple of str
        For each label, the texts that stand for it.
    token_ids : tuple of int, optional
        For each label, the id of its first token.

    Examples
    --------
    >>> matcher = LabelMatcher(((" Business",), (" Technology",)))
    >>> reported = Reported((Token(" Business", -0.7), Token(" B", -3.0), Token(" the", -1.2)))
    >>> match = matcher.match(reported)
    >>> match.captured.round(3), match.ceiling.round(3)
    (array([0.497, 0.   ]), array([0.497, 0.05 ]))
    """

    answers: tuple[tuple[str, ...], ...]
    token_ids: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        ids = self.token_ids
        if ids is not None and (len(ids) != len(self.answers) or len(set(ids)) < len(ids)):
            raise InvalidInputError(
                f"token_ids must be {len(self.answers)} different token ids, one per label; "
                f"got {list(ids)}"
            )
        for own, theirs in permutations(self.answers, 2):
            for answer, other in product(own, theirs):
                if other.startswith(answer):
                    raise InvalidInputError(
                        f"the answer {answer!r} of one label begins another label's answer "
                        f"{other!r}: a server's tokens cannot tell them apart",
                        hint="Choose other label words",
                    )

    def match(self, reported: Reported) -> Match:
        """Return the probabilities of the labels among reported tokens."""
        tells_ids = any(token.token_id is not None for token in reported.tokens)
        if self.token_ids is not None and tells_ids:
            found = self._by_id(reported)
        else:
            found = self._by_text(reported)
        captured = np.array([math.fsum(parts) for parts in found.parts])
        missing = np.array([not parts for parts in found.parts])
        if not missing.any():
            return Match(captured, None, found.ambiguous)
        most = np.maximum(found.letters, reported.bound)
        return Match(captured, np.where(missing, most, captured), found.ambiguous)

    def find_last(self, answer: Sequence[Token]) -> int | None:
        """Return the place of the last token at which a label begins, None if there is none.

        Texts are compared if ids are not known: a token must begin an answer of the label, and the
        text must go on with the whole answer. An answer must not begin in the middle of a word.

        Parameters
        ----------
        answer : sequence of Token
            The tokens of a generated answer.
        """
        if self.token_ids is not None and any(token.token_id is not None for token in answer):
            at = [place for place, token in enumerate(answer) if token.token_id in self.token_ids]
            return at[-1] if at else None
        text = "".join(token.text for token in answer)
        end = len(text)
        for place in reversed(range(len(answer))):
            token = answer[place].text
            end -= len(token)
            if token and any(
                wanted.startswith(token)
                and text.startswith(wanted, end)
                and not (wanted[0].isalnum() and text[:end][-1:].isalnum())
                for answers in self.answers
                for wanted in answers
            ):
                return place
        return None

    def find_all(self, answer: Sequence[Token]) -> list[int]:
        """Return the places at which an answer names a label, the last one first."""
        places = []
        place = self.find_last(answer)
        while place is not None:
            places.append(place)
            place = self.find_last(answer[:place])
        return places

    def nothing(self) -> Match:
        """Return the match for an empty report: any label may have any probability."""
        return Match(np.zeros(len(self.answers)), np.ones(len(self.answers)), 0.0)

    def _by_id(self, reported: Reported) -> _Found:
        known = {token.token_id: token.probability for token in reported.tokens}
        parts = [[known[i]] if i in known else [] for i in self.token_ids or ()]
        return _Found(parts, [0.0] * len(parts), 0.0)

    def _by_text(self, reported: Reported) -> _Found:
        probability: dict[str, float] = {}
        for token in reported.tokens:
            probability[token.text] = probability.get(token.text, 0.0) + token.probability
        owners = {text: self._owners(text) for text in probability if text}
        unclear = (probability[text] for text, labels in owners.items() if len(labels) > 1)
        found = _Found([], [], math.fsum(unclear))
        for label, answers in enumerate(self.answers):
            own = {text for text, labels in owners.items() if labels == {label}}
            letters = {text for text in own - set(answers) if _is_letter(text)}
            firsts = {
                max((text for text in own - letters if a.startswith(text)), key=len, default="")
                for a in answers
            }
            found.parts.append([probability[text] for text in sorted(firsts) if text])
            found.letters.append(math.fsum(probability[text] for text in letters))
        return found

    def _owners(self, text: str) -> set[int]:
        return {
            label
            for label, answers in enumerate(self.answers)
            if any(answer.startswith(text) for answer in answers)
        }


@dataclass(frozen=True)
class TextMatcher:
    """How a text is read as a vote for a label.

    The last label word in the text is the vote, for models reason first and answer last. A word
    counts where it stands alone (no letter, digit or underscore on either side). Of two label
    words that overlap, the one that begins first counts, and of those the longer. Case does not
    matter, unless two label words differ in nothing else. A text without a label word is no vote.

    Parameters
    ----------
    words : tuple of str
        The label words, in class order.

    Examples
    --------
    >>> matcher = TextMatcher(("good", "bad", "not good"))
    >>> matcher.read("The plot is good, the acting is not. So: Bad.")
    1
    >>> matcher.read("It is not good.")
    2
    >>> matcher.read("The goodness of it!") is None
    True
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        stripped = [word.strip() for word in self.words]
        if not all(stripped) or len(set(stripped)) < len(stripped) or not stripped:
            raise InvalidInputError(
                f"label words must differ, and none may be empty; got {self.words!r}"
            )

    def read(self, text: str | None) -> int | None:
        """Return the class that a text votes for; None for no vote, or an answer that was cut."""
        if text is None:
            return None
        pattern, labels = self._pattern
        last = deque(pattern.finditer(text), maxlen=1)
        return labels[(last[0].lastindex or 0) - 1] if last else None

    def count(self, votes: Iterable[int | None]) -> Floats:
        """Return the number of votes for each label, shape (N,); None is no vote."""
        cast = [vote for vote in votes if vote is not None]
        return np.bincount(cast, minlength=len(self.words)).astype(np.float64)

    @cached_property
    def _pattern(self) -> tuple[re.Pattern[str], list[int]]:
        """A group for each word, longest first, and the label of each group."""
        words = [word.strip() for word in self.words]
        labels = sorted(range(len(words)), key=lambda label: -len(words[label]))
        choices = "|".join(f"({re.escape(words[label])})" for label in labels)
        case_matters = len({word.casefold() for word in words}) < len(words)
        flags = re.NOFLAG if case_matters else re.IGNORECASE
        return re.compile(rf"(?<!\w)(?:{choices})(?!\w)", flags), labels


@cache
def matcher_of(names: tuple[str, ...]) -> LabelMatcher:
    """Return the matcher of labels that a model may write in several ways."""
    return LabelMatcher(tuple(map(variants, names)))


def variants(word: str) -> tuple[str, ...]:
    """Return the ways in which a model may write a label: with a space, in another case.

    A lone letter has one case: "a" is an article before it is the label "A".

    Examples
    --------
    >>> variants("Spam"), variants("A")
    (('Spam', 'spam', 'SPAM', ' Spam', ' spam', ' SPAM'), ('A', ' A'))
    """
    cases = {word: None}
    if len(word) > 1:
        cases |= dict.fromkeys((word.lower(), word.upper(), word.capitalize()))
    return tuple(space + text for space in ("", " ") for text in cases)


class _Found(NamedTuple):
    """For each label, the probabilities of its tokens, and that of single letters."""

    parts: list[list[float]]
    letters: list[float]
    ambiguous: float


def _is_letter(text: str) -> bool:
    letter = text.strip()
    return len(letter) == 1 and letter.isascii() and letter.isalpha()
