"""Rows are sorted by what they may be used for, and nothing is tested on what was learned from."""

import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError, ProbabilityTable
from dnip.comparing import Material
from strategies import random_probabilities


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
    material = Material.of(opt, test, unlabelled=more)
    assert (material.opt.probabilities == opt.probabilities[:6]).all()
    assert material.opt.labels.tolist() == [0, 1, 2, 0, 1, 2]
    unlabelled = np.vstack([opt.probabilities[6:8], more.probabilities])
    assert (material.opt.unlabelled == unlabelled).all()
    assert (material.opt.content_free == opt.probabilities[8:]).all()
    assert (material.opt.batch == test.probabilities).all()
    assert (material.test == test.probabilities[test.labels >= 0]).all()
    assert material.true.tolist() == [0, 1, 2] * 5


def test_content_free_rows_that_are_given_apart_count_alone_and_may_have_the_same_ids():
    ids = [f"{i}" for i in range(9)] + ["content-free-0"]
    other = table(9, seed=1, ids=[f"test-{i}" for i in range(8)] + ["content-free-0"])
    free = table(3, seed=3)
    material = Material.of(table(10, ids=ids), other, content_free=free)
    assert (material.opt.content_free == free.probabilities).all()
    assert len(material.opt.labels) == 9


def test_a_draw_hides_the_labels_of_the_rest():
    material = Material.of(table(60), table(60, seed=1), unlabelled=table(5, seed=2))
    first, again, other = (material.draw(12, seed) for seed in (0, 0, 1))
    assert np.bincount(first.labels).tolist() == [4, 4, 4]
    assert (first.probabilities == again.probabilities).all()
    assert not (first.probabilities == other.probabilities).all()
    assert len(first.unlabelled) == 48 + 5
    seen = {row.tobytes() for row in first.probabilities}
    assert not seen & {row.tobytes() for row in first.unlabelled}
    whole = material.draw(None, 0)
    assert (len(whole.labels), len(whole.unlabelled)) == (60, 5)


@cases(
    ({}, {"classes": ("a", "c", "b")}, "in the same order"),
    ({}, {"seed": 0, "labels": [1, 2, 0] * 20}, "hold the same rows"),
    ({"labels": [-1] * 60}, {}, "opt.csv: no row has a label, and a fit needs labels"),
    ({}, {"labels": [-1] * 60}, "test.csv: no row has a label, and a score needs labels"),
    ({}, {"labels": [1] * 60}, "test.csv: only class b has labelled rows"),
    ({"labels": [1] * 60}, {}, "opt.csv: only class b has labelled rows"),
)
def test_tables_that_do_not_go_together_are_refused(opt, test, told):
    with pytest.raises(InvalidInputError, match=told):
        Material.of(table(**opt), table(**{"seed": 1, "source": "test.csv", **test}))
