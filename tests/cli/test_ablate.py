"""``dnip ablate``: table, JSON, CSV, picture, and what is refused."""

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from selection_populations import skewed


@pytest.fixture
def tables(folder):
    skewed(60).write("opt.csv")
    skewed(60, 1).write("test.csv")
    return folder


def test_json_csv_and_picture_tell_the_same(dnip, tables):
    run = dnip("ablate", "opt.csv", "test.csv", "--seeds", "0,3", "--solver", "anneal", "--json")
    assert (run.status, run.err) == (0, "")
    assert len(run.json["rows"]) == 8
    assert run.json["written"] == [
        f"dnip-ablation/ablation.{suffix}" for suffix in ("json", "csv", "png")
    ]
    stored = json.loads(Path("dnip-ablation/ablation.json").read_text())
    assert stored == {name: run.json[name] for name in stored}
    with Path("dnip-ablation/ablation.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 + 7 * 2 * 2
    for row in run.json["rows"]:
        for side in ("opt", "test"):
            values = [
                float(line["cobias"])
                for line in lines
                if (line["objective"], line["rows"]) == (row["name"], side)
            ]
            assert row[side]["cobias"] == pytest.approx(sum(values) / len(values))
    assert Path("dnip-ablation/ablation.png").read_bytes().startswith(b"\x89PNG")


def test_the_text_is_one_table(dnip, tables):
    text = dnip("ablate", "opt.csv", "test.csv", "--cobias", "single", "--beta", "1").out
    lines = text.splitlines()
    assert lines[0].split() == ["opt", "test"]
    assert lines[1].startswith("objective   minimises")
    assert [line.split()[0] for line in lines[2:10]] == [
        "raw", "z1", "z2", "z3", "z1+βz2", "z1-τz3", "βz2-τz3", "z1+βz2-τz3"
    ]  # fmt: skip
    assert re.search("^z2 +COBias_sing", text, re.MULTILINE)  # cut where the table is wide
    assert lines[1].count("COBias_single") == 2
    assert "β = 1, τ = 0.2, μ = 4000, scale 30, coordinate, seed 0" in text


def test_without_matplotlib_the_picture_is_left_out(dnip, tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    run = dnip("ablate", "opt.csv", "--json")
    assert (run.status, len(run.json["written"])) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("opt.csv", "opt.csv"), "hold the same rows"),
        (("none.csv",), "none.csv"),
        (("opt.csv", "none.csv"), "none.csv"),
        (("opt.csv", "--beta", "-1"), "beta must be"),
        (("opt.csv", "--solver", "exact", "--scale", "continuous"), "have none"),
    ],
)
def test_bad_input_is_status_1(dnip, tables, arguments, told):
    dnip("ablate", *arguments).assert_refused(told)


def test_wrong_seeds_are_status_2(dnip, tables):
    run = dnip("ablate", "opt.csv", "--seeds", "0,x")
    run.assert_wrong_usage("'x' is not a seed; write them like 0,1,2")
