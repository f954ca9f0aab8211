"""The comparison: same rows and seeds for all, results that agree with a fit done by hand."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.comparing import Material, compare
from dnip.comparing.baselines import ClassWeights, OurDNIP, PlainDNIP
from dnip.metrics import accuracy, cobias, confusion_matrix
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


@dataclass(frozen=True)
class Fake:
    """A method that tells what it was given."""

    name: str = "fake"
    summary: ClassVar[str] = "a fake"
    reads: ClassVar[tuple[str, ...]] = ()
    library: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    seeded: bool = True
    fits: list = field(default_factory=list)

    def fit(self, opt, seed=0):
        self.fits.append(seed)
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
    found = result.of("dnip-plain")
    assert [run.confusion.tolist() for run in found.fits] == [c.tolist() for c in confusions]
    mean = np.mean([accuracy(c) for c in confusions])
    assert found.estimates["accuracy"].value == pytest.approx(mean)
    assert found.estimates["cobias"].value == pytest.approx(
        np.mean([cobias(c) for c in confusions])
    )
    raw = result.of("raw")
    assert found.differences["accuracy"].value == pytest.approx(
        mean - raw.estimates["accuracy"].value
    )
    assert raw.differences == {}


def test_all_methods_see_the_same_rows_and_seeds():
    methods = [Fake("one"), Fake("two")]
    result = compare(material(), methods, n_labels=9, n_seeds=3)
    one, two = ([fit.correction for fit in result.of(name).fits] for name in ("one", "two"))
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
