import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from reproduction.plan import built_in_plans, load_plan
from reproduction.registry import load_experiments

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
    ('[experiments.cot]\nrows = "all"', "experiments.cot.rows must be a whole number"),
    ("[experiments.convergence]\nscales = [1]", "convergence.scales[0] must be 2 or more"),
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
