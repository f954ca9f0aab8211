"""Table 2 and figure 3: before and after DNIP, and beside prior methods."""

from __future__ import annotations

from itertools import chain
from typing import Any

from dnip.base.typing import Floats
from reproduction.experiments.base import Claims, Experiment, Run, one_shot
from reproduction.judging import Scores, Unjudged, change, named
from reproduction.methods import ADAPTER, BATCH, DNIP, FIT, FOLLOWED, PUBLISHED, RAW, debias
from reproduction.presenting import bars, by_task, markdown
from reproduction.probabilities import BALANCED, FIVE, ONE, TASKS, ZERO
from reproduction.published import published, table_2

SHOTS = (ONE, BALANCED, FIVE)
METHODS = (RAW, DNIP, FIT, FOLLOWED, PUBLISHED, BATCH, ADAPTER)
METRICS = ("accuracy", "cobias", "worst_class_accuracy")


def run_main(run: Run) -> Any:
    """Return results of every method in every cell that has opt rows."""
    return run.over(debias, chain(*(run.data.cells(shots) for shots in (ZERO, *SHOTS))))


def headline(scores: Scores) -> str:
    """Return averages over all tasks by method, and relative changes, beside the paper's."""
    name = "*the paper, mean of 7 rows*"
    before, after = ([table_2(way, m, TASKS) for m in METRICS[:2]] for way in ("raw", "dnip"))
    shown = [f"{100 * (a / b - 1):+.0f} %" for a, b in zip(after, before, strict=True)]
    rows = [[name, RAW, *(f"{100 * value:.1f}" for value in before), "", "", ""]]
    theirs = [*(f"{100 * value:.1f}" for value in after), "", *shown]
    rows.append([name, DNIP, *(text.replace("-", "−") for text in theirs)])
    for shots in dict.fromkeys([*scores.results.shots, *SHOTS]):
        for method in METHODS:
            try:
                ours = [scores.mean(method, m, shots) for m in METRICS]
                raw = [scores.mean(RAW, m, shots) for m in METRICS[:2]]
            except Unjudged as why:
                rows.append([named(shots), f"not averaged: {why}", "–", "–", "–", "", ""])
                break
            changes = [change(a, b) for a, b in zip(ours[:2], raw, strict=True)]
            shown = ["", ""] if method == RAW else changes
            rows.append([named(shots), method, *(f"{100 * o[0]:.1f}" for o in ours), *shown])
    header = ["Prompts", "Method", "Accuracy", "COBias", "Worst class"]
    return markdown([*header, "Change of accuracy", "Change of COBias"], rows, left=2)


def table_main(run: Run, results: Any) -> str:
    """Return the headline, then table 2 for each metric, the paper's rows first."""
    paper: dict[str, list[list[object]]] = {}
    numbers = published("main")
    for row in numbers["rows"]:
        of = dict(zip(numbers["tasks"], row["tasks"], strict=True))
        cells = ["{} ± {}".format(*of[task]) if task in of else "" for task in run.data.tasks]
        name = f"*{row['model']}, {row['shots']}-shot, {row['method'].replace('dnip', DNIP)}*"
        paper.setdefault(row["metric"], []).append([name, row["all"][0], *cells])
    own = by_task(results, run.data.tasks, paper=paper)
    return f"{headline(Scores(results, run.data.tasks))}\n\n{own}"


def judge_main(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge what the paper says of table 2."""
    yield "average", lambda: scores.better(DNIP, RAW)
    yield "biased", lambda: {"above 32 % by": scores.mean(RAW, "cobias") - 0.32}

    def balanced() -> dict[str, Floats]:
        one, more = (scores.mean(RAW, "cobias", shots) for shots in (ONE, BALANCED))
        return {"1-shot above N-shot by": one - more, "N-shot above half of it by": more - one / 2}

    yield "balanced", balanced
    yield "below", lambda: {"below 20 % by": 0.2 - scores.mean(DNIP, "cobias")}
    yield "N-shot", lambda: scores.better(DNIP, RAW, BALANCED)
    yield "5-shot", lambda: scores.better(DNIP, RAW, FIVE)
    yield "sizes", "the file is of one model"


def judge_prior(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge what section 5.4 says."""
    yield ADAPTER, lambda: scores.better(DNIP, ADAPTER)
    yield BATCH, lambda: scores.better(DNIP, BATCH)


MAIN = Experiment(
    "main",
    "Before and after",
    run_main,
    judge_main,
    table_main,
    lambda f, run, r: bars(f, r[r.shots == run.data.shots], run.data.tasks, METHODS[:3]),
    SHOTS,
)
PRIOR = Experiment(
    "prior-methods",
    "Prior methods beside DNIP",
    one_shot,
    judge_prior,
    draw=lambda f, run, r: bars(f, r, run.data.tasks, (RAW, ADAPTER, BATCH, DNIP, FIT)),
)
