"""The page's numbers, against the evaluation of the same rows and against plain NumPy."""

import re
from dataclasses import replace
from html import unescape

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


def test_counts_are_those_that_refits_expect(report):
    judged = fit(draw()).evidence.evaluation
    raw, *others = report.data["choices"]
    for choice, confusion in (
        (raw, judged.raw),
        (report.data["choices"][report.data["chosen"]], judged.reweighted),
    ):
        assert choice["confusion"] == confusion.tolist()
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
    assert page.verdict.startswith("Keep the answers as they are: of 1,000 new rows ")
    assert 'value="0"' in page.to_html()


def test_of_given_coefficients_counts_are_those_of_the_evaluation(report):
    other = draw(200, seed=1)
    found = evaluate(other, coefficients=report.coefficients)
    page = report_on(other, coefficients=report.coefficients)
    assert [each["name"] for each in page.data["choices"]] == ["before", "after"]
    for choice, confusion in zip(page.data["choices"], (found.raw, found.reweighted), strict=True):
        assert choice["confusion"] == confusion.tolist()
    assert report.coefficients.to_json() in unescape(page.to_html())


def test_a_fit_of_the_rows_is_the_page_of_the_rows(report):
    found = report_on(draw(), coefficients=fit(draw()))
    assert found.data == report.data
    assert found.verdict == report.verdict
    assert not report_on(draw(200, seed=1), coefficients=fit(draw())).data["expected"]


def test_a_rate_has_the_digits_of_the_terminal():
    right, n, shown = 325, 400, "812"
    y = np.repeat([0, 1], n)
    p = np.eye(2)[np.where(np.arange(2 * n) % n < right, y, 1 - y)] * 0.8 + 0.1
    page = report_on(ProbabilityTable(p, y), coefficients=Coefficients(["0", "1"], [1, 1], 1))
    assert f"<b>{shown} → {shown}</b>" in page.to_html()
    assert f"in the weakest class, {shown} of 1,000 rows are right (0) instead" in page.verdict
    assert page.verdict.partition(".")[0].endswith(f"and of all rows {shown} as before")
    assert f"{float(shown) / 1000:.3f}" in describe_evaluation(evaluate(ProbabilityTable(p, y)))


def test_what_is_drawn_lies_at_its_own_number(report):
    now, raw = report.data["choices"][report.data["chosen"]], report.data["choices"][0]
    drawn = re.findall(r'<circle class="(\w+)" cx="([\d.]+)%"', report.to_html())
    for side, choice in (("before", raw), ("after", now)):
        places = {float(place) / 100 for kind, place in drawn if kind == side}
        assert {*choice["class_accuracies"]} <= places


def test_the_first_sentence_says_apply_or_keep_and_the_price():
    fitted = fit(draw(), evidence=True)
    given = fitted.coefficients
    counts = [fitted.evidence.evaluation.raw, fitted.evidence.evaluation.reweighted]
    rates = [np.diag(side) / side.sum(axis=1) for side in counts]
    now, then = (round(1000 * round(float(rate.min()), 3)) for rate in reversed(rates))
    expected = report_on(draw(), coefficients=fitted).verdict
    weakest = f"in the weakest class, {now} of 1,000 new rows should be right"
    assert expected.startswith(f"Apply the coefficients: {weakest}")
    assert f"instead of {then}" in expected
    own = report_on(draw(), coefficients=given).verdict
    assert own.startswith("Apply the coefficients: on the rows of the fit themselves, in the weak")
    other = report_on(draw(200, seed=1), coefficients=given).verdict
    assert other.endswith("the gap between classes falls, and accuracy rises.")
    bare = replace(given, fit=replace(given.fit, evidence=None))
    assert report_on(draw(), coefficients=bare).verdict.startswith("Not judged: on the rows of the")


def test_weights_that_do_harm_are_not_to_be_applied():
    table = draw()
    fitted = fit(table)
    harm = Coefficients(CLASSES, [60, 1, 1], 60)
    found = report_on(table, coefficients=harm)
    assert found.verdict.startswith("Keep the answers as they are: with the coefficients, ")
    lost = [evaluate(table, coefficients=w).to_dict()["difference"] for w in (harm, fitted)]
    assert lost[0]["accuracy"] < 0 < lost[1]["accuracy"]
    assert f"it costs {round(-1000 * lost[0]['accuracy'])} right answers in 1,000" in found.verdict


def test_slices_are_those_of_the_evaluation():
    table, langs = draw(), np.array(["en", "de"])[np.arange(300) % 2]
    coefficients = Coefficients(CLASSES, [1, 2, 2], 2)
    found = evaluate(table.probabilities, table.labels, coefficients, by=langs)
    page = report_on(table.probabilities, table.labels, coefficients=coefficients, by=langs)
    assert page.data["slices"] == [part.to_dict(0.9) for part in found.slices.parts]
    assert page.to_html().count('class="slices"') == 1


def test_a_page_holds_no_row_and_loads_nothing(report):
    html = report.to_html()
    assert len(html) < 110_000
    assert not re.search(r"(?:src|href)\s*=|@import|url\(|fetch\(|https?://(?!www\.w3\.org)", html)


def test_hostile_names_end_no_element():
    names = ["</script><script>alert(1)</script>", "<!--", "\u202eדג 🐟" + "x" * 10_000]
    found = report_on(draw(classes=names))
    html = found.to_html()
    assert len(found.verdict) < 1000
    assert html.count("</script>") == 1
    assert "<!--" not in html


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


def test_a_class_without_rows_is_left_out_of_the_scores():
    table = draw()
    present = table.take(table.labels != 2)
    with pytest.warns(DNIPWarning, match="eel") as warned:
        page = report_on(present)
    assert len(warned) == 1
    assert 2 not in page.data["order"]
    assert "eel</span></th>" not in page.to_html()


def test_other_rows_than_those_of_the_fit_are_checked(report):
    def titles(table):
        return [title for title, _ in report_on(table, coefficients=report.coefficients).facts]

    assert titles(draw()) == ["Figures", "Rows", "The fit"]
    assert titles(draw(200, seed=1)) == ["Figures", "Rows", "The fit", "Do they still fit?"]
