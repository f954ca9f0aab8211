import numpy as np
import pytest

from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.priors import effective_rows, weigh_rows

NAMES = ("a", "b", "c")
LABELS = np.array([0] * 6 + [1] * 3 + [2])


def test_weights_are_those_that_scikit_learn_gives_for_class_weights():
    sklearn = pytest.importorskip("sklearn.utils.class_weight")
    target = np.array([0.2, 0.3, 0.5])
    ratio = dict(enumerate(target * 10 / np.bincount(LABELS)))
    expected = sklearn.compute_sample_weight(ratio, LABELS)
    np.testing.assert_allclose(weigh_rows(LABELS, target, NAMES), expected)
    balanced = sklearn.compute_sample_weight("balanced", LABELS)
    np.testing.assert_allclose(weigh_rows(LABELS, np.full(3, 1 / 3), NAMES), balanced)


def test_sample_weights_keep_their_proportions_within_a_class():
    own = np.arange(1.0, 11.0)
    target = np.array([0.2, 0.3, 0.5])
    weight = weigh_rows(LABELS, target, NAMES, own)
    assert weight.sum() == pytest.approx(own.sum())
    np.testing.assert_allclose(np.bincount(LABELS, weight) / weight.sum(), target)
    np.testing.assert_allclose(weight[:6] / weight[0], own[:6] / own[0])


def test_the_effective_number_is_that_of_the_weights():
    target = np.array([0.1, 0.1, 0.8])
    weight = weigh_rows(LABELS, target, NAMES)
    expected = weight.sum() ** 2 / (weight**2).sum()
    assert effective_rows(np.bincount(LABELS), target) == pytest.approx(expected)
    assert effective_rows(np.bincount(LABELS), np.array([0.6, 0.3, 0.1])) == pytest.approx(10)


def test_a_class_without_share_does_not_count_and_one_without_labels_is_told():
    weight = weigh_rows(LABELS, np.array([0.5, 0, 0.5]), NAMES)
    np.testing.assert_allclose(weight, [5 / 6] * 6 + [0] * 3 + [5])
    with pytest.warns(DNIPWarning, match=r"20.0% of the target prior is of class c, which has no"):
        weight = weigh_rows(LABELS[:9], np.array([0.4, 0.4, 0.2]), NAMES)
    np.testing.assert_allclose(np.bincount(LABELS[:9], weight), [4.5, 4.5])


@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_two_classes_must_count():
    with pytest.raises(InvalidInputError, match="fewer than two classes"):
        weigh_rows(np.array([0, 0, 1]), np.array([0.5, 0, 0.5]), NAMES)
