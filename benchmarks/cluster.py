"""A fit on a local Ray cluster against one process, and what 10⁹ rows would take by the parts."""

from __future__ import annotations

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import Table, print_markdown
from dnip.base.cluster import connect
from dnip.fitting import on_cluster
from dnip.fitting.in_passes import fit_scan
from dnip.fitting.on_cluster import fit_on_cluster
from dnip.solvers import FitSettings
from dnip.solvers.shared import SharedPasses
from dnip.tables import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.base.typing import Floats
    from dnip.solvers.kernels.flips import Flips

CLASSES, GROUP, WORKERS = 14, 250_000, 2
MEMORY = 8 * 10**9
SIZES = (1_000_000, 10_000_000)
NODES, CORES = (1, 10, 100), 16
HUGE = 10**9


class Lines(NamedTuple):
    """What the line searches of a fit came to.

    Attributes
    ----------
    number : int
    seconds : float
        Of one, in the middle.
    kilobytes : float
        That all workers send for one, on average.
    merging : float
        Seconds to add the flips of one worker, in the middle.
    """

    number: int
    seconds: float
    kilobytes: float
    merging: float


def run(_tables: list[Table]) -> None:
    """Print the tables."""
    rows, measured = [], {}
    settings = FitSettings(seed=0)
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in SIZES:
            path = Path(folder, f"{n_rows}.parquet")
            _write(path, n_rows)
            alone = _seconds(partial(fit_scan, Scan(path), settings, memory=MEMORY))
            with connect("ray", WORKERS) as cluster:
                fit = partial(fit_on_cluster, path, settings, cluster, memory=MEMORY)
                began = time.perf_counter()
                lines = _watched(fit)
                shared = time.perf_counter() - began
            measured[n_rows] = lines
            times = f"{alone:.1f}", f"{shared:.1f}", f"{shared / alone:.2f}"
            line = f"{lines.number}", f"{1000 * lines.seconds:.0f}", f"{lines.kilobytes:.0f}"
            rows.append([f"{n_rows:,}", *times, *line])
            path.unlink()
    print_markdown(
        f"A fit of {CLASSES} classes: one process of two threads, and {WORKERS} workers",
        ["rows", "one process, s", "workers, s", "ratio", "lines", "ms a line", "kB a line"],
        rows,
    )
    _reckon(measured)


def _reckon(measured: dict[int, Lines]) -> None:
    """Print what the model says of a line of the search: messages, rows and merging."""
    small, large = (measured[n] for n in SIZES)
    per_row = (large.seconds - small.seconds) * WORKERS / (SIZES[1] - SIZES[0])
    fixed = max(small.seconds - per_row * SIZES[0] / WORKERS, 0.0)
    table = []
    for nodes in NODES:
        workers = nodes * CORES
        parts = {
            "messages": fixed,
            "rows": per_row * HUGE / workers,
            "merging": large.merging * workers,
        }
        search = sum(parts.values()) * large.number / 60
        megabytes = large.kilobytes / WORKERS * workers / 1e3
        seconds = (f"{each:.3f}" for each in parts.values())
        table.append([str(nodes), *seconds, f"{search:.0f}", f"{megabytes:.0f}"])
    print_markdown(
        f"{HUGE:,} rows × {CLASSES} classes on nodes of {CORES} cores, reckoned from the parts",
        ["nodes", "messages, s", "rows, s", "merging, s", "search, min", "MB a line"],
        table,
    )


def _watched(fit: Callable[[], object]) -> Lines:
    """Run a fit, and measure its line searches: as a whole, and until the workers have answered."""
    whole: list[float] = []
    asked: list[float] = []
    sizes: list[int] = []
    find_flips, ask = SharedPasses.find_flips, on_cluster._Workers.ask

    def find(passes: SharedPasses, indices: Floats, c: int) -> Flips:
        began = time.perf_counter()
        flips = find_flips(passes, indices, c)
        whole.append(time.perf_counter() - began)
        return flips

    def answer(workers: Any, name: str, *arguments: object) -> list[Any]:  # noqa: ANN401
        began = time.perf_counter()
        answers = ask(workers, name, *arguments)
        if name == "find_flips":
            asked.append(time.perf_counter() - began)
            sizes.append(sum(part.steps.nbytes + part.mass.nbytes for part in answers))
        return answers

    with (
        mock.patch.object(SharedPasses, "find_flips", find),
        mock.patch.object(on_cluster._Workers, "ask", answer),
    ):
        fit()
    merging = (statistics.median(whole) - statistics.median(asked)) / WORKERS
    return Lines(len(whole), statistics.median(asked), statistics.fmean(sizes) / 1e3, merging)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _write(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    shares = np.arange(1, CLASSES + 1) / np.arange(1, CLASSES + 1).sum()
    writer = None
    for _ in range(n_rows // GROUP):
        labels = rng.choice(CLASSES, GROUP, p=shares)
        scores = 1.3 * rng.normal(size=(GROUP, CLASSES))
        scores[np.arange(GROUP), labels] += 2
        scores[:, :3] += 0.9
        p = np.exp(scores)
        columns = {f"p{c}": column for c, column in enumerate(p.T / p.sum(axis=1))}
        group = pa.table({"label": labels, **columns})
        writer = writer or pq.ParquetWriter(
            path, group.schema, compression="none", use_dictionary=["label"]
        )
        writer.write_table(group)
    assert writer is not None
    writer.close()
