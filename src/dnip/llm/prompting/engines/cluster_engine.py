"""The workers of a cluster as one engine: each scores blocks of prompts with its own model."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from dnip.base.cluster import Cluster
from dnip.llm.prompting.engines.base import Engine, ScoredRow
from dnip.llm.prompting.engines.transformers_engine import blocks
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.tables.provenance import Question


class ClusterEngine:
    """Scores labels with the same engine on every worker.

    Each block of prompts is a task. An engine on one machine scores block by block as well, so both
    give the same numbers.

    Parameters
    ----------
    cluster : Cluster
    open_engine : callable
        Returns the engine; it must be possible to pickle.
    scoring : Scoring
        That of the engine.
    """

    def __init__(
        self, cluster: Cluster, open_engine: Callable[[], Engine], scoring: Scoring
    ) -> None:
        self.scoring = scoring
        self._cluster = cluster
        self._opening = pickle.dumps(open_engine)

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return dict(self._ask("describe"))

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """As the engine on one machine."""
        found: Question = self._ask("question", prompts[:1], task)
        return found

    def too_long(self, prompts: Sequence[Prompt], task: Task) -> list[int]:
        """As the engine on one machine."""
        return list(self._ask("too_long", prompts, task))

    def score(
        self, prompts: Sequence[Prompt], task: Task, *, done: frozenset[int] = frozenset()
    ) -> Iterator[ScoredRow]:
        """Yield the scores of the prompts that are not `done`, in any order.

        Everything is checked before the first row.

        Raises
        ------
        DNIPError
            As the engine on one machine.
        """
        score = partial(_score, self._opening, task)
        list(self._cluster.map(score, [(0, prompts, frozenset(range(len(prompts))))]))
        parts = [
            (first, prompts[first:last], frozenset(row - first for row in done))
            for first, last in blocks(len(prompts))
            if not done.issuperset(range(first, last))
        ]
        yield from self._cluster.map(score, parts)

    def _ask(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        return next(self._cluster.map(partial(_ask, self._opening, name), [arguments]))


@lru_cache(maxsize=1)
def _engine(opening: bytes) -> Engine:
    """Return the engine of this process, which keeps its model for the next task."""
    engine: Engine = pickle.loads(opening)()
    return engine


def _ask(opening: bytes, name: str, arguments: tuple[object, ...]) -> Iterator[Any]:
    yield getattr(_engine(opening), name)(*arguments)


def _score(
    opening: bytes, task: Task, part: tuple[int, Sequence[Prompt], frozenset[int]]
) -> Iterator[ScoredRow]:
    first, prompts, done = part
    for row in _engine(opening).score(prompts, task, done=done):
        yield replace(row, row=first + row.row)
