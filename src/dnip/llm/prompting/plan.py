"""A plan: which rows are prompted with what, before any model is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError, shown
from dnip.base.validation import check_integer
from dnip.llm.prompting.prompt import Prompt, PromptBuilder
from dnip.llm.prompting.task import Task, load_task, task_of
from dnip.llm.prompting.texts import Source, Texts, read_texts

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
    texts : Texts
        The rows to score.
    builder : PromptBuilder
        With the demonstrations.
    settings : dict
        What the prompts depend on, for the table's metadata; plain JSON values.
    """

    task: Task
    texts: Texts
    builder: PromptBuilder
    settings: dict[str, Any]

    @property
    def prompts(self) -> list[Prompt]:
        """One prompt per row."""
        return [self.builder.prompt(row) for row in self.texts.rows]

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
        rows = [dict(row) for row in self.texts.rows]
        waiting = too_long(self.prompts)
        while waiting:
            for number in waiting:
                row = rows[number]
                _, field = max((len(str(row[name])), name) for name in self.task.fields)
                words = str(row[field]).split()
                if len(words) <= 1:
                    raise InvalidInputError(
                        f"row {self.texts.name(number)}: instruction and demonstrations alone "
                        "are longer than the model's context",
                        hint="Give fewer shots, or a model with a longer context",
                    )
                row[field] = " ".join(words[: int(_KEPT * len(words))])
            prompts = [self.builder.prompt(rows[number]) for number in waiting]
            waiting = [waiting[number] for number in too_long(prompts)]
        return replace(self, texts=replace(self.texts, rows=tuple(rows)))


def plan_texts(
    texts: Source,
    *,
    prompt: str | os.PathLike[str] | None = None,
    classes: Sequence[str] | None = None,
    system: str | os.PathLike[str] | None = None,
    task: str | os.PathLike[str] | None = None,
    label: str | None = None,
    id: str | None = None,  # noqa: A002 - as on the command line
    keep: Sequence[str] = (),
    shots: int | str = 0,
    demonstrations: Source | None = None,
    seed: int = 0,
    limit: int | None = None,
    chain_of_thought: bool = False,
) -> Plan:
    """Read texts, and make a plan of them, as `dnip.prompt` does.

    Raises
    ------
    InvalidInputError, BackendError
        As `load_task`, `read_texts` and `make_plan`, and for settings that do not go together.
    """
    if (task is None) == (prompt is None):
        raise InvalidInputError(
            "there is no prompt" if task is None else "there is both a prompt and a task",
            hint="Give --prompt TEXT|FILE with --classes A,B,C, or --task NAME|FILE",
        )
    if prompt is not None:
        if not classes:
            raise InvalidInputError(
                "the prompt has no classes", hint="Give --classes A,B,C: what the model is to say"
            )
        wording = task_of(prompt, classes, system=system)
    else:
        if classes or system is not None:
            raise InvalidInputError(
                f"the task {task} has {'classes' if classes else 'a system message'} of its own",
                hint=f"Leave out --{'classes' if classes else 'system'}",
            )
        wording = load_task(task or "")
    if demonstrations is not None and shots == 0:
        raise InvalidInputError(
            "no demonstration is shown (--shots 0)", hint="Give --shots, or no --demonstrations"
        )
    read = read_texts(texts, wording, label=label, id=id, keep=keep)
    shown = None
    if demonstrations is not None:
        shown = read_texts(demonstrations, wording, label=label)
    return make_plan(
        wording, read, shown, shots=shots, seed=seed, limit=limit, chain_of_thought=chain_of_thought
    )


def make_plan(
    task: Task,
    texts: Texts,
    demonstrations: Texts | None = None,
    *,
    shots: int | str = 0,
    seed: int = 0,
    limit: int | None = None,
    chain_of_thought: bool = False,
) -> Plan:
    """Draw demonstrations and choose the rows to score.

    Parameters
    ----------
    task : Task
    texts : Texts
        The rows to score. A row whose text a demonstration shows is left out.
    demonstrations : Texts, optional
        Rows with labels, to draw demonstrations from.
    shots : int or "balanced", default=0
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
        For settings that break their contract.
    """
    check_integer("seed", seed, at_least=0)
    drawn: list[int] = []
    if shots != 0 and demonstrations is None:
        raise InvalidInputError(
            f"there is no table to draw demonstrations from (shots {shots})",
            hint="Give --demonstrations, a table of other texts with labels",
        )
    if demonstrations is not None:
        drawn = draw_demonstrations(demonstrations, shots, n_classes=task.n_classes, seed=seed)
    examples = [] if demonstrations is None else [demonstrations.rows[row] for row in drawn]
    fields = [[row.get(name) for name in task.fields] for row in examples]
    asked = [
        number
        for number, row in enumerate(texts.rows)
        if [row.get(name) for name in task.fields] not in fields
    ]
    if limit is not None and check_integer("limit", limit, at_least=1) < len(asked):
        chosen = np.random.default_rng(0).choice(len(asked), limit, replace=False)
        asked = [asked[number] for number in sorted(chosen.tolist())]
    if not asked:
        raise InvalidInputError(
            "no row is left to score: all are shown as demonstrations", hint="Show fewer"
        )
    labels = [] if demonstrations is None else demonstrations.labels[drawn].tolist()
    builder = PromptBuilder(task, list(zip(examples, labels, strict=True)), chain_of_thought)
    wording = asdict(task)
    if not chain_of_thought:
        del wording["chain_of_thought"]  # the prompts do not depend on it
    settings = {
        "task": wording,
        "data": texts.source,
        "shots": shots,
        "seed": seed,
        "limit": limit,
        "demonstrations": [demonstrations.name(row) for row in drawn] if demonstrations else [],
    }
    return Plan(task, texts.take(asked), builder, settings)


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


def draw_demonstrations(train: Texts, shots: int | str, *, n_classes: int, seed: int) -> list[int]:
    """Return the row numbers of demonstrations, in the order in which they are shown.

    Parameters
    ----------
    train : Texts
        Rows without a label are never drawn.
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
                    f"class {label} has no row to show as a demonstration",
                    hint="Give a number of shots instead of balanced",
                )
            chosen.append(int(rng.choice(rows)))
        return [int(row) for row in rng.permutation(chosen)]
    number = check_integer("shots", shots, at_least=0)  # type: ignore[arg-type]
    labelled = np.flatnonzero(train.labels >= 0)
    if number > len(labelled):
        raise InvalidInputError(
            f"{number} demonstrations asked for, but {train.source} has {len(labelled)} rows "
            "with a label"
        )
    return [int(row) for row in rng.choice(labelled, number, replace=False)]
