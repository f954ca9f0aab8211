"""Table 2: the headline, means, deviations, relative changes, and the verdicts on them."""

from statistics import fmean, stdev

import pytest

from reproduction.artefacts import Statement, Table
from results import METHODS, experiment, of_kind, results, scored

#: Of two classes with 50 test rows each: how many are right, by task and seed.
RAW = {("a", 0): (45, 25), ("a", 1): (50, 20), ("b", 0): (40, 30), ("b", 1): (48, 20)}


def two_classes(first, second):
    return scored([[first, 50 - first], [50 - second, second]])


def gap_halved(first, second):
    """The stronger class stays; the other gains half of the gap."""
    return two_classes(first, (first + second) // 2)


def cells(after=gap_halved, ours=None, shots=(1,), raw=RAW, model="m"):
    """Cells of every task and seed; `after` makes scores of both counts, for every method."""
    found = []
    for setting in shots:
        for (task, seed), counts in raw.items():
            result = {"raw": two_classes(*counts), **dict.fromkeys(METHODS, after(*counts))}
            if ours is not None:
                result["ours"] = ours(*counts)
            labels = {"model": model, "task": task, "shots": setting, "seed": seed}
            sizes = {"n_opt": 90, "n_dev": 10, "n": 100}
            found.append((labels, {**result, "classes": ["x", "y"], **sizes}))
    return found


def present(found, **changes):
    one = experiment("main")
    one.plan = one.plan.model_copy(update=changes)
    return one.present(results(*found))


def table(artefacts, name):
    return next(one for one in of_kind(artefacts, Table) if one.name == name)


def verdict(artefacts, beginning):
    (found,) = [one for one in of_kind(artefacts, Statement) if one.claim.startswith(beginning)]
    return found.confirmed


def lines(found):
    return [row for row in found.rows if not isinstance(row, str)]


def test_the_table_holds_means_and_deviations_over_seeds():
    found = table(present(cells()), "main")
    headings = [row for row in found.rows if isinstance(row, str)]
    assert headings == [
        "raw argmax",
        "paper's annealing",
        "authors' schedule",
        "plain optimum",
        "DNIP, ours",
    ]
    raw = lines(found)[0]
    by_seed = [fmean((0.70, 0.70)), fmean((0.70, 0.68))]
    assert raw[0] == "m, 1-shot"
    assert (raw[1].mean, raw[1].deviation) == pytest.approx((fmean(by_seed), stdev(by_seed)))
    assert raw[5].mean == pytest.approx(fmean((0.4, 0.6)))  # COBias of a
    assert len(raw) == len(found.columns) == 1 + 2 * 3


def test_the_headline_holds_means_of_task_means_and_relative_changes():
    found = table(present(cells()), "main-headline")
    raw, after = lines(found)[2:4]
    task_gaps = fmean([0.4, 0.6]), fmean([0.2, 0.56])
    assert raw[2] == pytest.approx(fmean(task_gaps))
    assert after[6] == pytest.approx(after[2] / raw[2] - 1)
    assert after[5] == pytest.approx(after[1] / raw[1] - 1)
    assert after[4] == pytest.approx(1 - after[1] + 2.7 * after[2])
    assert lines(found)[0][1:3] == (0.572, 0.376)


def test_rows_and_ability_stand_by_task():
    chance = {("c", seed): (49, 2) for seed in (0, 1)}
    found = table(present(cells(after=two_classes, raw={**RAW, **chance})), "main-tasks")
    assert [(row[1], *row[3:6], row[-1]) for row in lines(found)] == [
        ("a", 90, 10, 100, "yes"),
        ("b", 90, 10, 100, "yes"),
        ("c", 90, 10, 100, "no"),
    ]
    best = lines(found)[2][8]
    assert best.low < 0.5 < best.value  # 51 % of 100 rows do not show more than a majority of 50 %


def test_tasks_at_chance_stand_apart_and_do_not_count():
    chance = {("c", seed): (49, 2) for seed in (0, 1)}
    alone = table(present(cells()), "main-headline")
    both = table(present(cells(raw={**RAW, **chance}, after=two_classes)), "main-headline")
    assert [row for row in both.rows if isinstance(row, str)][1:] == [
        "Tasks that the model can do: a, b",
        "Tasks at chance: c",
        "All tasks: a, b, c",
    ]
    assert lines(both)[2][1:5] == lines(alone)[2][1:5]


def test_a_model_at_chance_everywhere_tests_nothing():
    chance = {("c", seed): (49, 2) for seed in (0, 1)}
    artefacts = present(cells(raw=chance, after=two_classes))
    assert verdict(artefacts, "DNIP reduces") is None
    assert verdict(artefacts, "The default of dnip fit is no worse") is None


def test_constant_classifiers_are_named_left_out_and_counted():
    constant = {("b", 0), ("b", 1)}

    def after(first, second):
        always = (first, second) in {RAW[key] for key in constant}
        return scored([[50, 0], [50, 0]]) if always else gap_halved(first, second)

    artefacts = present(cells(after=after))
    silent = lines(table(artefacts, "main-never-predicted"))
    assert silent[0] == ("m, 1-shot", 0, 0)
    assert silent[1] == ("m, 1-shot", 0, "constant: x")
    overall = of_kind(artefacts, Statement)[0]
    assert "2 of 4 cells left out" in overall.measured
    assert overall.details["cells_left_out"] == 2
    only_a = {key: counts for key, counts in RAW.items() if key[0] == "a"}
    alone = of_kind(present(cells(raw=only_a)), Statement)[0]
    assert overall.measured.partition(";")[0] == alone.measured.partition(";")[0]
    assert lines(table(artefacts, "main-headline"))[3][-1] == "constant in 2 of 4"


def test_all_constant_is_no_improvement():
    artefacts = present(cells(after=lambda *_: scored([[50, 0], [50, 0]])))
    assert verdict(artefacts, "DNIP reduces") is None


@pytest.mark.parametrize(
    ("after", "confirmed"),
    [
        (gap_halved, True),
        (lambda first, second: two_classes(second, second), False),  # less accurate
        (lambda first, second: two_classes(50, second), False),  # more COBias
    ],
)
def test_the_verdict_on_averages(after, confirmed):
    artefacts = present(cells(after=after))
    assert verdict(artefacts, "DNIP reduces") is confirmed
    assert verdict(artefacts, "The default of dnip fit reduces") is confirmed


def test_ours_is_compared_with_each_other_method_by_task():
    worse = present(cells(ours=two_classes))
    assert verdict(worse, "The default of dnip fit is no worse") is False
    better = present(cells(ours=lambda first, second: two_classes(first, first)))
    assert verdict(better, "The default of dnip fit is no worse") is True
    found = table(better, "main-ours-against")
    assert [row[0] for row in lines(found)] == [
        "raw argmax",
        "paper's annealing",
        "authors' schedule",
        "plain optimum",
    ]
    by_task = [
        fmean(
            (1 - first / 50) - (1 - (first + second) / 100 + 2.7 * (first - second) / 50)
            for first, second in (RAW[task, 0], RAW[task, 1])
        )
        for task in "ab"
    ]
    cost = lines(found)[0][4]
    assert cost.value == pytest.approx(fmean(by_task))
    half = 12.706 * stdev(by_task) / 2**0.5
    assert (cost.low, cost.high) == pytest.approx((fmean(by_task) - half, fmean(by_task) + half))


def test_claims_on_all_models_are_judged_model_by_model():
    large = cells(shots=(1,))
    small = dict.fromkeys(RAW, (30, 29))
    fair = cells(raw=small, model="fair")
    assert verdict(present(large), "COBias exceeds") is True
    assert verdict(present([*large, *fair]), "COBias exceeds") is False
    assert verdict(present(large), "After DNIP") is False  # 25 % after halving
    even = cells(after=lambda first, _: two_classes(first, first - 5))
    assert verdict(present(even), "After DNIP") is True
    again = cells(after=lambda first, _: two_classes(first, first - 5), model="other")
    worse = cells(after=lambda first, second: two_classes(first, second - 5), model="worse")
    assert verdict(present(even), "The improvement is consistent") is None
    assert verdict(present([*even, *again]), "The improvement is consistent") is True
    assert verdict(present([*even, *worse]), "The improvement is consistent") is False


def test_a_model_that_was_trained_on_the_tasks_says_nothing_of_language_models():
    artefacts = present(cells(shots=(1, "balanced")), opt_split="test")
    assert verdict(artefacts, "COBias exceeds") is None
    assert verdict(artefacts, "Balanced demonstrations") is None


def test_five_and_n_shot_prompts_are_judged_setting_by_setting():
    both = cells(shots=(5, "balanced"))
    assert verdict(present(both), "DNIP consistently lowers") is True
    one_fails = [*cells(shots=(5,)), *cells(shots=("balanced",), after=two_classes)]
    assert verdict(present(one_fails), "DNIP consistently lowers") is False


def test_balanced_demonstrations_are_judged_where_there_are_any():
    claim = "Balanced demonstrations"
    assert not [s for s in of_kind(present(cells()), Statement) if s.claim.startswith(claim)]
    assert verdict(present(cells(shots=(1, "balanced"))), claim) is False  # no change


def test_a_seed_that_failed_is_left_out_of_the_mean_over_tasks():
    found = table(present(cells()[:-1]), "main")
    raw = lines(found)[0]
    assert raw[1].mean == pytest.approx(0.7)
    assert raw[1].deviation is None


def test_saved_tables_stand_row_by_row():
    found = table(present(cells(shots=(None,))), "main")
    assert found.rows[1][:4] == ("a", 2, 100, 0.7)
    assert found.rows[1][-1] == 0


def test_nothing_is_presented_of_nothing():
    assert present([]) == []
