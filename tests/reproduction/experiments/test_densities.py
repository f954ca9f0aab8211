"""Densities of the true class's probability."""

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from dnip.base.errors import InvalidInputError
from dnip.fitting.fit import fit_table
from dnip.tables.evaluation import evaluate
from reproduction.artefacts import Figure, Statement, Table
from reproduction.experiments.densities import density, measure_densities
from reproduction.methods import cut
from results import METHODS, experiment, of_kind, results, starving_table, verdicts


@pytest.fixture(scope="module")
def found():
    return measure_densities(starving_table(300, 1), starving_table(200, 2), dev_share=0.1, seed=0)


def test_curves_are_of_the_probability_of_the_true_class_before_and_after(found):
    opt, test = starving_table(300, 1), starving_table(200, 2)
    coefficients = fit_table(cut(opt, 0.1)[0], seed=0).coefficients
    for way, p in (
        ("raw", test.probabilities),
        ("ours", coefficients.apply(test.probabilities)),
    ):
        for c in range(3):
            true = p[test.labels == c, c]
            assert found[way]["densities"][c] == pytest.approx(density(true), abs=1e-4)
            assert found[way]["medians"][c] == np.median(true)
    assert found["ours"]["confusion"] == evaluate([test], coefficients).reweighted.tolist()


def test_a_class_without_test_rows_has_no_curve_and_is_drawn_without():
    opt, test = starving_table(300, 1), starving_table(200, 2)
    found = measure_densities(opt, test.take(test.labels != 1), dev_share=0.1, seed=0)
    assert found["raw"]["densities"][1] is None
    artefacts = experiment("kde").present(results(({"task": "t"}, found)))
    canvas = Canvas()
    of_kind(artefacts, Figure)[0].draw(canvas)
    assert [len(axes.lines) for axes in canvas.axes] == [2, 2, 2]


def test_gap_of_medians_and_worst_class_decide(found):
    artefacts = experiment("kde").present(results(({"task": "t"}, found)))
    table, indices = of_kind(artefacts, Table)
    a, b, c = found["raw"]["medians"]
    expected = (abs(a - b) + abs(a - c) + abs(b - c)) / 3
    assert table.rows[0][1] == pytest.approx(expected)
    assert verdicts(artefacts) == [True, True]
    assert [row[1] for row in indices.rows] == list("abc")
    assert [row[3] / 30 for row in indices.rows] == pytest.approx(found["paper"]["weights"])
    weights = found["paper"]["weights"]
    backwards = {**found, "raw": found["paper"], "paper": {**found["raw"], "weights": weights}}
    turned = experiment("kde").present(results(({"task": "t"}, backwards)))
    assert verdicts(turned) == [False, False]


def test_nothing_to_present_without_tasks_of_few_classes():
    assert experiment("kde").present(results()) == []


def test_test_rows_of_one_class_are_refused():
    opt, test = starving_table(300, 1), starving_table(200, 2)
    with pytest.raises(InvalidInputError, match="at least 2 classes"):
        measure_densities(opt, test.take(test.labels == 1), dev_share=0.1, seed=0)


def test_the_papers_weight_indices_stand_beside_ours(found):
    four = {**found, "classes": ["World", "Sports", "Business", "Technology"]}
    for way in ("raw", *METHODS):
        grown = {
            name: [*found[way][name], found[way][name][0]] for name in ("densities", "medians")
        }
        rates = [*found[way]["class_accuracies"], 0.5]
        four[way] = {
            **found[way],
            **grown,
            "class_accuracies": rates,
            "weights": [0.1, 0.2, 1, 0.5],
        }
    artefacts = experiment("kde").present(results(({"task": "agnews"}, four)))
    weights = of_kind(artefacts, Table)[1]
    assert [row[2] for row in weights.rows] == [3, 1, 1, 20]
    assert [row[3] for row in weights.rows] == [3, 6, 30, 15]


def test_constant_answers_are_not_judged(found):
    always = {**found, "paper": {**found["paper"], "constant": "a"}}
    both = results(({"task": "t"}, found), ({"task": "u"}, always))
    statements = of_kind(experiment("kde").present(both), Statement)
    assert all("1 of 2 cells left out" in one.measured for one in statements)
    assert verdicts(experiment("kde").present(results(({"task": "u"}, always)))) == []
