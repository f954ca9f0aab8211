"""The report: every table, figure and statement, beside the paper's own numbers."""

import json
import sys

import pytest

from dnip.base.errors import OutputError
from reproduction.artefacts import Column, Figure, Section, Statement, Table, Text
from reproduction.plan import ModelPlan, load_plan
from reproduction.registry import EXPERIMENTS
from reproduction.report import write_report
from reproduction.summary import describe_models
from results import experiment, of_kind, results

MANIFEST = {
    "inputs": {
        "saved_tables": "tables",
        "plan": {"models": [], "seeds": [0, 1], "dev_share": 0.2},
    },
    "runs": [{"command": ["/somewhere/bin/dnip", "reproduce", "time", "--out", "my results"]}],
    "missing": {"rte": "no data"},
}


def sections():
    table = Table("mine", "Seconds", [Column("task"), Column("s")], [("a", 2.5)])
    figure = Figure("bars", "Bars", lambda canvas: canvas.subplots().bar([0, 1], [1, 2]))
    claims = [Statement(f"claim {v}", "said", "seen", v, {"x": 1}) for v in (True, False, None)]
    claims.append(Statement("our claim", "", "seen", True, ours=True))
    failures = {"time b": "out of memory"}
    return [
        Section("time", "Time", "Table 3", (table, figure, Text("A *word*."), *claims), failures),
    ]


def test_writes_tables_figures_statements_and_both_pages(tmp_path):
    written = write_report(tmp_path, sections(), MANIFEST)
    names = {str(path.relative_to(tmp_path)) for path in written}
    assert names == {
        "tables/mine.md",
        "tables/mine.tex",
        "tables/mine.csv",
        "figures/bars.png",
        "statements.json",
        "report.md",
        "report.html",
    }
    assert all(path.is_file() for path in written)
    assert (tmp_path / "tables" / "mine.csv").read_text() == "task,s\na,2.5\n"
    judged = json.loads((tmp_path / "statements.json").read_text())
    assert [one["verdict"] for one in judged] == [
        "confirmed",
        "not confirmed",
        "cannot tell",
        "confirmed",
    ]


def test_page_holds_the_papers_numbers_and_what_failed(tmp_path):
    write_report(tmp_path, sections(), MANIFEST)
    text = (tmp_path / "report.md").read_text()
    assert "Ruixi Lin and Yang You" in text
    assert "dnip reproduce time --out 'my results'" in text
    assert "/somewhere" not in text
    assert "| AGN | 2,278 | 120 |" in text
    assert "| a | 2.5 |" in text
    assert "1 confirmed, 1 not confirmed, 1 cannot tell" in text
    assert "- rte: no data" in text
    assert "- time b: out of memory" in text
    assert "Not part of this run: main, confusion, kde," in text
    assert text.index("2,278") < text.index("![Bars](figures/bars.png)")
    assert "data:image/png;base64," in (tmp_path / "report.html").read_text()


def test_page_begins_with_a_summary_in_which_the_papers_claims_and_ours_are_counted_apart(tmp_path):
    tasks = Table(
        "main-tasks",
        "Tasks",
        [Column("m"), Column("t"), Column("able")],
        [("m", "rte", "no"), ("m", "agnews", "yes")],
    )
    main = Section("main", "Main", "Table 2", (tasks,))
    manifest = {**MANIFEST, "models": {"small": "A model of <b> 3 parameters."}}
    write_report(tmp_path, [main, *sections()], manifest)
    text = (tmp_path / "report.md").read_text()
    summary = text[text.index("## Summary") : text.index("## What the paper says")]
    assert "saved probability tables (tables)" in summary
    assert "**The table small:** A model of \\<b" in summary
    assert "**At chance:** rte." in summary
    assert "**Agrees with the paper:**\n\n- claim True\n" in summary
    assert "**Does not agree with the paper:**\n\n- claim False\n" in summary
    assert "**These runs cannot tell:**\n\n- claim None\n" in summary
    assert "claims:** of 3, 1 confirmed, 1 not confirmed, 1 cannot tell" in summary
    assert "own claims:** of 1, 1 confirmed, 0 not" in summary
    assert "our claim" not in summary
    assert text.count("| rte |") == 1  # in the summary alone
    assert "our claim" in text[text.index("## What this project says") :]


def test_a_model_is_described_by_its_card_and_its_training(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    plan = load_plan("small").with_model(str(folder))
    assert describe_models(plan) == {}
    card = "---\nlicense: mit\n---\n# A title\n\nA `small` model\nof words.\n\nMore.\n"
    (folder / "MODEL_CARD.md").write_text(card)
    assert describe_models(plan) == {"m": "A small model of words."}
    done = {"step": 10, "tokens": 2000}
    (folder / "training.json").write_text(json.dumps({"done": done}))
    words = "A small model of words. Its training took 10 steps and 2,000 tokens."
    assert describe_models(plan) == {"m": words}
    assert describe_models(load_plan("llama-2-7b")) == {}


def test_models_of_the_plan_are_named_where_they_were_prompted(tmp_path):
    small = ModelPlan(name="small")
    plan = load_plan("small").model_copy(
        update={"models": (small, small.model_copy(update={"name": "large"}))}
    )
    write_report(
        tmp_path,
        [],
        {
            **MANIFEST,
            "inputs": {
                "saved_tables": None,
                "plan": plan.to_dict(),
            },
        },
    )
    text = (tmp_path / "report.md").read_text()
    assert "small, large, by the plan small" in text
    assert (
        "The opt pool is of the test split, as the model was trained on the other; 20% of" in text
    )
    assert "seeds 0, 1, 2" in text


@pytest.mark.parametrize(
    ("names", "differ"), [(["Llama-2-7B"], False), (["Llama-2-7B", "small"], True)]
)
def test_models_are_said_to_differ_unless_all_are_the_papers(tmp_path, names, differ):
    models = tuple(ModelPlan(name=name) for name in names)
    plan = load_plan("small").model_copy(update={"models": models})
    inputs = {"saved_tables": None, "plan": plan.to_dict()}
    write_report(tmp_path, [], {**MANIFEST, "inputs": inputs})
    text = (tmp_path / "report.md").read_text()
    assert ("models differ" in text) == differ
    assert ("models of the same name" in text) != differ


def test_figures_are_left_out_and_named_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    written = write_report(tmp_path, sections(), MANIFEST)
    assert not any(path.suffix == ".png" for path in written)
    text = (tmp_path / "report.md").read_text()
    assert "Not drawn: Bars" in text
    assert "dnip[plot]" in text


def test_the_page_in_html_is_left_out_without_its_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    written = write_report(tmp_path, sections(), MANIFEST)
    assert not any(path.suffix == ".html" for path in written)
    text = (tmp_path / "report.md").read_text()
    assert "Not written: report.html" in text
    assert "dnip[report]" in text


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "tables").write_text("a file")
    with pytest.raises(OutputError, match="tables"):
        write_report(tmp_path, sections(), MANIFEST)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_whose_cells_all_failed_draws_nothing(name):
    assert of_kind(experiment(name).present(results()), (Table, Figure, Statement)) == []
