"""Table 5: answers after a chain of thought, against plain 1-shot ones on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.experiments.base import Claims, Experiment, Run
from reproduction.judging import Scores
from reproduction.methods import Found, decide, take
from reproduction.presenting import by_task, markdown, short
from reproduction.probabilities import REASONING as SHOTS, Cell

PLAIN, REASONED = "1-shot", "1-shot, chain of thought"


def answers(cell: Cell) -> list[Found]:
    """Return the raw answers of a cell, and how many of them hold no label."""
    name = REASONED if cell.shots == SHOTS else PLAIN
    return [Found(name, decide(cell.test.p), {"no_label": 1 - float(cell.test.answered.mean())})]


def run_reasoning(run: Run) -> Any:
    """Return reasoned answers, and plain ones to the same rows."""
    plain = {(cell.task, cell.seed): cell for cell in run.data.cells()}
    cells = []
    for cell in run.data.cells(SHOTS):
        other = plain.get((cell.task, cell.seed))
        if other is not None and np.isin(cell.test.row, other.test.row).all():
            order = np.argsort(other.test.row)
            same = order[np.searchsorted(other.test.row, cell.test.row, sorter=order)]
            cells += [other._replace(test=take(other.test, same)), cell]
    return run.over(answers, cells).assign(shots=SHOTS)


def table(run: Run, results: Any) -> str:
    """Return scores of both, and the share of answers without a label."""
    tasks = list(run.data.tasks)
    lost = results[results.method == REASONED].groupby("task").no_label.mean().reindex(tasks)
    shares = ["–" if np.isnan(share) else f"{100 * share:.1f}" for share in lost]
    row = markdown(["", *map(short, tasks)], [["No label in the answer (%)", *shares]])
    return f"{by_task(results, tasks)}\n\n{row}"


def judge(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge whether COBias and accuracy fall together."""
    yield "noisy", lambda: scores.falls(REASONED, PLAIN, shots=SHOTS)


REASONING = Experiment(
    "cot", "Chain of thought against plain 1-shot", run_reasoning, judge, table, shots=(SHOTS,)
)
