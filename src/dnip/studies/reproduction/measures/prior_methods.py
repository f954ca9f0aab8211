"""Scores after the linear adapter and batch calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.base.errors import MissingDependencyError
from dnip.method.objective import Objective
from dnip.metrics import confusion_matrix, scores
from dnip.studies.reproduction.protocol import cut

if TYPE_CHECKING:
    from dnip.studies.baselines import Method
    from dnip.tables import ProbabilityTable

#: How the methods are shown.
ADAPTER, BATCH = "linear adapter", "batch calibration"


def measure_prior_methods(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return scores of the test table after each prior method; None for one not installed.

    The adapter is trained toward the published objective. Batch calibration reads the test rows,
    without their labels, as published.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_prior_methods(opt, test, dev_share=0.05, seed=0)
    >>> found["batch calibration"]["cobias"] < 0.27  # of the raw argmax
    True
    """
    from dnip.studies.baselines import BatchCalibration, LinearAdapter  # noqa: PLC0415

    rows, _ = cut(opt, dev_share)
    adapter = LinearAdapter(objective=Objective.published())
    return {
        ADAPTER: _correct(adapter, rows, test, seed),
        BATCH: _correct(BatchCalibration(), rows, test, seed),
    }


def _correct(
    method: Method, opt: ProbabilityTable, test: ProbabilityTable, seed: int
) -> dict[str, Any] | None:
    from dnip.studies.baselines import OptSet  # noqa: PLC0415

    known, judged = opt.labelled(), test.labelled()
    assert known.labels is not None
    assert judged.labels is not None
    learned_from = OptSet.of(
        known.probabilities, known.labels, batch=test.probabilities, classes=opt.classes
    )
    try:
        correction = method.fit(learned_from, seed)
    except MissingDependencyError:
        return None
    predictions = correction.predict(judged.probabilities)
    return scores(confusion_matrix(judged.labels, predictions, judged.n_classes))
