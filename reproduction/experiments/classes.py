"""Tables 1 and 4, figures 1, 2 and 6: what happens to single classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from dnip.base.escaping import literal, markdown as escaped
from dnip.base.typing import Floats
from reproduction.experiments.base import Experiment, Run
from reproduction.judging import Claim, Unjudged, count_pairs, judge, named
from reproduction.methods import DNIP, FIT, PUBLISHED, RAW, debias
from reproduction.presenting import COLOURS, heat, markdown, plain
from reproduction.probabilities import FIVE, ONE, Cell
from reproduction.published import paper_rows, published

SHOWN = (RAW, DNIP, FIT)
#: As many as in figure 1.
SIMULATED = 5000
GRID = np.linspace(0, 1, 201)


def one_shot(run: Run) -> Any:
    """Fit every method in the 1-shot cells."""
    return run.over(debias, run.data.cells(ONE))


def shown_cell(run: Run, experiment: str) -> Cell:
    """Return the cell of the paper's task and the first seed, else of the first task."""
    cells = list(run.data.cells(ONE))
    task = published(experiment)["task"]
    return next((cell for cell in cells if cell.task == task), cells[0])


def of_cell(results: Any, cell: Cell) -> dict[str, Any]:
    """Return the rows of a cell by method."""
    key = (results.task == cell.task) & (results.seed == cell.seed) & (results.shots == cell.shots)
    return {row.method: row for row in results[key].itertuples()}


def in_tables(run: Run, task: str) -> list[str]:
    """Return class names as Markdown shows them."""
    return [escaped(name) for name in run.data.classes(task)]


def in_pictures(run: Run, task: str) -> list[str]:
    """Return class names as pictures show them."""
    return [literal(name) for name in run.data.classes(task)]


def counts_of(row: Any) -> Floats:
    """Return the confusion matrix of a row."""
    weights = np.ones((1, len(row.labels)))
    return np.asarray(count_pairs(row.labels, row.predicted, row.n_classes, weights)[0])


def rates_of(counts: Floats) -> Floats:
    """Return class accuracies of confusion matrices (…, N, N)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.diagonal(counts, axis1=-2, axis2=-1) / counts.sum(axis=-1))


# Table 1.


def table_confusion(run: Run, results: Any) -> str:
    """Return the confusion matrix of the raw argmax, then the paper's."""
    cell = shown_cell(run, "confusion")
    classes = in_tables(run, cell.task)
    counts = counts_of(of_cell(results, cell)[RAW])
    true, predicted = counts.sum(axis=1), counts.sum(axis=0)
    rows: list[list[object]] = [
        [name, *(f"{c:.0f}" for c in counts[i]), f"{true[i]:.0f}", f"{rates_of(counts)[i]:.2f}"]
        for i, name in enumerate(classes)
    ]
    precision = np.diagonal(counts) / np.maximum(predicted, 1)
    rows.append(["All", *(f"{c:.0f}" for c in predicted), f"{counts.sum():.0f}", ""])
    rows.append(["Precision", *(f"{x:.2f}" for x in precision), "", ""])
    rows.append(
        ["Predicted / true", *(f"{x:.2f}" for x in predicted / np.maximum(true, 1)), "", ""]
    )
    header = [f"True ({cell.task}, raw)", *classes, "All", "Accuracy"]
    return "\n\n".join(
        [markdown(header, rows), "The paper's numbers:", markdown(*paper_rows("confusion"))]
    )


def draw_confusion(figure: Any, run: Run, results: Any) -> None:
    """Draw confusion matrices before and after."""
    cell = shown_cell(run, "confusion")
    classes, own = in_pictures(run, cell.task), of_cell(results, cell)
    figure.set_size_inches(12, 3.8)
    for axes, method in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        counts = counts_of(own[method])
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        heat(axes, shares, counts.astype(int), classes, classes)
        axes.set_title(f"{method}, {cell.task}", fontsize=9, loc="left")


def judge_confusion(run: Run, results: Any) -> Iterator[Claim]:
    """Judge whether some class is over-predicted while another starves, averaged over tasks."""
    scores = run.scores(results)

    def most(sign: int) -> Callable[..., Floats]:
        def of(row: Any, weights: Floats) -> Floats:
            counts = count_pairs(row.labels, row.predicted, row.n_classes, weights)
            surplus = counts.sum(axis=1) - counts.sum(axis=2)
            return np.asarray((sign * surplus).max(axis=1) / len(row.labels))

        return of

    yield judge(
        "confusion",
        "The raw argmax over-predicts some class and under-predicts another",
        "predicted / true: Business 1.77, Tech 0.20",
        lambda: {
            "answers of one class beyond its rows, of all rows,": scores.mean(RAW, most(1)),
            "rows of another beyond its answers": scores.mean(RAW, most(-1)),
        },
    )


# Figure 6.


def table_overview(run: Run, results: Any) -> str:
    """Return the prompt's wording, and each class before and after."""
    cell = shown_cell(run, "overview")
    classes, own = in_tables(run, cell.task), of_cell(results, cell)
    before = counts_of(own[RAW])
    wrong = np.where(np.eye(len(classes), dtype=bool), -1, before)
    rows = []
    for c, name in enumerate(classes):
        odd = classes[int(wrong[c].argmax())] if wrong[c].max() > 0 else "none"
        after = (f"{100 * rates_of(counts_of(own[m]))[c]:.0f}" for m in SHOWN)
        rows.append([name, odd, *after])
    wording = run.data.about.get("prompts", {}).get(cell.task)
    prompt = ""
    if wording:
        text = f"{wording['instruction']}\n\n{wording['template']}"
        prompt = f"The prompt (its wording is ours):\n\n```\n{text}\n```\n\n"
    header = [f"Class ({cell.task})", "Odd class, raw", *(f"{m} (%)" for m in SHOWN)]
    paper = markdown(*paper_rows("overview"))
    return f"{prompt}{markdown(header, rows)}\n\nThe paper's numbers:\n\n{paper}"


def draw_overview(figure: Any, run: Run, results: Any) -> None:
    """Draw where wrong answers go, and differences between class accuracies."""
    cell = shown_cell(run, "overview")
    classes, own = in_pictures(run, cell.task), of_cell(results, cell)
    figure.set_size_inches(12, 7)
    panels = figure.subplots(2, len(SHOWN))
    for column, method in enumerate(SHOWN):
        counts = counts_of(own[method])
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        rates = np.nan_to_num(rates_of(counts))
        gaps = np.abs(rates[:, None] - rates)
        labels = [f"{name}\n{rate:.0%}" for name, rate in zip(classes, rates, strict=True)]
        heat(panels[0, column], shares, np.round(100 * shares).astype(int), classes, classes)
        heat(panels[1, column], gaps, np.round(100 * gaps).astype(int), labels, classes)
        panels[0, column].set_title(f"{method}: answers of each class (%)", fontsize=9, loc="left")
        told = f"differences of class accuracies, COBias {100 * own[method].cobias:.1f}"
        panels[1, column].set_title(told, fontsize=9, loc="left")
    figure.tight_layout()


def judge_overview(run: Run, results: Any) -> Iterator[Claim]:
    """Judge differences between classes and the worst class."""
    scores = run.scores(results)
    yield judge(
        "overview",
        "DNIP greatly reduces class accuracy differences, above all by lifting the worst class",
        "Entity of TREC 0 % to 66 %",
        lambda: {
            "COBias falls by": scores.mean(RAW, "cobias") - scores.mean(DNIP, "cobias"),
            "accuracy of the worst class rises by": scores.mean(DNIP, "worst_class_accuracy")
            - scores.mean(RAW, "worst_class_accuracy"),
        },
    )


# Figures 1 and 2.


def class_means(row: Any, weights: Floats) -> Floats:
    """Return the mean gap between classes in the mean probability of the true class."""
    members = np.eye(row.n_classes)[row.labels]
    with np.errstate(invalid="ignore"):
        means = (weights @ (members * row.of_true[:, None])) / (weights @ members)
    pairs = combinations(range(row.n_classes), 2)
    return np.asarray(np.nanmean([np.abs(means[:, a] - means[:, b]) for a, b in pairs], axis=0))


def table_densities(run: Run, results: Any) -> str:
    """Return weights, and the mean probability of the true class, before and after."""
    cell = shown_cell(run, "kde")
    classes, own = in_tables(run, cell.task), of_cell(results, cell)
    theirs = published("kde")
    same = cell.task == theirs["task"] and len(classes) == len(theirs["weight_indices"])
    rows = []
    for c, name in enumerate(classes):
        means = [f"{own[m].of_true[own[m].labels == c].mean():.2f}" for m in SHOWN]
        weights = [f"{own[m].weights[c]:.3f}" for m in (PUBLISHED, DNIP, FIT)]
        rows.append(
            [name, f"{theirs['weight_indices'][c]} of 30" if same else "", *weights, *means]
        )
    header = [f"Class ({cell.task}, seed {cell.seed})", "Weight, the paper's"]
    header += [f"Weight, {m}" for m in (PUBLISHED, DNIP, FIT)]
    header += [f"p of the true class, {m}" for m in SHOWN]
    told = (
        "Weights are shares of the largest. Probabilities after DNIP are ω·p, normalised: as the "
        "bare product of equation 6 each curve would be squeezed by the weight of its class. "
        f"Figure 1 is of {SIMULATED:,} simulated instances; the paper does not say how, nor of "
        "which model. Ours: classes as frequent as in the opt rows, log-probabilities normal with "
        "the mean and covariance of each class's opt rows. It is not judged."
    )
    return f"{markdown(header, rows)}\n\n{told}"


def simulate(cell: Cell) -> tuple[Floats, Floats]:
    """Draw log-probabilities like the opt rows, and their classes."""
    rng = np.random.default_rng(cell.seed)
    labels = np.sort(rng.choice(cell.opt.y, SIMULATED))
    logs = np.log(np.maximum(cell.opt.p, 1e-9))
    drawn = []
    for c, count in zip(*np.unique(labels, return_counts=True), strict=True):
        own = logs[cell.opt.y == c]
        spread = np.cov(own, rowvar=False) if len(own) > 1 else np.zeros((logs.shape[1],) * 2)
        drawn.append(rng.multivariate_normal(own.mean(axis=0), spread, count))
    p = np.exp(np.concatenate(drawn))
    return p / p.sum(axis=1, keepdims=True), labels


def density(samples: Floats) -> Floats:
    """Return the density of probabilities on `GRID`, mirrored at 0 and 1: its area is 1."""
    from matplotlib.mlab import GaussianKDE  # noqa: PLC0415 - not where nothing is drawn

    if len(samples) < 2 or np.ptp(samples) < 1e-9:
        return np.zeros(len(GRID))
    of = GaussianKDE(samples)
    return np.asarray(of(GRID) + of(-GRID) + of(2 - GRID))


def draw_densities(figure: Any, run: Run, results: Any) -> None:
    """Draw the probability of the true class by class: figure 2 above, figure 1 below."""
    cell = shown_cell(run, "kde")
    classes, own = in_pictures(run, cell.task), of_cell(results, cell)
    p, y = simulate(cell)
    figure.set_size_inches(11, 5.6)
    panels = figure.subplots(2, len(SHOWN), sharex=True)
    for column, method in enumerate(SHOWN):
        weighted = p * np.asarray(own[method].weights)
        simulated = weighted[np.arange(len(y)), y] / weighted.sum(axis=1)
        lines = [
            (own[method].labels, own[method].of_true, "test rows"),
            (y, simulated, "simulated"),
        ]
        for line, (labels, of_true, what) in enumerate(lines):
            axes = panels[line, column]
            for c, name in enumerate(classes):
                colour = COLOURS[(c + 1) % len(COLOURS)]
                axes.plot(GRID, density(of_true[labels == c]), color=colour, label=name)
            axes.set_title(f"{method}, {what}", fontsize=9, loc="left")
            plain(axes)
        panels[1, column].set_xlabel(f"probability of the true class, {cell.task}")
    panels[0, 0].legend(fontsize=7, frameon=False)


def judge_densities(run: Run, results: Any) -> Iterator[Claim]:
    """Judge gaps between classes in the probability of the true class, averaged over tasks."""
    scores = run.scores(results)
    yield judge(
        "kde",
        "After DNIP, probabilities of the ground-truth class are more balanced over classes",
        "figures 1 and 2, no numbers",
        lambda: {
            "gap between the classes' means falls by": scores.mean(RAW, class_means)
            - scores.mean(DNIP, class_means)
        },
    )


# Table 4.


def order_task(run: Run) -> Any:
    """Fit every method in the 5-shot cells of the paper's task."""
    return run.over(debias, run.data.cells(FIVE, [published("label-order")["task"]]))


def table_order(run: Run, results: Any) -> str:
    """Return the labels shown and the accuracy of each class, by seed."""
    task = published("label-order")["task"]
    rows = []
    for row in results[results.method.isin(SHOWN)].sort_values(["method", "seed"]).itertuples():
        rates = (f"{100 * rate:.1f}" for rate in rates_of(counts_of(row)))
        shown = row.demonstrations.replace(" ", ", ")
        overall = [f"{100 * row.accuracy:.1f}", f"{100 * row.cobias:.1f}"]
        rows.append([f"{row.method}, seed {row.seed}", shown, *overall, *rates])
    header = [f"{named(FIVE)}, {task} (%)", "Labels in order", "Accuracy", "COBias"]
    ours = markdown([*header, *in_tables(run, task)], rows)
    return f"{ours}\n\nThe paper's numbers:\n\n{markdown(*paper_rows('label-order'))}"


def draw_order(figure: Any, run: Run, results: Any) -> None:
    """Draw the accuracy of each class by seed."""
    task = published("label-order")["task"]
    classes = in_pictures(run, task)
    figure.set_size_inches(11, 3.2)
    for axes, method in zip(figure.subplots(1, len(SHOWN), sharey=True), SHOWN, strict=True):
        own = results[results.method == method]
        for number, row in enumerate(own.itertuples()):
            at = np.arange(len(classes)) + (number - (len(own) - 1) / 2) * 0.25
            heights = 100 * rates_of(counts_of(row))
            axes.bar(at, heights, 0.25, color=COLOURS[number + 1], label=f"seed {row.seed}")
        axes.set_xticks(range(len(classes)), classes, fontsize=8)
        axes.set_title(f"{method}: class accuracy (%)", fontsize=9, loc="left")
        plain(axes)
    figure.axes[-1].legend(fontsize=7, frameon=False)


def judge_order(run: Run, results: Any) -> Iterator[Claim]:
    """Judge whether the strongest class follows the labels of the demonstrations."""
    task, scores = published("label-order")["task"], run.scores(results)

    def ahead(which: str) -> Callable[..., Floats]:
        def of(row: Any, weights: Floats) -> Floats:
            shown = np.array(row.demonstrations.split(), int)
            label = shown[-1] if which == "last" else int(np.bincount(shown).argmax())
            counts = count_pairs(row.labels, row.predicted, row.n_classes, weights)
            rates = rates_of(counts)
            return np.asarray(np.nanmax(rates, axis=1) - rates[:, label])

        return of

    said = {
        RAW: (
            "The strongest class follows neither the most frequent label of the demonstrations nor "
            "the last one",
            "Sports is the strongest of AG News under all three seeds",
        ),
        DNIP: ("DNIP does not favour certain orders either", "Sports again, under all three"),
    }
    for method, (says, paper) in said.items():

        def contrasts(method: str = method) -> dict[str, Floats]:
            if task not in run.data.tasks:
                raise Unjudged(f"{task} is no planned task")
            return {
                f"strongest class above the {words} label's by": scores.of_task(
                    task, method, ahead(which), FIVE
                )
                for which, words in {"last": "last", "most": "most frequent"}.items()
            }

        yield judge("label-order", says, paper, contrasts)


CONFUSION = Experiment(
    "confusion",
    "Over- and under-predicted classes",
    "table 1",
    one_shot,
    table_confusion,
    draw_confusion,
    judge_confusion,
)
OVERVIEW = Experiment(
    "overview",
    "Odd classes and class accuracies",
    "figure 6",
    one_shot,
    table_overview,
    draw_overview,
    judge_overview,
)
DENSITIES = Experiment(
    "kde",
    "Probability of the true class",
    "figures 1 and 2",
    one_shot,
    table_densities,
    draw_densities,
    judge_densities,
)
LABEL_ORDER = Experiment(
    "label-order",
    "Labels of the demonstrations",
    "table 4",
    order_task,
    table_order,
    draw_order,
    judge_order,
    (FIVE,),
    ("agnews",),
)
