"""Vote shares of repeated samples: for models that reason and tell no log-probabilities."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats
from dnip.base.validation import check_integer
from dnip.deploying.tokens import read_text
from dnip.prompting.engines.base import SAMPLES, ScoredRow
from dnip.prompting.engines.openai_engine import PATHS, Endpoint, asked
from dnip.prompting.engines.server import ServerEngine
from dnip.prompting.prompt import Prompt
from dnip.prompting.task import Task


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


@dataclass(frozen=True)
class VotingEngine(ServerEngine):
    """Scores labels by how many of a prompt's sampled answers end in them.

    One request per sample, since not all servers draw several at once, at temperature 1; each has a
    seed of its own, the same for all prompts. An answer that was cut at `max_new_tokens` is no
    vote: its last label word is a thought. See `Ballot` for how a text is read. Shares stay as they
    were counted: two labels with as many votes are a tie, and a tie goes to the lowest class, as
    everywhere.
    ``details["unmatched"]`` is how many of the samples are no vote.

    Parameters
    ----------
    model, server, extra_body
        As for `ServerEngine`.
    endpoint : Endpoint or str, default="chat"
        In ``"completions"``, an answer ends where the task's next example would begin.
    samples : int, default=16
        Answers drawn for each prompt; a share is a multiple of its inverse.
    max_new_tokens : int, default=2048
        The longest answer, thoughts included.
    """

    OPTIONS = (*ServerEngine.OPTIONS, *("endpoint", "votes", "max_new_tokens", "chain_of_thought"))
    KIND = "votes of a server's answers"
    NAME = "openai-votes"
    ENDPOINTS = PATHS

    endpoint: str = Endpoint.CHAT
    samples: int = 16
    max_new_tokens: int = 2048

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("samples", self.samples, at_least=1)
        check_integer("max_new_tokens", self.max_new_tokens, at_least=1)

    def score(
        self, prompts: Sequence[Prompt], task: Task, *, done: frozenset[int] = frozenset()
    ) -> Iterator[ScoredRow]:
        """Yield the vote shares of every prompt but those `done`, when all its samples are in.

        Raises
        ------
        InvalidInputError
            Before the first request, for label words that are alike or empty.
        BackendError
            If a request fails for good.
        """
        ballot = Ballot(task.label_words)
        continues = not self.chat and task.separator
        common = {
            "max_tokens": self.max_new_tokens,
            "temperature": 1.0,
            "stop": [task.separator] if continues else None,
        }
        bodies = (
            (row, asked(prompt, chat=self.chat) | common | {"seed": sample})
            for row, prompt in enumerate(prompts)
            if row not in done
            for sample in range(self.samples)
        )
        votes: dict[int, list[int | None]] = {}
        for row, vote in self._ask(bodies, lambda answer: ballot.read(read_text(answer))):
            cast = votes.setdefault(row, [])
            cast.append(vote)
            if len(cast) == self.samples:
                counts = ballot.count(votes.pop(row))
                details = {SAMPLES: self.samples, "unmatched": self.samples - int(counts.sum())}
                yield ScoredRow(row, counts / self.samples, details=details)
