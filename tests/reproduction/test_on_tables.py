"""The table experiments from a folder of tables to the report."""

import json

import pytest

from reproduction.plan import ReproductionPlan
from reproduction.run import reproduce
from results import METHODS, as_folder, starving_table

PLAN = ReproductionPlan(
    name="test",
    tasks=("agnews",),
    seeds=(0, 1),
    experiments={"convergence": {"scales": [4], "factors": [0.2], "runs": 1, "finer": [4, 30]}},
)


@pytest.mark.parametrize(
    ("name", "tables", "figures"),
    [
        ("ablation", [f"ablation-{method}" for method in sorted(METHODS)], 2),
        ("single", [f"single-{method}" for method in sorted(METHODS)], 2),
        ("kde", ["kde", "kde-weights"], 2),
        ("overview", ["overview", "overview-classes"], 1),
        ("convergence", ["convergence", "convergence-scales"], 0),
    ],
)
def test_from_tables_to_report(tmp_path, name, tables, figures):
    folder = as_folder(
        tmp_path / "saved",
        three=(starving_table(120, 1), starving_table(150, 2)),
        four=(starving_table(120, 3, 4), starving_table(150, 4, 4)),
    )
    out = tmp_path / "out"
    done = reproduce(name, PLAN, out, tables=folder)
    assert done["failures"] == {}
    found = sorted(path.stem for path in (out / "tables").glob("*.md"))
    assert found == tables
    assert len(list((out / "figures").glob("*.png"))) == figures
    assert json.loads((out / "claims.json").read_text())
    again = reproduce(name, PLAN, out, tables=folder)
    assert again["cells_reused"] == done["cells"]
