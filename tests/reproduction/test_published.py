"""The paper's numbers fit together where the paper's do, and are those of its source."""

import itertools
import math
import re
import statistics
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dnip.metrics import cobias
from dnip.presenting.artefacts import Spread
from reproduction.experiments.costs import power_law
from reproduction.naming import SHORT_TASKS
from reproduction.published import citation, paper_table, published
from reproduction.registry import EXPERIMENTS

PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "dnip-paper.tex"
N_CLASSES = {
    "agnews": 4,
    "dbpedia": 14,
    "sst5": 5,
    "trec": 6,
    "rte": 2,
    "ddi": 5,
    "pubmedqa": 3,
}
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


def test_citation_names_authors_and_title():
    assert "Lin" in citation()
    assert "Equitable Prompting Accuracy" in citation()


def test_main_has_seven_settings_of_seven_tasks():
    numbers = published("main").numbers
    assert numbers["tasks"] == list(SHORT_TASKS)
    assert Counter((row["method"], row["metric"]) for row in numbers["rows"]) == dict.fromkeys(
        itertools.product(("raw", "dnip"), ("accuracy", "cobias")), 7
    )
    assert all(len(row["tasks"]) == 7 for row in numbers["rows"])


def test_averages_of_main_are_means_over_tasks():
    for row in main_rows():
        mean = statistics.fmean(cell[0] for cell in row["tasks"])
        assert row["all"][0] == pytest.approx(mean, abs=ROUNDED), row["model"]


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


def test_what_the_paper_states_beside_the_table_but_the_table_does_not_hold():
    """The remarks on table 2 are true."""
    of_one_shot = averages("raw", "cobias", shots="1")
    assert round(statistics.fmean(of_one_shot), 1) == 39.7
    assert round(statistics.fmean(averages("raw", "cobias")), 1) == stated("average_cobias_1_shot")
    assert min(of_one_shot) == 31.8 < stated("cobias_1_shot_above")
    falls = [
        (before["model"], before["shots"], task)
        for before in main_rows(method="raw", metric="accuracy")
        for after in main_rows(
            method="dnip", metric="accuracy", model=before["model"], shots=before["shots"]
        )
        for task, was, now in zip(SHORT_TASKS, before["tasks"], after["tasks"], strict=True)
        if now[0] < was[0]
    ]
    assert falls == [
        ("GPT-2-XL", "1", "rte"),
        ("Llama-2-70B", "1", "pubmedqa"),
        ("Llama-2-13B", "5", "pubmedqa"),
    ]
    for row in main_rows(method="dnip", metric="accuracy"):
        assert row["all"][1] == row["tasks"][0][1]


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


def test_variable_space_is_n_times_k_and_times_follow_rows():
    time = published("time").numbers
    for row in time["rows"]:
        assert row["variable_space"] == N_CLASSES[row["task"]] * time["scale"]
    seconds = [row["seconds"] for row in time["rows"]]
    rows = published("opt-size").numbers["full_sizes"]
    in_space = power_law([row["variable_space"] for row in time["rows"]], seconds)[1]
    in_rows = power_law(rows, seconds)[1]
    assert (round(in_space, 2), round(in_rows, 2)) == (0.68, 0.99)


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


def test_chain_of_thought_changes_are_against_the_one_shot_row_of_main():
    cot = published("cot").numbers
    differing = 0
    for metric in ("accuracy", "cobias"):
        (plain,) = main_rows(model=cot["model"], shots="1", method="raw", metric=metric)
        for row, cell in zip(cot["rows"], plain["tasks"], strict=True):
            change = row[metric][0] - cell[0]
            assert row[f"{metric}_change"] == pytest.approx(change, abs=0.11)
            differing += not math.isclose(row[f"{metric}_change"], change, abs_tol=ROUNDED)
        mean = statistics.fmean(row[metric][0] for row in cot["rows"])
        assert cot["all"][metric] == pytest.approx(mean, abs=ROUNDED)
    assert differing == 4


def test_opt_sizes_begin_and_end_at_the_rows_of_main():
    numbers = published("opt-size").numbers
    differing = []
    for row in numbers["rows"]:
        if row["opt_size"] not in (0, "full"):
            continue
        method = "raw" if row["opt_size"] == 0 else "dnip"
        for metric in ("accuracy", "cobias"):
            (of_main,) = main_rows(model=row["model"], shots="1", method=method, metric=metric)
            differing += [
                (row["model"], task, metric)
                for task, here, there in zip(
                    numbers["tasks"], row[metric], of_main["tasks"], strict=True
                )
                if here != there
            ]
    assert differing == [("Llama-2-7B", "sst5", "accuracy")]


def test_remarks_on_opt_sizes_are_true():
    numbers = published("opt-size").numbers
    by_size = {(row["model"], row["opt_size"]): row for row in numbers["rows"]}
    for metric in ("accuracy", "cobias"):
        ten, none = (by_size["Llama-2-7B", size][metric][0] for size in (10, 0))
        assert ten == none

    def gap(model, size):
        full = by_size[model, "full"]["cobias"]
        cells = zip(by_size[model, size]["cobias"], full, strict=True)
        return statistics.fmean((cell or whole)[0] for cell, whole in cells)

    assert gap("Llama-2-13B", 1000) > gap("Llama-2-13B", 100) > gap("Llama-2-13B", "full")
    assert gap("GPT-2-XL", 1000) > gap("GPT-2-XL", 500) > gap("GPT-2-XL", "full")


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
