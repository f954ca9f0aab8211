"""Refits against plain fits of the rest, and what they say of other rows."""

from statistics import NormalDist

import numpy as np
import pytest

from dnip import Objective, ProbabilityTable, solve
from dnip.fitting.fit import fit
from dnip.fitting.refits import DRAWS, FOLDS, LeftOut, Refits
from dnip.fitting.settings import fit_settings
from dnip.method.objective import MetricObjective
from dnip.method.prediction import decide
from dnip.method.problem import Problem
from dnip.metrics import confusion_matrix
from dnip.metrics.intervals import Expectation, followed_chance, refit_spread
from dnip.tables.rows import LOW_MASS
from populations import biased_rows

CLASSES = ("a", "b", "c")
BIAS = [1.5, 0.0, -1.5]


def rows_of(n, bias=BIAS, seed=0):
    found = biased_rows(np.random.default_rng(seed), n, bias=bias)
    return found.probabilities, found.labels


def refits_of(p, y, beta=2.7, **settings):
    rows = Problem.of(p, y, classes=CLASSES[: p.shape[1]])
    asked = fit_settings(Objective(beta=beta), robust="off")
    return Refits(rows, asked, p[:0], **settings), asked


def assess(p, y, **settings):
    refits, asked = refits_of(p, y, **settings)
    return refits.assess(asked)


def test_every_row_is_predicted_by_a_refit_that_has_not_seen_it():
    p, y = rows_of(60)
    refits, asked = refits_of(p, y)
    draws = refits.left_out(asked)
    assert len(draws) == DRAWS
    for left_out in draws:
        assert len(left_out) == FOLDS
        once = np.sum([fold.rows for fold in left_out], axis=0)
        np.testing.assert_array_equal(once, np.ones(60))
        for rows, multipliers in left_out:
            best = solve(p[~rows], y[~rows], asked.objective).value
            counts = confusion_matrix(y[~rows], decide(p[~rows], multipliers), 3)
            assert best <= asked.objective(counts) <= best + 0.03  # a short search
    again = Refits(Problem.of(p, y), fit_settings(robust="off", seed=1), p[:0]).left_out(asked)
    for some in (draws[1], again[0]):  # other draws, and other seeds
        assert any((one.rows != fold.rows).any() for one, fold in zip(draws[0], some, strict=True))


def test_numbers_are_those_of_the_left_out_predictions():
    p, y = rows_of(90)
    refits, asked = refits_of(p, y)
    found, draws = refits.assess(asked), refits.left_out(asked)
    raw, after = confusion_matrix(y, p.argmax(axis=1), 3), found.evaluation.reweighted
    np.testing.assert_array_equal(found.evaluation.raw, raw)
    for z, counts, side in ((found.before, raw, found.raw), (found.after, after, found.reweighted)):
        assert z == pytest.approx(1 - np.trace(counts) / 90 + 2.7 * side.cobias)

    def counted(multipliers, rows=slice(None)):
        return confusion_matrix(y[rows], decide(p[rows], multipliers), 3)

    on_all = [[counted(omega) for _, omega in folds] for folds in draws]
    apart = [[counted(omega, rows) for rows, omega in folds] for folds in draws]
    followed = np.mean([*map(followed_chance, on_all, apart)])
    expected = Expectation(after, followed, spread=np.mean([*map(refit_spread, on_all)]))
    assert found.reweighted.followed == followed > 0
    np.testing.assert_array_equal(found.reweighted.drawn["cobias"], expected.drawn["cobias"])


@pytest.mark.parametrize("name", ["balanced-accuracy", "macro-f1"])
def test_a_metric_is_judged_by_itself(name):
    """On rows left out; how sure it is, by drawing whole rows again."""
    p, y = rows_of(120, bias=[0.3, 0.0, -0.3])
    found = fit(p, y, name, classes=CLASSES, robust="off")
    metric = MetricObjective(name)
    counts = found.evidence.evaluation.raw, found.evidence.evaluation.reweighted
    before, after = map(metric, counts)
    assert (found.evidence.before, found.evidence.after) == (before, after)
    assert f"{found.evidence.aim} {1 - before:.3f} -> {1 - after:.3f}" in found.reason
    assert found.alternatives == ()
    asked = fit_settings(name, robust="off", scale=found.coefficients.scale)
    raw, each = p.argmax(axis=1), []
    for left_out in Refits(Problem.of(p, y), asked, p[:0]).left_out(asked):
        each.append(raw.copy())
        for fold, multipliers in left_out:
            each[-1][fold] = decide(p[fold], multipliers)
    mean = np.mean([confusion_matrix(y, side, 3) for side in each], axis=0)
    np.testing.assert_allclose(mean, counts[1])
    rng, changes = np.random.default_rng(0), []
    for _ in range(1000):
        drawn = np.concatenate([rng.choice(rows, len(rows)) for rows in rows_by_class(y)])
        of_draw = rng.integers(DRAWS, size=len(y))  # of what refits of a row predict
        fitted = np.choose(of_draw, [side[drawn] for side in each])
        values = [metric(confusion_matrix(y[drawn], side, 3)) for side in (raw[drawn], fitted)]
        changes.append(values[0] - values[1])
    sure = NormalDist().cdf((before - after) / max(np.std(changes), 0.2 / 120**0.5))
    assert 0.05 < sure < 0.95
    assert found.evidence.sure == pytest.approx(sure, abs=0.05)


def rows_by_class(y):
    return [np.flatnonzero(y == c) for c in range(3)]


def judged(p, y, weights, **settings):
    """What is said of these weights, whatever rows a refit has seen."""
    refits, asked = refits_of(p, y, **settings)
    weights = np.array(weights, float)
    folds = refits.judge_raw(asked).left_out
    return refits.assess(asked, [[LeftOut(fold.rows, weights) for fold in folds]])


def test_how_sure_a_gain_is():
    biased = assess(*rows_of(300))
    assert (biased.gains, 0.8 <= biased.sure <= 0.99) == (True, True)
    p = np.array([[0.6, 0.4], [0.55, 0.45]] * 500)
    perfect = judged(p, np.array([0, 1] * 500), [0.7, 1.0])
    assert (perfect.after < 0.01, perfect.sure) == (True, 0.99)
    same = judged(*rows_of(300, bias=[0.0, 0.0, 0.0]), np.ones(3))
    assert (same.gains, same.sure) == (False, pytest.approx(0.5))


def test_where_all_is_right_there_is_nothing_to_gain():
    y = np.arange(60) % 3
    p = np.eye(3)[y] * 0.7 + 0.1
    assert not assess(p, y).gains
    assert fit(p, y).is_raw


MANY, HALVES = np.repeat([0, 1, 2], [240, 40, 20]), np.repeat([0, 1], 200)
#: The raw argmax always answers a, which is most of the rows.
ALWAYS_A = 0.9 * np.eye(3)[0] + 0.1 * rows_of(300, bias=[0.0, 0.0, 0.0])[0]
#: a is always right and b never.
A_ALONE = np.where(HALVES[:, None] == 0, [0.55, 0.45], [0.6, 0.4])


@pytest.mark.parametrize(
    ("p", "y", "weights", "told"),
    [
        (*rows_of(300), [1, 1, 1e-9], "On other rows nothing may be left right of class c ("),
        (*rows_of(300), [1, 1, 1e-9], "The worst class falls from 0."),
        (A_ALONE, HALVES, [1, 1.3], "It costs 50.0 points of accuracy."),
        (ALWAYS_A, MANY, [0.02, 1, 1], "Always answering a would be right on 80.0%"),
        (A_ALONE, HALVES, [1, 1.3], "The mean class accuracy falls to 0.000; guessing would"),
        (A_ALONE, HALVES, [1, 1.3], "On other rows nothing may be left right of class a (200 of"),
        (ALWAYS_A, np.r_[MANY[:280], 1, [0] * 18, 2], [1, 1, 1], "Less than 2 labels of class c:"),
    ],
)
def test_what_speaks_against_weights_is_noted(p, y, weights, told):
    assert any(said.startswith(told) for said in judged(p, y, weights, beta=0.0).notes)
    asked = {"target": np.full(p.shape[1], 1 / p.shape[1]), "is_mix_given": True}
    notes = judged(p, y, weights, **asked).notes  # another mix of classes has no usual answer
    assert any(said.startswith(told) for said in notes) != told.startswith("Always")


def test_a_prompt_at_fault_stands_against_it():
    p, y = rows_of(300)
    table = ProbabilityTable(p, y, classes=CLASSES, mass=np.full(300, LOW_MASS / 2))
    assert "prompt" in fit(table, evidence=True).evidence.notes[0]


def test_errors_count_by_the_objective_and_by_the_shares_of_another_mix():
    p, y = rows_of(120)
    table = ProbabilityTable(p, y, classes=CLASSES)
    found = fit(table, objective=Objective(beta=0.0), robust="off", evidence=True).evidence
    counts = found.evaluation.raw
    assert found.before == pytest.approx(1 - np.trace(counts) / counts.sum())
    target = np.array([0.1, 0.1, 0.8])
    found = assess(p, y, target=target)
    rates = np.diag(found.evaluation.raw) / found.evaluation.raw.sum(axis=1)
    assert found.before == pytest.approx(1 - rates @ target + 2.7 * found.raw.cobias)


COSTS = np.array([[0, 1, 4], [1, 0, 1], [9, 1, 0]])


@pytest.mark.parametrize(
    ("goal", "name"),
    [
        (Objective(beta=0, costs=COSTS), "mean cost"),
        (Objective(beta=0.25, tau=0.2), "error + 0.25·COBias - 0.2·PMI"),
        (Objective(beta=1, gap="single"), "error + COBias_single"),
        (lambda counts: -float(np.trace(counts)), "<lambda>"),
    ],
)
def test_every_goal_is_judged_by_itself(goal, name):
    p, y = rows_of(150)
    found = fit(p, y, goal, classes=CLASSES)
    evidence, raw = found.evidence, confusion_matrix(y, p.argmax(axis=1), 3)
    assert evidence.aim == name
    value = goal(raw)
    if isinstance(goal, Objective):
        terms = goal.terms_of(raw)
        key = "cobias" if goal.gap == "pairwise" else "cobias_single"
        value += goal.beta * (evidence.raw.drawn[key].mean() - terms[key])
    assert evidence.before == pytest.approx(value)
    assert found.verdict == ("apply" if evidence.gains else "keep")
    assert evidence.gains
    assert f"{name} {evidence.before:.3f} -> {evidence.after:.3f}" in found.reason


def test_a_few_groups_of_mixed_labels_are_judged():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5] * 3, 178)
    y = np.array([rng.choice(3, p=row) for row in p])
    fitted = fit(p, y, groups=np.arange(178) % 7)
    assert fitted.verdict in ("keep", "apply", "not judged")
