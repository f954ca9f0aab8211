"""Rows that belong together count as one in ranges; slices show what the whole hides."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dnip
from cases import cases
from dnip import InvalidInputError, ProbabilityTable
from dnip.metrics import metric_intervals
from dnip.tables import Asked, Scan
from dnip.using.slices import HALVES, _binomial_tail, as_counted, slices_of

CLASSES = ("ant", "bee", "cow")


def rows(n, rng, rates=(0.8, 0.8, 0.8)):
    """Return probabilities and labels of which a class is right as often as asked."""
    labels = rng.integers(3, size=n)
    right = rng.random(n) < np.asarray(rates)[labels]
    decided = np.where(right, labels, (labels + 1) % 3)
    p = rng.dirichlet(np.ones(3), n) * 0.4
    p[np.arange(n), decided] += 0.6
    return p, labels


def test_groups_widen_ranges_and_leave_values_alone():
    p, y = rows(60, np.random.default_rng(0))
    often, labels = np.repeat(p, 10, axis=0), np.repeat(y, 10)
    users = np.repeat(np.arange(60), 10)
    alone, grouped = dnip.evaluate(p, y), dnip.evaluate(often, labels, groups=users)
    assert (grouped.grouping.n_groups, grouped.grouping.are_copies) == (60, False)
    assert (grouped.raw == 10 * alone.raw).all()
    few, many = alone.to_dict(0.9)["raw"], grouped.to_dict(0.9)["raw"]
    assert few["accuracy"] == many["accuracy"]
    np.testing.assert_allclose(few["intervals"]["accuracy"], many["intervals"]["accuracy"])
    np.testing.assert_allclose(
        few["intervals"]["class_accuracies"], many["intervals"]["class_accuracies"]
    )


def test_copies_are_found_wherever_a_range_is_shown(tmp_path):
    p, y = rows(50, np.random.default_rng(1))
    table = ProbabilityTable(np.repeat(p, 3, axis=0), np.repeat(y, 3), classes=CLASSES)
    table.write(tmp_path / "t.csv")
    for result in (
        dnip.evaluate(table),
        dnip.evaluate(tmp_path / "t.csv"),
        dnip.evaluate(iter([table.take(range(70)), table.take(range(70, 150))])),
        dnip.check(table, dnip.fit(table, evidence=False)),
    ):
        assert result.grouping.are_copies
        assert result.grouping.sentence.startswith("100 of 150 rows are copies")
        assert result.to_dict()["groups"] == {"rows": 150, "groups": 50, "copies": True}
    assert dnip.evaluate(p, y).grouping is None


def test_groups_widen_the_ranges_of_a_report_and_a_comparison(tmp_path):
    rng = np.random.default_rng(9)
    (p, y), (q, z) = rows(200, rng), rows(40, rng)
    frames = []
    for probabilities, labels, times in ((p, y, 1), (q, z, 10)):
        often = np.repeat(probabilities, times, axis=0)
        frame = pd.DataFrame(often, columns=CLASSES)
        frame["label"] = np.array(CLASSES)[np.repeat(labels, times)]
        frames.append(frame.assign(user=np.repeat(np.arange(len(labels)), times)))
    opt, test = frames
    fitted = dnip.fit(opt, groups="user", evidence=False)
    page, alone = (
        dnip.report(each, coefficients=fitted, **given)
        for each, given in ((test, {"groups": "user"}), (test.drop(columns="user"), {}))
    )
    with pytest.warns(dnip.DNIPWarning, match="ranges are those of 40 groups"):
        grouped = dnip.compare(opt, test, ["dnip"], groups="user", n_seeds=1)
    assert page.data["choices"][0]["accuracy"] == alone.data["choices"][0]["accuracy"]
    assert "ranges are those of 40 groups" in page.to_html()
    low, high = (getattr(grouped.of("raw").estimates["accuracy"], end) for end in ("low", "high"))
    expected = dnip.evaluate(test, groups="user").to_dict(0.9)["raw"]["intervals"]["accuracy"]
    assert [low, high] == pytest.approx(expected)


def test_an_empty_cell_is_a_group_of_its_own(tmp_path):
    p, y = rows(40, np.random.default_rng(2))
    frame = pd.DataFrame(p, columns=CLASSES).assign(label=np.array(CLASSES)[y])
    frame["user"] = ["a"] * 10 + ["b"] * 10 + [None] * 20
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, tmp_path / "t.csv"):
        assert dnip.evaluate(data, groups="user").grouping.n_groups == 22
    by_scan = dnip.evaluate(Scan(tmp_path / "t.csv", None, Asked(group="user")))
    assert by_scan.grouping.n_groups == 22


def test_counts_are_scaled_class_by_class():
    counts = np.array([[8, 2], [0, 4]])
    np.testing.assert_array_equal(as_counted(counts, np.array([5.0, 4.0])), [[4, 1], [0, 4]])
    assert as_counted(counts, np.array([10.0, 4.0])) is counts


# --- slices ---
def starved(rng):
    """Return rows of two languages: cows starve in one of them alone."""
    (p, y), (q, z) = rows(300, rng), rows(200, rng, (0.9, 0.9, 0.1))
    return np.concatenate([p, q]), np.concatenate([y, z]), ["en"] * 300 + ["de"] * 200


def test_each_value_is_scored_by_itself_and_a_class_that_starves_is_named(tmp_path):
    p, y, lang = starved(np.random.default_rng(3))
    found = dnip.evaluate(p, y, classes=CLASSES, by=lang)
    english, german = found.slices.parts
    assert (english.name, german.name) == ("en", "de")
    assert (english.raw + german.raw == found.raw).all()
    assert (english.starving, german.starving) == ((), ("cow",))
    assert list(found.slices.warnings) == [
        "in de, cow: right less than half as often as the mean class"
    ]
    frame = pd.DataFrame(p, columns=CLASSES).assign(label=np.array(CLASSES)[y], lang=lang)
    frame.to_parquet(tmp_path / "t.parquet")
    told = found.to_dict(0.9)["by"]
    assert told["slices"][1]["starving"] == ["cow"]
    expected = metric_intervals(german.raw, 0.9)["accuracy"]
    assert told["slices"][1]["raw"]["intervals"]["accuracy"] == expected
    for data in (frame, tmp_path / "t.parquet"):
        assert dnip.evaluate(data, by="lang").to_dict(0.9)["by"] == told


def test_a_class_that_starves_everywhere_is_no_news_of_a_slice():
    p, y = rows(600, np.random.default_rng(10), (0.9, 0.9, 0.1))
    found = dnip.evaluate(p, y, by=["x", "y", "z"] * 200)
    assert [part.starving for part in found.slices.parts] == [()] * 3
    # in one slice it is worse than in the whole, beyond chance
    none = np.where(np.arange(600) % 3 == 0, 0, p.argmax(axis=1))
    labels = np.full(600, 2)
    labels[:300] = y[:300]
    cut = slices_of(np.array(["x", "y", "z"] * 200, object), labels, {"raw": none}, None, CLASSES)
    assert "cow" not in [name for part in cut.parts for name in part.starving]


def test_coefficients_are_judged_in_each_slice():
    p, y, lang = starved(np.random.default_rng(4))
    fitted = dnip.Coefficients(CLASSES, [1, 1, 30], 30)
    found = dnip.evaluate(p, y, fitted, by=lang)
    assert sum(part.reweighted.sum() for part in found.slices.parts) == 500
    assert set(found.slices.parts[0].to_dict()) == {"name", "rows", "raw", "reweighted", "starving"}


def test_values_with_few_rows_go_together():
    values = np.array([*"a" * 50, *"b" * 40, *map(str, range(25)), None], object)
    labels = np.arange(len(values)) % 3
    cut = slices_of(values, labels, {"raw": labels}, None, CLASSES)
    sizes = [(part.name, int(part.raw.sum())) for part in cut.parts]
    assert sizes == [("a", 50), ("b", 40), ("26 other values", 26)]
    many = np.array([str(i) for i in range(10_000)], object)
    cut = slices_of(many, np.arange(10_000) % 3, {"raw": np.arange(10_000) % 3}, None, CLASSES)
    assert [part.name for part in cut.parts] == ["10,000 other values"]


@cases(
    (["2026-01-01", "2026-03-01T10:00:00Z"], True),
    (["2026-01-01 08:00:00", "2026-01-02 08:00:00"], True),
    (["2026-01-01", "monday"], False),
    (["1", "2"], False),
    (["2026-01-01"] * 2, False),
)
def test_of_a_time_its_halves_are_compared(values, is_time):
    values = np.repeat(np.array(values, object), 40)
    labels = np.arange(80) % 3
    cut = slices_of(values, labels, {"raw": labels}, None, CLASSES)
    assert cut.is_time == is_time
    assert (tuple(part.name for part in cut.parts) == HALVES) == is_time


def test_halves_that_differ_are_named_by_class():
    rng = np.random.default_rng(5)
    (p, y), (q, z) = rows(400, rng), rows(400, rng, (0.8, 0.8, 0.4))
    days = pd.date_range("2026-01-01", periods=800, freq="h").astype(str)
    both = np.concatenate([p, q]), np.concatenate([y, z])
    shuffled = rng.permutation(800)
    found = dnip.evaluate(*(part[shuffled] for part in both), by=days[shuffled]).slices
    assert (found.is_time, found.changed) == (True, ("2",))
    assert "second half of the time differs from the first in 2" in [*found.warnings][-1]


def test_chance_alone_hardly_ever_warns():
    warned = 0
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        p, y = rows(400, rng, (0.9, 0.6, 0.5))
        found = dnip.evaluate(p, y, by=rng.choice([*"abcdefgh"], 400))
        warned += bool([*found.slices.warnings])
    assert warned <= 3


@cases((0, 10, 0.3), (4, 10, 0.3), (10, 10, 0.9), (3, 700, 0.01), (0, 5, 1.0))
def test_the_tail_is_that_of_the_binomial_distribution(hits, n, rate):
    assert _binomial_tail(hits, n, rate) == pytest.approx(stats.binom.cdf(hits, n, rate))


# --- check ---
def test_a_class_that_never_occurs_any_more_is_named():
    rng = np.random.default_rng(6)
    p, y = rows(600, rng)
    fitted = dnip.fit(p[:300], y[:300], evidence=False)
    new, labels = p[300:], y[300:]
    assert dnip.check(new, fitted, labels).absent == ()
    kept = labels != 2
    assert dnip.check(new[kept], fitted, labels[kept]).absent == ("2",)
    none = new * [1, 1, 0]
    assert dnip.check(none / none.sum(axis=1, keepdims=True), fitted).absent == ("2",)


def test_check_counts_a_group_once():
    rng = np.random.default_rng(8)
    p, y = rows(900, rng)
    fitted = dnip.fit(p[:500], y[:500], evidence=False)
    new, labels = (np.repeat(part[500:540], 10, axis=0) for part in (p, y))
    users = np.repeat(np.arange(40), 10)
    noisy = new * rng.uniform(0.97, 1.03, new.shape)
    noisy /= noisy.sum(axis=1, keepdims=True)
    alone = dnip.check(noisy, fitted, labels)
    grouped = dnip.check(noisy, fitted, labels, groups=users)
    assert (alone.grouping, grouped.grouping.n_groups) == (None, 40)
    assert grouped.comparison.p_value > alone.comparison.p_value
    width = [score.high - score.low for score in (alone.cobias, grouped.cobias)]
    assert width[1] > 1.5 * width[0]
    by = dnip.check(noisy, fitted, labels, by=["x", "y"] * 200)
    assert [part.name for part in by.slices.parts] == ["x", "y"]
    with pytest.raises(InvalidInputError, match="new rows: 1, too few"):
        dnip.check(noisy, fitted, labels, groups=["u"] * 400)
