"""The paper's own numbers, which are right."""

import re
from collections import Counter
from pathlib import Path

import pytest

from reproduction.probabilities import TASKS
from reproduction.published import paper_rows, published, table_2

PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "dnip-paper.tex"


@pytest.mark.skipif(not PAPER.is_file(), reason=f"the paper's source is not at {PAPER}")
@pytest.mark.parametrize("experiment", ["main", "time", "label-order", "cot", "opt-size"])
def test_every_number_stands_in_the_source_of_the_paper(experiment):
    tex = PAPER.read_text(encoding="utf-8").replace("1,000", "1000")
    there = Counter(float(number) for number in re.findall(r"\d+(?:\.\d+)?", tex))
    ours = Counter(abs(float(number)) for number in flat_numbers(published(experiment)["rows"]))
    assert {number: n for number, n in ours.items() if n > there[number]} == {}


def flat_numbers(value):
    if isinstance(value, dict):
        value = [v for k, v in value.items() if k not in ("model", "shots", "seed", "footnote")]
    if isinstance(value, list):
        for part in value:
            yield from flat_numbers(part)
    elif isinstance(value, int | float):
        yield value


def test_averages_of_table_2_are_those_that_the_text_prints():
    cobias, accuracy = (
        [table_2(way, m, TASKS) for way in ("raw", "dnip")] for m in ("cobias", "accuracy")
    )
    assert [round(100 * value, 1) for value in (*cobias, accuracy[1])] == [37.6, 14.7, 67.6]
    assert round(100 * (cobias[1] / cobias[0] - 1)) == -61
    assert round(100 * (accuracy[1] / accuracy[0] - 1)) == 18


def test_tables_of_the_paper_are_shown_as_they_are_printed():
    header, rows = paper_rows("label-order")
    assert header[:3] == ["seed", "order", "method"]
    assert rows[0][:4] == ["0", "3, 0, 0, 3, 3", "raw", "84.6"]
    header, rows = paper_rows("cot")
    assert rows[0][header.index("accuracy")] == "37.1 ± 3.5"
