"""The comparison: which rows serve what, the same for all, a fit done by hand, and their page."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from cases import cases
from dnip import DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.comparing import Comparison, Material, MethodScores, ScoredFit, choose, compare
from dnip.comparing.comparison import describe_comparison
from dnip.comparing.methods import ClassWeights, OurDNIP, PaperDNIP
from dnip.method.objective import Objective
from dnip.metrics import accuracy, cobias, confusion_matrix
from dnip.metrics.intervals import PAIRED
from dnip.presenting.formats import Estimate
from strategies import random_probabilities


def opt_and_test(n_classes=3, labels=None):
    rng = np.random.default_rng(0)
    tables = []
    for source in ("opt.csv", "test.csv"):
        fair = random_probabilities(rng, 150, n_classes)
        p = fair * np.arange(1, n_classes + 1) ** 1.5
        p /= p.sum(axis=1, keepdims=True)
        true = fair.argmax(axis=1)
        true[:n_classes] = np.arange(n_classes)
        if labels is not None:
            true = labels(true)
        tables.append(ProbabilityTable(p, true, source=source))
    return tables


class Fake(OurDNIP):
    """A method that tells what it was given."""

    def fit(self, opt, seed=0):
        told = {"seed": seed, "first": opt.probabilities[0].tolist(), "n": len(opt.labels)}
        return ClassWeights(np.array([1.0, 1.0 + 9 * seed, 1.0]), told)


def test_figures_are_those_of_a_fit_by_hand():
    given = Material.of(*opt_and_test())
    result = compare(*opt_and_test(), [OurDNIP()], n_seeds=2)
    assert [outcome.name for outcome in result.methods] == ["raw", "dnip"]
    confusions = []
    for seed in range(2):
        predicted = OurDNIP().fit(given.draw(None, seed), seed).predict(given.test)
        confusions.append(confusion_matrix(given.true, predicted, 3))
    found, raw = result.of("dnip"), result.of("raw")
    shown = [run.confusion.tolist() for run in found.fits]
    assert shown == [c.tolist() for c in confusions][: len(shown)]
    for name, metric in (("accuracy", accuracy), ("cobias", cobias)):
        mean = np.mean([metric(c) for c in confusions])
        assert found.estimates[name].value == pytest.approx(mean)
        change = mean - raw.estimates[name].value
        assert found.differences[name].value == pytest.approx(change)
    assert raw.differences == {}


def test_all_methods_see_the_same_rows_and_seeds():
    result = compare(*opt_and_test(), [Fake(), Fake()], n_labels=9, n_seeds=3)
    one, two = ([fit.correction for fit in found.fits] for found in result.methods[1:])
    assert one == two
    assert [told["seed"] for told in one] == [0, 1, 2]
    assert len({tuple(told["first"]) for told in one}) > 1
    assert {told["n"] for told in one} == {9}
    assert (result.n_opt, result.n_unlabelled, result.n_test) == (9, 141, 150)


def test_a_class_without_labels_is_told_once():
    given = opt_and_test(labels=lambda true: np.where(true == 2, 1, true))
    with pytest.warns(DNIPWarning) as told:
        compare(*given, [OurDNIP(), PaperDNIP()])
    assert [str(warning.message) for warning in told] == [
        "some draw of opt.csv: no label of class 2; nothing is learned of it there",
        "test.csv: no labelled row of class 2: left out",
    ]


def test_a_method_without_chance_runs_once_and_one_with_chance_has_a_spread():
    result = compare(*opt_and_test(), [*choose("dnip-paper,batch-calibration"), Fake()], n_seeds=3)
    assert len(result.of("raw").fits) == len(result.of("batch-calibration").fits) == 1
    found = result.of("dnip")
    assert len(found.fits) == 3
    values = [Objective()(fit.confusion) for fit in found.fits]
    assert found.goal == pytest.approx(np.mean(values))
    assert found.spread_of_goal == pytest.approx(np.std(values, ddof=1)) != 0


def test_what_cannot_be_told_from_the_best_is_as_good_on_rows_drawn_again():
    opt, test = opt_and_test()
    result = compare(opt, test, choose("dnip,batch-calibration"), n_seeds=1)
    rng, goal = np.random.default_rng(1), Objective()
    true, best = test.labels, result.best.fits[0].predicted
    for method in result.methods:
        other, ahead = method.fits[0].predicted, []
        for _ in range(2000):
            rows = np.concatenate(
                [rng.choice(np.flatnonzero(true == c), (true == c).sum()) for c in range(3)]
            )
            sides = (confusion_matrix(true[rows], side[rows], 3) for side in (other, best))
            ahead.append(np.subtract(*map(goal, sides)))
        sure = np.mean(np.array(ahead) > 0) + np.mean(np.array(ahead) == 0) / 2
        assert result.sure[method.name] == pytest.approx(min(sure, 0.99), abs=0.05)
        assert (method.name in result.tied) == (method is not result.best and sure < 0.95)


def test_the_goal_is_the_one_that_was_asked_for():
    result = compare(*opt_and_test(), choose("dnip-paper"), n_seeds=1, objective="macro-f1")
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
    assert {"short", "fails"} <= {*result.skipped}
    most = np.bincount(opt.labels).argmax()
    assert {*result.of("flat").fits[0].predicted} == {most}
    for name in ("argmax", "names"):
        assert (result.of(name).fits[0].predicted == test.probabilities.argmax(axis=1)).all()
    assert result.of("dnip").goal <= result.of("raw").goal
    for wrong in ({"dnip": fails}, ["dnip"]):
        with pytest.raises(InvalidInputError, match="methods"):
            compare(opt, test, wrong, n_seeds=1)
    with pytest.raises(InvalidInputError, match="the method fails failed"):
        compare(opt, test, {"fails": fails}, strict=True, n_seeds=1)


# --- the page ---
def outcome(name, accuracy, cobias, reads=("labels",)):
    values = {"accuracy": accuracy, "cobias": cobias, "worst_class_accuracy": 0.5, "macro_f1": 0.6}
    estimates = {m: Estimate(v, v - 0.01, v + 0.02) for m, v in values.items()}
    differences = {} if name == "raw" else {m: Estimate(0.1, -0.05, 0.2) for m in PAIRED}
    counts = np.array([[8, 2], [4, 6]]), np.zeros((2, 2, 2), int)
    runs = tuple(ScoredFit(seed, 0.0123, *counts, np.zeros(20), {}) for seed in range(2))
    goal = 1 - accuracy + cobias / 2
    return MethodScores(name, "", reads, estimates, differences, goal, 0.01, runs)


def test_the_page_says_all():
    outcomes = (
        outcome("raw", 0.7, 0.3),
        outcome("batch-calibration", 0.72, 0.1, reads=("batch",)),
        outcome("dnip", 0.72, 0.1),
    )
    skipped = {"linear-adapter": "torch is not installed"}
    settings = {"seeds": 2, "confidence": 0.9, "objective": {}, "scale": 30, "interrupted": False}
    settings |= {"goal": "error + COBias/2"}
    settings["sure"] = {"raw": 0.99, "batch-calibration": 0.5, "dnip": 0.6}
    rows = {"n_opt": 1234, "n_test": 20, "n_unlabelled": 7, "n_content_free": 0}
    tables = ("news/opt.csv", "news/test.csv", ("a", "b"))
    compared = Comparison(*tables, methods=outcomes, skipped=skipped, **settings, **rows)
    text = describe_comparison(compared, "dnip fit news/opt.csv")
    lines = text.splitlines()
    assert lines[0] == "news: 1,234 labels of 2 classes, 20 test rows"
    rows = {line.split("  ")[0]: " ".join(line.split()) for line in lines}
    assert rows["raw"] == "raw 0.450 ± 0.010 0.700 0.300 0.500"
    assert "batch-calibration *" in rows
    told = " ".join(text.split())
    assert "±: standard deviation over 2 runs; their means are shown." in told
    assert "Best by error + COBias/2: batch-calibration; as good within noise: dnip (paired" in told
    assert (
        "Next: dnip fit news/opt.csv As good, and without labels: dnip fit news/opt.csv --no"
        in told
    )
    typed = " ".join(describe_comparison(compared).split())
    assert (
        "Next: dnip.fit(P, y) As good, and without labels: dnip.fit(P, y, no_labels=True)" in typed
    )
    assert "Unlabelled rows at hand: 7." in told
    assert "* reads the probabilities of all test rows" in told
    assert told.endswith("Left out, linear-adapter: torch is not installed.")


# --- material ---
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
    given = Material.of(opt, test, unlabelled=more)
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


def test_a_draw_hides_the_labels_of_the_rest():
    given = Material.of(table(60), table(60, seed=1), unlabelled=table(5, seed=2))
    first, again, other = (given.draw(12, seed) for seed in (0, 0, 1))
    assert np.bincount(first.labels).tolist() == [4, 4, 4]
    assert (first.probabilities == again.probabilities).all()
    assert not (first.probabilities == other.probabilities).all()
    assert len(first.unlabelled) == 48 + 5
    seen = {row.tobytes() for row in first.probabilities}
    assert not seen & {row.tobytes() for row in first.unlabelled}
    whole = given.draw(None, 0)
    assert (len(whole.labels), len(whole.unlabelled)) == (60, 5)


@cases(
    ({}, {"classes": ("a", "c", "b")}, "in the same order"),
    ({}, {"seed": 0, "labels": [1, 2, 0] * 20}, "hold the same rows"),
)
def test_tables_that_do_not_go_together_are_refused(opt, test, told):
    with pytest.raises(InvalidInputError, match=told):
        Material.of(table(**opt), table(**{"seed": 1, "source": "test.csv", **test}))


@cases(
    (("news/opt.csv", "news/test.csv"), "news"),
    (("opt.csv", "test.csv"), "opt.csv and test.csv"),
    (("../opt.csv", "../test.csv"), "opt.csv and test.csv"),
    (("a/opt.csv", "b/test.csv"), "opt.csv and test.csv"),
)
def test_a_comparison_is_named_after_its_tables(tables, title):
    comparison = Comparison.__new__(Comparison)
    vars(comparison).update(zip(("opt", "test"), tables, strict=True))
    assert comparison.title == title
