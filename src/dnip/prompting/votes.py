"""Votes of repeated samples: for models that reason and tell no probabilities."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnip.base.typing import Floats


@dataclass(frozen=True)
class Ballot:
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
    >>> ballot = Ballot(("good", "bad", "not good"))
    >>> ballot.read("The plot is good, the acting is not. So: Bad.")
    1
    >>> ballot.read("It is not good.")
    2
    >>> ballot.read("The goodness of it!") is None
    True
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        stripped = [word.strip() for word in self.words]
        if not all(stripped) or len(set(stripped)) < len(stripped) or not stripped:
            raise InvalidInputError(
                f"label words must differ, and none may be empty; got {self.words!r}"
            )

    def read(self, text: str) -> int | None:
        """Return the class that the text votes for, or None."""
        pattern, labels = self._pattern
        last = deque(pattern.finditer(text), maxlen=1)
        return labels[(last[0].lastindex or 0) - 1] if last else None

    @cached_property
    def _pattern(self) -> tuple[re.Pattern[str], list[int]]:
        """A group for each word, longest first, and the label of each group."""
        words = [word.strip() for word in self.words]
        labels = sorted(range(len(words)), key=lambda label: -len(words[label]))
        choices = "|".join(f"({re.escape(words[label])})" for label in labels)
        case_matters = len({word.casefold() for word in words}) < len(words)
        flags = re.NOFLAG if case_matters else re.IGNORECASE
        return re.compile(rf"(?<!\w)(?:{choices})(?!\w)", flags), labels


@dataclass(frozen=True, eq=False)
class Tally:
    """Counted votes of one prompt.

    Attributes
    ----------
    counts : ndarray of shape (N,)
        Votes for each label.
    samples : int
        Texts that were read, those without a vote included.
    """

    counts: Floats
    samples: int

    @property
    def shares(self) -> Floats:
        """Votes over samples: their sum falls short of 1 by the share of texts without a vote."""
        return self.counts / self.samples

    @property
    def unmatched(self) -> int:
        """Texts without a vote."""
        return self.samples - int(self.counts.sum())


def count_votes(texts: Iterable[str | None], words: Sequence[str]) -> Tally:
    """Count the votes of sampled texts.

    Shares stay as they were counted. No smoothing: two labels with as many votes are a tie, and a
    tie goes to the lowest class, as everywhere.

    Parameters
    ----------
    texts : iterable of str or None
        Sampled answers; None is one that was cut before it ended, and is no vote.
    words : sequence of str
        Label words, in class order.

    Examples
    --------
    >>> tally = count_votes(["yes", "I think: yes", "no", "who knows"], ["yes", "no"])
    >>> tally.shares, tally.unmatched
    (array([0.5 , 0.25]), 1)
    """
    ballot = Ballot(tuple(words))
    counts = np.zeros(len(ballot.words))
    samples = 0
    for text in texts:
        samples += 1
        label = None if text is None else ballot.read(text)
        if label is not None:
            counts[label] += 1
    if samples == 0:
        raise InvalidInputError("there are no samples to count votes of")
    return Tally(counts, samples)
