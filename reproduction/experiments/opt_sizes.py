"""Appendix D: DNIP on smaller opt sets."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from dnip.base.toml_models import Several
from dnip.presenting.artefacts import Column, Spread, Table
from dnip.presenting.drawing.style import colours
from reproduction.comparison import standard_error
from reproduction.curves import Curve, Look, Panel, curve_figure
from reproduction.degenerate import is_constant
from reproduction.experiment import Artefact, Claim, Experiment
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

    from dnip.presenting.artefacts import Figure, Row, Value
    from dnip.tables import ProbabilityTable
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
    opt: ProbabilityTable, test: ProbabilityTable, *, size: int, dev_share: float, seed: int
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
                share = settings["size"] / most if size else 1.0
                found.append(self.cell(debias_on_draw, source, labels, settings, chains=share))
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
            found += [_figure(results), *_judge(results)]
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


def _judge(results: Results) -> list[Claim]:
    """Judge what appendix D says, but for cells in which DNIP always answers with one class."""
    kept = Results(tuple(row for row in results if not is_constant(row.result[PAPER])))
    smallest, *sizes = _sizes(results)
    drawn = [size for size in (smallest, *sizes) if size != FULL]
    few = [_few(kept.where(model=model, size=smallest)) for model in kept.values("model")]
    changes = _further(kept, max(drawn, default=FULL))
    error = standard_error(changes)
    return [
        Claim(
            f"{smallest} labelled examples are enough for fair gains in COBias and accuracy alike",
            "10 examples: better in both on average for all three models",
            "; ".join(words for words, _ in few),
            all(better for _, better in few),
        ),
        Claim(
            "COBias falls once more where opt sets have some thousands of examples",
            "the lowest average COBias with the full set of 950 to 9,500 examples",
            f"{100 * fmean(changes):+.1f} points ± {100 * error:.1f} from {max(drawn):,} rows to "
            f"all, {_SEVERAL_THOUSAND:,} and more, on {len(changes)} datasets"
            if changes
            else f"no full set has {_SEVERAL_THOUSAND:,} examples",
            fmean(changes) < -error if changes else None,
        ),
    ]


def _few(cells: Results) -> tuple[str, bool]:
    """Return what the fewest labels change for one model, in words, and whether both improve."""
    if not len(cells):
        return "always one class", False
    (cobias, after), (accuracy, higher) = (
        [fmean(cells.over_datasets(cells.numbers(way, metric))) for way in (RAW, PAPER)]
        for metric in ("cobias", "accuracy")
    )
    words = f"COBias {cobias:.1%} → {after:.1%}, accuracy {accuracy:.1%} → {higher:.1%}"
    return f"{cells.rows[0].labels['model']}: {words}", after < cobias and higher > accuracy


def _further(results: Results, largest: int) -> list[float]:
    """Return the change of COBias by dataset from the largest draw to full sets that are large."""
    pairs: list[CellResult] = []
    for full in results.where(size=FULL):
        labels = {name: full.labels.get(name) for name in ("model", "task", "seed")}
        last = results.where(size=largest, **labels)
        if largest != FULL and len(last) and full.result["n_opt"] >= _SEVERAL_THOUSAND:
            change = full.get(PAPER, "cobias") - last.rows[0].get(PAPER, "cobias")
            pairs.append(CellResult(full.labels, {"change": change}))
    found = Results(tuple(pairs))
    return found.over_datasets(found.numbers("change"))
