"""One fit in a process of its own: ``python -m benchmarks.one_fit KIND ROWS CLASSES DTYPE``.

Prints as JSON what the fit took: seconds, and peak memory at each stage.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.race.evaluations import plain_evaluation
from dnip import Objective, solve


def synthetic_table(
    kind: str, n_rows: int, n_classes: int, dtype: str
) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    """Return probabilities and labels.

    "clear" rows are the softmax of normal logits, the true class raised, some classes favoured;
    few classes can win one. In "flat" rows, uniform on the simplex but for the true class, nearly
    all can.
    """
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n_rows)
    labels[:n_classes] = np.arange(n_classes)
    true = np.arange(n_rows), labels
    if kind == "flat":
        p = rng.standard_exponential((n_rows, n_classes), dtype)  # type: ignore[call-overload]
        p[true] *= 3
    else:
        p = rng.standard_normal((n_rows, n_classes), dtype)  # type: ignore[call-overload]
        p *= 1.2
        p += rng.standard_normal(n_classes)
        p[true] += 2 + 0.75 * np.log(n_classes)
        np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p, labels


def _peak() -> int:
    """Return the peak memory of this process so far, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _measured(folder: str) -> dict[str, float]:
    p, labels = np.load(f"{folder}/p.npy"), np.load(f"{folder}/labels.npy")
    loaded = _peak()
    few, few_labels = synthetic_table("clear", 50, 3, p.dtype.name)
    solve(few, few_labels)
    ready = _peak()
    solution = solve(p, labels)
    peak = _peak()
    plain = plain_evaluation(p, labels, Objective())
    indices = np.full(p.shape[1], 30)
    units = []
    for _ in range(7):
        began = time.perf_counter()
        plain(indices)
        units.append(time.perf_counter() - began)
    return {
        "input": p.nbytes + labels.nbytes,
        "libraries": ready - loaded,
        "beyond": peak - ready,
        "seconds": solution.seconds,
        "unit": statistics.median(units),
        "line_searches": solution.evaluations / 30,
    }


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(_measured(sys.argv[1])))
    else:
        import subprocess

        kind, n_rows, n_classes, dtype = sys.argv[1:]
        with tempfile.TemporaryDirectory() as folder:
            p, labels = synthetic_table(kind, int(n_rows), int(n_classes), dtype)
            np.save(f"{folder}/p.npy", p)
            np.save(f"{folder}/labels.npy", labels)
            subprocess.run([sys.executable, "-m", "benchmarks.one_fit", folder], check=True)
