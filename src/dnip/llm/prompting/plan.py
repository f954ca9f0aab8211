"""A plan: which rows are prompted with what, before any model is asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError, shown
from dnip.base.validation import check_integer
from dnip.llm.prompting.data import HUB, TRAIN, Examples, folder_name, load_examples
from dnip.llm.prompting.prompt import Prompt, PromptBuilder
from dnip.llm.prompting.task import Task

#: The word for one demonstration of each class.
BALANCED = "balanced"
# A number of demonstrations has no more digits.
_DIGITS = 9
# Share of a field's words that one round of shortening keeps.
_KEPT = 0.9


@dataclass(frozen=True, eq=False)
class Plan:
    """Prompts in the order of the table to come.

    Attributes
    ----------
    task : Task
    examples : Examples
        The rows to score.
    builder : PromptBuilder
        With the demonstrations.
    settings : dict
        What the prompts depend on, for the table's metadata; plain JSON values.
    """

    task: Task
    examples: Examples
    builder: PromptBuilder
    settings: dict[str, Any]

    @property
    def prompts(self) -> list[Prompt]:
        """One prompt per row."""
        return [self.builder.prompt(row) for row in self.examples.rows]

    def of(self, task: Task) -> Plan:
        """Return the same rows and demonstrations in the wording of another task."""
        return replace(self, task=task, builder=replace(self.builder, task=task))

    def shortened(self, too_long: Callable[[Sequence[Prompt]], list[int]]) -> Plan:
        """Cut words off the end of the longest field of each row whose prompt is too long.

        Parameters
        ----------
        too_long : callable
            Takes prompts and returns the numbers of those that a model cannot take.

        Raises
        ------
        InvalidInputError
            If a prompt is too long even without the row's text.
        """
        rows = [dict(row) for row in self.examples.rows]
        waiting = too_long(self.prompts)
        while waiting:
            for number in waiting:
                row = rows[number]
                _, field = max((len(str(row[name])), name) for name in self.task.fields)
                words = str(row[field]).split()
                if len(words) <= 1:
                    raise InvalidInputError(
                        f"row {self.examples.ids[number]}: instruction and demonstrations alone "
                        "are longer than the model's context",
                        hint="Give fewer shots, or a model with a longer context",
                    )
                row[field] = " ".join(words[: int(_KEPT * len(words))])
            prompts = [self.builder.prompt(rows[number]) for number in waiting]
            waiting = [waiting[number] for number in too_long(prompts)]
        return replace(self, examples=replace(self.examples, rows=tuple(rows)))


def make_plan(
    task: Task,
    source: str | os.PathLike[str],
    *,
    split: str = "test",
    shots: int | str = 1,
    seed: int = 0,
    limit: int | None = None,
    chain_of_thought: bool = False,
) -> Plan:
    """Draw demonstrations and choose the rows to score.

    Parameters
    ----------
    task : Task
    source : path-like
        Data, as `load_examples` takes it.
    split : str, default="test"
        The rows to score. Demonstrations are drawn from ``train`` and never scored.
        ``content-free`` stands for three rows that say nothing, behind the same demonstrations,
        for contextual calibration.
    shots : int or "balanced", default=1
        How many demonstrations; or one of each class.
    seed : int, default=0
        Of the demonstrations.
    limit : int, optional
        Score at most this many rows, drawn at random but the same for every seed, so that
        demonstrations are compared on the same rows.
    chain_of_thought : bool, default=False
        Ask for reasoning before the answer, in the task's own wording.

    Raises
    ------
    InvalidInputError
        For missing data or settings that break their contract.
    """
    check_integer("seed", seed, at_least=0)
    examples = load_examples(source, split, task)
    shown: list[int] = []
    train = examples
    if shots != 0:
        train = examples if split == TRAIN else load_examples(source, TRAIN, task)
        shown = draw_demonstrations(train, shots, n_classes=task.n_classes, seed=seed)
    demonstrated = {train.ids[number] for number in shown}
    scored_rows = [number for number, name in enumerate(examples.ids) if name not in demonstrated]
    if limit is not None and check_integer("limit", limit, at_least=1) < len(scored_rows):
        chosen = np.random.default_rng(0).choice(len(scored_rows), limit, replace=False)
        scored_rows = [scored_rows[number] for number in sorted(chosen.tolist())]
    if not scored_rows:
        raise InvalidInputError(
            "no row is left to score: all are shown as demonstrations", hint="Show fewer"
        )
    scored = examples.take(scored_rows)
    builder = PromptBuilder(
        task, [(train.rows[i], int(train.labels[i])) for i in shown], chain_of_thought
    )
    wording = asdict(task)
    if not chain_of_thought:
        del wording["chain_of_thought"]  # the prompts do not depend on it
    settings = {
        "task": wording,
        "data": str(source) if str(source).startswith(HUB) else folder_name(source),
        "split": split,
        "shots": shots,
        "seed": seed,
        "limit": limit,
        "demonstrations": [train.ids[i] for i in shown],
    }
    return Plan(task, scored, builder, settings)


def parse_shots(shots: str) -> int | str:
    """Return a number of demonstrations, or the word balanced.

    Examples
    --------
    >>> parse_shots("3"), parse_shots("balanced")
    (3, 'balanced')
    """
    if shots == BALANCED:
        return BALANCED
    if not shots.isdecimal() or len(shots) > _DIGITS:
        raise InvalidInputError(
            f"shots must be a number or {BALANCED}; got {shown(shots)}",
            hint=f"Give a number of at most {_DIGITS} digits",
        )
    return int(shots)


def draw_demonstrations(
    train: Examples, shots: int | str, *, n_classes: int, seed: int
) -> list[int]:
    """Return the row numbers of demonstrations, in the order in which they are shown.

    Parameters
    ----------
    train : Examples
        The training split; rows without a label are never drawn.
    shots : int or "balanced"
        How many, drawn uniformly; or one of each class, in random order.
    n_classes : int
        N.
    seed : int
        Of the draw.

    Raises
    ------
    InvalidInputError
        If there are too few labelled rows, or a class has none for a balanced draw.
    """
    rng = np.random.default_rng(seed)
    if shots == BALANCED:
        chosen = []
        for label in range(n_classes):
            rows = np.flatnonzero(train.labels == label)
            if len(rows) == 0:
                raise InvalidInputError(
                    f"class {label} has no training row to show as a demonstration",
                    hint="Give a number of shots instead of balanced",
                )
            chosen.append(int(rng.choice(rows)))
        return [int(row) for row in rng.permutation(chosen)]
    number = check_integer("shots", shots, at_least=0)  # type: ignore[arg-type]
    labelled = np.flatnonzero(train.labels >= 0)
    if number > len(labelled):
        raise InvalidInputError(
            f"{number} demonstrations asked for, but the training split has {len(labelled)} "
            "labelled rows"
        )
    return [int(row) for row in rng.choice(labelled, number, replace=False)]


def hash_prompts(prompts: Sequence[Prompt]) -> str:
    """Return the SHA-256 of prompts, in order."""
    return hashlib.sha256("".join(f"{prompt.text}\0" for prompt in prompts).encode()).hexdigest()
