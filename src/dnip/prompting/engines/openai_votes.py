"""Engine for models that reason and tell no log-probabilities: vote shares of repeated samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dnip.base.validation import check_integer, check_number
from dnip.prompting.engines.base import SAMPLES, ScoredRow, Scoring
from dnip.prompting.engines.openai_engine import ServerEngine
from dnip.prompting.engines.openai_requests import Endpoint
from dnip.prompting.engines.openai_responses import read_text
from dnip.prompting.votes import Ballot, count_votes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task


@dataclass(frozen=True)
class VotingEngine(ServerEngine):
    """Scores labels by how many of a prompt's sampled answers end in them.

    One request per sample, since not all servers draw several at once; each has a seed of its own,
    the same for all prompts. An answer that was cut at `max_tokens` is no vote: its last label word
    is a thought. See `dnip.prompting.votes` for how a text is read and for ties.

    Parameters
    ----------
    model, server, extra_body
        As for `OpenAIEngine`.
    endpoint : Endpoint or str, default="chat"
        In ``"completions"``, an answer ends where the task's next example would begin.
    samples : int, default=16
        Answers drawn for each prompt; a share is a multiple of its inverse.
    temperature : float, default=1
        Of the sampling; above 0, or all samples would be alike.
    max_tokens : int, default=2048
        The longest answer, thoughts included.
    seed : int, default=0
        Of the first sample, for servers that can repeat one.
    """

    kind = "openai-votes"
    endpoint: Endpoint | str = Endpoint.CHAT
    samples: int = 16
    temperature: float = 1.0
    max_tokens: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("samples", self.samples, at_least=1)
        check_integer("max_tokens", self.max_tokens, at_least=1)
        check_integer("seed", self.seed, at_least=0)
        check_number("temperature", self.temperature, above=0)

    def score(
        self,
        prompts: Sequence[Prompt],
        task: Task,
        scoring: Scoring = Scoring.FIRST,
        *,
        done: frozenset[int] = frozenset(),
    ) -> Iterator[ScoredRow]:
        """Yield the vote shares of every prompt but those `done`, once, when all samples are in.

        Parameters
        ----------
        prompts : sequence of Prompt
        task : Task
        scoring : Scoring
            Without meaning here: the whole label word is read.
        done : frozenset of int
            Rows that are not asked for.

        Yields
        ------
        ScoredRow
            With ``details["samples"]`` and ``details["unmatched"]``, how many of them are no vote.

        Raises
        ------
        BackendError
            If a request fails for good.
        """
        del scoring
        Ballot(task.label_words)
        return self._stream(prompts, task, done)

    def _stream(
        self, prompts: Sequence[Prompt], task: Task, done: frozenset[int]
    ) -> Iterator[ScoredRow]:
        rows = [row for row in range(len(prompts)) if row not in done]
        bodies = (
            (f"prompt {row}, sample {sample}", self._sample_body(prompts[row], task, sample))
            for row in rows
            for sample in range(self.samples)
        )
        texts: dict[int, list[str | None]] = {}
        for number, text in self._ask(bodies, read_text, len(rows) * self.samples):
            row = rows[number // self.samples]
            texts.setdefault(row, []).append(text)
            if len(texts[row]) == self.samples:
                tally = count_votes(texts.pop(row), task.label_words)
                details = {SAMPLES: tally.samples, "unmatched": tally.unmatched}
                yield ScoredRow(row, tally.shares, details=details)

    def _sample_body(self, prompt: Prompt, task: Task, sample: int) -> dict[str, Any]:
        continues = self.endpoint == Endpoint.COMPLETIONS and task.separator
        return self._body(
            prompt,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            seed=self.seed + sample,
            stop=[task.separator] if continues else None,
        )
