import pytest

from dnip.base.errors import InvalidInputError
from dnip.studies.reproduction.plan import bundled_plans, load_plan
from dnip.studies.reproduction.registry import load_experiments
from dnip.studies.reproduction.reproduction import with_model

MINIMAL = 'tasks = ["agnews"]\n'


@pytest.fixture
def plan_of(tmp_path):
    def write(text):
        path = tmp_path / "plan.toml"
        path.write_text(text)
        return load_plan(path)

    return write


@pytest.mark.parametrize("name", bundled_plans())
def test_bundled_plans_are_sound_and_say_what_they_are_for(name):
    plan = load_plan(name)
    assert plan.note
    assert plan.name == name
    assert set(plan.tasks) <= {"agnews", "dbpedia", "sst5", "trec", "rte", "ddi", "pubmedqa"}
    for model in plan.models:
        assert bool(model.memory) == bool(model.cost) == (name not in ("small", "quick"))


def test_what_a_plan_leaves_out_has_a_default(plan_of):
    plan = plan_of(MINIMAL)
    assert plan.seeds == (0,)
    assert plan.models[0].shots == (1,)
    assert plan.grid.beta == (2.7,)
    assert plan.limit("agnews", "opt") is None


def test_rows_of_a_task_win_over_rows_of_all(plan_of):
    plan = plan_of(MINIMAL + "[rows]\nopt = 100\ntest = 50\nagnews = { test = 70 }\n")
    assert plan.limit("agnews", "opt") == 100
    assert plan.limit("agnews", "test") == 70


def test_options_of_an_experiment_are_its_defaults_and_what_the_plan_says(plan_of):
    (cot,) = load_experiments("cot")
    plan = plan_of(MINIMAL + "[experiments.cot]\nrows = 7\n")
    assert plan.of(cot) == {**cot.options, "rows": 7}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "tasks must be a list"),
        ("tasks = []", "tasks must be a list"),
        ('tasks = ["agnew"]', "no built-in task 'agnew'"),
        ('tasks = ["agnews", "agnews"]', "names a task twice"),
        (MINIMAL + "sedes = [1]", "sedes is no key of a plan"),
        (MINIMAL + "seeds = [0, -1]", "seeds must be different whole numbers"),
        (MINIMAL + "seeds = [0, 0]", "seeds must be different whole numbers"),
        (MINIMAL + 'shots = ["many"]', "shots must be numbers from 0 or 'balanced'"),
        (MINIMAL + "dev_share = 1.0", "dev_share must lie between 0 and 1"),
        (MINIMAL + 'opt_split = "dev"', "opt_split must be one of train, test"),
        (MINIMAL + "[rows]\nopt = 0", "rows.opt must be a whole number from 1"),
        (MINIMAL + "[rows]\ntrec = { opt = 5 }", "rows.trec is no key"),
        (MINIMAL + "[rows]\nagnews = 5", "rows.agnews must be a table"),
        (MINIMAL + "[grid]\nbeta = []", "grid.beta must be a list"),
        (MINIMAL + "[grid]\nscale = [1]", "grid.scale must be whole numbers from 2"),
        (MINIMAL + "[grid]\ntau = [-1]", "grid.tau must be numbers from 0"),
        (MINIMAL + "[grid]\nsmoothing = [0]", "grid.smoothing must be numbers above 0"),
        (MINIMAL + "[grid]\ngamma = [1]", "grid.gamma is no key"),
        (MINIMAL + "models = 3", "models must be [[models]] tables"),
        (MINIMAL + '[[models]]\nmodel = "m"\ntemperatur = 1', "temperatur is no key"),
        (MINIMAL + '[[models]]\nmodel = "m"\ndtype = 16', "dtype must be of kind str"),
        (MINIMAL + '[[models]]\nmodel = "a/m"\n[[models]]\nmodel = "b/m"', "the same name"),
        (MINIMAL + "[experiments.kd]\nx = 1", "experiments.kd is no key"),
        (MINIMAL + "[experiments.cot]\nrow = 1", "experiments.cot.row is no key"),
        (MINIMAL + '[experiments.cot]\nrows = "all"', "experiments.cot.rows must be like 0"),
        (MINIMAL + "seeds = [", "not valid TOML"),
    ],
)
def test_a_plan_that_breaks_the_format_is_refused(plan_of, text, told):
    with pytest.raises(InvalidInputError, match=r"plan\.toml") as caught:
        plan_of(text)
    assert told in str(caught.value)


def test_an_unknown_plan_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"no bundled plan 'huge'.*small"):
        load_plan("huge")


def test_a_plan_file_that_is_not_there():
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_plan("nowhere.toml")


def test_the_command_line_names_the_model_of_a_plan(plan_of):
    plan = with_model(plan_of(MINIMAL), "models/small/")
    assert [(model.name, model.model) for model in plan.models] == [("small", "models/small/")]
    several = plan_of(MINIMAL + '[[models]]\nmodel = "a"\n[[models]]\nmodel = "b"\n')
    with pytest.raises(InvalidInputError, match="2 models"):
        with_model(several, "c")
