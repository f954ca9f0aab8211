"""The line that a command ends with reads the table as the command did."""

import shlex

import numpy as np
import pandas as pd
import pytest

from cases import cases
from strategies import random_probabilities


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two tables whose last column is no class."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("opt", "test"):
        labels = rng.integers(0, 3, 150)
        p = random_probabilities(rng, 150, 3) + np.eye(3)[labels] + [1.5, 0, 0]
        frame = pd.DataFrame(p / p.sum(axis=1, keepdims=True), columns=["a", "b", "c"])
        frame["label"] = frame.columns[labels]
        frame.assign(user=[f"u{n // 2}" for n in range(150)]).to_csv(f"{name}.csv", index=False)
    return tmp_path


@cases(
    "evaluate opt.csv --group user",
    "evaluate opt.csv --by user",
    "report opt.csv --group user --out page.html",
    "report opt.csv --by user --out page.html",
    "evaluate ./-opt.csv --group user",
    "compare opt.csv --test test.csv --group user --methods dnip --seeds 1 --out compared",
)
def test_it_can_be_typed(folder, dnip, command):
    (folder / "-opt.csv").write_bytes((folder / "opt.csv").read_bytes())
    run = dnip(*command.split())
    assert run.status == 0, run.err
    [line] = [line for line in run.out.splitlines() if line.startswith("Next")]
    typed = shlex.split(line.partition(": ")[2])
    assert typed[:3] == ["dnip", "fit", command.split()[1]]
    fit = dnip(*typed[1:], "--no-evidence")
    assert fit.status == 0, fit.err
