"""Every experiment with the small model on made-up texts, and the plans of the paper's families."""

import json
import re
from pathlib import Path

import pytest

from reproduction.plan import DevGrid, Rows, load_plan
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
        if name == "time":
            assert all(cell["result"]["model"] > 0 for cell in content["cells"])
    report = (tmp_path / "out" / "report.md").read_text()
    for place in ("Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Figure 6"):
        assert place in report
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", report):
        assert (tmp_path / "out" / picture).is_file()
    again = reproduce("all", plan, tmp_path / "out", data=data, jobs=2)
    assert again["cells_reused"] == again["cells"] == done["cells"]


ARCHITECTURES = {
    "gpt2-xl": "gpt2",
    "gemma-2-2b": "gemma2",
    "llama-2-13b": "llama",  # and the 7B of fewer shots
}


def in_little(plan, model):
    """The plan with another model, one task, one seed and few rows."""
    (only,) = plan.models
    return plan.model_copy(
        update={
            "models": (only.model_copy(update={"model": str(model)}),),
            "tasks": ("agnews",),
            "seeds": (0,),
            "rows": Rows(opt=40, test=20),
            "grid": DevGrid(smoothing=(1.0, 4000.0)),
            "dev_share": 0.2,
            "experiments": {"cot": {"rows": 4, "max_new_tokens": 4}},
        }
    )


def settings_of(folder):
    paths = (folder / "prompts").glob("*.meta.json")
    return [json.loads(path.read_text())["settings"] for path in paths]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_family_of_local_models(name, tmp_path, tiny_model):
    plan = in_little(load_plan(name), tiny_model(ARCHITECTURES[name]))
    done = reproduce("main", plan, tmp_path / "out", data=write_texts(tmp_path / "data"))
    assert done["failures"] == {}
    assert done["cells"] == len(plan.models[0].shots)
    for settings in settings_of(tmp_path / "out"):
        assert settings["engine"]["dtype"] == "bfloat16"
        assert settings["shots"] in plan.models[0].shots
