"""Variants of a fit compared on all tasks: the numbers behind tables and bars."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from dnip.metrics import METRICS
from dnip.presenting.artefacts import Column, Spread, Table
from dnip.presenting.drawing import Bars, bar_figure
from dnip.studies.reproduction.methods import in_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.presenting.artefacts import Artefact, Row
    from dnip.studies.reproduction.results import Results

#: The mean over tasks, as the paper names it.
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
        By variant, then by task, the scores of each run as ``dnip evaluate`` prints them.

    Examples
    --------
    >>> runs = [{"accuracy": 0.5, "cobias": 0.2}, {"accuracy": 0.7, "cobias": 0.1}]
    >>> one = VariantComparison(("a", "b"), {"raw": {"a": runs, "b": runs[:1]}})
    >>> one.mean("raw", "a", "accuracy"), round(one.mean("raw", "All", "accuracy"), 3)
    (0.6, 0.55)
    """

    tasks: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]

    @classmethod
    def of(cls, results: Results, variants: Mapping[str, Sequence[str]]) -> VariantComparison:
        """Gather scores from the cells of an experiment, each variant's under a path of keys."""
        scores: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
        tasks: dict[str, None] = {}
        for task, row in results.titled():
            tasks[task] = None
            for name, path in variants.items():
                found = row.get(*path)
                if found is not None:
                    scores.setdefault(name, {}).setdefault(task, []).append(found)
        kept = {name: scores[name] for name in variants if name in scores}
        return cls(tuple(tasks), kept)

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants that have scores."""
        return tuple(self.scores)

    def spread(self, variant: str, task: str, metric: str) -> Spread | None:
        """Return mean and deviation over runs on a task; of the task means for ``"All"``."""
        by_task = self.scores.get(variant, {})
        if task != ALL:
            runs = by_task.get(task)
            return Spread.of([run[metric] for run in runs]) if runs else None
        if set(by_task) != set(self.tasks):
            return None  # a mean over fewer tasks cannot be compared
        columns = [[run[metric] for run in by_task[one]] for one in self.tasks]
        if len({len(column) for column in columns}) == 1:
            return Spread.of([fmean(run) for run in zip(*columns, strict=True)])
        return Spread(fmean(fmean(column) for column in columns))

    def mean(self, variant: str, task: str, metric: str) -> float:
        """Return the mean alone; nan where there is none."""
        found = self.spread(variant, task, metric)
        return float("nan") if found is None else found.mean

    def is_lower(self, first: str, second: str, metric: str) -> bool:
        """Say whether a variant is lower than another, by more than chance from task to task.

        That is: whether the mean of the differences, task by task, is below 0 by more than its
        standard error; with one task alone, whether it is below 0.

        Examples
        --------
        >>> runs = {"a": [{"cobias": 0.1}], "b": [{"cobias": 0.3}]}
        >>> more = {"a": [{"cobias": 0.2}], "b": [{"cobias": 0.31}]}
        >>> compared = VariantComparison(("a", "b"), {"z": runs, "raw": more})
        >>> compared.is_lower("z", "raw", "cobias"), compared.is_lower("raw", "z", "cobias")
        (True, False)
        """
        differences = [
            self.mean(first, task, metric) - self.mean(second, task, metric) for task in self.tasks
        ]
        error = stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
        return fmean(differences) < -error - _ROUNDING

    def artefacts(self, name: str, title: str, metrics: Sequence[str]) -> tuple[Artefact, Artefact]:
        """Return the scores as a table and as bars.

        Parameters
        ----------
        name, title : str
            Name and title of both.
        metrics : sequence of str
            Metrics to show.
        """
        rows: list[Row] = []
        for metric in metrics:
            rows.append(_title(metric))
            rows += [
                (task, *(self.spread(v, task, metric) for v in self.variants))
                for task in (*self.tasks, ALL)
            ]
        columns = [Column("Task"), *(Column(name, percent=True) for name in self.variants)]
        table = Table(name, f"{title} (%)", columns, rows)
        tasks = (*self.tasks, ALL)
        panels = [
            Bars(_title(m), {v: [self.spread(v, task, m) for task in tasks] for v in self.variants})
            for m in metrics
        ]
        return table, bar_figure(name, title, panels, tasks)

    def in_words(self, metric: str, variants: Sequence[str] = ()) -> str:
        """Return the means over all tasks in words.

        Examples
        --------
        >>> run = [{"cobias": 0.2}]
        >>> VariantComparison(("a",), {"raw": {"a": run}, "z1": {"a": run}}).in_words("cobias")
        'COBias raw argmax 20.0, z1 20.0'
        """
        means = {name: self.mean(name, ALL, metric) for name in variants or self.variants}
        return f"{_title(metric)} {in_percent(means)}"


def _title(metric: str) -> str:
    title = METRICS[metric].title
    return title[0].upper() + title[1:]
