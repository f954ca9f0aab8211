"""Very large tables: a sample to fit on, and what the fit comes to on all rows.

The sample is stratified by class. Its rows count by the exact class sizes, so that the objective on
the sample is an estimate of that on all rows. What is reported is counted on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from dnip.base.typing import Floats
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import Coefficients
from dnip.method.objective import on_classes
from dnip.method.solution import Solution, Status
from dnip.tables import ProbabilityTable, Rows, ahead
from dnip.tables.evaluation import Evaluation, evaluate
from dnip.tables.labels import UNLABELLED
from dnip.tables.provenance import DataHash
from dnip.tables.reading import read_rows
from dnip.tables.sampling import Sample, draw_sample

#: Counts a whole table under coefficients, for a class mix, and returns the table's hash.
Count = Callable[[Coefficients, Floats | None], tuple[Evaluation, str]]

#: Rows of a table file that are fitted at most; a larger table is sampled. With 10 million rows of
#: 14 classes such a fit takes a sixth to a third of the processor time of a fit on all, and its
#: objective on all rows is higher by .0012 (even shares) and .0016 (python -m benchmarks sampled).
MOST_ROWS = 1_000_000

#: More rows than any table has.
ALL_ROWS = 2**60


def read_sample(
    path: Path,
    classes: Sequence[str] | None = None,
    rows: int | None = MOST_ROWS,
    seed: int = 0,
) -> Sample:
    """Read a table file or folder, or a sample of one of more rows.

    Parameters
    ----------
    path, classes
        As for :meth:`dnip.ProbabilityTable.read`.
    rows : int or None, default=1_000_000
        Rows to keep at most; None: all.
    seed : int, default=0
        The same seed gives the same sample.

    Returns
    -------
    Sample

    Raises
    ------
    InvalidInputError
        For a bad table, or more classes than rows to keep.
    """
    return draw_sample(ahead(read_rows(path, classes)), ALL_ROWS if rows is None else rows, seed)


def whole_table(table: ProbabilityTable) -> Sample:
    """Return a table as a sample that holds all of its rows."""
    labels = np.empty(0, np.int64) if table.labels is None else table.labels
    sizes = np.bincount(labels[labels != UNLABELLED], minlength=table.n_classes)
    return Sample(table, len(table), sizes)


def sample_of(
    table: ProbabilityTable | Path,
    classes: Sequence[str] | None = None,
    rows: int | None = MOST_ROWS,
    seed: int = 0,
) -> tuple[Sample, Count]:
    """Return what to fit on, and what counts the whole table.

    A table in memory is taken whole; `classes`, `rows` and `seed` are for a file, as for
    `read_sample`.
    """
    if isinstance(table, Path):
        sample = read_sample(table, classes, rows, seed)
        return sample, partial(count_table, sample, table)
    sample = whole_table(table)
    return sample, partial(count_table, sample, None)


def class_weights(sample: Sample) -> Floats | None:
    """Return how many rows a row of each class stands for, (N,); None where a sample is whole."""
    labels = sample.table.labels
    if sample.is_whole or labels is None:
        return None
    drawn = np.bincount(labels[labels != UNLABELLED], minlength=sample.table.n_classes)
    return np.asarray(sample.class_sizes / np.maximum(drawn, 1))


def weights_of_labelled(sample: Sample) -> Floats | None:
    """Return how many rows each labelled row stands for; None where a sample is whole."""
    weight, labels = class_weights(sample), sample.table.labels
    return None if weight is None or labels is None else weight[labels[labels != UNLABELLED]]


def count_table(
    sample: Sample, path: Path | None, coefficients: Coefficients, target: Floats | None
) -> tuple[Evaluation, str]:
    """Count the table that a sample was drawn from; see `Count`. One in memory needs no path."""
    table = sample.table
    if sample.is_whole or path is None:
        return evaluate([table], coefficients, target=target), table.data_hash
    data_hash = DataHash(table.classes, labelled=True, n_rows=sample.n_rows)

    def hashed() -> Iterator[Rows]:
        for chunk in read_rows(path, table.classes, as_a_whole=False):
            data_hash.add(chunk.probabilities, chunk.labels)
            yield chunk

    return evaluate(ahead(hashed()), coefficients, target=target), data_hash.hexdigest()


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
    kept = solution.constraints
    if kept is not None:
        demands = settings.constraints.on(evaluation.classes, evaluation.raw.sum(axis=1) > 0)
        kept = demands.to_dict(confusion, raw)
    proven = (Status.OPTIMAL, Status.WITHIN_GAP)
    return replace(
        solution,
        value=goal(confusion),
        terms=goal.terms_of(confusion),
        confusion=confusion,
        status=Status.FINISHED if solution.status in proven else solution.status,
        lower_bound=None,
        gap=None,
        constraints=kept,
    )


def note_on_sample(sample: Sample, settings: FitSettings) -> str:
    """Return what to know of a fit on a sample, a sentence."""
    asked = settings.constraints
    kept = ""
    if asked.max_accuracy_loss is not None or asked.min_class_accuracies or asked.freeze:
        kept = ", the constraints are kept on the sample"
    return (
        f"Fitted on a sample of {len(sample.table):,} of {sample.n_rows:,} rows; the objective is "
        f"of all{kept}."
    )
