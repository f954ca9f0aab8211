"""Tables 1 and 4, figures 1, 2 and 6: what happens to single classes."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dnip.base.escaping import literal
from dnip.base.typing import Floats
from reproduction.experiments.base import Claims, Experiment, Run, one_shot
from reproduction.judging import Scores, count_pairs, rates_of
from reproduction.methods import DNIP, FIT, PUBLISHED, RAW, debias
from reproduction.presenting import COLOURS, escaped, heat, markdown, plain
from reproduction.probabilities import FIVE, Cell
from reproduction.published import published

SHOWN = (RAW, DNIP, FIT)
#: As many as in figure 1.
SIMULATED = 5000
GRID = np.linspace(0, 1, 201)


def shown(run: Run, results: Any, name: str) -> tuple[Cell, list[str], dict[str, Any]]:
    """Return the cell of the paper's task and the first seed, its classes, and rows by method.

    Another task stands for the paper's where the file does not have it.
    """
    cells = list(run.data.cells())
    task = published(name)["task"]
    cell = next((cell for cell in cells if cell.task == task), cells[0])
    own = results[(results.task == cell.task) & (results.seed == cell.seed)]
    return cell, list(run.data.classes(cell.task)), {row.method: row for row in own.itertuples()}


# Table 1.


def table_confusion(run: Run, results: Any) -> str:
    """Return the confusion matrix of the raw argmax."""
    cell, classes, own = shown(run, results, "confusion")
    counts, names = own[RAW].counts, list(map(escaped, classes))
    true, predicted = counts.sum(axis=1), counts.sum(axis=0)
    of_class = zip(names, counts, true, own[RAW].rates, strict=True)
    rows = [[name, *map(int, row), int(all_), f"{rate:.2f}"] for name, row, all_, rate in of_class]
    rows.append(["All", *map(int, predicted), int(counts.sum()), ""])
    ratios = {"Precision": np.diagonal(counts) / predicted, "Ratio": predicted / true}
    for name, ratio in ratios.items():
        rows.append([name, *(f"{x:.2f}" for x in ratio), "", ""])
    return markdown([f"True ({cell.task}, raw)", *names, "All", "Accuracy"], rows)


def draw_confusion(figure: Any, run: Run, results: Any) -> None:
    """Draw confusion matrices before and after."""
    cell, classes, own = shown(run, results, "confusion")
    figure.set_size_inches(12, 3.8)
    for axes, method in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        counts, names = own[method].counts, list(map(literal, classes))
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        heat(axes, f"{method}, {cell.task}", shares, counts.astype(int), names, names)


def surplus(row: Any, weights: Floats, sign: int = 1) -> Floats:
    """Return the most answers of a class beyond its rows, as a share of rows; -1: the reverse."""
    counts = count_pairs(row.labels, row.predicted, row.n_classes, weights)
    beyond = counts.sum(axis=1) - counts.sum(axis=2)
    return np.asarray((sign * beyond).max(axis=1) / len(row.labels))


def judge_confusion(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge whether some class is over-predicted while another starves, averaged over tasks."""

    def uneven() -> dict[str, Floats]:
        over, under = (scores.mean(RAW, partial(surplus, sign=sign)) for sign in (1, -1))
        return {
            "answers of one class beyond its rows, of all rows,": over,
            "rows of another beyond its answers": under,
        }

    yield "uneven", uneven


# Figure 6.


def table_overview(run: Run, results: Any) -> str:
    """Return the prompt's wording, and each class before and after."""
    cell, classes, own = shown(run, results, "overview")
    wrong = np.where(np.eye(len(classes), dtype=bool), -1, own[RAW].counts)
    odd = [escaped(classes[c.argmax()]) if c.max() > 0 else "none" for c in wrong]
    rates = np.transpose([100 * own[method].rates for method in SHOWN])
    rows = [
        [escaped(name), odd[c], *(f"{rate:.0f}" for rate in rates[c])]
        for c, name in enumerate(classes)
    ]
    header = [f"Class ({cell.task})", "Odd class, raw", *(f"{m} (%)" for m in SHOWN)]
    wording = run.data.about.get("prompts", {}).get(cell.task)
    if not wording:
        return markdown(header, rows)
    text = f"{wording['instruction']}\n\n{wording['template']}"
    return f"The prompt's wording is ours:\n\n```\n{text}\n```\n\n{markdown(header, rows)}"


def draw_overview(figure: Any, run: Run, results: Any) -> None:
    """Draw differences between class accuracies."""
    _, classes, own = shown(run, results, "overview")
    figure.set_size_inches(12, 3.8)
    names = list(map(literal, classes))
    for method, axes in zip(SHOWN, figure.subplots(1, len(SHOWN)), strict=True):
        rates = np.nan_to_num(own[method].rates)
        gaps = np.abs(rates[:, None] - rates)
        labels = [f"{name}\n{rate:.0%}" for name, rate in zip(names, rates, strict=True)]
        title = f"{method}: COBias {100 * own[method].cobias:.1f}"
        heat(axes, title, gaps, (100 * gaps).round().astype(int), labels, names)


def judge_overview(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge differences between classes and the worst class."""

    def worst() -> dict[str, Floats]:
        rise = scores.less("worst_class_accuracy", RAW, DNIP)
        return scores.falls(DNIP, RAW, ["COBias"]) | {"accuracy of the worst class rises by": rise}

    yield "worst", worst


# Figures 1 and 2.


def class_gap(row: Any, weights: Floats) -> Floats:
    """Return the mean gap between two classes in the mean probability of the true class."""
    members = np.eye(row.n_classes)[row.labels]
    with np.errstate(invalid="ignore"):
        means = (weights @ (members * row.of_true[:, None])) / (weights @ members)
    pairs = combinations(range(row.n_classes), 2)
    return np.asarray(np.nanmean([np.abs(means[:, a] - means[:, b]) for a, b in pairs], axis=0))


def table_densities(run: Run, results: Any) -> str:
    """Return weights, and the mean probability of the true class, before and after."""
    cell, classes, own = shown(run, results, "kde")
    theirs = published("kde")
    same = cell.task == theirs["task"] and len(classes) == len(theirs["weight_indices"])
    fits = (PUBLISHED, DNIP, FIT)
    rows = []
    for c, name in enumerate(classes):
        weights = [f"{own[method].weights[c]:.3f}" for method in fits]
        means = [f"{own[m].of_true[own[m].labels == c].mean():.2f}" for m in SHOWN]
        paper = f"{theirs['weight_indices'][c]} of 30" if same else ""
        rows.append([escaped(name), paper, *weights, *means])
    header = [f"Class ({cell.task}, seed {cell.seed})", "Weight, the paper's"]
    header += [f"Weight, {method}" for method in fits]
    return markdown([*header, *(f"p of the true class, {m}" for m in SHOWN)], rows)


def simulate(cell: Cell) -> tuple[Floats, Any]:
    """Draw probabilities like the opt rows, and their classes."""
    rng = np.random.default_rng(cell.seed)
    labels = np.sort(rng.choice(cell.opt.y, SIMULATED))
    logs = np.log(np.maximum(cell.opt.p, 1e-9))
    drawn = []
    for c, count in zip(*np.unique(labels, return_counts=True), strict=True):
        own = logs[cell.opt.y == c]
        spread = np.cov(own, rowvar=False) if len(own) > 1 else np.zeros((logs.shape[1],) * 2)
        drawn.append(rng.multivariate_normal(own.mean(axis=0), spread, count))
    return np.exp(np.concatenate(drawn)), labels


def density(samples: Floats) -> Floats:
    """Return the density of probabilities on `GRID`, mirrored at 0 and 1: its area is 1."""
    from matplotlib.mlab import GaussianKDE  # noqa: PLC0415 - not where nothing is drawn

    if len(samples) < 2 or np.ptp(samples) < 1e-9:
        return np.zeros(len(GRID))
    of = GaussianKDE(samples)
    return np.asarray(of(GRID) + of(-GRID) + of(2 - GRID))


def draw_densities(figure: Any, run: Run, results: Any) -> None:
    """Draw the probability of the true class by class: figure 2 above, figure 1 below."""
    cell, classes, own = shown(run, results, "kde")
    p, y = simulate(cell)
    figure.set_size_inches(11, 5.6)
    panels = figure.subplots(2, len(SHOWN), sharex=True, sharey=True)
    for column, method in enumerate(SHOWN):
        weighted = p * np.asarray(own[method].weights)
        simulated = weighted[np.arange(len(y)), y] / weighted.sum(axis=1)
        measured = own[method].labels, own[method].of_true
        kinds = {"test rows": measured, "simulated": (y, simulated)}
        for axes, (what, (labels, of_true)) in zip(panels[:, column], kinds.items(), strict=True):
            for name, colour, c in zip(classes, COLOURS[1:], range(len(classes)), strict=False):
                axes.plot(GRID, density(of_true[labels == c]), color=colour, label=literal(name))
            plain(axes, f"{method}, {what}")
        axes.set(xlabel=f"probability of the true class, {cell.task}", yscale="symlog")
    panels[0, -1].legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def judge_densities(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge gaps between classes in the probability of the true class, averaged over tasks."""
    gap = "gap between the classes' means falls by"
    yield "balanced", lambda: {gap: scores.less(class_gap, DNIP, RAW)}


# Table 4.


def table_order(run: Run, results: Any) -> str:
    """Return the labels shown and the accuracy of each class, by seed."""
    rows = []
    for row in results[results.method.isin(SHOWN)].sort_values(["method", "seed"]).itertuples():
        rates = (f"{100 * rate:.1f}" for rate in (row.accuracy, row.cobias, *row.rates))
        rows.append([f"{row.method}, seed {row.seed}", row.demonstrations, *rates])
    task = results.task.iloc[0]
    header = [f"5-shot, {task} (%)", "Labels in order", "Accuracy", "COBias"]
    return markdown([*header, *map(escaped, run.data.classes(task))], rows)


def ahead(row: Any, weights: Floats, of_last: bool) -> Floats:
    """Return by how much the strongest class is above the last, or the most frequent, label's."""
    labels = np.array(row.demonstrations.split(), int)
    label = labels[-1] if of_last else np.bincount(labels).argmax()
    rates = rates_of(count_pairs(row.labels, row.predicted, row.n_classes, weights))
    return np.asarray(np.nanmax(rates, axis=1) - rates[:, label])


def judge_order(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge whether the strongest class follows the labels of the demonstrations."""
    for method in (RAW, DNIP):
        yield (
            method,
            lambda method=method: {
                f"strongest class above the {words} label's by": scores.of_task(
                    "agnews", method, partial(ahead, of_last=words == "last"), FIVE
                )
                for words in ("last", "most frequent")
            },
        )


CONFUSION = Experiment(
    "confusion",
    "Over- and under-predicted classes",
    one_shot,
    judge_confusion,
    table_confusion,
    draw_confusion,
)
OVERVIEW = Experiment(
    "overview",
    "Odd classes and class accuracies",
    one_shot,
    judge_overview,
    table_overview,
    draw_overview,
)
DENSITIES = Experiment(
    "kde",
    "Probability of the true class",
    one_shot,
    judge_densities,
    table_densities,
    draw_densities,
)
LABEL_ORDER = Experiment(
    "label-order",
    "Labels of the demonstrations",
    lambda run: run.over(debias, run.data.cells(FIVE, ["agnews"])),
    judge_order,
    table_order,
    shots=(FIVE,),
    tasks=("agnews",),
)
