"""An engine on each worker of a cluster, for blocks of prompts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dnip.prompting.engines.batches import blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnip.base.cluster import Cluster
    from dnip.prompting.engines.base import Engine, ScoredRow, Scoring
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task


class ClusterEngine:
    """Scores labels with the same engine on every worker.

    Each block of prompts goes to one worker. An engine on one machine scores block by block as
    well, so both give the same numbers.

    Parameters
    ----------
    cluster : Cluster
    open_engine : callable
        Returns the engine; it is called once by each worker.
    """

    def __init__(self, cluster: Cluster, open_engine: Callable[[], Engine]) -> None:
        self._cluster = cluster
        start = cluster.actor(_Worker)
        self._workers = [start(open_engine) for _ in range(cluster.workers)]

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return dict(self._ask("describe"))

    def too_long(self, prompts: Sequence[Prompt], *, answer_tokens: int = 1) -> list[int]:
        """As the engine on one machine."""
        return list(self._ask("too_long", prompts, answer_tokens=answer_tokens))

    def answer_tokens(self, prompts: Sequence[Prompt], task: Task, scoring: Scoring) -> int:
        """As the engine on one machine."""
        return int(self._ask("answer_tokens", prompts, task, scoring))

    def score(
        self,
        prompts: Sequence[Prompt],
        task: Task,
        scoring: Scoring,
        *,
        done: frozenset[int] = frozenset(),
    ) -> Iterator[ScoredRow]:
        """Yield the scores of the prompts that are not `done`, in any order.

        Everything is checked before the first row.

        Raises
        ------
        DNIPError
            As the engine on one machine.
        """
        self._cluster.get(self._workers[0].check.remote(prompts, task, scoring))
        jobs = [
            (first, prompts[first:last], task, scoring, done.intersection(range(first, last)))
            for first, last in blocks(len(prompts))
            if not done.issuperset(range(first, last))
        ]
        for scored in self._cluster.share(self._workers, "score", jobs):
            yield from scored

    def _ask(self, name: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401
        return self._cluster.get(self._workers[0].ask.remote(name, *arguments, **options))


class _Worker:
    """A process that holds the model."""

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        self._open = open_engine
        self._opened: Any = None  # an engine of whatever kind

    @property
    def _engine(self) -> Any:  # noqa: ANN401
        if self._opened is None:  # in a call, which hands on what is raised
            self._opened = self._open()
        return self._opened

    def ask(self, name: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401
        return getattr(self._engine, name)(*arguments, **options)

    def check(self, prompts: Sequence[Prompt], task: Task, scoring: Scoring) -> None:
        everything = frozenset(range(len(prompts)))
        for _ in self._engine.score(prompts, task, scoring, done=everything):
            pass

    def score(
        self,
        first: int,
        prompts: Sequence[Prompt],
        task: Task,
        scoring: Scoring,
        done: frozenset[int],
    ) -> list[ScoredRow]:
        done_here = frozenset(row - first for row in done)
        scored = self._engine.score(prompts, task, scoring, done=done_here)
        return [replace(row, row=first + row.row) for row in scored]
