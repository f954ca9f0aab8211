"""Engine for models that reason and tell no log-probabilities: vote shares of repeated samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice, check_integer, check_number
from dnip.prompting.engines.base import SAMPLES, ScoredRow, Scoring
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_engine import library_versions
from dnip.prompting.engines.openai_requests import Endpoint, check_extra, sampling_body
from dnip.prompting.engines.openai_responses import read_text
from dnip.prompting.votes import Ballot, count_votes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task


@dataclass(frozen=True)
class VotingEngine:
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

    model: str
    server: Server = field(default_factory=Server)
    endpoint: Endpoint | str = Endpoint.CHAT
    samples: int = 16
    temperature: float = 1.0
    max_tokens: int = 2048
    seed: int = 0
    extra_body: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInputError("model must be the server's name of a model; got ''")
        check_extra(self.extra_body)
        check_choice("endpoint", self.endpoint, tuple(Endpoint))
        check_integer("samples", self.samples, at_least=1)
        check_integer("max_tokens", self.max_tokens, at_least=1)
        check_integer("seed", self.seed, at_least=0)
        check_number("temperature", self.temperature, above=0)

    def describe(self) -> dict[str, Any]:
        """Return all that the shares depend on; never the key."""
        return {
            "engine": "openai-votes",
            "base_url": self.server.base_url,
            "model": self.model,
            "endpoint": str(self.endpoint),
            "samples": self.samples,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "extra_body": check_extra(self.extra_body),
            "versions": library_versions(),
        }

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
        rows = [row for row in range(len(prompts)) if row not in done]
        return self._stream(prompts, rows, task)

    def _stream(
        self, prompts: Sequence[Prompt], rows: Sequence[int], task: Task
    ) -> Iterator[ScoredRow]:
        bodies = (
            (f"prompt {row}, sample {sample}", self._body(prompts[row], task, sample))
            for row in rows
            for sample in range(self.samples)
        )
        requests = len(rows) * self.samples
        answers = self.server.ask(
            Endpoint(self.endpoint).path, bodies, read_text, requests=requests
        )
        texts: dict[int, list[str | None]] = {}
        try:
            for number, text in answers:
                row = rows[number // self.samples]
                texts.setdefault(row, []).append(text)
                if len(texts[row]) == self.samples:
                    tally = count_votes(texts.pop(row), task.label_words)
                    details = {SAMPLES: tally.samples, "unmatched": tally.unmatched}
                    yield ScoredRow(row, tally.shares, details=details)
        finally:
            answers.close()

    def _body(self, prompt: Prompt, task: Task, sample: int) -> dict[str, Any]:
        continues = self.endpoint == Endpoint.COMPLETIONS
        return sampling_body(
            Endpoint(self.endpoint),
            prompt.text,
            model=self.model,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed + sample,
            stop=(task.separator,) if continues and task.separator else (),
            extra=self.extra_body,
        )
