"""The paper's numbers fit together where the paper's do, and are those of its source."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reproduction.published import paper_table, published
from reproduction.registry import EXPERIMENTS

PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "dnip-paper.tex"


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_says_where_its_numbers_stand(experiment):
    found = published(experiment)
    assert re.search(r"table|figure|section|appendix", found.place)
    assert found.numbers or found.remarks
    table = paper_table(experiment)
    assert table is None or all(len(row) == len(table.columns) for row in table.rows)


def test_confusion_matrix_adds_up():
    numbers = published("confusion").numbers
    *classes, whole, precision = numbers["rows"]
    counts = np.array([row["predicted"] for row in classes])
    right = np.diag(counts)
    assert counts.sum(axis=1).tolist() == [row["all"] for row in classes]
    assert counts.sum(axis=0).tolist() == whole["predicted"]
    assert counts.sum() == whole["all"]
    assert (right / counts.sum(axis=1)).round(2).tolist() == [row["accuracy"] for row in classes]
    assert (right / counts.sum(axis=0)).round(2).tolist() == precision["predicted"]


@pytest.mark.skipif(not PAPER.is_file(), reason=f"the paper's source is not at {PAPER}")
@pytest.mark.parametrize("experiment", ["main", "time", "label-order", "cot", "opt-size"])
def test_every_number_stands_in_the_source_of_the_paper(experiment):
    tex = PAPER.read_text(encoding="utf-8").replace("1,000", "1000")
    there = Counter(float(number) for number in re.findall(r"\d+(?:\.\d+)?", tex))
    numbers = published(experiment).numbers["rows"]
    ours = Counter(abs(float(number)) for number in flat_numbers(numbers))
    missing = {number: n for number, n in ours.items() if n > there[number]}
    assert missing == {}


def flat_numbers(value):
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("model", "shots", "seed", "footnote"):
                yield from flat_numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from flat_numbers(part)
    elif isinstance(value, int | float):
        yield value
