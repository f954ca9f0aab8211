"""Plans of ``dnip reproduce`` whose keys and values were changed."""

import tomllib
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from dnip.studies.reproduction.plan import built_in_plans
from fuzzing import fuzzed, run, workshop
from mutations import damaged, damaged_json
from test_extreme_options import TABLE
from test_tasks import as_toml
from texts import write_texts

FOLDER = files("dnip.studies.reproduction") / "plans"
SOURCES = [(FOLDER / f"{name}.toml").read_text() for name in built_in_plans()]
EXPERIMENTS = ["all", "main", "confusion", "opt-size", "time"]
plans = st.sampled_from(SOURCES)


def try_plan(experiment, plan, *options):
    tables = {f"tables/news/{part}.csv": TABLE for part in ("opt", "test")}
    with workshop({"plan.toml": plan, **tables}) as folder:
        source = ["--tables", "tables"]
        if "--model" in options:
            source = ["--data", "data"]
            write_texts(folder / "data", rows=4)
        line = [*source, *options, "--plan", "plan.toml", "--out", "o"]
        run("reproduce", experiment, *line, outputs=("o",))


@fuzzed(8)
@given(st.sampled_from(EXPERIMENTS), plans, st.data())
def test_changed_values(experiment, plan, data):
    changed = data.draw(damaged_json(tomllib.loads(plan)))
    content = as_toml(changed) if isinstance(changed, dict) else "x = 1"
    options = data.draw(st.sampled_from([[], ["--json"], ["--model", "http://127.0.0.1:9/v1"]]))
    try_plan(experiment, content, "--dry-run", *options)


@fuzzed(1)
@given(st.sampled_from(["confusion", "opt-size", "kde"]), st.data())
def test_runs(experiment, data):
    short = 'tasks = ["agnews"]\nseeds = [0]\n[experiments.opt-size]\nsizes = [2, 4]\n'
    changed = data.draw(damaged_json(tomllib.loads(short)))
    try_plan(experiment, as_toml(changed if isinstance(changed, dict) else {}), "--jobs", "1")


@fuzzed(8)
@given(st.sampled_from(EXPERIMENTS), plans, st.data())
def test_changed_bytes(experiment, plan, data):
    try_plan(experiment, data.draw(damaged(plan.encode())), "--dry-run")
