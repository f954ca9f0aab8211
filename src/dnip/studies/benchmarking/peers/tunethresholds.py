"""tunethresholds: differential evolution over real weights, for any score of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.optional import load_optional
from dnip.studies.benchmarking.evaluations import PlainObjective

if TYPE_CHECKING:
    from dnip.base.typing import Labels
    from dnip.studies.benchmarking.arena import Arena


class _Classes:
    """What stands for a fitted classifier: only its class names are read."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)


def search(arena: Arena, _seed: int) -> None:
    """Tune weights in 0.00001..1; the library takes no seed, and no scale.

    It shows the score predictions alone, so the record holds values of real weights, a freedom
    that the others do not have.
    """
    library = load_optional("tunethresholds", purpose="run tunethresholds", extra="tunethresholds")
    plain = PlainObjective(arena.probabilities, arena.labels, arena.objective)

    def score(_labels: Labels, predictions: Labels) -> float:
        z = plain.at(predictions)
        arena.note(None, z)
        return -z

    library.AdjustedProbabilitiesDerivedModel.adjust_model_decision_thresholds(
        _Classes(arena.n_classes),
        arena.labels,
        score_func=score,
        predicted_probabilities_validation=arena.probabilities,
    )
