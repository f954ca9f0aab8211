"""A fit on a local Ray cluster against one process, and what larger ones take by its parts."""

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

from benchmarks.prompting import MODEL, ROOT
from benchmarks.tables import Table, print_markdown
from dnip import evaluate
from dnip.base.cluster import connect
from dnip.deploying.application import apply_stream
from dnip.deploying.checking.check import check
from dnip.fitting import on_cluster
from dnip.fitting.in_passes import fit_scan
from dnip.fitting.on_cluster import fit_on_cluster
from dnip.prompting.engines.base import Scoring
from dnip.prompting.plan import make_plan
from dnip.prompting.task import load_task
from dnip.solvers import PackedFlips, SearchSettings, find_optimum
from dnip.tables import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.fitting.record import Fit

CLASSES, GROUP, WORKERS = 14, 250_000, 2
MEMORY = 8 * 10**9
#: The model is made from all but the last, and predicts the last.
SIZES = (500_000, 2_000_000, 10_000_000)
SETTINGS = SearchSettings()
NODES, CORES = (1, 10, 100, 1000), 16
HUGE = 10**9
MILLION = 10**6


class Run(NamedTuple):
    """What a fit on a cluster came to, in seconds unless it says otherwise.

    Attributes
    ----------
    start : float
        To start the cluster.
    read : float
        Until the workers have read their rows.
    lines : int
        Line searches.
    answer : float
        Until the workers have answered a line, in the middle.
    line : float
        Of the whole search, per line.
    evaluate : float
        To evaluate.
    total : float
    kilobytes : float
        That all workers send for a line, on average.
    adding : float
        To add the flips of one worker.
    """

    start: float
    read: float
    lines: int
    answer: float
    line: float
    evaluate: float
    total: float
    kilobytes: float
    adding: float


class Model(NamedTuple):
    """What a fit takes, as straight lines in the millions of rows of a worker.

    Attributes
    ----------
    read, answer, evaluate : tuple of (float, float)
        Seconds without rows, and seconds per million rows.
    start, driver, adding : float
        Seconds to start; of this process for a line; and to add the flips of one worker.
    """

    read: tuple[float, float]
    answer: tuple[float, float]
    evaluate: tuple[float, float]
    start: float
    driver: float
    adding: float

    def line(self, millions: float, workers: int) -> tuple[float, float, float]:
        """Return the seconds of a line: messages, rows, and adding."""
        levels = _levels(workers)
        messages = self.driver + levels * self.answer[0]
        added = levels * on_cluster._FAN_IN * self.adding if workers > WORKERS else 0.0
        return messages, self.answer[1] * millions, added

    def around(self, millions: float) -> float:
        """Return the seconds before and after the search."""
        return self.start + sum(a + b * millions for a, b in (self.read, self.evaluate))


def run(_tables: list[Table]) -> None:
    """Print the tables."""
    rows, runs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in SIZES:
            path = Path(folder, f"{n_rows}.parquet")
            _write(path, n_rows)
            alone, fit = _seconds(partial(fit_scan, Scan(path), SETTINGS, memory=MEMORY))
            shared, found = _on_cluster(path)
            assert (found.solution.weight_indices == fit.solution.weight_indices).all()
            runs.append(shared)
            ratio = f"{alone:.1f}", f"{shared.total:.1f}", f"{shared.total / alone:.2f}"
            line = f"{shared.lines}", f"{1000 * shared.line:.0f}", f"{shared.kilobytes:.0f}"
            rows.append([f"{n_rows:,}", *ratio, *line])
            if n_rows == SIZES[1]:
                rates, through = _rates(path, fit), _read_through(path, fit)
            path.unlink()
    print_markdown(
        f"A fit of {CLASSES} classes: one process of two threads, and {WORKERS} workers",
        ["rows", "one process, s", "workers, s", "ratio", "lines", "ms a line", "kB a line"],
        rows,
    )
    model = _model(runs)
    _judge(model, runs[-1])
    _reckon(model, runs[-1], through)
    print_markdown(
        f"Millions of rows of {CLASSES} classes per second of one core",
        ["", "millions of rows"],
        [["a line of a fit", f"{1 / model.answer[1]:.1f}"], *rates],
    )
    _prompt()


def _on_cluster(path: Path) -> tuple[Run, Fit]:
    """Fit on a cluster of this machine, and measure the parts."""
    began = time.perf_counter()
    with connect("ray", WORKERS) as cluster:
        start = time.perf_counter() - began
        waited: dict[str, list[float]] = {"measure": [], "find_flips": [], "evaluate": []}
        sizes: list[int] = []
        searched: list[float] = []
        kept: list[PackedFlips] = []
        ask, add = on_cluster._Workers.ask, on_cluster._Workers._sum

        def timed(call: Callable[..., list[Any]], *arguments: Any) -> list[Any]:  # noqa: ANN401
            before = time.perf_counter()
            answers = call(*arguments)
            waited.setdefault(arguments[1], []).append(time.perf_counter() - before)
            if arguments[1] == "find_flips":
                sizes.append(sum(part.steps.nbytes + part.mass.nbytes for part in answers))
                kept[:] = answers
            return answers

        def search(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            took, solution = _seconds(partial(find_optimum, *arguments, **options))
            searched.append(took)
            return solution

        with (
            mock.patch.object(on_cluster._Workers, "ask", lambda *a: timed(ask, *a)),
            mock.patch.object(on_cluster._Workers, "_sum", lambda *a: timed(add, *a)),
            mock.patch.object(on_cluster, "find_optimum", search),
        ):
            fit = fit_on_cluster(path, SETTINGS, cluster, memory=MEMORY)
        whole = time.perf_counter() - began
    many = kept * on_cluster._FAN_IN
    adding = min(_seconds(partial(PackedFlips.sum, many))[0] for _ in range(5)) / len(many)
    n_lines = len(sizes)
    return Run(
        start=start,
        read=waited["measure"][0],
        lines=n_lines,
        answer=statistics.median(waited["find_flips"]),
        line=searched[0] / n_lines,
        evaluate=waited["evaluate"][0],
        total=whole,
        kilobytes=statistics.fmean(sizes) / 1e3,
        adding=adding,
    ), fit


def _model(runs: list[Run]) -> Model:
    """Return the model that all runs but the last make."""
    few, more = runs[0], runs[-2]
    first, last = (SIZES[i] / WORKERS / MILLION for i in (0, -2))

    def straight(part: str) -> tuple[float, float]:
        slope = (getattr(more, part) - getattr(few, part)) / (last - first)
        return max(getattr(few, part) - slope * first, 0.0), slope

    return Model(
        read=straight("read"),
        answer=straight("answer"),
        evaluate=straight("evaluate"),
        start=statistics.fmean(each.start for each in runs[:-1]),
        driver=statistics.fmean(each.line - each.answer for each in runs[:-1]),
        adding=runs[-1].adding,
    )


def _judge(model: Model, measured: Run) -> None:
    """Print what the model says of the largest run, and what was measured."""
    millions = SIZES[-1] / WORKERS / MILLION
    line = sum(model.line(millions, WORKERS))
    pairs = [
        ("a line, ms", 1000 * line, 1000 * measured.line),
        ("in all, s", model.around(millions) + measured.lines * line, measured.total),
    ]
    print_markdown(
        f"{SIZES[-1]:,} rows on {WORKERS} workers, by the model of the smaller sizes",
        ["", "model", "measured", "error"],
        [[name, f"{a:.0f}", f"{b:.0f}", f"{a / b - 1:+.0%}"] for name, a, b in pairs],
    )


def _reckon(model: Model, measured: Run, through: float) -> None:
    """Print what the model says of more workers: for a huge table, and with as many rows each."""
    strong, weak = [], []
    for nodes in NODES:
        workers = nodes * CORES
        millions = HUGE / MILLION / workers
        parts = model.line(millions, workers)
        search = sum(parts) * measured.lines
        hashing = through * HUGE / MILLION
        whole = model.around(millions) + max(search, hashing)
        line = (f"{1000 * each:.0f}" for each in parts)
        minutes = (f"{each / 60:.0f}" for each in (search, hashing, whole))
        strong.append([f"{nodes:,}", *line, *minutes])
        messages, rows, adding = model.line(SIZES[-1] / WORKERS / MILLION, workers)
        each = messages + rows + adding
        megabytes = measured.kilobytes / WORKERS / 1e3
        weak.append(
            [
                f"{nodes:,}",
                f"{SIZES[-1] / WORKERS * workers:,.0f}",
                f"{1000 * each:.0f}",
                f"{rows / each:.0%}",
                f"{megabytes * min(workers, on_cluster._FAN_IN):.1f}",
                f"{megabytes * workers:,.0f}",
            ]
        )
    print_markdown(
        f"{HUGE:,} rows on nodes of {CORES} cores, by the model; {measured.lines} lines",
        ["nodes", "messages, ms", "rows, ms", "adding, ms", "search, min", "hash, min", "all, min"],
        strong,
    )
    print_markdown(
        f"{SIZES[-1] // WORKERS:,} rows for each core, by the model",
        ["nodes", "rows", "ms a line", "on rows", "MB to one process", "MB in all"],
        weak,
    )


def _levels(workers: int) -> int:
    """Return how many levels of workers there are."""
    levels, most = 1, on_cluster._FAN_IN
    while most < workers:
        levels, most = levels + 1, on_cluster._FAN_IN * (most + 1)
    return levels


def _rates(path: Path, fit: Fit) -> list[list[str]]:
    """Return what a core does in a second of its time, for what has no messages."""
    works: dict[str, Callable[[], object]] = {
        "apply": partial(apply_stream, Scan(path), fit.coefficients, path.with_name("o.parquet")),
        "evaluate": partial(evaluate, Scan(path), fit.coefficients),
        "check": partial(check, Scan(path), fit.coefficients),
    }
    table = []
    for name, work in works.items():
        began = time.process_time()
        work()
        table.append([name, f"{SIZES[1] / MILLION / (time.process_time() - began):.1f}"])
    return table


def _read_through(path: Path, fit: Fit) -> float:
    """Return the seconds that hash and samples of a million rows take."""
    began = time.process_time()
    on_cluster._read_through(path, fit.coefficients.classes, MEMORY, SIZES[1])
    return (time.process_time() - began) / SIZES[1] * MILLION


def _prompt() -> None:
    """Print how many prompts the small language model scores on one core."""
    # They take seconds to load.
    import torch  # noqa: PLC0415

    from dnip.prompting.engines.transformers_engine import TransformersEngine  # noqa: PLC0415

    torch.set_num_threads(1)
    engine, task = TransformersEngine(MODEL, device="cpu"), load_task("agnews")
    prompts = make_plan(task, ROOT / "examples" / "news", shots=1).prompts
    began = time.process_time()
    scored = sum(1 for _ in engine.score(prompts, task, Scoring.FIRST))
    rate = scored / (time.process_time() - began)
    print_markdown(
        "Prompts per second of one core", ["", "prompts"], [["models/small", f"{rate:.0f}"]]
    )


def _seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


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
