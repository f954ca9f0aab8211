"""Label order, chain of thought and opt sizes: what is presented of results."""

import json

import numpy as np
import pytest

from dnip import ProbabilityTable
from reproduction.artefacts import Figure, Spread, Statement, Table, Text
from reproduction.experiments.chain_of_thought import compare_answers
from reproduction.experiments.opt_sizes import FULL, debias_on_draw
from results import METHODS, experiment, of_kind, results, starving_table, verdicts


def orders(*seeds):
    """Cells of label-order: (order of labels, class accuracies) by seed, before and after DNIP."""
    found = []
    for seed, (order, accuracies) in enumerate(seeds):
        scored = {"accuracy": 0.5, "cobias": 0.1, "class_accuracies": accuracies}
        result = dict.fromkeys(("raw", *METHODS), scored)
        labels = {"task": "t", "shots": 5, "seed": seed, "order": order}
        found.append((labels, {**result, "classes": ["x", "y", "z"]}))
    return experiment("label-order").present(results(*found))


def test_label_order_shows_every_seed_for_each_way():
    (table,) = of_kind(orders(([0, 1, 1], [0.1, 0.9, None]), ([2, 2, 0], [0.3, 0.2, 0.1])), Table)
    assert next(row for row in table.rows if isinstance(row, str)) == "5-shot raw argmax"
    lines = [row for row in table.rows if not isinstance(row, str)]
    assert len(lines) == 10
    assert lines[0] == ("seed0", "0, 1, 1", 0.5, 0.1, 0.1, 0.9, None, 0)
    assert lines[2][1] is None


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ([([0, 1, 1], [0.1, 0.9, None]), ([2, 2, 0], [0.3, 0.9, 0.1])], [True, True]),
        # always the one shown most
        ([([0, 1, 1], [0.1, 0.9, None]), ([1, 1, 0], [0.3, 0.9, 0.1])], [False, False]),
        # always the last
        ([([1, 1, 0], [0.9, 0.1, 0.2]), ([2, 2, 0], [0.9, 0.1, 0.1])], [False, False]),
        # not one class under all seeds
        ([([0, 0, 1], [0.1, 0.9, None]), ([2, 2, 0], [0.3, 0.2, 0.9])], [False, True]),
        ([([0, 1, 1], [0.1, 0.9, None])], [None, None]),
    ],
)
def test_the_verdicts_on_label_order_need_all_seeds(seeds, expected):
    assert verdicts(orders(*seeds)) == expected


def test_label_order_says_where_the_plan_has_no_such_prompts():
    (text,) = experiment("label-order").present(results())
    assert isinstance(text, Text)
    assert "5-shot" in text.markdown


def answers(reasoned, plain, rows=400, **changes):
    found = []
    for seed in (0, 1):
        scored = [
            dict(zip(("accuracy", "cobias"), pair, strict=True)) for pair in (reasoned, plain)
        ]
        result = {"reasoned": scored[0], "plain": scored[1], "n": rows}
        result |= {"fallbacks": 0.25, "cut_fallbacks": 0.125}
        found.append(({"task": "agnews", "shots": 1, "seed": seed}, result))
    one = experiment("cot")
    one.plan = one.plan.model_copy(update=changes)
    return one.present(results(*found))


def test_chain_of_thought_shows_changes_against_plain_answers():
    (table,) = of_kind(answers((0.4, 0.2), (0.7, 0.3)), Table)
    line = table.rows[0]
    assert line[:2] == ["AGN", 400]
    assert line[2] == Spread(0.4, 0.0)
    assert line[3] == pytest.approx(-0.3)
    assert line[5] == pytest.approx(-0.1)
    assert line[6:] == [0.25, 0.125, 0]
    assert verdicts(answers((0.4, 0.2), (0.7, 0.3))) == [True]
    assert verdicts(answers((0.8, 0.2), (0.7, 0.3))) == [False]
    assert verdicts(answers((0.4, 0.4), (0.7, 0.3))) == [False]


def test_chain_of_thought_is_not_judged_on_few_rows_or_a_model_that_cannot_reason():
    assert verdicts(answers((0.4, 0.2), (0.7, 0.3), rows=100)) == [None]
    assert verdicts(answers((0.4, 0.2), (0.7, 0.3), opt_split="test")) == [None]


def test_answers_are_scored_and_those_without_a_label_counted(tmp_path):
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    for name, labels in (("reasoned", [0, 0, 1, 1]), ("plain", [0, 1, 1, 0])):
        ProbabilityTable(p, np.array(labels)).write(tmp_path / f"{name}.csv")
    meta = {"summary": {"details": {"fallback": 3.0, "cut_fallback": 1.0}}}
    (tmp_path / "reasoned.csv.meta.json").write_text(json.dumps(meta))
    read = {name: ProbabilityTable.read(tmp_path / f"{name}.csv") for name in ("reasoned", "plain")}
    found = compare_answers(**read)
    assert found["fallbacks"] == 0.75
    assert found["cut_fallbacks"] == 0.25
    assert found["reasoned"]["accuracy"] == 0.75
    assert found["plain"]["accuracy"] == 0.75


def sizes(after, full=5000, constant=()):
    """Cells of opt-size: accuracy and COBias by size, of a task whose pool ends at 100 and another.

    Sizes of `constant` always answer with one class, on the larger task.
    """
    found = []
    for task, last in (("small", 100), ("large", full)):
        for size, pair in after.items():
            if size > last:
                continue
            scores = dict(zip(("accuracy", "cobias"), pair, strict=True))
            if size in constant and task == "large":
                scores["constant"] = "x"
            raw = {"accuracy": 0.5, "cobias": 0.4}
            result = {"raw": raw, **dict.fromkeys(METHODS, scores), "n_opt": size or last}
            found.append(({"task": task, "size": size}, result))
    return experiment("opt-size").present(results(*found))


def test_opt_sizes_that_a_pool_does_not_have_are_those_of_the_full_one():
    shown = sizes({10: (0.6, 0.3), 500: (0.6, 0.2), FULL: (0.6, 0.1)})
    (table,) = of_kind(shown, Table)  # all classes are predicted
    lines = [row for row in table.rows if not isinstance(row, str)]
    assert lines[0][0] == "0 (raw argmax)"
    assert [line[0] for line in lines[1:4]] == ["10", "500", "Full"]
    assert lines[2][1] == "same as full"
    assert lines[2][4] == Spread(0.2, None)
    assert len(of_kind(shown, Figure)) == 1


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({10: (0.6, 0.3), 500: (0.6, 0.2), FULL: (0.6, 0.1)}, [True, True]),
        ({10: (0.4, 0.3), 500: (0.6, 0.2), FULL: (0.6, 0.1)}, [False, True]),  # accuracy falls
        ({10: (0.6, 0.5), 500: (0.6, 0.2), FULL: (0.6, 0.1)}, [False, True]),  # COBias rises
        ({10: (0.6, 0.3), 500: (0.6, 0.2), FULL: (0.6, 0.25)}, [True, False]),
    ],
)
def test_the_verdicts_on_opt_sizes(after, expected):
    assert verdicts(sizes(after)) == expected


def test_a_pool_without_thousands_of_rows_does_not_test_the_emergent_reduction():
    after = {10: (0.6, 0.3), FULL: (0.6, 0.1)}
    assert verdicts(sizes(after, full=900)) == [True, None]


def test_a_task_with_a_constant_answer_at_some_size_is_left_out():
    after = {10: (0.9, 0.01), FULL: (0.4, 0.1)}
    first, _ = of_kind(sizes(after, constant=(10,)), Statement)
    assert first.details["cells_left_out"] == 2
    assert "constant: x" in str(of_kind(sizes(after, constant=(10,)), Table)[1].rows)


def test_the_figure_of_opt_sizes_is_drawn():
    figure = pytest.importorskip("matplotlib.figure")
    canvas = figure.Figure()
    of_kind(sizes({10: (0.6, 0.3), FULL: (0.6, 0.1)}), Figure)[0].draw(canvas)
    left, right = canvas.axes
    assert list(right.lines[0].get_ydata()) == pytest.approx([40, 40])
    assert list(right.lines[1].get_ydata()) == pytest.approx([30, 10])
    assert left.get_title("left") == "Accuracy (%)"


def test_a_draw_is_of_its_size_and_leaves_the_dev_rows_alone():
    opt, test = starving_table(400, 1), starving_table(300, 2)
    settings = {"dev_share": 0.05, "seed": 0}
    small = debias_on_draw(opt, test, size=12, **settings)
    assert small["n_opt"] == 12
    whole = debias_on_draw(opt, test, size=FULL, **settings)
    assert whole["n_opt"] == 380
    for method in METHODS:
        assert whole[method]["cobias"] < whole["raw"]["cobias"]
    assert small["raw"] == whole["raw"]
