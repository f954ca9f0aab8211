"""Appendix D: DNIP on smaller opt sets."""

from __future__ import annotations

from typing import Any

import numpy as np

import dnip
from dnip import ProbabilityTable
from dnip.base.typing import Floats
from reproduction.experiments.base import Claims, Experiment, Run
from reproduction.judging import Scores, Unjudged
from reproduction.methods import FIT, PUBLISHED, RAW, Found, anneal, decide, naming, take
from reproduction.presenting import TITLES, by_task, lines
from reproduction.probabilities import Cell

FULL = "full"
SIZES = ("10", "100", "500", "1000", FULL)
#: ``dnip fit`` with other rows of the pool beside the draw, without their labels.
BESIDE, UNLABELLED = "dnip fit, unlabelled rows beside", 1000
# Ten rows of DBpedia would not cover its classes.
SMALLEST_OF_MANY = 15
SEVERAL_THOUSAND = 2000


def by_size(cell: Cell) -> list[Found]:
    """Fit on draws of the opt rows: up to 100 balanced over classes, more uniformly."""
    opt, seed, test = cell.opt, cell.seed, cell.test.p
    everything = np.arange(len(opt.y))
    pool = ProbabilityTable(opt.p, opt.y, ids=everything.astype(str))
    found = [Found(RAW, decide(test), {"opt_size": "0"})]
    with naming(cell):
        for size in SIZES:
            n = len(opt.y) if size == FULL else int(size)
            n = SMALLEST_OF_MANY if n < opt.p.shape[1] else n
            if size != FULL and n >= len(opt.y):
                continue
            rows = everything if size == FULL else np.asarray(pool.draw(n, seed).ids).astype(int)
            rest = np.random.default_rng(seed).permutation(np.setdiff1d(everything, rows))
            drawn, beside = take(opt, rows), opt.p[rest[:UNLABELLED]]
            weights: dict[str, Any] = {PUBLISHED: anneal(drawn, seed).weight_indices}
            for name, others in {FIT: None, BESIDE: beside if len(beside) else None}.items():
                fitted = dnip.fit(drawn.p, drawn.y, unlabelled=others, seed=seed, evidence=False)
                weights[name] = fitted.coefficients.weights
            notes = {"opt_size": size, "n_drawn": n}
            found += [Found(name, decide(test, w), notes) for name, w in weights.items()]
    return found


def labelled(results: Any) -> Any:
    """Return results whose methods say their size."""
    sizes = np.where(results.method == RAW, "", ", " + results.opt_size.astype(str))
    return results.assign(method=results.method + sizes)


def at_size(scores: Scores, size: str, metric: str) -> Floats:
    """Return the mean over tasks; a task with a smaller pool counts with its full set."""
    values = []
    for task in scores.tasks:
        try:
            values.append(scores.of_task(task, f"{PUBLISHED}, {size}", metric))
        except Unjudged:
            values.append(scores.of_task(task, f"{PUBLISHED}, {FULL}", metric))
    return np.asarray(np.mean(values, axis=0))


def draw(figure: Any, _run: Run, results: Any) -> None:
    """Draw scores over the number of labels, mean over tasks."""
    series = {}
    for method in (RAW, PUBLISHED, FIT, BESIDE):
        own = results[results.method == method].groupby(["task", "opt_size"])[list(TITLES)].mean()
        last = own.groupby("task").last() if method == RAW else own.xs(FULL, level="opt_size")
        found = [own.xs(s, level="opt_size") if s in own.index.levels[1] else last for s in SIZES]
        series[method] = np.stack([one.reindex(last.index).fillna(last).mean() for one in found])
    lines(figure, series, [f"{int(s):,}" if s != FULL else s for s in SIZES], "labels")


def judge(run: Run, results: Any, _scores: Scores) -> Claims:
    """Judge what appendix D says."""
    scores = Scores(labelled(results), run.data.tasks)
    yield (
        "few",
        lambda: {
            "COBias falls by": scores.mean(RAW, "cobias") - at_size(scores, "10", "cobias"),
            "accuracy rises by": at_size(scores, "10", "accuracy") - scores.mean(RAW, "accuracy"),
        },
    )
    sizes = results.groupby("task").n_opt.min()
    large = [task for task in run.data.tasks if sizes.get(task, 0) >= SEVERAL_THOUSAND]

    def further() -> dict[str, Floats]:
        if not large:
            raise Unjudged(f"no opt set has {SEVERAL_THOUSAND:,} rows under every seed")
        of = Scores(scores.results, large)
        change = of.less("cobias", f"{PUBLISHED}, {FULL}", f"{PUBLISHED}, 1000")
        return {f"falls from 1,000 to all rows ({', '.join(large)}) by": change}

    yield "many", further


OPT_SIZE = Experiment(
    "opt-size",
    "Smaller opt sets",
    lambda run: run.over(by_size, run.data.cells()),
    judge,
    lambda run, results: by_task(labelled(results), run.data.tasks),
    draw,
)
