"""The report: every table, figure and claim, beside the paper's own numbers, which are right."""

import json

from dnip.presenting.artefacts import Column, Figure, Table
from reproduction.experiment import Claim, Text
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
