"""Tables in Markdown and pictures, for all experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dnip.base.escaping import printable
from reproduction.judging import named
from reproduction.methods import ADAPTER, BATCH, DNIP, FIT, FOLLOWED, PUBLISHED, RAW

TITLES = {
    "accuracy": "Accuracy",
    "cobias": "COBias",
    "worst_class_accuracy": "Worst class",
    "cobias_single": "COBias_single",
}
SHORT = {"agnews": "AGN", "dbpedia": "DBP", "sst5": "SST", "pubmedqa": "PMQA"}
# Colours that the colour-blind can tell apart (Okabe and Ito).
COLOURS = ("#8c8c8c", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442")
# The same method has the same colour in every picture.
OF_METHOD = {RAW: 0, DNIP: 1, FIT: 2, BATCH: 3, ADAPTER: 4, FOLLOWED: 5, PUBLISHED: 6}
CONSTANT, CHANCE = "ᶜ", "°"
MARKS = (
    f"{CONSTANT}: under some seed every answer is of one class. {CHANCE}: no more accurate than "
    "the most frequent class alone. Both are marks: no cell is left out."
)


# What Markdown takes for markup within a text and at its beginning. Extras such as dnip[plot] and
# snake_case are left alone.
_MARKUP = re.compile(r"(\w\[\w+\](?![\[(:]))|[\\`*\[\]<>|#~&$]|(?<![^\W_])_|_(?![^\W_])")
_OPENING = re.compile(r"^(\d*)([-+=.)])(?=\2|\s|$)")


def short(task: str) -> str:
    """Return the paper's abbreviation of a task."""
    return SHORT.get(task, task.upper())


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    r"""Return a table in Markdown; so many of its first columns are left-aligned.

    Examples
    --------
    >>> print(markdown(["a", "b"], [["x|y", 1]]))
    | a | b |
    | --- | ---: |
    | x\|y | 1 |
    """
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    texts = [[str(cell) for cell in line] for line in (header, rule, *rows)]
    safe = [[re.sub(r"(?<!\\)\|", r"\|", cell) for cell in line] for line in texts]
    return "\n".join(f"| {' | '.join(line)} |" for line in safe)


def escaped(text: str) -> str:
    r"""Return a text for Markdown, on one line: within a sentence, a cell of a table or a heading.

    Examples
    --------
    >>> print(escaped("a|b\n# `ls` snake_case <i>"))
    a\|b \# \`ls\` snake_case \<i\>
    >>> print(escaped("1. one"))
    1\. one
    """
    line = printable(" ".join(text.split()))
    line = _MARKUP.sub(lambda match: match[1] or f"\\{match[0]}", line)
    return _OPENING.sub(r"\1\\\2", line)


def by_task(
    results: Any,
    tasks: Sequence[str],
    metrics: Sequence[str] = ("accuracy", "cobias", "worst_class_accuracy"),
    paper: Mapping[str, Sequence[Sequence[object]]] | None = None,
) -> str:
    """Return a table for each metric: methods by tasks, mean and standard deviation over seeds.

    Parameters
    ----------
    results : DataFrame
        With scores.
    paper : mapping, optional
        Rows of the paper, to stand first, by metric.
    """
    parts = []
    several = results.shots.nunique() > 1
    for metric in metrics:
        rows = [list(row) for row in (paper or {}).get(metric, [])]
        for (shots, method), own in results.groupby(["shots", "method"], sort=False):
            values, cells = [], []
            for task in tasks:
                found = own[own.task == task]
                values.append(found[metric].mean())
                cells.append(_spread(found, metric))
            mean = f"{100 * np.mean(values):.1f}" if not np.isnan(values).any() else "–"
            rows.append([f"{method}, {named(shots)}" if several else method, mean, *cells])
        header = [f"{TITLES[metric]} (%)", "All", *map(short, tasks)]
        parts.append(markdown(header, rows))
    return "\n\n".join([*parts, MARKS])


def _spread(found: Any, metric: str) -> str:
    if not len(found):
        return "–"
    spread = f" ± {100 * found[metric].std(ddof=1):.1f}" if len(found) > 1 else ""
    marks = CONSTANT if found.constant.any() else ""
    marks += CHANCE if found.accuracy.mean() <= found.majority.mean() else ""
    return f"{100 * found[metric].mean():.1f}{spread}{marks}"


def colour_of(method: str, number: int) -> str:
    """Return the colour of a method, or that of a number."""
    return COLOURS[OF_METHOD.get(method, number) % len(COLOURS)]


def bars(
    figure: Any,
    results: Any,
    tasks: Sequence[str],
    methods: Sequence[str],
    metrics: Sequence[str] = ("accuracy", "cobias"),
) -> None:
    """Draw a panel of bars for each metric: tasks and their mean, a bar for each method."""
    figure.set_size_inches(10, 0.4 + 2.5 * len(metrics))
    panels = figure.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
    width = 0.8 / len(methods)
    there = [task for task in tasks if task in set(results.task)]
    for axes, metric in zip(panels, metrics, strict=True):
        for number, method in enumerate(methods):
            own = results[results.method == method].groupby("task")[metric]
            means, spreads = own.mean().reindex(there), own.std(ddof=1).reindex(there)
            at = np.arange(len(there) + 1) + (number - (len(methods) - 1) / 2) * width
            heights = 100 * np.append(means, means.mean())
            errors = 100 * np.append(spreads.fillna(0), 0)
            look = {"ecolor": "#333333", "error_kw": {"lw": 0.8}}
            colour = colour_of(method, number)
            axes.bar(at, heights, width, yerr=errors, color=colour, label=method, **look)
        axes.set_ylabel(f"{TITLES[metric]} (%)")
        axes.axvline(len(there) - 0.5, color="#cccccc", lw=0.8)
        plain(axes)
    axes.set_xticks(range(len(there) + 1), [*map(short, there), "mean"])
    panels[0].legend(ncols=4, fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0, 1))


def heat(
    axes: Any, title: str, shades: Any, texts: Any, x: Sequence[str], y: Sequence[str]
) -> None:
    """Draw a matrix: shades from 0 to 1, and a text in each cell."""
    axes.set_title(title, fontsize=9, loc="left")
    axes.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (i, j), text in np.ndenumerate(texts):
        ink = "white" if shades[i, j] > 0.55 else "#222222"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(range(len(x)), x, fontsize=8, rotation=30 if max(map(len, x)) > 8 else 0)
    axes.set_yticks(range(len(y)), y, fontsize=8)


def plain(axes: Any, title: str = "") -> None:
    """Take the box away, rule the heights, and write a title."""
    axes.set_title(title, fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#eeeeee")
    axes.set_axisbelow(True)


def lines(figure: Any, series: Mapping[str, Any], ticks: Sequence[str], x: str) -> None:
    """Draw a panel for each of three metrics: a line for each series, over places in order.

    A series has a row for each place and a column for each of `TITLES`.
    """
    figure.set_size_inches(10, 3.4)
    for axes, metric in zip(figure.subplots(1, 3), list(TITLES)[:3], strict=True):
        for number, (name, frame) in enumerate(series.items()):
            values = 100 * np.asarray(frame)[:, list(TITLES).index(metric)]
            axes.plot(range(len(ticks)), values, "o-", color=colour_of(name, number), label=name)
        axes.set_xticks(range(len(ticks)), ticks)
        axes.set_xlabel(x)
        plain(axes, f"{TITLES[metric]} (%)")
    figure.axes[-1].legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
