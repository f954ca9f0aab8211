"""What experiments work on: an opt and a test table for each model, task and prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reproduction.cell import TableRef
    from reproduction.prompt_request import PromptRequest


@dataclass(frozen=True)
class Source:
    """One model on one task under one prompt.

    Attributes
    ----------
    model, task : str
    shots : int or "balanced" or None
        None for a saved table.
    seed : int or None
        Seed of the demonstrations; None for a saved table.
    opt : TableRef
        The pool of labelled rows; a part of it may serve as dev split.
    test : TableRef
    shown : tuple of int
        Class indices of the demonstrations, in the order of the prompt.
    texts : str
        What the texts are, if not the task: tables of the same texts count as one dataset.
    """

    model: str
    task: str
    shots: int | str | None
    seed: int | None
    opt: TableRef
    test: TableRef
    shown: tuple[int, ...] = ()
    texts: str = ""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.opt.classes

    @property
    def labels(self) -> dict[str, Any]:
        """Model, task, dataset, shots and seed: labels for a cell on this source."""
        return {
            "model": self.model,
            "task": self.task,
            "dataset": self.texts or self.task,
            "shots": self.shots,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class ReasonedSource:
    """One model on one task, asked to reason before it answers; on test rows only.

    Attributes
    ----------
    plain : Source
        The source of the same model, task, demonstrations and seed without reasoning.
    test : TableRef
        Answers after reasoning.
    plain_test : TableRef
        Answers without reasoning on the same rows as `test`.
    """

    plain: Source
    test: TableRef
    plain_test: TableRef


@dataclass(frozen=True)
class Sources:
    """All sources of a run, in the order of the plan.

    Attributes
    ----------
    rows : tuple of Source
    missing : mapping of str to str
        Tasks or folders that are left out, and why.
    requests : mapping of str to PromptRequest
        What prompting has to make, by table key; empty on saved tables.
    hashes : mapping of str to str
        Hashes of models and data, by name.
    ask_reasoned : callable or None
        Asks the model of a 1-shot source again, for some rows and some tokens of reasoning.
    """

    rows: tuple[Source, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, PromptRequest] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    ask_reasoned: Callable[[Source, int, int], ReasonedSource] | None = None

    def __iter__(self) -> Iterator[Source]:
        """Iterate over the sources."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.rows)

    def one_shot(self) -> tuple[Source, ...]:
        """Return the sources of most experiments: 1-shot prompts, or all saved tables."""
        return tuple(row for row in self.rows if row.shots in (1, None))

    def first_seed(self) -> tuple[Source, ...]:
        """Return the 1-shot sources of the first seed only."""
        seeds = [row.seed for row in self.one_shot()]
        return tuple(row for row in self.one_shot() if row.seed == seeds[0])

    def reasoned(self, rows: int, max_new_tokens: int) -> tuple[ReasonedSource, ...]:
        """Return the 1-shot sources with reasoning; none on saved tables.

        Parameters
        ----------
        rows : int
            The most test rows; 0 for as many as without reasoning.
        max_new_tokens : int
            The most tokens of an answer.
        """
        if self.ask_reasoned is None:
            return ()
        return tuple(self.ask_reasoned(row, rows, max_new_tokens) for row in self.one_shot())
