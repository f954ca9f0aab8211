"""Appendix D: DNIP on smaller opt sets."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from dnip.base.toml_models import Several
from dnip.presenting.drawing import Curve, Look, Panel, curve_figure
from dnip.presenting.drawing.style import colours
from reproduction.artefacts import Column, Spread, Statement, Table
from reproduction.comparison import standard_error
from reproduction.degenerate import any_silent, is_constant, never_predicted
from reproduction.experiment import Experiment
from reproduction.methods import (
    METHOD_TITLES,
    METHODS,
    PAPER,
    PICTURED,
    RAW,
    TITLES,
    cut,
    fit_by,
    raw_scores,
    scores_after,
    seeded,
)
from reproduction.naming import HEADINGS, columns_by_metric, short_task
from reproduction.results import CellResult, Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.tables import ProbabilityTable
    from reproduction.artefacts import Artefact, Figure, Row, Value
    from reproduction.cell import Cell
    from reproduction.sources import Sources

#: The size of the whole pool.
FULL = 0
# Rows drawn in place of a size that is below the number of classes.
_SMALLEST_OF_MANY = 15
# The most unlabelled rows beside a small set, for ours.
_UNLABELLED = 1000
# "Several thousands" of examples.
_SEVERAL_THOUSAND = 2000
_Size = Annotated[int, Field(ge=1)]


def debias_on_draw(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    size: int,
    dev_share: float,
    seed: int,
) -> dict[str, Any]:
    """Fit by every method on a draw of the opt rows and score the test table before and after.

    Up to 100 rows are drawn class-balanced, more uniformly. Annealing has the published settings,
    as choosing them takes more labels than a draw has. "ours" also reads other rows of the pool,
    without their labels.
    """
    whole, _ = cut(opt, dev_share)
    drawn, others = (whole, None) if size == FULL else _draw(whole, size, seed)
    return {
        "n_opt": len(drawn),
        RAW: raw_scores(test),
        **{
            method: scores_after(fit_by(method, drawn, seed, unlabelled=others), test)
            for method in METHODS
        },
    }


def _draw(
    whole: ProbabilityTable, size: int, seed: int
) -> tuple[ProbabilityTable, ProbabilityTable]:
    """Return a draw, and some of the other rows."""
    drawn = whole.draw(size, seed)
    ids = set(drawn.ids.tolist()) if drawn.ids is not None else set()
    others = [row for row in range(len(whole)) if whole.ids is None or whole.ids[row] not in ids]
    chosen = np.random.default_rng(seed).permutation(others)[:_UNLABELLED]
    return drawn, whole.take(np.sort(chosen))


class OptSizes(Experiment):
    """10 (15 for many classes), 100, 500, 1,000 labels, and all."""

    name = "opt-size"
    title = "Smaller opt sets"
    paper = "Appendix D, last table"

    class Options(Experiment.Options):
        """Numbers of labels, beside all of them."""

        sizes: Several[_Size] = (10, 100, 500, 1000)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell for every size and seed of every 1-shot source."""
        found = []
        for source, seed in seeded(sources, self.plan):
            most = int((1 - self.plan.dev_share) * source.opt.rows)
            for size in (*self.options.sizes, FULL):
                if size >= most:
                    continue
                few = size != FULL and size < len(source.classes)
                settings = {"size": _SMALLEST_OF_MANY if few else size, "seed": seed}
                labels = {"size": size, "seed": seed}
                found.append(self.cell(debias_on_draw, source, labels, settings))
        return found

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return the paper's table for each model, a picture and what the paper says of it."""
        found: list[Artefact] = []
        if results.values("shots") == (None,):  # saved tables, each of a model of its own
            found.append(_table(results, self.name, "saved tables"))
        else:
            for name, cells in results.by_model(self.name):
                found.append(_table(cells, name, cells.rows[0].labels["model"]))
        if len(results):
            found += [*_silent(results), _figure(results), *_judge(results)]
        return found


def _table(cells: Results, name: str, model: str) -> Table:
    tasks = cells.values("task")

    def line(size: int, way: str, title: str) -> Row:
        values: list[Value] = [title]
        for metric in HEADINGS:
            for task in tasks:
                found = cells.where(task=task, size=size).numbers(way, metric)
                values.append(Spread.of(found) if found else "same as full")
        return values

    rows: list[Row] = [line(FULL, RAW, f"0 ({TITLES[RAW]})")]
    for method, title in METHOD_TITLES.items():
        rows.append(title)
        rows += [line(size, method, _size_title(size)) for size in _sizes(cells)]
    return Table(
        name,
        f"{OptSizes.title}, {model}",
        [Column("Opt rows"), *columns_by_metric([short_task(task) for task in tasks])],
        rows,
        caption="Test accuracy and COBias (%), mean and standard deviation over seeds. Up to 100 "
        "rows are drawn class-balanced, more uniformly; 10 rows are 15 where there are more than "
        "10 classes. All methods but ours have the published settings; ours has the defaults of "
        "dnip fit, with 1,000 unlabelled rows beside a draw.",
    )


def _sizes(results: Results) -> list[int]:
    """Return the sizes in order, the full one last."""
    return sorted(results.values("size"), key=lambda size: (size == FULL, size))


def _size_title(size: int) -> str:
    return "Full" if size == FULL else f"{size:,}"


def _averages(results: Results, way: str, metric: str) -> dict[int, float]:
    """Return means over datasets by size; a task with a smaller pool counts with its full set."""
    averages = {}
    for size in _sizes(results):
        rows: list[CellResult] = []
        for task in results.values("task"):
            of_task = results.where(task=task)
            rows += of_task.where(size=size) or of_task.where(size=FULL)
        found = Results(tuple(rows))
        averages[size] = fmean(found.over_datasets(found.numbers(way, metric)))
    return averages


def _figure(results: Results) -> Figure:
    panels = []
    for metric, heading in HEADINGS.items():
        curves = {}
        for way, title in PICTURED.items():
            means = _averages(results, way, metric)
            places = [results.where(size=size).mean("n_opt") for size in means]
            curves[title] = Curve(places, [100 * mean for mean in means.values()])
        panels.append(Panel(f"{heading} (%)", curves))
    looks = colours(TITLES.values())
    return curve_figure(
        "opt-size",
        "Accuracy and COBias over the number of labels",
        panels,
        x_label="opt rows",
        y_label="%",
        look=Look(
            log_x=True,
            marked=True,
            share_y=False,
            lines={title: (colour, "-") for title, colour in looks.items()},
        ),
        caption="Means over datasets and seeds. DNIP, ours also reads up to 1,000 unlabelled rows "
        "beside a draw.",
    )


def _silent(results: Results) -> list[Table]:
    """Return the classes that no test row is predicted as, by size; nothing if there are none."""
    sizes = _sizes(results)
    rows: list[Row] = []
    for way, title in TITLES.items():
        rows.append(title)
        for size in [FULL] if way == RAW else sizes:
            by_task = [results.where(task=t, size=size) for t in results.values("task")]
            values = [never_predicted([row.result[way] for row in cells]) for cells in by_task]
            rows.append((_size_title(size), *values))
    if not any_silent(value for row in rows if not isinstance(row, str) for value in row[1:]):
        return []
    columns = [Column(short_task(task), right=True) for task in results.values("task")]
    return [
        Table(
            "opt-size-never-predicted",
            "Classes that no test row is predicted as",
            [Column("Opt rows"), *columns],
            rows,
            caption="Means over models and seeds. “constant” is a classifier that always answers "
            "with one class.",
        )
    ]


def _judge(results: Results) -> list[Statement]:
    """Judge both statements of appendix D, for every model by itself."""
    smallest = _sizes(results)[0]
    found = [_compared(results.where(model=model)) for model in results.values("model")]
    few = [one.improves(smallest) for one in found]
    words, further = _falls_further(results)
    return [
        Statement(
            f"DNIP requires only a small optimization set of {smallest} examples for a fair "
            "improvement in both COBias and accuracy",
            "10 examples: better in both on average for all three models",
            f"COBias and accuracy, raw → {smallest} rows: "
            + "; ".join(one.in_words(smallest) for one in found),
            all(few),
            {"cells_left_out": sum(one.n_left_out for one in found)},
        ),
        Statement(
            "There is a further, emergent COBias reduction at several thousands of examples",
            "the lowest average COBias with the full set of 950 to 9,500 examples",
            words,
            further,
        ),
    ]


def _falls_further(results: Results) -> tuple[str, bool | None]:
    """Compare the largest draw with the full set, where that has several thousand rows."""
    drawn = [size for size in _sizes(results) if size != FULL]
    pairs: list[CellResult] = []
    for full in results.where(size=FULL):
        labels = {name: full.labels.get(name) for name in ("model", "task", "seed")}
        last = results.where(size=max(drawn, default=FULL), **labels)
        if not len(last) or full.result["n_opt"] < _SEVERAL_THOUSAND:
            continue
        if not any(is_constant(one.result[PAPER]) for one in (full, *last)):
            change = full.get(PAPER, "cobias") - last.rows[0].get(PAPER, "cobias")
            pairs.append(CellResult(full.labels, {"change": change}, 0.0))
    if not pairs:
        most = max(results.where(size=FULL).numbers("n_opt"), default=0)
        return f"the full sets have at most {most:,} examples", None
    found = Results(tuple(pairs))
    changes = found.over_datasets(found.numbers("change"))
    tasks = {row.labels["task"] for row in pairs}
    words = (
        f"COBias with all of {_SEVERAL_THOUSAND:,} rows and more, minus that with {max(drawn):,}: "
        f"{100 * fmean(changes):+.1f} points ± {100 * standard_error(changes):.1f}, on "
        f"{len(tasks)} tasks of {len(changes)} datasets"
    )
    return words, fmean(changes) < -standard_error(changes)


@dataclass(frozen=True)
class _Compared:
    """One model: raw argmax and the paper's annealing by size, without constant classifiers."""

    model: str
    raw: dict[str, float]
    after: dict[int, dict[str, float]]
    n_left_out: int

    def improves(self, size: int) -> bool:
        after = self.after.get(size)
        return (
            after is not None
            and after["cobias"] < self.raw["cobias"]
            and after["accuracy"] > self.raw["accuracy"]
        )

    def in_words(self, size: int) -> str:
        words = f"{self.model} {_pair(self.raw)} → {_pair(self.after.get(size, self.raw))}"
        n = self.n_left_out
        return words + (f" ({n} constant classifiers left out)" if n else "")


def _pair(means: dict[str, float]) -> str:
    return f"{means['cobias']:.1%} and {means['accuracy']:.1%}"


def _compared(results: Results) -> _Compared:
    """Return means over tasks; a task counts where no size has a constant classifier only."""
    sizes = _sizes(results)
    kept = Results(tuple(row for row in results if not is_constant(row.result[PAPER])))
    tasks = [
        task
        for task in kept.values("task")
        if all(
            len(kept.where(task=task, size=size)) or not len(results.where(task=task, size=size))
            for size in sizes
        )
    ]
    shared = Results(tuple(row for row in kept if row.labels["task"] in tasks))
    n_out = len(results) - len(shared)
    if not tasks:
        nothing = dict.fromkeys(HEADINGS, float("nan"))
        return _Compared(results.rows[0].labels["model"], nothing, {}, n_out)
    raw = {metric: shared.where(size=FULL).mean(RAW, metric) for metric in HEADINGS}
    after: dict[int, dict[str, float]] = {size: {} for size in sizes}
    for metric in HEADINGS:
        for size, mean in _averages(shared, PAPER, metric).items():
            after[size][metric] = mean
    return _Compared(results.rows[0].labels["model"], raw, after, n_out)
