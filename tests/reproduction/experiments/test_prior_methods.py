"""The linear adapter and batch calibration beside DNIP, and the verdicts."""

import numpy as np
import pytest

from dnip.metrics import confusion_matrix, scores
from reproduction.artefacts import Table, Text
from reproduction.experiments.prior_methods import measure_prior_methods
from results import METHODS, experiment, of_kind, results, starving_table, verdicts


def test_batch_calibration_divides_by_the_mean_of_the_test_rows():
    opt, test = starving_table(200, 1), starving_table(300, 2)
    found = measure_prior_methods(opt, test, dev_share=0.1, seed=0)["batch calibration"]
    p = test.probabilities
    expected = confusion_matrix(test.labels, (p / p.mean(axis=0)).argmax(axis=1), 3)
    assert found["confusion"] == expected.tolist()


def test_rows_without_labels_are_read_but_not_scored():
    opt, test = starving_table(200, 1), starving_table(300, 2)
    labels = np.where(np.arange(300) < 100, test.labels, -1)
    half = type(test)(test.probabilities, labels, classes=test.classes)
    found = measure_prior_methods(opt, half, dev_share=0.1, seed=0)["batch calibration"]
    assert np.sum(found["confusion"]) == 100


def test_the_adapter_lowers_cobias_of_a_starved_class():
    pytest.importorskip("torch")
    opt, test = starving_table(400, 1), starving_table(400, 2)
    found = measure_prior_methods(opt, test, dev_share=0.1, seed=0)
    raw = scores(confusion_matrix(test.labels, test.probabilities.argmax(axis=1), 3))
    assert found["linear adapter"]["cobias"] < raw["cobias"]


def cells(adapter=(0.5, 0.3), batch=(0.6, 0.2), paper=(0.7, 0.1)):
    def scored(pair):
        return None if pair is None else dict(zip(("accuracy", "cobias"), pair, strict=True))

    of_dnip = {"raw": (0.4, 0.4), **dict.fromkeys(METHODS, paper)}
    others = {"linear adapter": adapter, "batch calibration": batch}
    return results(
        *(
            ({"task": "t"}, {name: scored(pair) for name, pair in found.items()})
            for found in (of_dnip, others)
        )
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [True, True]),
        ({"adapter": (0.75, 0.3)}, [False, True]),
        ({"batch": (0.6, 0.05)}, [True, False]),
        ({"paper": (0.55, 0.1)}, [True, False]),
        ({"adapter": None}, [None, True]),
    ],
)
def test_dnip_is_ahead_only_where_it_is_in_both(changes, expected):
    artefacts = experiment("prior-methods").present(cells(**changes))
    assert verdicts(artefacts) == expected
    assert bool(of_kind(artefacts, Text)) == (changes.get("adapter", 0) is None)


def test_raw_argmax_is_told_once_for_each_run():
    artefacts = experiment("prior-methods").present(cells())
    (table,) = of_kind(artefacts, Table)
    assert [column.title for column in table.columns] == [
        "Task",
        "raw argmax",
        "linear adapter",
        "batch calibration",
        "paper's annealing",
        "authors' schedule",
        "plain optimum",
        "DNIP, ours",
    ]
    assert table.rows[1][1].mean == 0.4
