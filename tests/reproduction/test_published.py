"""The paper's numbers fit together where the paper's do, and are those of its source."""

import itertools
import re
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dnip.metrics import cobias
from dnip.presenting.artefacts import Spread
from reproduction.published import paper_table, published
from reproduction.registry import EXPERIMENTS

PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "dnip-paper.tex"
# one decimal is printed, and means are rounded once more
ROUNDED = 0.06


def main_rows(**wanted):
    rows = published("main").numbers["rows"]
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def averages(method, metric, **wanted):
    return [row["all"][0] for row in main_rows(method=method, metric=metric, **wanted)]


def stated(name):
    return next(s["value"] for s in published("main").numbers["stated"] if s["name"] == name)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_says_where_its_numbers_stand(experiment):
    found = published(experiment)
    assert re.search(r"table|figure|section|appendix", found.place)
    assert found.numbers or found.remarks
    table = paper_table(experiment)
    assert table is None or all(len(row) == len(table.columns) for row in table.rows)


def test_headline_figures_follow_from_the_table():
    accuracy = [statistics.fmean(averages(m, "accuracy")) for m in ("raw", "dnip")]
    gap = [statistics.fmean(averages(m, "cobias")) for m in ("raw", "dnip")]
    assert round(accuracy[1], 1) == stated("average_accuracy_dnip")
    assert round(gap[1], 1) == stated("average_cobias_dnip")
    assert round(100 * (accuracy[1] / accuracy[0] - 1)) == stated("relative_accuracy_increase")
    assert round(100 * (1 - gap[1] / gap[0])) == stated("relative_cobias_reduction")
    for model, name in (("Llama-2-13B", "llama_2_13b"), ("Llama-2-70B", "llama_2_70b")):
        before, after = (averages(m, "cobias", model=model, shots="1")[0] for m in ("raw", "dnip"))
        wanted = stated(f"relative_cobias_reduction_{name}")
        assert round(100 * (1 - after / before)) == wanted


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


def test_label_order_has_the_cobias_of_its_class_accuracies_and_the_deviations_of_main():
    rows = published("label-order").numbers["rows"]
    for row in rows:
        rates = np.array(row["class_accuracies"]) / 100
        confusion = np.diag(rates) + np.roll(np.diag(1 - rates), 1, axis=1)
        assert row["cobias"] == pytest.approx(100 * cobias(confusion), abs=ROUNDED)
    of_main = {
        (row["method"], row["metric"]): row["tasks"][0]
        for row in main_rows(model="Llama-2-13B", shots="5")
    }
    for method, metric in itertools.product(("raw", "dnip"), ("accuracy", "cobias")):
        runs = [row[metric] for row in rows if row["method"] == method]
        spread = Spread.of(runs)
        mean, deviation = of_main[method, metric]
        assert spread.mean == pytest.approx(mean, abs=0.11)
        assert spread.deviation == pytest.approx(deviation, abs=ROUNDED)


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
