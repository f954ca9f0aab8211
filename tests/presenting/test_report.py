"""The page's numbers, against the evaluation of the same rows and against plain NumPy."""

import json
import re

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.presenting.measures import BINS, measure
from dnip.presenting.report import report_on
from dnip.tables.evaluation import evaluate

CLASSES = ["cat", "dog", "eel"]


def draw(n=300, classes=CLASSES, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(len(classes), size=n)
    p = rng.dirichlet(np.ones(len(classes)), n) + 0.5 * np.eye(len(classes))[y]
    p[:, 0] += 0.5
    return ProbabilityTable(p / p.sum(axis=1, keepdims=True), y, classes=classes)


@pytest.fixture(scope="module")
def report():
    return report_on(draw(), draw(200, seed=1))


def dense(sparse, n):
    row = np.zeros(n, int)
    row[sparse[::2]] = sparse[1::2]
    return row


def test_counts_are_those_of_the_evaluation(report):
    found = evaluate([draw(200, seed=1)], report.coefficients)
    raw, fitted, *_ = report.data["choices"]
    for choice, confusion in ((raw, found.raw), (fitted, found.reweighted)):
        assert [list(dense(row, 3)) for row in choice["confusion"]] == confusion.tolist()


def test_histograms_count_the_true_class_and_wrong_decisions():
    table = draw(50)
    multipliers = np.array([1.0, 2.0, 3.0])
    new = table.probabilities * multipliers
    new /= new.sum(axis=1, keepdims=True)
    found = measure(table.probabilities, table.labels, multipliers)
    for c in range(3):
        own = new[table.labels == c, c]
        assert found.own[c].tolist() == np.histogram(own, BINS, (0, 1))[0].tolist()
    wrong = new.argmax(axis=1) != table.labels
    assert found.sure[0].tolist() == np.histogram(new.max(axis=1)[wrong], BINS, (0, 1))[0].tolist()


def test_every_choice_is_what_its_coefficients_do(report):
    table = draw(200, seed=1)
    for choice in report.data["choices"][1:]:
        coefficients = Coefficients.from_json(choice["coefficients"])
        right = (coefficients.predict(table.probabilities) == table.labels).mean()
        assert choice["accuracy"] == pytest.approx(right, abs=1e-4)


def test_a_page_holds_no_row_and_loads_nothing(report):
    html = report.to_html()
    assert len(html) < 100_000
    assert not re.search(r"(?:src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org)", html)


def test_hostile_names_end_no_element():
    names = ["</script><script>alert(1)</script>", "<!--", "\u202eדג 🐟" + "x" * 10_000]
    found = report_on(draw(classes=names))
    html = found.to_html()
    assert len(found.verdict) < 1000
    assert html.count("</script>") == 2
    assert "<!--" not in html
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[
        1
    ]
    assert json.loads(data)["classes"] == names


def test_without_labels_it_says_what_changes():
    table = draw()
    unlabelled = ProbabilityTable(table.probabilities, classes=CLASSES)
    coefficients = Coefficients(CLASSES, [1, 2, 2], 2)
    changed = (
        coefficients.predict(table.probabilities) != table.probabilities.argmax(axis=1)
    ).sum()
    found = report_on(unlabelled, coefficients=coefficients)
    assert f"{changed:,} of 300" in found.verdict
    assert "no labels" not in found.to_html()
    with pytest.raises(InvalidInputError, match="neither labels nor coefficients"):
        report_on(unlabelled)


def test_one_row_will_do_without_a_label_and_not_with_one():
    row = draw().take(np.arange(1))
    coefficients = Coefficients(CLASSES, [1, 2, 2], 2)
    assert (
        "of 1 decisions"
        in report_on(
            ProbabilityTable(row.probabilities, classes=CLASSES), coefficients=coefficients
        ).verdict
    )
    with pytest.raises(InvalidInputError, match="at least 2 classes"):
        report_on(row, coefficients=coefficients)


def test_a_class_without_rows_is_left_out_of_the_scores():
    table = draw()
    present = table.take(table.labels != 2)
    with pytest.warns(DNIPWarning, match="eel") as warned:
        raw = report_on(present).data["choices"][0]
    assert len(warned) == 1
    assert raw["rates"][2] is None


def test_other_rows_than_those_of_the_fit_are_checked(report):
    def titles(table):
        return [title for title, _ in report_on(table, coefficients=report.coefficients).facts]

    assert titles(draw()) == ["Rows", "The fit"]
    assert titles(draw(200, seed=1)) == ["Rows", "The fit", "Do they still fit?"]
