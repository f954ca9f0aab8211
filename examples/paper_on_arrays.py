# Needs a checkout and: pip install '.[reproduction]'
"""
The paper's tables on arrays of your own
========================================

``python -m reproduction`` reads the class probabilities of any model from one file of arrays. Each
is named ``TASK/SHOTS/SEED/opt/p`` for probabilities (rows, classes), ``…/y`` for labels; ``test``
in place of ``opt`` for the rows to score. With several seeds, tables show mean and deviation.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from dnip import ProbabilityTable

here, out = Path("examples" if Path("examples").exists() else ".").resolve(), Path(mkdtemp())
arrays = {}
for split, rows in (("opt", 200), ("test", 400)):
    table = ProbabilityTable.read(here / f"{split}.csv")
    for seed in (0, 1):
        drawn = np.random.default_rng(seed).permutation(len(table))[:rows]
        arrays[f"news/0/{seed}/{split}/p"] = table.probabilities[drawn]
        arrays[f"news/0/{seed}/{split}/y"] = table.labels[drawn]
np.savez(out / "mine.npz", **arrays)

# %%
# All experiments take a minute; this is the one of figure 3.

command = ["reproduction", "prior-methods", "--probabilities", out / "mine.npz", "--out", out]
subprocess.run([sys.executable, "-m", *map(str, command)], cwd=here.parent, check=True)
print((out / "prior-methods.md").read_text().partition("The paper's")[0])
