"""The first sentence of the page: what to do, and what it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.metrics import accuracy, class_accuracies, cobias
from dnip.presenting.terminal import shorten

if TYPE_CHECKING:
    from dnip.fitting.record import Fit
    from dnip.tables.evaluation import Evaluation

# Letters of a class name in the verdict.
_LONGEST = 60


def verdict_of(evaluation: Evaluation, fitted: Fit | None, level: float) -> str:
    """Return what to do, in two or three sentences.

    Parameters
    ----------
    evaluation : Evaluation
        Of the rows that the page shows, before and after.
    fitted : Fit or None
        The fit, if it was made on these very rows. Then the verdict is that of its evidence, on
        rows that refits have not seen.
    level : float
        Of the intervals, between 0 and 1.

    Examples
    --------
    >>> from dnip import Coefficients, ProbabilityTable
    >>> from dnip.tables.evaluation import evaluate
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 40)
    >>> table = ProbabilityTable(p, np.array([0, 1] * 40), classes=["ham", "spam"])
    >>> found = evaluate([table], Coefficients(["ham", "spam"], [15, 30], 30))
    >>> print(verdict_of(found, None, 0.9))
    Apply them. The weakest class, spam, goes from 0 % to 100 % right, accuracy from 50.0 % to \
100.0 %, and COBias from 1.000 to 0.000.
    """
    assert evaluation.reweighted is not None
    judged = None if fitted is None else fitted.evidence
    seen = evaluation if judged is None else judged.evaluation
    assert seen.reweighted is not None
    before, after = class_accuracies(seen.raw), class_accuracies(seen.reweighted)
    weakest = int(np.nanargmin(before))
    rates = [accuracy(seen.raw), accuracy(seen.reweighted)]
    gaps = [cobias(seen.raw), cobias(seen.reweighted)]
    said = (
        f"The weakest class, {shorten(seen.classes[weakest], _LONGEST)}, goes from "
        f"{_percent(before[weakest])} to {_percent(after[weakest])} right, accuracy from "
        f"{_percent(rates[0], 1)} to {_percent(rates[1], 1)}, and COBias from {gaps[0]:.3f} to "
        f"{gaps[1]:.3f}."
    )
    if np.nanmin(after) < np.nanmin(before):
        now = int(np.nanargmin(after))
        name = shorten(seen.classes[now], _LONGEST)
        said += f" Now {name} is the weakest, with {_percent(after[now])}."
    if judged is not None:
        advice = "Apply them." if judged.apply else "Keep the most probable class."
        why = " ".join(judged.objections)
        return " ".join(
            part for part in (advice, said, why, "Measured by cross-validation.") if part
        )
    if fitted is not None:
        return f"{said} These are the rows of the fit itself; give test rows for a verdict."
    bounds = evaluation.to_dict(level)["difference"]["intervals"]
    if bounds["cobias"][1] < 0 <= bounds["accuracy"][1]:
        return f"Apply them. {said}"
    if bounds["cobias"][1] < 0:
        return f"They trade accuracy for evenness. {said}"
    if bounds["cobias"][0] > 0:
        return f"Keep the most probable class: these coefficients set classes apart. {said}"
    return f"They bring no sure gain on these rows. {said}"


def _percent(rate: float, digits: int = 0) -> str:
    return f"{100 * rate:.{digits}f} %"
