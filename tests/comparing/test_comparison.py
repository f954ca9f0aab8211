"""Methods against definitions and scikit-learn; which rows serve what; what is concluded."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from cases import cases
from dnip import DNIPWarning, InvalidInputError, Objective, ProbabilityTable, compare, fit, solve
from dnip.comparing import Comparison, MethodScores, ScoredFit
from dnip.comparing.comparison import Material, conclude, describe_comparison
from dnip.comparing.methods import OptSet, _log_loss, choose, vector_scaling
from dnip.metrics import accuracy, cobias, confusion_matrix
from dnip.presenting.formats import Estimate
from dnip.solvers.search import PAPER
from strategies import random_probabilities

METHODS = {method.name: method for method in choose()}


# --- methods ---
def opt_set(n_rows=600, n_classes=4, classes=("a", "b", "c", "d"), **more):
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, n_rows, n_classes)
    sharper = p**0.6 * rng.uniform(0.5, 2, n_classes)
    sharper /= sharper.sum(axis=1, keepdims=True)
    labels = (sharper.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)
    labels[:n_classes] = np.arange(n_classes)
    return OptSet(p, labels, classes[:n_classes], **more)


def divided(p, prior):
    """Argmax of p/prior with plain loops, the lowest class on a tie."""
    return [max(range(len(row)), key=lambda c: (row[c] / prior[c], -c)) for row in p.tolist()]


@cases(("batch-calibration", "batch"), ("contextual-calibration", "content_free"))
def test_calibrations_divide_by_the_mean_of_their_rows(name, part):
    rows = random_probabilities(np.random.default_rng(1), 5000, 4) ** 3 * [1, 2, 3, 4]
    rows /= rows.sum(axis=1, keepdims=True)
    opt = opt_set(**{part: rows})
    predicted = METHODS[name].fit(opt, 0).predict(opt.probabilities)
    assert predicted.tolist() == divided(opt.probabilities, rows.mean(axis=0))


@pytest.mark.parametrize("name", METHODS)
@cases([0, 1, 2], [0, 2] * 5, [1, 2] * 5, [0, 1, 2] * 20)
def test_every_method_learns_from_one_label_per_class_and_without_a_class(name, labels):
    p = random_probabilities(np.random.default_rng(4), 60, 3)
    more = {"batch": p, "content_free": p[:3], "unlabelled": p[5:20]}
    opt = OptSet(p[: len(labels)], np.array(labels), ("a", "b", "c"), **more)
    correction, again = (METHODS[name].fit(opt, 1) for _ in range(2))
    scores = correction.scores(p)
    assert scores.shape == p.shape
    assert not np.isnan(scores).any()
    assert (correction.predict(p) == again.predict(p)).all()
    assert (correction.predict(p) == scores.argmax(axis=1)).all()
    if name.startswith("matrix"):
        assert {*correction.predict(p)} <= {*labels}


def test_the_published_settings_anneal():
    opt = opt_set(300, 3)
    settings = {"scale": 30, "solver": PAPER.solver, "seed": 7}
    found = solve(opt.probabilities, opt.labels, Objective.published(), **settings)
    learned = METHODS["dnip-paper"].fit(opt, 7).learned
    assert learned["weights"] == found.weight_indices.tolist()
    assert learned["objective"] == found.value


@cases(["1", "2", "3"], ["2", "0", "1"])  # the names of classes are no numbers of columns
def test_ours_is_the_fit_of_every_other_door(classes):
    more = random_probabilities(np.random.default_rng(0), 90, 3)
    opt = opt_set(300, 3, tuple(classes), unlabelled=more)
    names = np.array(classes, object)[opt.labels]
    alone = fit(opt.probabilities, names, classes=classes, unlabelled=more, seed=3)
    row = METHODS["dnip"].fit(opt, 3)
    assert row.learned["weights"] == alone.coefficients.multipliers.tolist()
    assert row.learned["objective"] == alone.solution.value
    assert row.learned["verdict"] == alone.verdict


def test_the_gradient_is_that_of_small_steps():
    rng = np.random.default_rng(6)
    scores, labels = rng.normal(size=(5, 3)), rng.integers(3, size=5)
    _, gradient = _log_loss(scores, labels)
    for cell in np.ndindex(5, 3):
        step = np.zeros_like(scores)
        step[cell] = 1e-6
        slope = (_log_loss(scores + step, labels)[0] - _log_loss(scores - step, labels)[0]) / 2e-6
        assert gradient[cell] == pytest.approx(slope, abs=1e-8)


def test_a_class_without_labels_keeps_its_log_probability():
    opt = opt_set()
    some = opt.labels != 2
    learned = vector_scaling(OptSet(opt.probabilities[some], opt.labels[some], opt.classes)).learned
    assert (learned["slopes"][2], learned["shifts"][2]) == (1.0, 0.0)


@cases(("matrix-scaling", None), ("matrix-scaling-balanced", "balanced"))
@pytest.mark.parametrize("n_classes", [2, 4])
def test_matrix_scaling_decides_as_scikit_learn_does(n_classes, name, weight):
    opt = opt_set(n_classes=n_classes)
    theirs = LogisticRegression(class_weight=weight, max_iter=1000)
    theirs.fit(np.log(opt.probabilities), opt.labels)
    new = random_probabilities(np.random.default_rng(9), 500, n_classes)
    assert (METHODS[name].fit(opt, 0).predict(new) == theirs.predict(np.log(new))).all()


# --- the comparison ---
def opt_and_test(labels=None):
    rng = np.random.default_rng(0)
    tables = []
    for source in ("opt.csv", "test.csv"):
        fair = random_probabilities(rng, 150, 3)
        p = fair * np.arange(1, 4) ** 1.5
        p /= p.sum(axis=1, keepdims=True)
        true = fair.argmax(axis=1)
        true[:3] = np.arange(3)
        if labels is not None:
            true = labels(true)
        tables.append(ProbabilityTable(p, true, source=source))
    return tables


def test_figures_are_those_of_a_fit_by_hand():
    opt, test = opt_and_test()
    result = compare(opt, test, ["dnip"], n_seeds=2)
    assert [method.name for method in result.methods] == ["raw", "dnip"]
    confusions = []
    for seed in range(2):
        weights = fit(opt, seed=seed).coefficients.multipliers
        predicted = (test.probabilities * weights).argmax(axis=1)
        confusions.append(confusion_matrix(test.labels, predicted, 3))
    found, raw = result.of("dnip"), result.of("raw")
    shown = [run.confusion.tolist() for run in found.fits]
    assert shown == [c.tolist() for c in confusions][: len(shown)]
    for name, metric in (("accuracy", accuracy), ("cobias", cobias)):
        mean = np.mean([metric(c) for c in confusions])
        assert found.estimates[name].value == pytest.approx(mean)
        change = mean - raw.estimates[name].value
        assert found.differences[name].value == pytest.approx(change)
    assert raw.differences == {}


def test_all_methods_see_the_same_rows_and_seeds_and_those_of_chance_have_a_spread():
    seen = {"one": [], "two": []}

    def told(name):
        def method(p, y, new):
            seen[name].append((p[0].tolist(), len(y)))
            return new * [1, 1 + 9 * len(seen[name]), 1]

        return method

    result = compare(*opt_and_test(), {name: told(name) for name in seen}, n_labels=9, n_seeds=3)
    assert seen["one"] == seen["two"]
    assert len({tuple(first) for first, _ in seen["one"]}) > 1
    assert {n for _, n in seen["one"]} == {9}
    assert (result.n_opt, result.n_unlabelled, result.n_test) == (9, 141, 150)
    assert len(result.of("raw").fits) == len(result.of("batch-calibration").fits) == 1
    found = result.of("one")
    values = [Objective()(each.confusion) for each in found.fits]
    assert found.goal == pytest.approx(np.mean(values))
    assert found.spread_of_goal == pytest.approx(np.std(values, ddof=1)) != 0


def test_a_class_without_labels_is_told_once():
    given = opt_and_test(labels=lambda true: np.where(true == 2, 1, true))
    with pytest.warns(DNIPWarning) as told:
        compare(*given, ["raw", "vector-scaling"])
    assert [str(warning.message) for warning in told] == [
        "opt.csv: no label of class 2; nothing is learned of it there",
        "test.csv: no labelled row of class 2: left out",
    ]


def test_what_cannot_be_told_from_the_best_is_as_good_on_rows_drawn_again():
    opt, test = opt_and_test()
    result = compare(opt, test, ["dnip", "batch-calibration"], n_seeds=1)
    rng, goal = np.random.default_rng(1), Objective()
    true, best = test.labels, result.best.fits[0].predicted
    for method in result.methods:
        other, ahead = method.fits[0].predicted, []
        for _ in range(600):
            rows = np.concatenate(
                [rng.choice(np.flatnonzero(true == c), (true == c).sum()) for c in range(3)]
            )
            sides = (confusion_matrix(true[rows], side[rows], 3) for side in (other, best))
            ahead.append(np.subtract(*map(goal, sides)))
        sure = np.mean(np.array(ahead) > 0) + np.mean(np.array(ahead) == 0) / 2
        assert result.sure[method.name] == pytest.approx(min(sure, 0.99), abs=0.07)
        assert (method.name in result.tied) == (method is not result.best and sure < 0.95)


def test_the_goal_is_the_one_that_was_asked_for():
    result = compare(*opt_and_test(), ["dnip-paper"], n_seeds=1, objective="macro-f1")
    assert result.goal == "1 - macro-f1"
    for method in result.methods:
        assert method.goal == pytest.approx(1 - method.estimates["macro_f1"].value)


def test_methods_of_ones_own_are_compared_and_one_that_fails_is_named():
    def fails(p, y, new):
        raise KeyError("no such thing")

    opt, test = opt_and_test()
    methods = {
        "flat": DummyClassifier(strategy="most_frequent"),
        "argmax": lambda p, y, new: new,
        "names": lambda p, y, new: np.array(["0", "1", "2"])[new.argmax(axis=1)],
        "writes": lambda p, y, new: new.fill(0.5) or [0] * len(new),
        "scores": lambda p, y, new: new * np.nan,
        "short": lambda p, y, new: [0],
        "fails": fails,
    }
    with pytest.warns(DNIPWarning) as told:
        result = compare(opt, test, methods, n_seeds=1)
    assert [str(warning.message) for warning in told] == [
        "the method scores failed: ValueError: a score is NaN",
        "the method short failed: ValueError: 1 answers for 150 rows",
        "the method fails failed: KeyError: 'no such thing'",
    ]
    assert {"short", "fails", "contextual-calibration"} <= {*result.skipped}
    most = np.bincount(opt.labels).argmax()
    assert {*result.of("flat").fits[0].predicted} == {most}
    for name in ("argmax", "names"):
        assert (result.of(name).fits[0].predicted == test.probabilities.argmax(axis=1)).all()
    assert result.of("dnip").goal <= result.of("raw").goal
    for wrong in ({"dnip": fails}, ["magic"], ["contextual-calibration"]):
        with pytest.raises(InvalidInputError, match=r"method|content-free"):
            compare(opt, test, wrong, n_seeds=1)


# --- which rows serve what ---
def table(n_rows=60, seed=0, labels=None, ids=None, classes=("a", "b", "c"), source="opt.csv"):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, len(classes))
    labels = np.arange(n_rows) % len(classes) if labels is None else np.asarray(labels)
    ids = None if ids is None else np.array(ids, object)
    return ProbabilityTable(p, labels, ids, classes, source)


def test_rows_go_where_they_belong():
    ids = [f"opt-{i}" for i in range(8)] + ["content-free-0", "content-free-1"]
    opt = table(10, labels=[0, 1, 2, 0, 1, 2, -1, -1, -1, -1], ids=ids)
    test = table(20, seed=1, labels=[0, 1, -1, 2] * 5, source="test.csv")
    more = table(5, seed=2)
    given = Material.of(opt, test, more)
    assert (given.opt.probabilities == opt.probabilities[:6]).all()
    assert given.opt.labels.tolist() == [0, 1, 2, 0, 1, 2]
    unlabelled = np.vstack([opt.probabilities[6:8], more.probabilities])
    assert (given.opt.unlabelled == unlabelled).all()
    assert (given.opt.content_free == opt.probabilities[8:]).all()
    assert (given.opt.batch == test.probabilities).all()
    assert (given.test == test.probabilities[test.labels >= 0]).all()
    assert given.true.tolist() == [0, 1, 2] * 5


def test_content_free_rows_that_are_given_apart_count_alone_and_may_have_the_same_ids():
    ids = [f"{i}" for i in range(9)] + ["content-free-0"]
    other = table(9, seed=1, ids=[f"test-{i}" for i in range(8)] + ["content-free-0"])
    free = table(3, seed=3)
    given = Material.of(table(10, ids=ids), other, content_free=free)
    assert (given.opt.content_free == free.probabilities).all()
    assert len(given.opt.labels) == 9


@cases(
    ({"classes": ("a", "c", "b")}, "in the same order"),
    ({"seed": 0, "labels": [1, 2, 0] * 20}, "hold the same rows"),
)
def test_tables_that_do_not_go_together_are_refused(test, told):
    with pytest.raises(InvalidInputError, match=told):
        Material.of(table(), table(**{"seed": 1, "source": "test.csv", **test}))


# --- what is shown ---
def outcome(name, accuracy, cobias, reads=("labels",)):
    values = {"accuracy": accuracy, "cobias": cobias, "worst_class_accuracy": 0.5}
    estimates = {m: Estimate(v, v - 0.01, v + 0.02) for m, v in values.items()}
    counts = np.array([[8, 2], [4, 6]]), np.zeros((2, 2, 2), int)
    runs = tuple(ScoredFit(seed, 0.0123, *counts, np.zeros(20), {}) for seed in range(2))
    goal = 1 - accuracy + cobias / 2
    return MethodScores(name, "", reads, estimates, {}, goal, 0.01, runs)


def test_the_page_says_all():
    outcomes = (
        outcome("raw", 0.7, 0.3),
        outcome("batch-calibration", 0.72, 0.1, reads=("batch",)),
        outcome("dnip", 0.72, 0.1),
    )
    compared = Comparison(
        opt="news/opt.csv", test="news/test.csv", classes=("a", "b"), n_opt=1234, n_test=20,
        n_unlabelled=7, n_content_free=0, seeds=2, confidence=0.9, objective=Objective().to_dict(),
        goal="error + COBias/2", sure={"raw": 0.99, "batch-calibration": 0.5, "dnip": 0.6},
        scale=30, methods=outcomes, skipped={"linear-adapter": "torch is not installed"},
        interrupted=False,
    )  # fmt: skip
    assert (
        describe_comparison(compared, "dnip fit news/opt.csv")
        == """\
opt.csv and test.csv: 1,234 labels of 2 classes, 20 test rows

method               error + COBias/2  accuracy  COBias  worst class
raw                     0.450 ± 0.010     0.700   0.300        0.500
batch-calibration *     0.330 ± 0.010     0.720   0.100        0.500
dnip                    0.330 ± 0.010     0.720   0.100        0.500

Best by error + COBias/2: batch-calibration; as good within noise: dnip (paired
bootstrap of the test rows, 95 % each).
Next: dnip fit news/opt.csv
As good, and without labels: dnip fit news/opt.csv --no-labels

Intervals are in results.json. ±: standard deviation over 2 runs; their means
are shown. Unlabelled rows at hand: 7. * reads the probabilities of all test
rows, without labels, before it decides.
Left out, linear-adapter: torch is not installed."""
    )


@cases(
    (["raw", "dnip"], "dnip fit t.csv", "nothing that is shown here is needed"),
    (["dnip"], "dnip fit t.csv", "Next: dnip fit t.csv --beta 1"),
    (["dnip"], None, "Next: dnip.fit(P, y, objective)"),
    (["batch-calibration"], "dnip fit t.csv", "Next: dnip fit t.csv --no-labels"),
    (["batch-calibration"], None, "Next: dnip.fit(P, y, no_labels=True)"),
    (
        ["matrix-scaling"],
        "dnip fit t.csv",
        "LogisticRegression().fit(np.log(P), y)\nCoefficients a",
    ),
)
def test_what_is_best_says_what_to_do_next(best, line, told):
    ahead = {name: 0.1 * (name not in best) for name in ("raw", "dnip", *best)}
    methods = {name: SimpleNamespace(name=name, goal=goal) for name, goal in ahead.items()}
    compared = SimpleNamespace(
        best=methods[best[0]], tied=tuple(best[1:]), goal="Z", sure=methods, of=methods.get,
        objective=Objective(beta=1).to_dict(),
    )  # fmt: skip
    assert told in conclude(compared, line)
