"""What the cells of an experiment returned."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@dataclass(frozen=True)
class CellResult:
    """What a cell returned, with its labels.

    Attributes
    ----------
    labels : mapping
    result : dict
    """

    labels: Mapping[str, Any]
    result: dict[str, Any]

    def get(self, *path: str) -> Any:  # noqa: ANN401 - a JSON value
        """Return a value of the result, found under the keys `path`; None if there is none."""
        value: Any = self.result
        for key in path:
            value = None if value is None else value.get(key)
        return value


@dataclass(frozen=True)
class Results:
    """What the cells of one experiment returned, in the order of the cells.

    Cells that failed are missing: an experiment presents what there is.

    Examples
    --------
    >>> rows = [CellResult({"task": t, "seed": s}, {"x": 1}) for t in "ab" for s in (0, 1)]
    >>> results = Results(tuple(rows))
    >>> results.values("task"), len(results.where(task="a"))
    (('a', 'b'), 2)
    """

    rows: tuple[CellResult, ...]

    def __iter__(self) -> Iterator[CellResult]:
        """Iterate over the cells."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.rows)

    def where(self, **labels: Any) -> Results:  # noqa: ANN401
        """Return the cells with these labels."""
        return Results(
            tuple(
                row
                for row in self.rows
                if all(row.labels.get(name) == value for name, value in labels.items())
            )
        )

    def values(self, label: str) -> tuple[Any, ...]:
        """Return the distinct values of a label, in order of appearance."""
        return tuple(dict.fromkeys(row.labels.get(label) for row in self.rows))

    def titled(self) -> Iterator[tuple[str, CellResult]]:
        """Yield cells with the title of their task; it names the model where several have the task.

        Examples
        --------
        >>> labels = [{"task": "rte", "model": m} for m in "ab"] + [{"task": "ddi", "model": "a"}]
        >>> results = Results(tuple(CellResult(one, {}) for one in labels))
        >>> [title for title, _ in results.titled()]
        ['rte, a', 'rte, b', 'ddi']
        """
        for row in self.rows:
            task = row.labels["task"]
            several = len(self.where(task=task).values("model")) > 1
            yield (f"{task}, {row.labels['model']}" if several else str(task)), row

    def over_datasets(self, numbers: Iterable[float]) -> list[float]:
        """Return the mean of some numbers, one for each cell, by dataset.

        Tables of the same texts are one dataset.

        Examples
        --------
        >>> labels = [{"task": t, "dataset": d} for t, d in (("a", "x"), ("b", "x"), ("c", "c"))]
        >>> results = Results(tuple(CellResult(one, {}) for one in labels))
        >>> results.over_datasets([0, 1, 2])
        [0.5, 2.0]
        """
        return group_means(map(dataset, self.rows), numbers)

    def paper_rows(self) -> dict[tuple[Any, Any], Results]:
        """Return the cells of each row of a table such as the paper's: a model and its shots."""
        keys = dict.fromkeys((row.labels.get("model"), row.labels.get("shots")) for row in self)
        return {key: self.where(model=key[0], shots=key[1]) for key in keys}

    def over_rows(self, way: str, metric: str) -> float:
        """Return the mean over the paper's kind of rows, each a mean over tasks, over seeds.

        Examples
        --------
        >>> labels = [("a", 1, "x"), ("a", 1, "y"), ("a", 5, "x"), ("b", 1, "x")]
        >>> names, values = ("model", "shots", "task"), (0.0, 0.2, 0.4, 0.6)
        >>> made = [
        ...     CellResult(dict(zip(names, one)), {"raw": {"cobias": value}})
        ...     for one, value in zip(labels, values)
        ... ]
        >>> round(Results(tuple(made)).over_rows("raw", "cobias"), 6)  # (0.1 + 0.4 + 0.6) / 3
        0.366667
        """
        return fmean(
            fmean(cells.where(task=task).mean(way, metric) for task in cells.values("task"))
            for cells in self.paper_rows().values()
        )

    def by_model(self, name: str) -> Iterator[tuple[str, Results]]:
        """Yield the cells of each model, with a name for their table: NAME, NAME-2, NAME-3, ..."""
        for number, model in enumerate(self.values("model"), start=1):
            yield (name if number == 1 else f"{name}-{number}"), self.where(model=model)

    def numbers(self, *path: str) -> list[float]:
        """Return one number of every cell's result, found under the keys `path`."""
        return [row.get(*path) for row in self.rows]

    def mean(self, *path: str) -> float:
        """Return the mean of a number over the cells, at least one."""
        return fmean(self.numbers(*path))


def group_means(groups: Iterable[str], numbers: Iterable[float]) -> list[float]:
    """Return the mean of each group of numbers, in the order in which groups appear.

    Examples
    --------
    >>> group_means(["x", "x", "y"], [0, 1, 2])
    [0.5, 2.0]
    """
    found: dict[str, list[float]] = {}
    for group, number in zip(groups, numbers, strict=True):
        found.setdefault(group, []).append(number)
    return [fmean(values) for values in found.values()]


def dataset(row: CellResult) -> str:
    """Return what a cell's texts are: its task, unless its labels say more."""
    return str(row.labels.get("dataset") or row.labels["task"])
