"""Saved probabilities of a model that is not there: three tasks, few rows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from outcomes import Outcome
from reproduction import methods, report
from reproduction.__main__ import main
from reproduction.experiments import solving
from reproduction.methods import AuthorsAnneal

SIZES = {"agnews": 4, "sst5": 5, "trec": 6}


def cell(task, shots, seed, split, rows):
    """Rows of a biased model: the right class stands out, and the last class too much."""
    n = SIZES[task]
    rng = np.random.default_rng([n, seed, len(split), len(shots)])
    labels = np.arange(rows) % n
    logits = rng.normal(size=(rows, n)) + 2 * np.eye(n)[labels] + 2 * np.eye(n)[-1]
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)) - 0.5
    return pd.DataFrame(
        {
            "task": task, "shots": shots, "seed": seed, "split": split, "row": np.arange(rows),
            "label": labels, "demonstrations": [[0, 1]] * rows, "mass": 0.6,
            "logp": list(logp.astype("float32")), "answered": np.arange(rows) % 2 == 0,
        }
    )  # fmt: skip


@pytest.fixture
def quick(monkeypatch):
    """Annealing in little: one setting, few weights."""
    small = replace(methods.PRESETS["paper"], solver=AuthorsAnneal())
    monkeypatch.setattr(methods, "PRESETS", {**methods.PRESETS, "paper": small})
    monkeypatch.setattr(methods, "BETAS", (2.7,))
    monkeypatch.setattr(methods, "SCALES", (30,))
    monkeypatch.setattr(solving, "RUNS", 1)
    monkeypatch.setattr(solving, "PROOF", 0.5)
    ways = ("as chosen", "authors' schedule", "coordinate")
    monkeypatch.setattr(solving, "readings", lambda n: dict.fromkeys(ways, "coordinate"))
    monkeypatch.setattr(methods, "STEPS", 50)
    monkeypatch.setattr(report, "TASKS", tuple(SIZES))  # claims need every task of the paper


@pytest.fixture
def frame():
    parts = [
        cell(task, "1", seed, split, rows)
        for task in SIZES
        for seed in (0, 1)
        for split, rows in (("opt", 60), ("test", 240))
    ]
    reasoned = [cell(task, "chain-of-thought", 0, "test", 200) for task in SIZES]
    five = [cell("agnews", "5", 0, split, 240) for split in ("opt", "test")]
    return pd.concat([*parts, *five, *reasoned], ignore_index=True)


@pytest.fixture
def saved(tmp_path, frame):
    """A function that writes a frame, by default the usual one, and what stands beside it."""

    def write(frame=frame, **more):
        path = tmp_path / "p.parquet"
        frame.to_parquet(path)
        told = {"model": {"name": "tiny", "sha256": "a" * 64}, "tasks": list(SIZES), **more}
        path.with_suffix(".json").write_text(json.dumps(told))
        return path

    return write


@pytest.fixture
def reproduce(capsys):
    """Run ``python -m reproduction`` with these arguments, as the shell would."""

    def run(*arguments):
        return Outcome.of(main([str(word) for word in arguments]), capsys)

    return run
