"""Label order, chain of thought and opt sizes: what is presented of results."""

import json

import numpy as np
import pytest

from dnip import ProbabilityTable
from dnip.presenting.artefacts import Figure, Spread, Statement, Table, Text
from dnip.studies.reproduction.experiments.chain_of_thought import compare_answers
from dnip.studies.reproduction.experiments.opt_sizes import FULL, debias_on_draw
from results import experiment, of_kind, results, starving_table, verdicts


def orders(*seeds):
    """Cells of label-order: (order of labels, class accuracies) by seed."""
    found = []
    for seed, (order, accuracies) in enumerate(seeds):
        scored = {"accuracy": 0.5, "cobias": 0.1, "class_accuracies": accuracies}
        result = dict.fromkeys(("raw", "published", "ours"), scored)
        labels = {"task": "t", "shots": 5, "seed": seed, "order": order}
        found.append((labels, {**result, "classes": ["x", "y", "z"]}))
    return experiment("label-order").present(results(*found))


def test_label_order_shows_every_seed_thrice():
    (table,) = of_kind(orders(([0, 1, 1], [0.1, 0.9, None]), ([2, 2, 0], [0.3, 0.2, 0.1])), Table)
    assert next(row for row in table.rows if isinstance(row, str)) == "5-shot raw argmax"
    lines = [row for row in table.rows if not isinstance(row, str)]
    assert len(lines) == 6
    assert lines[0] == ("seed0", "0, 1, 1", 0.5, 0.1, 0.1, 0.9, None)
    assert lines[2][1] is None


@pytest.mark.parametrize(
    ("seeds", "confirmed"),
    [
        ([([0, 1, 1], [0.1, 0.9, None]), ([2, 2, 0], [0.3, 0.9, 0.1])], True),
        ([([0, 1, 1], [0.1, 0.9, None]), ([1, 1, 0], [0.3, 0.9, 0.1])], False),  # always most shown
        ([([1, 1, 0], [0.9, 0.1, 0.2]), ([2, 2, 0], [0.9, 0.1, 0.1])], False),  # always the last
    ],
)
def test_the_verdict_on_label_order(seeds, confirmed):
    assert verdicts(orders(*seeds)) == [confirmed]


def test_label_order_says_where_the_plan_has_no_such_prompts():
    (text,) = experiment("label-order").present(results())
    assert isinstance(text, Text)
    assert "5-shot" in text.markdown


def answers(reasoned, plain):
    found = []
    for seed in (0, 1):
        scored = [
            dict(zip(("accuracy", "cobias"), pair, strict=True)) for pair in (reasoned, plain)
        ]
        result = {"reasoned": scored[0], "plain": scored[1], "fallbacks": 0.25, "n": 4}
        found.append(({"task": "agnews", "shots": 1, "seed": seed}, result))
    return experiment("cot").present(results(*found))


def test_chain_of_thought_shows_changes_against_plain_answers():
    (table,) = of_kind(answers((0.4, 0.2), (0.7, 0.3)), Table)
    line = table.rows[0]
    assert line[0] == "AGN"
    assert line[1] == Spread(0.4, 0.0)
    assert line[2] == pytest.approx(-0.3)
    assert line[4] == pytest.approx(-0.1)
    assert line[5] == 0.25
    assert verdicts(answers((0.4, 0.2), (0.7, 0.3))) == [True]
    assert verdicts(answers((0.8, 0.2), (0.7, 0.3))) == [False]
    assert verdicts(answers((0.4, 0.4), (0.7, 0.3))) == [False]


def test_answers_are_scored_and_those_without_a_label_counted(tmp_path):
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    for name, labels in (("reasoned", [0, 0, 1, 1]), ("plain", [0, 1, 1, 0])):
        ProbabilityTable(p, np.array(labels)).write(tmp_path / f"{name}.csv")
    meta = {"summary": {"details": {"fallback": 3.0}}}
    (tmp_path / "reasoned.csv.meta.json").write_text(json.dumps(meta))
    read = {name: ProbabilityTable.read(tmp_path / f"{name}.csv") for name in ("reasoned", "plain")}
    found = compare_answers(**read)
    assert found["fallbacks"] == 0.75
    assert found["reasoned"]["accuracy"] == 0.75
    assert found["plain"]["accuracy"] == 0.75


def sizes(gaps):
    """Cells of opt-size: COBias by size, of a task whose pool ends at 100 and one that goes on."""
    found = []
    for task, last in (("small", 100), ("large", 500)):
        for size, gap in gaps.items():
            if size > last:
                continue
            after = {key: {"accuracy": 0.6, "cobias": gap} for key in ("published", "ours")}
            raw = {"accuracy": 0.5, "cobias": 0.4}
            result = {"raw": raw, **after, "n_opt": size or last}
            found.append(({"task": task, "size": size}, result))
    return experiment("opt-size").present(results(*found))


def test_opt_sizes_that_a_pool_does_not_have_are_those_of_the_full_one():
    shown = sizes({10: 0.3, 500: 0.2, FULL: 0.1})
    (table,) = of_kind(shown, Table)
    lines = [row for row in table.rows if not isinstance(row, str)]
    assert lines[0][0] == "0 (raw argmax)"
    assert [line[0] for line in lines[1:4]] == ["10", "500", "Full"]
    assert lines[2][1] == "same as full"
    assert lines[2][4] == Spread(0.2, None)
    assert len(of_kind(shown, Figure)) == 1


@pytest.mark.parametrize(
    ("gaps", "confirmed"),
    [({10: 0.3, FULL: 0.1}, True), ({10: 0.5, FULL: 0.1}, False), ({10: 0.3, FULL: 0.35}, False)],
)
def test_the_verdict_on_opt_sizes(gaps, confirmed):
    found = of_kind(sizes(gaps), Statement)
    assert [one.confirmed for one in found] == [confirmed, confirmed]


def test_the_figure_of_opt_sizes_is_drawn():
    figure = pytest.importorskip("matplotlib.figure")
    canvas = figure.Figure()
    of_kind(sizes({10: 0.3, FULL: 0.1}), Figure)[0].draw(canvas)
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
    for method in ("published", "ours"):
        assert whole[method]["cobias"] < whole["raw"]["cobias"]
    assert small["raw"] == whole["raw"]
