"""Variants of a fit compared on all tasks: the numbers behind tables and bars."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from dnip.metrics import METRICS
from dnip.presenting.artefacts import Column, Figure, Spread, Table
from reproduction.bars import Bars, bar_figure
from reproduction.degenerate import COST_TITLE, is_constant
from reproduction.methods import RAW, TITLES, in_percent
from reproduction.results import dataset, group_means

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from dnip.presenting.artefacts import Row
    from reproduction.results import Results

    Runs = Mapping[Hashable, Mapping[str, Any]]

#: The mean over datasets, as the paper names it.
ALL = "All"

# Differences this small are sums in another order.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class VariantComparison:
    """Scores by variant and task, one for each run.

    Attributes
    ----------
    tasks : tuple of str
        Titles of the tasks.
    scores : mapping
        By variant, then by task, then by run: the scores of `degenerate.score`.
    datasets : mapping of str to str
        What the texts of a task are, where several tasks share them. They count as one: a mean over
        all tasks is that of datasets, and a standard error is that of datasets.

    Examples
    --------
    >>> runs = {0: {"accuracy": 0.5, "cobias": 0.2}, 1: {"accuracy": 0.7, "cobias": 0.1}}
    >>> one = VariantComparison(("a", "b"), {"raw": {"a": runs, "b": {0: runs[0]}}})
    >>> one.mean("raw", "a", "accuracy"), round(one.mean("raw", "All", "accuracy"), 3)
    (0.6, 0.55)
    """

    tasks: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Runs]]
    datasets: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Results, variants: Mapping[str, Sequence[str]]) -> VariantComparison:
        """Gather scores from the cells of an experiment, each variant's under a path of keys."""
        scores: dict[str, dict[str, dict[Hashable, Mapping[str, Any]]]] = {}
        datasets: dict[str, str] = {}
        for task, row in results.titled():
            datasets[task] = dataset(row)
            run = (row.labels.get("shots"), row.labels.get("seed"))
            for name, path in variants.items():
                found = row.get(*path)
                if found is not None:
                    scores.setdefault(name, {}).setdefault(task, {})[run] = found
        kept = {name: scores[name] for name in variants if name in scores}
        return cls(tuple(datasets), kept, datasets)

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants that have scores."""
        return tuple(self.scores)

    def runs(self, variant: str, task: str) -> Runs:
        """Return the scores of a variant on a task by run; on all of them for ``"All"``."""
        by_task = self.scores.get(variant, {})
        if task != ALL:
            return by_task.get(task, {})
        return {(one, run): found for one, runs in by_task.items() for run, found in runs.items()}

    def spread(self, variant: str, task: str, metric: str) -> Spread | None:
        """Return mean and deviation over runs on a task; over all datasets for ``"All"``."""
        by_task = self.scores.get(variant, {})
        if task != ALL:
            runs = self.runs(variant, task)
            return Spread.of([run[metric] for run in runs.values()]) if runs else None
        if set(by_task) != set(self.tasks) or not self.tasks:
            return None  # a mean over fewer tasks cannot be compared
        columns = [[run[metric] for run in by_task[one].values()] for one in self.tasks]
        if len({len(column) for column in columns}) == 1:
            return Spread.of([self._over_all(run) for run in zip(*columns, strict=True)])
        return Spread(self._over_all([fmean(column) for column in columns]))

    def _over_all(self, by_task: Sequence[float]) -> float:
        return fmean(self._over_datasets(dict(zip(self.tasks, by_task, strict=True))))

    def _over_datasets(self, by_task: Mapping[str, float]) -> list[float]:
        """Return the mean of each dataset."""
        return group_means((self.datasets.get(task, task) for task in by_task), by_task.values())

    def mean(self, variant: str, task: str, metric: str) -> float:
        """Return the mean alone; nan where there is none."""
        found = self.spread(variant, task, metric)
        return float("nan") if found is None else found.mean

    def differences(self, first: str, second: str, metric: str) -> dict[str, float]:
        """Return the mean of first minus second by task, over the runs that both have.

        Runs in which one of them always answers with one class are left out. A raw argmax that
        does so stays: an answer to that is what a fit is for.
        """
        found = {}
        for task in self.tasks:
            one, other = self.runs(first, task), self.runs(second, task)
            shared = [
                run
                for run in one
                if run in other and not any(self._is_out(v, task, run) for v in (first, second))
            ]
            if shared:
                found[task] = fmean(one[run][metric] - other[run][metric] for run in shared)
        return found

    def is_lower(self, first: str, second: str, metric: str) -> bool:
        """Say whether a variant is lower than another by more than chance; see `direction`.

        Examples
        --------
        >>> runs = {"a": {0: {"cobias": 0.1}}, "b": {0: {"cobias": 0.3}}}
        >>> more = {"a": {0: {"cobias": 0.2}}, "b": {0: {"cobias": 0.31}}}
        >>> compared = VariantComparison(("a", "b"), {"z": runs, "raw": more})
        >>> compared.is_lower("z", "raw", "cobias"), compared.is_lower("raw", "z", "cobias")
        (True, False)
        """
        return self.direction(first, second, metric) < 0

    def direction(self, first: str, second: str, metric: str) -> int:
        """Return -1 where a variant is lower than another, 1 where it is higher, else 0.

        That is by the mean difference over datasets, if it exceeds its standard error; with one
        dataset alone, by its sign. 0 where nothing is left to compare, as a constant answer is no
        improvement.
        """
        found = self._over_datasets(self.differences(first, second, metric))
        if not found or abs(fmean(found)) <= standard_error(found) + _ROUNDING:
            return 0
        return -1 if fmean(found) < 0 else 1

    def artefacts(
        self, name: str, title: str, metrics: Sequence[str], pictured: Sequence[str] = ()
    ) -> tuple[Table, Figure]:
        """Return the scores as a table and as bars.

        Parameters
        ----------
        name, title : str
            Name and title of both.
        metrics : sequence of str
            Metrics to show.
        pictured : sequence of str
            Variants to draw; all by default.
        """
        rows: list[Row] = []
        for metric in metrics:
            rows.append(metric_title(metric))
            rows += [
                (task, *(self.spread(v, task, metric) for v in self.variants))
                for task in (*self.tasks, ALL)
            ]
        columns = [Column("Task")]
        columns += [Column(variant, percent=True, right=True) for variant in self.variants]
        table = Table(name, f"{title} (%)", columns, rows, caption=self._units())
        tasks = (*self.tasks, ALL)
        drawn = [v for v in self.variants if not pictured or v in pictured]
        panels = [
            Bars(metric_title(m), {v: [self.spread(v, task, m) for task in tasks] for v in drawn})
            for m in metrics
        ]
        return table, bar_figure(name, title, panels, tasks)

    def in_words(self, metric: str, variants: Sequence[str] = ()) -> str:
        """Return the means over all datasets in words.

        Examples
        --------
        >>> run = {0: {"cobias": 0.2}}
        >>> VariantComparison(("a",), {"raw": {"a": run}, "z1": {"a": run}}).in_words("cobias")
        'COBias raw argmax 20.0, z1 20.0'
        """
        means = {name: self.mean(name, ALL, metric) for name in variants or self.variants}
        return f"{metric_title(metric)} {in_percent(means)}"

    def _units(self) -> str:
        """Say how tables of the same texts count in a mean over all."""
        n = len(set(self.datasets.values()))
        if n == len(self.datasets):
            return ""
        return f"All: the mean over {n} datasets; tables of the same texts are one."

    def _is_out(self, variant: str, task: str, run: Hashable) -> bool:
        raw = variant in (RAW, TITLES[RAW])
        return not raw and is_constant(self.runs(variant, task).get(run))


def metric_title(metric: str) -> str:
    """Return the heading of a metric."""
    title = COST_TITLE if metric == "cost" else METRICS[metric].title
    return title[0].upper() + title[1:]


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; 0 for one value."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
