"""Table 2: the headline, means, deviations, relative changes, and the claims about them."""

from statistics import fmean, stdev

import numpy as np
import pytest

from cases import cases
from dnip.presenting.artefacts import Table
from reproduction.comparison import ALL, VariantComparison
from reproduction.experiment import Claim
from reproduction.published import table_2
from results import METHODS, of_kind, presented, results, scored

#: Of two classes with 50 test rows each: how many are right, by task and seed.
RAW = {("a", 0): (45, 25), ("a", 1): (50, 20), ("b", 0): (40, 30), ("b", 1): (48, 20)}
CHANCE = {("c", seed): (49, 2) for seed in (0, 1)}


def two_classes(first, second):
    return scored([[first, 50 - first], [50 - second, second]])


def gap_halved(first, second):
    """The stronger class stays; the other gains half of the gap."""
    return two_classes(first, (first + second) // 2)


def even(first, _second):
    return two_classes(first, first - 5)


def cells(after=gap_halved, raw=RAW, model="m"):
    """Cells of every task and seed; `after` makes scores of both counts, for every method."""
    found = []
    for (task, seed), counts in raw.items():
        result = {"raw": two_classes(*counts), **dict.fromkeys(METHODS, after(*counts))}
        sizes = {"n_opt": 90, "n_dev": 10, "n": 100}
        labels = {"model": model, "task": task, "shots": 1, "seed": seed}
        found.append((labels, {**result, "classes": ["x", "y"], **sizes}))
    return found


def present(found):
    return presented("main", *found)


def lines(artefacts, name):
    table = next(one for one in of_kind(artefacts, Table) if one.name == name)
    return [row for row in table.rows if not isinstance(row, str)]


def verdict(artefacts, beginning):
    (found,) = [one for one in of_kind(artefacts, Claim) if one.claim.startswith(beginning)]
    return found.holds


def test_the_table_holds_means_and_deviations_over_seeds():
    raw = lines(present(cells()), "main")[0]
    by_seed = [fmean((0.70, 0.70)), fmean((0.70, 0.68))]
    assert raw[0] == "m, 1-shot"
    assert (raw[1].mean, raw[1].deviation) == pytest.approx((fmean(by_seed), stdev(by_seed)))
    assert raw[5].mean == pytest.approx(fmean((0.4, 0.6)))  # COBias of a
    one_failed = lines(present(cells()[:-1]), "main")[0]
    assert (one_failed[1].mean, one_failed[1].deviation) == (pytest.approx(0.7), None)


def of_table_2():
    """The paper's table 2 as if it were of a run, with all methods alike."""
    sizes = {"confusion": np.eye(20).tolist()}
    for row in table_2():
        before, after = ({**row.result[way], **sizes} for way in ("raw", "paper"))
        result = {"raw": before, **dict.fromkeys(METHODS, after), "classes": ["x"], "n": 10_000}
        yield row.labels, result


def test_the_papers_table_gives_the_papers_headline():
    artefacts = present(of_table_2())
    _, theirs, raw, ours, *_ = lines(artefacts, "main-headline")
    rates = np.round(100 * np.array([*raw[1:3], *ours[1:3]]), 1)
    assert rates.tolist() == [57.2, 37.6, 67.6, 14.7]
    assert [f"{100 * rate:+.0f}" for rate in ours[5:7]] == ["+18", "-61"]
    assert ours[1:7] == theirs[1:7]
    (first, *_) = of_kind(artefacts, Claim)
    assert first.ours == "COBias 37.6% → 14.7%, accuracy 57.2% → 67.6%"
    assert [one.holds for one in of_kind(artefacts, Claim)] == [True, False, True, True, True, True]


def test_tasks_at_chance_stand_apart_and_do_not_count():
    both = present(cells(raw={**RAW, **CHANCE}, after=two_classes))
    found = lines(both, "main-tasks")
    assert [(row[1], row[-1]) for row in found] == [("a", "yes"), ("b", "yes"), ("c", "no")]
    assert found[2][8].low < 0.5 < found[2][8].value  # 51 % of 100 rows do not show more than 50 %
    alone = lines(present(cells()), "main-headline")
    assert lines(both, "main-headline")[2][1:5] == alone[2][1:5]
    assert verdict(present(cells(raw=CHANCE, after=two_classes)), "DNIP reduces") is None


def test_constant_classifiers_are_named_and_left_out():
    def after(first, second):
        always = (first, second) in {RAW["b", 0], RAW["b", 1]}
        return scored([[50, 0], [50, 0]]) if always else gap_halved(first, second)

    artefacts = present(cells(after=after))
    assert lines(artefacts, "main-headline")[3][-1] == "constant in 2 of 4"
    only_a = present(cells(raw={key: counts for key, counts in RAW.items() if key[0] == "a"}))
    assert of_kind(artefacts, Claim)[0] == of_kind(only_a, Claim)[0]
    all_constant = present(cells(after=lambda *_: scored([[50, 0], [50, 0]])))
    assert verdict(all_constant, "DNIP reduces") is None


@cases(
    (gap_halved, True),
    (lambda first, second: two_classes(second, second), False),  # less accurate
    (lambda first, second: two_classes(50, second), False),  # more COBias
)
def test_the_claim_on_averages(after, holds):
    assert verdict(present(cells(after=after)), "DNIP reduces") is holds


def test_claims_on_all_models_are_judged_model_by_model():
    fair = cells(raw=dict.fromkeys(RAW, (30, 29)), model="fair")
    assert verdict(present(cells()), "COBias exceeds") is True
    assert verdict(present([*cells(), *fair]), "COBias exceeds") is False
    assert verdict(present(cells()), "After DNIP") is False  # 25 % after halving
    one = cells(after=even)
    assert verdict(present(one), "After DNIP") is True
    again = cells(after=even, model="other")
    worse = cells(after=lambda first, second: two_classes(first, second - 5), model="worse")
    consistent = "The improvement shows"
    assert verdict(present(one), consistent) is None
    assert verdict(present([*one, *again]), consistent) is True
    assert verdict(present([*one, *worse]), consistent) is False


# --- means over runs and over tasks ---
def test_all_is_the_mean_over_tasks_run_by_run():
    rates = {("a", 0): 0.5, ("a", 1): 0.7, ("b", 0): 0.1, ("b", 1): 0.2}
    runs = (({"task": t, "seed": s}, {"raw": {"accuracy": x}}) for (t, s), x in rates.items())
    found = results(*runs)
    spread = VariantComparison.of(found, {"raw": ("raw",)}).spread("raw", ALL, "accuracy")
    of_runs = [fmean([0.5, 0.1]), fmean([0.7, 0.2])]
    assert (spread.mean, spread.deviation) == pytest.approx((fmean(of_runs), stdev(of_runs)))


@cases(
    ((0.4, 0.45, 0.42, 0.41), (0.5,) * 4, True),
    ((0.5,) * 4, (0.4, 0.45, 0.42, 0.41), False),
    ((0.6, 0.4, 0.6, 0.36), (0.5,) * 4, False),  # by 0.01, with a standard error of 0.06
    ((0.5,) * 4, (0.5,) * 4, False),
    ((0.49,), (0.5,), True),
)
def test_lower_is_what_exceeds_the_standard_error_over_tasks(one, other, lower):
    tasks = tuple("abcd"[: len(one)])
    values = {
        name: {task: {0: {"x": x, "constant": None}} for task, x in zip(tasks, side, strict=True)}
        for name, side in (("one", one), ("other", other))
    }
    assert VariantComparison(tasks, values).is_lower("one", "other", "x") == lower
