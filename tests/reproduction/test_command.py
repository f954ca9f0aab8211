import json

import pytest

from cases import cases
from dnip import ProbabilityTable
from results import METHODS, starving_table
from texts import write_tables

#: Cheap, and the same for every test here.
PLAN = """
tasks = ["agnews", "trec"]
seeds = [0]
[[models]]
truncate = true
[experiments.opt-size]
sizes = [10, 100]
[experiments.cot]
rows = 4
max_new_tokens = 4
[experiments.convergence]
scales = [4]
runs = 1
finer = [4, 30]
"""


@pytest.fixture
def work(folder):
    """Saved tables of one table, a plan, and a folder to be written."""
    write_tables(folder / "tables")
    (folder / "plan.toml").write_text(PLAN)
    return folder


SAVED = ("--tables", "tables", "--plan", "plan.toml", "--out", "out", "--jobs", "1")


def results_of(folder):
    return {path.name: path.read_text() for path in (folder / "results").glob("*.json")}


def test_an_experiment_on_saved_tables_leaves_results_and_a_manifest(work, reproduce):
    found = reproduce("confusion", *SAVED, "--json")
    assert found.status == 0
    assert found.json["cells"] == 1
    assert found.json["failures"] == {}
    content = json.loads((work / "out/results/confusion.json").read_text())
    assert {"raw", "paper", "authors", "optimum", "ours"} <= set(content["cells"][0]["result"])
    header = (work / "out/results/confusion.csv").read_text().splitlines()[0]
    assert header.startswith("model,task,dataset,shots,seed,order,n_opt")
    manifest = json.loads((work / "out/manifest.json").read_text())
    assert manifest["inputs"]["plan"]["tasks"] == ["agnews", "trec"]
    assert manifest["inputs"]["package_version"]
    assert len(manifest["runs"]) == 1


@cases(
    ("ablation", [f"ablation-{method}" for method in sorted(METHODS)], 2),
    ("single", [f"single-{method}" for method in sorted(METHODS)], 2),
    ("kde", ["kde", "kde-weights"], 3),
    ("overview", [], 3),
    ("convergence", ["convergence", "convergence-scales"], 0),
)
def test_an_experiment_goes_from_tables_to_report(folder, reproduce, name, tables, figures):
    for n_classes in (3, 4):
        (folder / f"tables/{n_classes}").mkdir(parents=True)
        for part, rows in (("opt", 120), ("test", 150)):
            table = starving_table(rows, rows + n_classes, n_classes)
            unnamed = ProbabilityTable(table.probabilities, table.labels)
            unnamed.write(folder / f"tables/{n_classes}/{part}.csv")
    (folder / "plan.toml").write_text(PLAN.replace("[0]", "[0, 1]", 1))
    found = reproduce(name, *SAVED, "--json")
    assert (found.status, found.json["failures"]) == (0, {})
    assert sorted(path.stem for path in (folder / "out/tables").glob("*.md")) == tables
    assert len(list((folder / "out/figures").glob("*.png"))) == figures
    assert json.loads((folder / "out/claims.json").read_text())


def test_experiments_that_prompt_are_left_out_of_saved_tables(work, reproduce):
    found = reproduce("all", *SAVED, "--dry-run", "--json")
    assert {"cot", "label-order"} <= set(found.json["left_out"])
    assert "main" in found.json["experiments"]
    assert not (work / "out").exists()
    reproduce("cot", *SAVED).assert_refused("cot", "only saved tables", "--model")


def test_another_plan_in_the_same_folder_is_refused_unless_wanted(work, reproduce):
    assert reproduce("confusion", *SAVED).status == 0
    before = results_of(work / "out")
    (work / "plan.toml").write_text(PLAN.replace("seeds = [0]", "seeds = [0, 1]\ndev_share = 0.1"))
    refused = reproduce("confusion", *SAVED)
    refused.assert_refused("another plan", "dev_share was 0.05, is 0.1", "--replan")
    assert results_of(work / "out") == before
    assert reproduce("confusion", *SAVED, "--replan").status == 0
    assert results_of(work / "out") != before


@cases(
    (("everything", *SAVED), "no experiment 'everything'"),
    (("main", "--tables", "tables", "--plan", "huge", "--out", "out"), "no built-in plan"),
    (("main", "--tables", "nowhere", "--out", "out"), "no such folder"),
    (("main", "--tables", ".", "--out", "out"), "no folder in it holds"),
    (("main", "--out", "out"), "--tables"),
    (("main", "--tables", "tables", "--data", "tables", "--out", "out"), "--tables"),
    (("main", "--data", "tables", "--out", "out"), "no task of the plan has data"),
    (("main", "--tables", "tables", "--out", "plan.toml"), "cannot make the folder"),
    (("main", "--tables", "tables", "--out", "."), "tables lie one in the other"),
)
def test_wrong_input_is_refused(work, reproduce, arguments, told):
    reproduce(*arguments).assert_refused(told)
    assert not (work / "out").exists()


def test_a_cell_that_fails_is_reported_and_the_others_are_done(work, reproduce):
    plan = PLAN.replace("seeds = [0]", "seeds = [0]\ndev_share = 0.0001")
    (work / "plan.toml").write_text(plan)
    found = reproduce("confusion", *SAVED)
    assert found.status == 1
    assert "failed: confusion" in found.err
    assert "part dev would be empty" in found.err
    assert "the same command again" in found.err
    manifest = json.loads((work / "out/manifest.json").read_text())
    assert len(manifest["failures"]) == 1


def test_a_second_run_in_the_same_folder_is_refused(work, reproduce):
    fcntl = pytest.importorskip("fcntl")
    (work / "out").mkdir()
    with (work / "out/.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        reproduce("confusion", *SAVED).assert_refused("another run is working there")
