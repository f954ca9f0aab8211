"""COBias_single as objective, and the verdicts."""

import pytest

from reproduction.experiments.objectives import measure_objectives
from reproduction.methods import cut
from results import METHODS, experiment, results, starving_table, verdicts

AS_SAID = {"raw": (0.5, 0.4, 0.4), "single": (0.5, 0.2, 0.2), "pairwise": (0.5, 0.1, 0.1)}


def verdicts_on(**changes):
    metrics = ("accuracy", "cobias", "cobias_single")
    said = {
        name: dict(zip(metrics, numbers, strict=True))
        for name, numbers in {**AS_SAID, **changes}.items()
    }
    cell = {"raw": said.pop("raw"), **dict.fromkeys(METHODS, said)}
    return verdicts(experiment("single").present(results(({"task": "a"}, cell))))


def test_each_objective_is_the_better_by_its_own_gap_on_opt():
    opt = starving_table(500, 3, n_classes=4)
    found = measure_objectives(opt, cut(opt, 0.1)[0], changed="gap", dev_share=0.1, seed=0)["ours"]
    assert found["single"]["cobias_single"] <= found["pairwise"]["cobias_single"] + 0.01
    assert found["pairwise"]["cobias"] <= found["single"]["cobias"] + 0.01


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [True, True]),
        ({"single": (0.5, 0.2, 0.45)}, [False, True]),
        ({"pairwise": (0.5, 0.1, 0.25)}, [True, False]),
        ({"pairwise": (0.5, 0.25, 0.1)}, [True, False]),
    ],
)
def test_verdicts(changes, expected):
    assert verdicts_on(**changes) == expected
