# Needs: pip install '.[plot,report]'
"""
From saved log-probabilities to a report
========================================

A language model behind an API was asked to sort news, and its answers were saved with the
log-probabilities of the first token. This example reads them, fits coefficients, and writes a
page that you can show to others. In a shell the same is ``dnip import``, ``dnip fit`` and ``dnip
report``.
"""

# %%
# What was saved looks like this. Here the answers are made from a table that ships with DNIP.

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

from dnip import ClassAccuracyDisplay, evaluate, fit, report
from dnip.comparing.demonstration import CLASSES, bundled_table
from dnip.llm.sources import read_answers


def answer(row: np.ndarray, label: int) -> dict:
    """Return a chat completion, as a server sends it, with the true class beside it."""
    order = np.argsort(-row)
    top = [{"token": CLASSES[c], "logprob": float(np.log(row[c] + 1e-9))} for c in order]
    return {
        "model": "my-model",
        "label": CLASSES[label],
        "choices": [
            {
                "message": {"content": top[0]["token"]},
                "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
            }
        ],
    }


saved = {}
for half in ("opt", "test"):
    table = bundled_table(half)
    rows = zip(table.probabilities, table.labels, strict=True)
    saved[half] = [answer(p, label) for p, label in rows]
print(fill(json.dumps(saved["opt"][0]), 80))

# %%
# Read the answers into tables, and fit on the first. The second is only used to look at the result.

opt, summary = read_answers(saved["opt"], CLASSES)
test, _ = read_answers(saved["test"], CLASSES)
print("read as", summary.source)

fitted = fit(opt)
print(fitted)
coefficients = fitted.coefficients
print(evaluate(test, coefficients=coefficients))

# %%
# The page. It is one file that loads nothing from elsewhere.

with TemporaryDirectory() as folder:
    page = report(test, coefficients=coefficients)
    path = Path(folder, "report.html")
    page.save(path)
    print(fill(page.verdict, 80))
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")

# %%
# How accurate every class is, before and after.

ClassAccuracyDisplay(evaluate(test, coefficients=coefficients)).plot()
plt.show()
