"""Very large tables: a sample to fit on, and what the fit comes to on all rows.

The sample is stratified by class. Its rows count by the exact class sizes, so that the objective on
the sample is an estimate of that on all rows. What is reported is counted on all rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.classes import UNLABELLED
from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Floats
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import Coefficients
from dnip.method.objective import on_classes
from dnip.method.solution import Solution
from dnip.tables import ProbabilityTable, Rows, Scan, ahead
from dnip.tables.guards import TableLike, as_table, check_raw
from dnip.tables.provenance import DataHash
from dnip.tables.reading import layout_of, read_rows
from dnip.tables.sampling import Sample, Sampler
from dnip.using.evaluation import Evaluation, evaluate

#: Counts a whole table under coefficients, for a class mix, and returns the table's hash.
Count = Callable[[Coefficients, Floats | None], tuple[Evaluation, str]]

#: Rows of a table file that are fitted at most; a larger table is sampled. With 10 million rows of
#: 14 classes such a fit takes a sixth to a third of the processor time of a fit on all, and its
#: objective on all rows is higher by .0012 (even shares) and .0016 (python -m benchmarks sampled).
MOST_ROWS = 1_000_000

#: More rows than any table has.
ALL_ROWS = 2**60


def sample_of(
    data: TableLike,
    y: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    rows: int | None = MOST_ROWS,
    seed: int = 0,
    group: str | None = None,
) -> tuple[Sample, Count]:
    """Return what to fit on, and what counts the whole table.

    Parameters
    ----------
    data, y, classes
        As for :func:`dnip.evaluate`. What is in memory is taken whole.
    rows : int or None, default=1_000_000
        Rows of a file to keep at most; None: all.
    seed : int, default=0
        The same seed gives the same sample.
    group : str, optional
        The column of a file that says what each row belongs to.

    Raises
    ------
    InvalidInputError
        For a bad table, more classes than rows to keep, or a column that is not there.
    """
    if y is not None or not isinstance(data, str | os.PathLike):
        table = as_table(data, y, classes)
        check_raw(table)
        labels = np.empty(0, np.int64) if table.labels is None else table.labels
        sizes = np.bincount(labels[labels != UNLABELLED], minlength=table.n_classes)
        return Sample(table, len(table), sizes), partial(_count_in_memory, table)
    path = Path(data)
    sampler, groups = Sampler(ALL_ROWS if rows is None else rows, seed), list[str]()
    if group is not None:
        classes = _classes_beside(group, path, classes)
    for block in Scan(path, classes, others=group is not None):
        sampler.add(block)
        if group is not None:
            groups += map(str, _groups_of(block, group))
    sample = replace(sampler.sample(), groups=np.array(groups, object) if groups else None)
    if sample.is_whole:
        return sample, partial(_count_in_memory, sample.table)
    return sample, partial(_count_file, sample, path)


def _classes_beside(group: str, path: Path, classes: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return the classes of a file, where the column of groups would be taken for one."""
    layout = None if path.is_fifo() else layout_of(path, classes)  # a pipe is read once only
    if layout is None:
        return classes
    if group not in layout.names:
        raise _no_groups(group, str(path), layout.names)
    if layout.from_header and group in layout.classes:
        return [name for name in layout.classes if name != group]
    return classes


def _groups_of(rows: Rows, column: str) -> Sequence[object]:
    """Return the cells of a column that means nothing else."""
    others = rows.others or {}
    if column not in others:
        raise _no_groups(column, rows.source, [*others])
    return others[column]


def _no_groups(column: str, source: str, names: Sequence[str]) -> InvalidInputError:
    return InvalidInputError(
        f"{source}: {column} is not a column of groups; the columns are {listed(names) or 'none'}",
        hint="Name a column that says what each row belongs to",
    )


def _count_in_memory(
    table: ProbabilityTable, coefficients: Coefficients, target: Floats | None
) -> tuple[Evaluation, str]:
    return evaluate(table, coefficients=coefficients, target=target), table.data_hash


def _count_file(
    sample: Sample, path: Path, coefficients: Coefficients, target: Floats | None
) -> tuple[Evaluation, str]:
    """Count the table that a sample was drawn from."""
    classes = sample.table.classes
    data_hash = DataHash(classes, labelled=True, n_rows=sample.n_rows)

    def hashed() -> Iterator[Rows]:
        for chunk in read_rows(path, classes, as_a_whole=False):
            data_hash.add(chunk.probabilities, chunk.labels)
            yield chunk

    found = evaluate(ahead(hashed()), coefficients=coefficients, target=target)
    return found, data_hash.hexdigest()


def on_all_rows(solution: Solution, evaluation: Evaluation, settings: FitSettings) -> Solution:
    """Return a solution with its objective on all rows, for which nothing is proven.

    Parameters
    ----------
    solution : Solution
        Found on a sample.
    evaluation : Evaluation
        Of all rows under the solution.
    settings : FitSettings
        Of the fit.
    """
    assert evaluation.reweighted is not None
    raw, confusion = map(evaluation.in_population, (evaluation.raw, evaluation.reweighted))
    goal = on_classes(settings.objective, evaluation.classes)
    demands = settings.constraints.on(evaluation.classes, evaluation.raw.sum(axis=1) > 0)
    return solution.restated(goal, confusion, constraints=demands.to_dict(confusion, raw))


def note_on_sample(sample: Sample, solution: Solution) -> str:
    """Return what to know of a fit on a sample, a sentence."""
    kept = ", the constraints are kept on the sample" if solution.constraints else ""
    return (
        f"Fitted on a sample of {len(sample.table):,} of {sample.n_rows:,} rows; the objective is "
        f"of all{kept}."
    )
