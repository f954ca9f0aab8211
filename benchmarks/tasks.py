"""The paper's seven tasks on the small language model, before and after a default fit.

    make reproduce PLAN=small
    python -m benchmarks tasks

Reads what the first command writes.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from benchmarks.tables import Table, print_markdown

RUN = Path(__file__).parents[1] / "dnip-reproduction" / "results" / "main.csv"


def run(_tables: list[Table]) -> None:
    """Print means over seeds and numbers of demonstrations, by task."""
    if not RUN.is_file():
        print(f"tasks: left out, there is no {RUN}; make it with: make reproduce PLAN=small")
        return
    with RUN.open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    tasks = defaultdict(list)
    for cell in cells:
        tasks[cell["task"]].append(cell)
    rows = [
        [name, f"{int(own[0]['n_opt']):,}", *(_mean(own, column) for column in COLUMNS)]
        for name, own in tasks.items()
    ]
    rows.append(["mean", "", *(_mean(cells, column) for column in COLUMNS)])
    header = ["task", "labels", "accuracy", "after", "COBias", "after", "worst class", "after"]
    print_markdown(f"Means over {len(cells) // len(tasks)} prompts of each task", header, rows)


COLUMNS = [
    f"{side}.{metric}"
    for metric in ("accuracy", "cobias", "worst_class_accuracy")
    for side in ("raw", "ours")
]


def _mean(cells: list[dict[str, str]], column: str) -> str:
    return f"{fmean(float(cell[column]) for cell in cells):.3f}"
