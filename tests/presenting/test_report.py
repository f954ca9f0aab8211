"""The page's numbers, against the evaluation of the same rows and against plain NumPy."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import oracles
from dnip import Coefficients, DNIPWarning, InvalidInputError, ProbabilityTable, evaluate
from dnip.fitting.fit import fit
from dnip.presenting.report import report as report_on
from dnip.presenting.text import describe_evaluation
from populations import biased_rows

CLASSES = ["cat", "dog", "eel"]


def draw(n=300, classes=CLASSES, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(len(classes), size=n)
    p = rng.dirichlet(np.ones(len(classes)), n) + 0.5 * np.eye(len(classes))[y]
    p[:, 0] += 0.5
    return ProbabilityTable(p / p.sum(axis=1, keepdims=True), y, classes=classes)


@pytest.fixture(scope="module")
def report():
    return report_on(draw())


def dense(sparse, n):
    row = np.zeros(n, int)
    row[sparse[::2]] = sparse[1::2]
    return row


def test_counts_are_those_that_refits_expect(report):
    judged = fit(draw()).evidence.evaluation
    raw, *others = report.data["choices"]
    for choice, confusion in (
        (raw, judged.raw),
        (report.data["choices"][report.data["chosen"]], judged.reweighted),
    ):
        shown = [list(dense(row, 3)) for row in choice["confusion"]]
        assert shown == np.rint(confusion).tolist()  # means over several draws of the folds
    fitted = fit(draw())
    assert [each["name"] for each in others] == [f"β = {a.beta:g}" for a in fitted.alternatives]
    for each, other in zip(others, fitted.alternatives, strict=True):
        promised = other.accuracy, other.cobias, other.worst
        shown = [each[name] for name in ("accuracy", "cobias", "worst_class_accuracy")]
        assert shown == pytest.approx(promised)
    assert raw["cobias"] == fitted.evidence.raw.cobias


def test_where_the_raw_argmax_is_kept_the_page_begins_there():
    even = biased_rows(np.random.default_rng(1), 40, bias=[0.0, 0.0, 0.0])
    fitted = fit(even.probabilities, even.labels)
    assert fitted.is_raw
    page = report_on(even.probabilities, even.labels, coefficients=fitted)
    assert page.data["chosen"] == 0
    assert page.data["choices"][0]["coefficients"] == fitted.coefficients.to_json()
    assert page.verdict.startswith("Verdict of the fit: keep. ")


def test_of_given_coefficients_counts_are_those_of_the_evaluation(report):
    other = draw(200, seed=1)
    found = evaluate(other, coefficients=report.coefficients)
    page = report_on(other, coefficients=report.coefficients)
    assert [each["name"] for each in page.data["choices"]] == ["before", "coefficients"]
    for choice, confusion in zip(page.data["choices"], (found.raw, found.reweighted), strict=True):
        assert [list(dense(row, 3)) for row in choice["confusion"]] == confusion.tolist()
    assert page.data["choices"][1]["coefficients"] == report.coefficients.to_json()


def test_a_fit_of_the_rows_is_the_page_of_the_rows(report):
    found = report_on(draw(), coefficients=fit(draw()))
    of_both = [  # but for the file, which has the time
        [{**each, "coefficients": None} for each in page.data["choices"]]
        for page in (found, report)
    ]
    assert of_both[0] == of_both[1]
    assert found.verdict == report.verdict
    assert not report_on(draw(200, seed=1), coefficients=fit(draw())).data["expected"]


@pytest.mark.parametrize(("right", "n", "shown"), [(198, 260, "76.2 %"), (325, 400, "81.2 %")])
def test_a_rate_has_the_digits_of_the_terminal(right, n, shown):
    y = np.repeat([0, 1], n)
    p = np.eye(2)[np.where(np.arange(2 * n) % n < right, y, 1 - y)] * 0.8 + 0.1
    raw = report_on(ProbabilityTable(p, y), coefficients=Coefficients(["0", "1"], [1, 1], 1))
    choice = raw.data["choices"][0]
    assert choice["totals"]["accuracy"] == choice["totals"]["worst class"] == shown
    assert [f"{100 * rate[0]:.1f} %" for rate in choice["rates"]] == [shown, shown]
    assert f"{float(shown[:-2]) / 100:.3f}" in describe_evaluation(evaluate(ProbabilityTable(p, y)))


def test_the_verdict_is_that_of_the_fit_and_the_rows_have_no_other():
    fitted = fit(draw(), evidence=True)
    judged, given = fitted.evidence, fitted.coefficients
    quoted = f"Verdict of the fit: {judged.verdict}. "
    own = report_on(draw(), coefficients=given).verdict
    reason = " ".join(judged.reason.split())
    assert own == f"{quoted}{reason}. This page shows the rows of the fit."
    expected = report_on(draw(), coefficients=fitted).verdict
    assert expected.startswith(f"{quoted}{reason}. The weakest class, ")
    assert expected.endswith(" All this is what refits expect of other rows.")
    other = report_on(draw(200, seed=1), coefficients=given).verdict
    assert other.startswith(quoted + "These are other rows. The weakest class, ")
    assert other.endswith("As far as these rows can show, COBias falls, and accuracy rises.")
    bare = replace(given, fit=replace(given.fit, evidence=None))
    alone = report_on(draw(), coefficients=bare).verdict
    assert alone.endswith("These are the rows of the fit itself; give others for a verdict.")


def test_a_page_holds_no_row_and_loads_nothing(report):
    html = report.to_html()
    assert len(html) < 110_000
    assert not re.search(r"(?:src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org)", html)


def test_hostile_names_end_no_element():
    names = ["</script><script>alert(1)</script>", "<!--", "\u202eדג 🐟" + "x" * 10_000]
    found = report_on(draw(classes=names))
    html = found.to_html()
    assert len(found.verdict) < 1000
    assert html.count("</script>") == 2
    assert "<!--" not in html
    data = html.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["classes"] == names


def test_without_labels_it_says_what_changes():
    table = draw()
    unlabelled = ProbabilityTable(table.probabilities, classes=CLASSES)
    coefficients = Coefficients(CLASSES, [1, 2, 2], 2)
    raw = table.probabilities.argmax(axis=1)
    changed = (oracles.predict(table.probabilities, [1, 2, 2]) != raw).sum()
    found = report_on(unlabelled, coefficients=coefficients)
    assert f"{changed:,} of 300" in found.verdict
    assert "no labels" not in found.to_html()
    with pytest.raises(InvalidInputError, match="neither labels nor coefficients"):
        report_on(unlabelled)


def test_one_row_will_do_without_a_label_and_not_with_one():
    row = draw().take(np.arange(1))
    coefficients = Coefficients(CLASSES, [1, 2, 2], 2)
    unlabelled = ProbabilityTable(row.probabilities, classes=CLASSES)
    assert "of 1 decisions" in report_on(unlabelled, coefficients=coefficients).verdict
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
