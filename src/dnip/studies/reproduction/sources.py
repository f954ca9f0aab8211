"""What experiments work on: an opt and a test table for each model, task and prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dnip.studies.reproduction.cell import TableRef
    from dnip.studies.reproduction.prompting import PromptRequest


@dataclass(frozen=True)
class Source:
    """One model on one task under one prompt.

    Attributes
    ----------
    model, task : str
    shots : int or "balanced" or None
        None for a saved table.
    seed : int or None
        Of the demonstrations; None for a saved table.
    opt : TableRef
        The pool of labelled rows, of which a part may serve as dev split.
    test : TableRef
    shown : tuple of int
        Class indices of the demonstrations, in the order of the prompt.
    """

    model: str
    task: str
    shots: int | str | None
    seed: int | None
    opt: TableRef
    test: TableRef
    shown: tuple[int, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.opt.classes

    @property
    def labels(self) -> dict[str, Any]:
        """Model, task, shots and seed: labels for a cell on this source."""
        return {name: getattr(self, name) for name in ("model", "task", "shots", "seed")}


@dataclass(frozen=True)
class ReasonedSource:
    """One model on one task, asked to reason before it answers; on test rows only.

    Attributes
    ----------
    plain : Source
        The source of the same model, task, demonstrations and seed without reasoning.
    test : TableRef
        Answers after reasoning; on other rows than `plain.test` where the plan says so.
    plain_test : TableRef
        Answers without reasoning, on the very rows of `test`.
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
    reasoned : tuple of ReasonedSource
        Empty on saved tables.
    missing : mapping of str to str
        Tasks or folders that are left out, and why.
    requests : mapping of str to PromptRequest
        By table key, what prompting has to make; empty on saved tables.
    hashes : mapping of str to str
        Of models and data, by name.
    """

    rows: tuple[Source, ...]
    reasoned: tuple[ReasonedSource, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, PromptRequest] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Source]:
        """Iterate over the sources."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.rows)

    def one_shot(self) -> tuple[Source, ...]:
        """Return what the paper's single experiments use: 1-shot prompts, or all saved tables."""
        return tuple(row for row in self.rows if row.shots in (1, None))

    def first_seed(self) -> tuple[Source, ...]:
        """Return the 1-shot sources of the first seed only."""
        seeds = [row.seed for row in self.one_shot()]
        return tuple(row for row in self.one_shot() if row.seed == seeds[0])
