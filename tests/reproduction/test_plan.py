"""Plans: their format, and the tables that they ask for."""

from dataclasses import replace

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from reproduction.plan import built_in_plans, load_plan
from reproduction.planned_sources import planned_sources
from reproduction.registry import load_experiments
from reproduction.saved_sources import saved_sources
from texts import write_tables, write_texts

MINIMAL = 'tasks = ["agnews"]\n'


@pytest.fixture
def plan_of(tmp_path):
    def write(text):
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return load_plan(path)

    return write


@pytest.mark.parametrize("name", built_in_plans())
def test_bundled_plans_are_sound_and_say_what_they_are_for(name):
    plan = load_plan(name)
    assert plan.note
    assert plan.name == name
    assert set(plan.tasks) <= {"agnews", "dbpedia", "sst5", "trec", "rte", "ddi", "pubmedqa"}
    for model in plan.models:
        assert bool(model.parameters) == bool(plan.data) == (name not in ("small", "quick"))


@cases(
    ('tasks = ["agnew"]', "tasks[0]: there is no built-in task 'agnew'"),
    ('tasks = ["agnews", "agnews"]', "tasks must not have a value twice"),
    (MINIMAL + "sedes = [1]", "unknown key sedes. Keys here are name, note, tasks, data"),
    (MINIMAL + 'shots = ["many"]', "shots[0] must be 0, a number above it or 'balanced'"),
    (MINIMAL + "dev_share = 1.0", "dev_share must be below 1; got 1.0"),
    (MINIMAL + "[rows]\ntrec = { opt = 5 }", "unknown key rows.trec"),
    (MINIMAL + "[grid]\nsmoothing = [0]", "grid.smoothing[0] must be above 0"),
    (MINIMAL + '[[models]]\nmodel = "a/m"\n[[models]]\nmodel = "b/m"', "the same name"),
    (MINIMAL + '[[models]]\nmodel = "m"\nscoring = "last"', "models[0].scoring must be"),
    (MINIMAL + 'data = "eight"', "data: there is no built-in recipe of data 'eight'"),
    (MINIMAL + '[data.agnews]\nsource = "here"', "data.agnews.source must begin with hf:"),
    (MINIMAL + "seeds = [", "not valid TOML"),
)
def test_a_plan_that_breaks_the_format_is_refused(plan_of, text, told):
    with pytest.raises(InvalidInputError, match=r"plan\.toml") as caught:
        plan_of(text)
    assert told in str(caught.value)


@cases(
    ("[experiments.kd]\nx = 1", "unknown key experiments.kd. Experiments are main, confusion"),
    ("[experiments.cot]\nrow = 1", "unknown key experiments.cot.row. Keys here are rows"),
    ('[experiments.cot]\nrows = "all"', "experiments.cot.rows must be a valid integer"),
    (
        "[experiments.convergence]\nscales = [1]",
        "convergence.scales[0] must be greater than or equal to 2",
    ),
)
def test_wrong_options_are_refused_whatever_experiment_is_asked_for(plan_of, text, told):
    with pytest.raises(InvalidInputError, match="plan plan: ") as caught:
        load_experiments("confusion", plan_of(MINIMAL + text))
    assert told in str(caught.value)


def test_the_command_line_names_the_model_of_a_plan(plan_of):
    plan = plan_of(MINIMAL).with_model("models/small/")
    assert [(model.name, model.model) for model in plan.models] == [("small", "models/small/")]
    several = plan_of(MINIMAL + '[[models]]\nmodel = "a"\n[[models]]\nmodel = "b"\n')
    with pytest.raises(InvalidInputError, match="2 models"):
        several.with_model("c")


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    return load_plan("quick").with_model(str(tmp_path / "model"))


def sources_of(plan, tmp_path):
    return planned_sources(plan, tmp_path / "data", tmp_path / "out", tmp_path / "texts")


def test_prompts_that_reason_are_the_plain_ones_with_the_papers_sentences(plan, tmp_path):
    write_texts(tmp_path / "data")
    sources = sources_of(plan, tmp_path)
    reasoned = sources.reasoned(20, 16)[0]
    after, plain = (
        sources.requests[one.key].plan() for one in (reasoned.test, reasoned.plain_test)
    )
    ((_, label),) = after.builder.demonstrations
    asked = "Answer: Think step by step before answering."
    reason = after.task.chain_of_thought.rationales[label]
    expected = plain.prompts[0].text.replace("Topic:", f"{asked} {reason}", 1)
    assert after.prompts[0].text == expected.replace("Topic:", asked)


def test_what_a_table_depends_on_changes_its_key_and_nothing_else_does(plan, tmp_path):
    write_texts(tmp_path / "data")
    first = sources_of(plan, tmp_path)
    assert {row.test.key for row in sources_of(plan, tmp_path)} == {row.test.key for row in first}
    fewer = sources_of(plan.model_copy(update={"seeds": (0,)}), tmp_path)
    assert {row.test.key for row in fewer} < {row.test.key for row in first}
    (tmp_path / "model" / "config.json").write_text("{ }")
    other = sources_of(plan, tmp_path)
    assert not {row.test.key for row in other} & {row.test.key for row in first}
    with (tmp_path / "data" / "trec" / "test.jsonl").open("a") as file:
        file.write('{"text": "one more row", "label": 0}\n')
    grown = {row.task: row.test.key for row in sources_of(plan, tmp_path)}
    old = {row.task: row.test.key for row in other}
    assert grown["agnews"] == old["agnews"]
    assert grown["trec"] != old["trec"]


def test_an_opt_pool_from_the_test_split_shares_no_row_with_the_test_table(plan, tmp_path):
    write_texts(tmp_path / "data")
    source = next(iter(sources_of(plan, tmp_path)))
    assert source.opt.key == source.test.key
    lines = [f"{n % 4},{0.7 - n / 1000},{0.1 + n / 1000},0.1,0.1" for n in range(60)]
    table = tmp_path / "t.csv"
    table.write_text("label,p0,p1,p2,p3\n" + "\n".join(lines) + "\n")
    opt, test = (replace(ref, path=str(table)).read() for ref in (source.opt, source.test))
    assert len(opt) == len(test) == 30
    rows = {tuple(row) for row in opt.probabilities.tolist()}
    assert not rows & {tuple(row) for row in test.probabilities.tolist()}


def test_options_that_do_not_go_together_are_refused_in_terms_of_the_plan(tmp_path):
    write_texts(tmp_path / "data")
    plan = load_plan("quick").with_model("http://127.0.0.1:9/v1")
    with pytest.raises(InvalidInputError, match=r"needs the name of its model.*served_model = "):
        sources_of(plan, tmp_path)


def test_saved_tables_are_sources_and_bad_folders_are_named(tmp_path):
    folder = write_tables(tmp_path / "tables", ("b", "a"))
    (folder / "empty").mkdir()
    (folder / "bad").mkdir()
    (folder / "bad" / "opt.csv").write_text("label,p0,p1\n0,0.5,0.5\n")
    (folder / "bad" / "test.csv").write_text("label,p0,p1\n0,-1,0.5\n")
    sources = saved_sources(folder)
    assert [row.task for row in sources] == ["a", "b"]
    assert sources.rows[0].classes == ("World", "Sports", "Business", "Technology")
    unknown = {"shots": None, "seed": None}
    assert (
        sources.rows[0].labels == {"model": "models/small", "task": "a", "dataset": "a"} | unknown
    )
    assert set(sources.missing) == {"empty", "bad"}
    assert sources.requests == {}
    assert sources.reasoned(20, 16) == ()
    assert sources.first_seed() == sources.rows
