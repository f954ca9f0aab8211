"""Make the tables of `dnip demo` and of examples/ from the probabilities of the experiments.

    python tools/make_demo_table.py [PROBABILITIES]

They are the first rows of AG News behind one demonstration, seed 0. They hold row numbers, labels
and probabilities, no text; src/dnip/comparing/data/README.md says where they come from.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dnip import ProbabilityTable
from dnip.comparing.demonstration import CLASSES

ROOT = Path(__file__).parents[1]
PROBABILITIES = ROOT / "reproduction" / "probabilities.parquet"
FOLDERS = (ROOT / "src" / "dnip" / "comparing" / "data", ROOT / "examples")
#: Rows of each table, and the file of AG News that its row numbers count in.
TABLES = {"opt": (500, "train"), "test": (1000, "test")}
DIGITS = 5


def main(source: Path) -> None:
    """Write both tables into both folders."""
    for split, (most, file) in TABLES.items():
        cell = [("task", "==", "agnews"), ("shots", "==", "1"), ("seed", "==", 0)]
        rows = pd.read_parquet(source, filters=[*cell, ("split", "==", split)])[:most]
        p = np.exp(np.stack(rows["logp"]).astype(float))
        p = (p / p.sum(axis=1, keepdims=True)).round(DIGITS)
        ids = [f"{file}-{row}" for row in rows["row"]]
        mass = rows["mass"].to_numpy().round(DIGITS)
        table = ProbabilityTable(p, rows["label"].to_numpy(), ids, CLASSES, mass=mass)
        for folder in FOLDERS:
            table.write(folder / f"{split}.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else PROBABILITIES)
