"""The report, and the paper's own numbers, which are right."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from cases import cases
from dnip.presenting.artefacts import Column, Figure, Table
from reproduction.experiment import Claim, Text
from reproduction.published import published, table_2
from reproduction.report import Section, write_report

MANIFEST = {
    "inputs": {"saved_tables": "tables", "plan": {"seeds": [0, 1], "dev_share": 0.2, "grid": {}}},
    "runs": [{"command": ["/somewhere/__main__.py", "time", "--out", "my results"]}],
    "missing": {"rte": "no data"},
}


def sections():
    table = Table("mine", "Seconds", [Column("task"), Column("s")], [("a", 2.5)])
    figure = Figure("bars", "Bars", lambda canvas: canvas.subplots().bar([0, 1], [1, 2]))
    claims = [Claim(f"claim {v}", "said", "seen", v) for v in (True, False, None)]
    failures = {"time b": "out of <memory>"}
    return [
        Section("time", "Time", "Table 3", (table, figure, Text("A *word*."), *claims), failures)
    ]


def test_the_page_holds_the_claims_the_papers_numbers_and_what_failed(tmp_path):
    written = write_report(tmp_path, sections(), MANIFEST)
    names = {str(path.relative_to(tmp_path)) for path in written}
    assert names >= {"tables/mine.md", "figures/bars.png", "claims.json"}
    assert all(path.is_file() for path in written)
    judged = json.loads((tmp_path / "claims.json").read_text())
    assert [one["verdict"] for one in judged] == ["holds", "does not hold", "not judged"]
    text = (tmp_path / "report.md").read_text()
    assert "Ruixi Lin and Yang You" in text
    assert "python -m reproduction time --out 'my results'" in text
    assert "/somewhere" not in text
    assert "saved probability tables (tables)" in text
    assert "What the paper says: 1 holds, 1 does not hold, 1 not judged" in text
    assert "| time | claim None | said | seen | not judged |" in text
    assert "| AGN | 2,278 | 120 |" in text
    assert "| a | 2.5 |" in text
    assert "- rte: no data" in text
    assert "- time b: out of \\<memory" in text
    assert text.index("2,278") < text.index("![Bars](figures/bars.png)")


PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "dnip-paper.tex"


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


def mean(way, metric, **labels):
    """The mean over rows of table 2, in per cent."""
    return 100 * table_2().where(**labels).over_rows(way, metric)


def change(metric, **labels):
    """The relative change of such a mean by DNIP."""
    return 100 * (mean("paper", metric, **labels) / mean("raw", metric, **labels) - 1)


L13, L70 = ({"model": f"Llama-2-{size}B", "shots": 1} for size in (13, 70))
N_SHOT = {"model": "Llama-2-13B", "shots": "balanced"}


@cases(
    # those of all models: tests/reproduction/test_main_results.py
    (mean("raw", "cobias", **N_SHOT), 25.6),
    (mean("paper", "cobias", **N_SHOT), 7.5),
    (change("cobias", **L13), -65),  # section 5.1
    (change("cobias", **L70), -46),
    (mean("paper", "accuracy", **L13) - mean("raw", "accuracy", **L13), 10),
    (mean("paper", "accuracy", **L70) - mean("raw", "accuracy", **L70), 7),
)
def test_summaries_of_table_2(found, printed):
    digits = 1 if isinstance(printed, float) else 0
    assert found == pytest.approx(printed, abs=0.5 * 10**-digits + 0.02)
