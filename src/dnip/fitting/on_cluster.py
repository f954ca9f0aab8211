"""What a fit leaves to the workers of a cluster: to sample a very large table, and to count it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.base.typing import Floats
from dnip.fitting.sampled import ALL_ROWS, Count, count_table
from dnip.method.coefficients import Coefficients
from dnip.tables import ProbabilityTable, Rows
from dnip.tables.evaluation import Evaluation, evaluate
from dnip.tables.on_cluster import SharedTable, add_up
from dnip.tables.provenance import DataHash
from dnip.tables.reading import read_rows
from dnip.tables.sampling import Sample, Sampler

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster


def sample_on_cluster(
    path: Path, classes: Sequence[str] | None, rows: int | None, seed: int, *, cluster: Cluster
) -> Sample:
    """Return the sample that `read_sample` returns; the workers draw it.

    Parameters and errors are those of `read_sample`. All nodes must see the table at `path`.
    """
    sampler = Sampler(ALL_ROWS if rows is None else rows, seed)
    sample = add_up(sampler, SharedTable(path, cluster, classes)).sample()
    of = sample.table
    named = Rows(of.probabilities, of.labels, of.ids, of.classes, str(path), of.mass)
    return replace(sample, table=ProbabilityTable.trusted(named))


def count_on_cluster(sample: Sample, path: Path, cluster: Cluster) -> Count:
    """Return what counts the table that a sample was drawn from.

    A worker begins at once to read the table for its hash, so that a fit can go on meanwhile.
    """
    if sample.is_whole:
        return partial(count_table, sample, None)
    classes = sample.table.classes
    hashing = cluster.start(_hash, path.absolute(), classes, sample.n_rows)

    def count(coefficients: Coefficients, target: Floats | None) -> tuple[Evaluation, str]:
        table = SharedTable(path, cluster, classes)
        return evaluate(table, coefficients, target=target), str(cluster.get(hashing))

    return count


def _hash(path: Path, classes: Sequence[str], n_rows: int) -> str:
    data_hash = DataHash(classes, labelled=True, n_rows=n_rows)
    for chunk in read_rows(path, classes, as_a_whole=False):
        data_hash.add(chunk.probabilities, chunk.labels)
    return data_hash.hexdigest()
