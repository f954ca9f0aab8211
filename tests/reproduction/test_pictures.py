"""Pictures of the paper: what they draw, against plain calls; and when their claims hold."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from scipy.stats import gaussian_kde

from dnip.fitting.fit import fit
from dnip.presenting.artefacts import Figure, Table
from reproduction.experiments.densities import GRID, measure_densities, simulate
from reproduction.methods import cut
from results import METHODS, of_kind, presented, scored, starving_table, verdicts

OPT, TEST = starving_table(300, 1), starving_table(200, 2)

# Table 1: confusion matrices

UNEVEN = [[9, 1, 0], [8, 2, 0], [4, 4, 2]]
EVEN = [[8, 1, 1], [1, 8, 1], [1, 1, 8]]


def matrices(task, raw, after):
    found = {"classes": list("abc"), "n": 30, "raw": scored(raw, "abc")}
    return {"task": task}, found | dict.fromkeys(METHODS, scored(after, "abc"))


def test_confusion_matrices_and_their_picture():
    artefacts = presented("confusion", matrices("t", UNEVEN, EVEN))
    (table,) = of_kind(artefacts, Table)
    assert table.rows[3] == ("All", 21, 7, 2, 30, None)
    canvas = Canvas()
    of_kind(artefacts, Figure)[0].draw(canvas)
    labels = [label.get_text() for label in canvas.axes[0].get_xticklabels()]
    assert labels == ["a\n2.10×", "b\n0.70×", "c\n0.20×"]
    others = [matrices(name, EVEN, EVEN) for name in ("agnews", "v")]
    assert verdicts(artefacts) == [True]
    most = presented("confusion", matrices("t", UNEVEN, EVEN), *others)
    assert verdicts(most) == [False]
    assert "m on agnews," in of_kind(most, Table)[0].title


# --- Figures 1 and 2: densities ---
def test_densities_are_of_the_products_of_the_paper_and_of_their_shares():
    found = measure_densities(OPT, TEST, dev_share=0.1, seed=0, simulated=0)
    weights = fit(cut(OPT, 0.1)[0], seed=0, evidence=False).coefficients.weights
    inside = (GRID >= 0) & (GRID <= 1)
    for way, product in (("raw", TEST.probabilities), ("ours", TEST.probabilities * weights)):
        curves = {"product": [], "normalised": []}
        medians = []
        for c in range(3):
            true, of_class = product[TEST.labels == c, c], product[TEST.labels == c]
            widest = max(len(true) ** -0.2, 0.005 / true.std(ddof=1))  # a step of the grid
            curves["product"].append(gaussian_kde(true, widest)(GRID))
            share = true / of_class.sum(axis=1)
            medians.append(np.median(share))
            own = gaussian_kde(share)
            curves["normalised"].append(inside * (own(GRID) + own(-GRID) + own(2 - GRID)))
        gaps = [abs(a - b) for a, b in combinations(medians, 2)]
        assert found[way]["gap"] == pytest.approx(np.mean(gaps))
        for drawn_so, expected in curves.items():
            np.testing.assert_allclose(found[way]["densities"][drawn_so], expected, atol=1e-4)
            shares = [curve / curve.sum() for curve in expected]
            apart = [abs(a - b).sum() / 2 for a, b in combinations(shares, 2)]
            assert found[way][drawn_so] == pytest.approx(np.mean(apart))


def test_simulated_instances_are_like_the_rows():
    made = simulate(OPT, 40_000, seed=1)
    for c in range(3):
        of_class = (t.probabilities[t.labels == c] for t in (OPT, made))
        own, like = (np.log(p[:, 1:] / p[:, :1]) for p in of_class)
        np.testing.assert_allclose(like.mean(axis=0), own.mean(axis=0), atol=0.1)
        np.testing.assert_allclose(np.cov(like.T), np.cov(own.T), atol=0.15)
        assert (made.labels == c).mean() == pytest.approx((OPT.labels == c).mean(), abs=0.01)
