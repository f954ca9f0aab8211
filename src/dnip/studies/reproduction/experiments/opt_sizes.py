"""Appendix D: DNIP on smaller opt sets."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from dnip.base.toml_models import Several
from dnip.deploying.evaluation import evaluate
from dnip.method.scales import DEFAULT_SCALE
from dnip.presenting.artefacts import Column, Figure, Row, Spread, Statement, Table
from dnip.presenting.drawing.style import colours, tidy
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.methods import METHOD_TITLES, METHODS, RAW, TITLES, cut, fit_by
from dnip.studies.reproduction.naming import HEADINGS, columns_by_metric, short_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Value
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.results import Results
    from dnip.studies.reproduction.sources import Sources
    from dnip.tables import ProbabilityTable

#: The size of the whole pool.
FULL = 0
# Rows drawn in place of a size that is below the number of classes.
_SMALLEST_OF_MANY = 15
# The most unlabelled rows beside a small set, for ours.
_UNLABELLED = 1000
_Size = Annotated[int, Field(ge=1)]


def debias_on_draw(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    method: str,
    size: int,
    dev_share: float,
    seed: int,
) -> dict[str, Any]:
    """Fit on a draw of the opt rows and score the test table before and after.

    Up to 100 rows are drawn class-balanced, more uniformly. "published" anneals under the published
    β, τ and μ, as choosing them takes more labels than a draw has; its weights are on the scale of
    ``dnip fit``. "ours" also reads other rows of the pool, without their labels.
    """
    whole, _ = cut(opt, dev_share)
    drawn, others = (whole, None) if size == FULL else _draw(whole, size, seed)
    fitted = fit_by(method, drawn, seed, scale=DEFAULT_SCALE, unlabelled=others)
    return {
        **evaluate([test], fitted.coefficients).to_dict(),
        "n_opt": len(drawn),
        "weight_indices": fitted.solution.weight_indices.tolist(),
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
        """Return both methods on every size, for every 1-shot source."""
        found = []
        for source in sources.one_shot():
            most = int((1 - self.plan.dev_share) * source.opt.rows)
            for size in (*self.options.sizes, FULL):
                if size >= most:
                    continue
                few = size != FULL and size < len(source.classes)
                settings = {"size": _SMALLEST_OF_MANY if few else size, "seed": source.seed or 0}
                found += [
                    self.cell(
                        debias_on_draw,
                        source,
                        {"size": size, "method": method},
                        {**settings, "method": method},
                    )
                    for method in METHODS
                ]
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
            found.append(_figure(results, self.plan.name))
            found += _statements(results)
        return found


def _table(cells: Results, name: str, model: str) -> Table:
    tasks = cells.values("task")
    rows = [_row(cells.where(method=METHODS[0], size=FULL), tasks, "raw", "0 (raw argmax)", "")]
    for method, title in METHOD_TITLES.items():
        rows.append(Row((), heading=title))
        for size in _sizes(cells):
            some = cells.where(method=method, size=size)
            rows.append(_row(some, tasks, "reweighted", _size_title(size), "same as full"))
    return Table(
        name,
        f"{OptSizes.title}, {model}",
        [Column("Opt rows"), *columns_by_metric([short_task(task) for task in tasks])],
        rows,
        caption="Test accuracy and COBias (%), mean and standard deviation over seeds. Up to 100 "
        "rows are drawn class-balanced, more uniformly; 10 rows are 15 where there are more than "
        "10 classes. As published: annealing under the published settings. Ours: the defaults of "
        "dnip fit, with 1,000 unlabelled rows beside a draw.",
        paper=OptSizes.paper,
    )


def _row(cells: Results, tasks: Sequence[str], when: str, title: str, lacking: str) -> Row:
    values: list[Value] = [title]
    for metric in HEADINGS:
        for task in tasks:
            found = cells.where(task=task).numbers(when, metric)
            values.append(Spread.of(found) if found else lacking)
    return Row(tuple(values))


def _sizes(results: Results) -> list[int]:
    """Return the sizes in order, the full one last."""
    return sorted(results.values("size"), key=lambda size: (size == FULL, size))


def _size_title(size: int) -> str:
    return "Full" if size == FULL else f"{size:,}"


def _averages(results: Results, method: str, metric: str) -> dict[int, float]:
    """Return the mean over tasks by size; a task whose pool is smaller counts with its full set."""
    averages = {}
    for size in _sizes(results):
        values = []
        for task in results.values("task"):
            of_task = results.where(task=task, method=method)
            found = of_task.where(size=size).numbers("reweighted", metric)
            values += found or of_task.where(size=FULL).numbers("reweighted", metric)
        if values:
            averages[size] = fmean(values)
    return averages


def _figure(results: Results, plan: str) -> Figure:
    raw = results.where(method=METHODS[0], size=FULL)
    colour = colours([TITLES[RAW], *METHOD_TITLES.values()])

    def draw(figure: Any) -> None:  # noqa: ANN401
        for axes, metric in zip(figure.subplots(1, 2), HEADINGS, strict=True):
            for method, title in METHOD_TITLES.items():
                means = _averages(results, method, metric)
                axes.plot(
                    [_size_title(size) for size in means],
                    [100 * mean for mean in means.values()],
                    marker="o",
                    color=colour[title],
                    label=title,
                )
            axes.axhline(
                100 * raw.mean("raw", metric),
                color=colour[TITLES[RAW]],
                linestyle=":",
                label=TITLES[RAW],
            )
            axes.set_xlabel("opt rows")
            axes.set_title({"accuracy": "accuracy (%)", "cobias": "COBias (%)"}[metric])
            tidy(axes)
        figure.axes[0].legend(frameon=False)

    return Figure(
        "opt-size",
        "Accuracy and COBias over the number of labels",
        draw,
        (9.0, 3.6),
        caption=f"Means over the tasks and seeds of the plan {plan}.",
        paper=OptSizes.paper,
    )


def _statements(results: Results) -> list[Artefact]:
    raw = results.where(method=METHODS[0], size=FULL).mean("raw", "cobias")
    smallest = min((size for size in results.values("size") if size != FULL), default=FULL)
    found: list[Artefact] = []
    for method, title in METHOD_TITLES.items():
        means = _averages(results.where(method=method), method, "cobias")
        found.append(
            Statement(
                f"Even {smallest} labels lower COBias, and more lower it further ({title})",
                "improvements with 10 examples, the lowest COBias mostly with 500 or more",
                f"raw {raw:.1%}; "
                + ", ".join(f"{_size_title(size)}: {mean:.1%}" for size, mean in means.items()),
                means[smallest] < raw and means[FULL] < means[smallest],
            )
        )
    return found
