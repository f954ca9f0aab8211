"""Table 5: answers after a chain of thought, against plain 1-shot ones on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from reproduction.experiments.base import Experiment, Run
from reproduction.judging import Claim, judge
from reproduction.methods import Found, decide, take
from reproduction.presenting import bars, by_task, markdown, short
from reproduction.probabilities import ONE, REASONING as SHOTS, Cell
from reproduction.published import paper_rows

PLAIN, REASONED = "1-shot", "1-shot, chain of thought"


def answers(cell: Cell) -> list[Found]:
    """Return the raw answers of a cell, and how many of them hold a label."""
    name = REASONED if cell.shots == SHOTS else PLAIN
    return [Found(name, decide(cell.test.p), {"no_label": 1 - float(cell.test.answered.mean())})]


def run_reasoning(run: Run) -> Any:
    """Return reasoned answers, and plain ones to the same rows."""
    plain = {(cell.task, cell.seed): cell for cell in run.data.cells(ONE)}
    cells = []
    for cell in run.data.cells(SHOTS):
        other = plain.get((cell.task, cell.seed))
        if other is not None and np.isin(cell.test.row, other.test.row).all():
            there = {int(row): at for at, row in enumerate(other.test.row)}
            same = np.array([there[int(row)] for row in cell.test.row])
            cells += [other._replace(test=take(other.test, same)), cell]
    return run.over(answers, cells).assign(shots=SHOTS)


def table(run: Run, results: Any) -> str:
    """Return scores of both, the share of answers without a label, and the paper's table."""
    lost = (
        results[results.method == REASONED].groupby("task").no_label.mean().reindex(run.data.tasks)
    )
    rows = [
        ["No label in the answer (%)", *("–" if np.isnan(x) else f"{100 * x:.1f}" for x in lost)]
    ]
    parts = [by_task(results, run.data.tasks), markdown(["", *map(short, run.data.tasks)], rows)]
    told = "An answer without a label is scored at its last token. The answer ends where the model "
    told += "ends it, or after 256 tokens."
    return "\n\n".join([*parts, told, "The paper's numbers:", markdown(*paper_rows("cot"))])


def judge_reasoning(run: Run, results: Any) -> Iterator[Claim]:
    """Judge whether COBias and accuracy fall together."""
    scores = run.scores(results)
    yield judge(
        "cot",
        "After 1-shot chain of thought, predictions are more even but less reliable: COBias falls, "
        "and accuracy with it",
        "Gemma-2-2B: accuracy −18.4 points, COBias −8.2 points",
        lambda: {
            f"{title} falls by": scores.mean(PLAIN, metric, SHOTS)
            - scores.mean(REASONED, metric, SHOTS)
            for metric, title in {"cobias": "COBias", "accuracy": "accuracy"}.items()
        },
    )


REASONING = Experiment(
    "cot",
    "Chain of thought against plain 1-shot",
    "table 5",
    run_reasoning,
    table,
    lambda figure, run, results: bars(figure, results, run.data.tasks, (PLAIN, REASONED)),
    judge_reasoning,
    (SHOTS,),
)
