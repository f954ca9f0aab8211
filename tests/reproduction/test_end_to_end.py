"""Every experiment with the small language model on made-up texts: texts to report."""

import json
import re
from pathlib import Path

import pytest

from reproduction.plan import Rows, load_plan
from reproduction.registry import EXPERIMENTS
from reproduction.run import reproduce
from texts import write_texts

MODEL = Path(__file__).parents[2] / "models" / "small"


def test_the_reduced_plan_from_texts_to_report(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    plan = load_plan("quick").with_model(str(MODEL))
    plan = plan.model_copy(update={"rows": Rows(opt=60, test=60), "dev_share": 0.2, "seeds": (0,)})
    data = write_texts(tmp_path / "data", rows=120)
    done = reproduce("all", plan, tmp_path / "out", data=data, jobs=2)
    assert done["failures"] == {}
    assert done["experiments"] == list(EXPERIMENTS)
    for name in EXPERIMENTS:
        content = json.loads((tmp_path / "out" / "results" / f"{name}.json").read_text())
        assert content["cells"], name
    report = (tmp_path / "out" / "report.md").read_text()
    for place in ("Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Figure 6"):
        assert place in report
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", report):
        assert (tmp_path / "out" / picture).is_file()
    again = reproduce("all", plan, tmp_path / "out", data=data, jobs=2)
    assert again["cells_reused"] == again["cells"] == done["cells"]
