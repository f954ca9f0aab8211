"""The comparison: same rows and seeds for all, results of a fit done by hand, and their page."""

import numpy as np
import pytest

from dnip import DNIPWarning, ProbabilityTable
from dnip.comparing import Comparison, Material, MethodScores, ScoredFit, compare
from dnip.comparing.baselines import ClassWeights, OurDNIP, PlainDNIP
from dnip.comparing.presentation import present_comparison
from dnip.metrics import accuracy, cobias, confusion_matrix
from dnip.metrics.intervals import PAIRED
from dnip.presenting.artefacts import Estimate
from strategies import random_probabilities


def material(n_classes=3, labels=None):
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
    return Material.of(*tables)


class Fake(PlainDNIP):
    """A method that tells what it was given."""

    seeded = True

    def fit(self, opt, seed=0):
        told = {"seed": seed, "first": opt.probabilities[0].tolist(), "n": len(opt.labels)}
        return ClassWeights(np.ones(opt.n_classes), told)


def test_figures_are_those_of_a_fit_by_hand():
    given = material()
    result = compare(given, [PlainDNIP()], n_seeds=2)
    assert [outcome.name for outcome in result.methods] == ["raw", "dnip-plain"]
    confusions = []
    for seed in range(2):
        predicted = PlainDNIP().fit(given.draw(None, seed), seed).predict(given.test)
        confusions.append(confusion_matrix(given.true, predicted, 3))
    found, raw = result.of("dnip-plain"), result.of("raw")
    assert [run.confusion.tolist() for run in found.fits] == [c.tolist() for c in confusions]
    for name, metric in (("accuracy", accuracy), ("cobias", cobias)):
        mean = np.mean([metric(c) for c in confusions])
        assert found.estimates[name].value == pytest.approx(mean)
        change = mean - raw.estimates[name].value
        assert found.differences[name].value == pytest.approx(change)
    assert raw.differences == {}


def test_all_methods_see_the_same_rows_and_seeds():
    result = compare(material(), [Fake(), Fake()], n_labels=9, n_seeds=3)
    one, two = ([fit.correction for fit in found.fits] for found in result.methods[1:])
    assert one == two
    assert [told["seed"] for told in one] == [0, 1, 2]
    assert len({tuple(told["first"]) for told in one}) > 1
    assert {told["n"] for told in one} == {9}
    assert (result.n_opt, result.n_unlabelled, result.n_test) == (9, 141, 150)


def test_a_class_without_labels_is_told_once():
    given = material(labels=lambda true: np.where(true == 2, 1, true))
    with pytest.warns(DNIPWarning) as told:
        compare(given, [OurDNIP(), PlainDNIP()])
    assert [str(warning.message) for warning in told] == [
        "some draw of opt.csv: no label of class 2; nothing is learned of it there",
        "test.csv: no labelled row of class 2: left out",
    ]


# --- the page ---
def outcome(name, accuracy, cobias, reads=("labels",)):
    values = {"accuracy": accuracy, "cobias": cobias, "worst_class_accuracy": 0.5, "macro_f1": 0.6}
    estimates = {m: Estimate(v, v - 0.01, v + 0.02) for m, v in values.items()}
    differences = {} if name == "raw" else {m: Estimate(0.1, -0.05, 0.2) for m in PAIRED}
    runs = tuple(
        ScoredFit(seed, 0.0123, np.array([[8, 2], [4, 6]]), np.zeros((2, 2, 2), int), {})
        for seed in range(2)
    )
    return MethodScores(name, "", reads, estimates, differences, runs)


def test_the_page_says_all():
    outcomes = (
        outcome("raw", 0.7, 0.3),
        outcome("batch-calibration", 0.72, 0.1, reads=("batch",)),
        outcome("dnip", 0.72, 0.1),
    )
    skipped = {"linear-adapter": "torch is not installed"}
    settings = {"seeds": 2, "confidence": 0.9, "objective": {}, "scale": 30, "interrupted": False}
    rows = {"n_opt": 1234, "n_test": 20, "n_unlabelled": 7, "n_content_free": 0}
    tables = ("news/opt.csv", "news/test.csv", ("a", "b"))
    compared = Comparison(*tables, methods=outcomes, skipped=skipped, **settings, **rows)
    lines = present_comparison(compared).to_markdown().splitlines()
    assert lines[0] == "### news: 1,234 labels of 2 classes, 20 test rows"
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    assert rows["raw"] == (
        "| raw | 0.700 [0.690, 0.720] | – | 0.300 [0.290, 0.320] | – | 0.500 | 0.600 | 12 ms |"
    )
    assert "| +0.100 [−0.050, +0.200] |" in rows[r"batch-calibration \*"]
    assert "means of 2 runs; in brackets, their 90% intervals." in lines[-2]
    assert "Unlabelled rows at hand: 7." in lines[-2]
    assert r"\* reads the probabilities of all test rows" in lines[-2]
    assert lines[-1] == "Left out, linear-adapter: torch is not installed."
