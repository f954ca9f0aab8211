"""Appendix D: DNIP on smaller opt sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dnip
from dnip import ProbabilityTable
from reproduction.experiments.base import Experiment, Run
from reproduction.judging import Claim, Scores, Unjudged, judge
from reproduction.methods import FIT, PUBLISHED, RAW, Found, anneal, decide, naming, take
from reproduction.presenting import COLOURS, TITLES, by_task, colour_of, markdown, plain
from reproduction.probabilities import Cell
from reproduction.published import paper_rows

SIZES = (10, 100, 500, 1000)
FULL = "full"
#: ``dnip fit`` with other rows of the pool beside the draw, without their labels.
BESIDE, UNLABELLED = "dnip fit, unlabelled rows beside", 1000
# Ten rows of DBpedia would not cover its classes.
SMALLEST_OF_MANY = 15
SEVERAL_THOUSAND = 2000


def by_size(cell: Cell) -> list[Found]:
    """Fit on draws of the opt rows: up to 100 balanced over classes, more uniformly."""
    opt, seed = cell.opt, cell.seed
    pool = ProbabilityTable(opt.p, opt.y, ids=np.arange(len(opt.y)).astype(str))
    found = [Found(RAW, decide(cell.test.p), {"opt_size": "0"})]
    with naming(cell):
        for size in (*SIZES, FULL):
            drawn, others = opt, None
            if size != FULL:
                rows = SMALLEST_OF_MANY if size < opt.p.shape[1] else int(size)
                if rows >= len(opt.y):
                    continue
                numbers = np.asarray(pool.draw(rows, seed).ids).astype(int)
                rest = np.setdiff1d(np.arange(len(opt.y)), numbers)
                rest = np.random.default_rng(seed).permutation(rest)[:UNLABELLED]
                drawn, others = take(opt, numbers), opt.p[rest]
            weights: dict[str, Any] = {
                PUBLISHED: anneal(drawn, seed).weight_indices,
                FIT: dnip.fit(drawn.p, drawn.y, seed=seed, evidence=False).coefficients.weights,
            }
            if others is not None:
                weights[BESIDE] = dnip.fit(
                    drawn.p, drawn.y, unlabelled=others, seed=seed, evidence=False
                ).coefficients.weights
            notes = {"opt_size": str(size), "n_drawn": len(drawn.y)}
            found += [Found(name, decide(cell.test.p, w), notes) for name, w in weights.items()]
    return found


def labelled(results: Any) -> Any:
    """Return results whose methods say their size."""
    sizes = np.where(results.method == RAW, "", ", " + results.opt_size.astype(str))
    return results.assign(method=results.method + sizes)


def table(run: Run, results: Any) -> str:
    """Return scores by method and size, then the paper's table."""
    told = (
        "Published settings, no choice on dev. `10` is 15 where there are more than 10 classes; a "
        "size that a pool does not have is left out."
    )
    parts = [by_task(labelled(results), run.data.tasks), told, "The paper's numbers:"]
    header, rows = paper_rows("opt-size")
    return "\n\n".join([*parts, markdown(header, rows)])


def at_size(scores: Scores, method: str, size: object, metric: str) -> Any:
    """Return the mean over tasks; a task with a smaller pool counts with its full set."""
    values = []
    for task in scores.tasks:
        try:
            values.append(scores.of_task(task, f"{method}, {size}", metric))
        except Unjudged:
            values.append(scores.of_task(task, f"{method}, {FULL}", metric))
    return np.mean(values, axis=0)


def draw(figure: Any, run: Run, results: Any) -> None:
    """Draw accuracy and COBias over the number of labels, mean over tasks."""
    figure.set_size_inches(10, 3.4)
    places = np.arange(len(SIZES) + 1)
    ticks = [*(f"{size:,}" for size in SIZES), FULL]
    for axes, metric in zip(figure.subplots(1, 3), list(TITLES)[:3], strict=True):
        raw = results[results.method == RAW].groupby("task")[metric].mean().mean()
        axes.axhline(100 * raw, color=COLOURS[0], label=RAW)
        for number, method in enumerate((PUBLISHED, FIT, BESIDE), start=1):
            own = results[results.method == method]
            means = own.pivot_table(metric, "task", "opt_size")
            full = results[(results.method == (FIT if method == BESIDE else method))]
            means[FULL] = full[full.opt_size == FULL].groupby("task")[metric].mean()
            means = means.reindex(columns=[*map(str, SIZES), FULL])
            means = means.apply(lambda row: row.fillna(row[FULL]), axis=1)
            axes.plot(
                places, 100 * means.mean(), "o-", color=colour_of(method, number), label=method
            )
        axes.set_title(f"{TITLES[metric]} (%)", fontsize=10, loc="left")
        axes.set_xticks(places, ticks)
        axes.set_xlabel("labels")
        plain(axes)
    figure.axes[0].legend(fontsize=7, frameon=False)


def judge_sizes(run: Run, results: Any) -> Iterator[Claim]:
    """Judge what appendix D says."""
    scores = run.scores(labelled(results))
    yield judge(
        "opt-size",
        "10 labelled examples are enough for fair gains in COBias and accuracy alike",
        "10 examples: better in both on average for all three models",
        lambda: {
            "COBias falls by": scores.mean(RAW, "cobias")
            - at_size(scores, PUBLISHED, SIZES[0], "cobias"),
            "accuracy rises by": at_size(scores, PUBLISHED, SIZES[0], "accuracy")
            - scores.mean(RAW, "accuracy"),
        },
    )
    full = results[results.opt_size == FULL].groupby("task").n_opt.min()
    large = [task for task in run.data.tasks if full.get(task, 0) >= SEVERAL_THOUSAND]

    def further() -> Any:
        if not large:
            raise Unjudged(f"no opt set has {SEVERAL_THOUSAND:,} rows under every seed")
        changes = [
            scores.of_task(task, f"{PUBLISHED}, {SIZES[-1]}", "cobias")
            - scores.of_task(task, f"{PUBLISHED}, {FULL}", "cobias")
            for task in large
        ]
        return {f"from 1,000 to all, {', '.join(large)}, by": np.mean(changes, axis=0)}

    yield judge(
        "opt-size",
        "COBias falls once more where opt sets have some thousands of examples",
        "the lowest average COBias with the full set of 950 to 9,500 examples",
        further,
    )


OPT_SIZE = Experiment(
    "opt-size",
    "Smaller opt sets",
    "appendix D",
    lambda run: run.over(by_size, run.data.cells("1")),
    table,
    draw,
    judge_sizes,
)
