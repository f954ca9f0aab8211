"""Table 2: means, deviations, relative changes, and the verdicts on them."""

from statistics import fmean, stdev

import pytest

from dnip.presenting.artefacts import Spread, Statement, Table
from results import experiment, of_kind, results

RAW = {("a", 0): (0.5, 0.4), ("a", 1): (0.7, 0.6), ("b", 0): (0.2, 0.8), ("b", 1): (0.4, 0.5)}


def cells(after, shots=(1,), left_out=()):
    """Both methods on two tasks and two seeds; `after` turns raw accuracy and COBias."""
    found = []
    for setting in shots:
        for (task, seed), raw in RAW.items():
            if (task, seed) in left_out:
                continue
            names = ("accuracy", "cobias")
            now = dict(zip(names, after(*raw), strict=True))
            result = {"raw": dict(zip(names, raw, strict=True)), "published": now, "ours": now}
            labels = {"task": task, "shots": setting, "seed": seed}
            found.append((labels, {**result, "classes": ["x", "y"], "n": 10}))
    return results(*found)


def present(found):
    return experiment("main").present(found)


def lines(table):
    return {row[0]: row[1:] for row in table.rows if not isinstance(row, str)}


def test_the_table_holds_means_and_deviations_over_seeds():
    table = of_kind(present(cells(lambda accuracy, gap: (accuracy + 0.1, gap / 2))), Table)[0]
    headings = [row for row in table.rows if isinstance(row, str)]
    assert headings == ["raw argmax", "DNIP as published", "DNIP, ours"]
    raw, published, ours = (row for row in table.rows if not isinstance(row, str))
    assert raw[0] == "m, 1-shot"
    by_seed = [fmean((0.5, 0.2)), fmean((0.7, 0.4))]
    assert raw[1].mean == pytest.approx(fmean(by_seed))
    assert raw[1].deviation == pytest.approx(stdev(by_seed))
    assert (raw[2].mean, raw[2].deviation) == (
        pytest.approx(0.6),
        pytest.approx(stdev((0.5, 0.7))),
    )
    assert raw[6].mean == pytest.approx(fmean((0.8, 0.5)))
    assert published[2].mean == ours[2].mean == pytest.approx(0.7)
    assert len(raw) == len(table.columns) == 1 + 2 * 3


def test_changes_are_relative_to_the_mean_before():
    tables = of_kind(present(cells(lambda accuracy, gap: (1.1 * accuracy, 0.25 * gap))), Table)
    by_task = lines(tables[1])
    assert by_task["a"][2] == pytest.approx(0.1)
    assert by_task["b"][5] == pytest.approx(-0.75)
    assert tuple(by_task["All"][3:6]) == (
        pytest.approx(0.575),
        pytest.approx(0.575 / 4),
        pytest.approx(-0.75),
    )


@pytest.mark.parametrize(
    ("after", "confirmed"),
    [
        (lambda accuracy, gap: (accuracy + 0.1, gap / 2), True),
        (lambda accuracy, gap: (accuracy - 0.1, gap / 2), False),
        (lambda accuracy, gap: (accuracy + 0.1, gap + 0.1), False),
    ],
)
def test_the_verdict_on_averages(after, confirmed):
    statements = of_kind(present(cells(after)), Statement)
    overall = [one for one in statements if "average COBias" in one.claim]
    assert [one.confirmed for one in overall] == [confirmed, confirmed]
    assert overall[0].details["paper_relative_cobias"] == -0.61


def test_balanced_demonstrations_are_judged_where_there_are_any():
    claim = "One demonstration of each class"
    one = of_kind(present(cells(lambda *raw: raw)), Statement)
    both = of_kind(present(cells(lambda *raw: raw, shots=(1, "balanced"))), Statement)
    assert not [s for s in one if s.claim.startswith(claim)]
    assert [s.confirmed for s in both if s.claim.startswith(claim)] == [False]  # no change


def test_a_seed_that_failed_is_left_out_of_the_mean_over_tasks():
    found = cells(lambda *raw: raw, left_out={("b", 1)})
    table = of_kind(present(found), Table)[0]
    raw = next(row for row in table.rows if not isinstance(row, str))
    assert raw[1] == Spread(pytest.approx(0.35), None)
    assert raw[3] == Spread(0.2, None)


def test_saved_tables_stand_row_by_row():
    found = cells(lambda accuracy, gap: (accuracy, gap / 2), shots=(None,))
    table = of_kind(present(found), Table)[0]
    assert table.rows[0][:4] == ("a", 2, 10, 0.5)


def test_nothing_is_presented_of_nothing():
    assert present(results()) == []
