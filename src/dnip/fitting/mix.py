"""The class mix that a fit is for, given or estimated."""

from __future__ import annotations

from collections.abc import Sequence

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats, Probabilities
from dnip.metrics.intervals import effective_rows
from dnip.priors.estimate import Calibration, PriorEstimate, estimate_prior, most_rows
from dnip.priors.target import PriorLike, TargetPrior, check_prior, is_estimate, read_prior
from dnip.tables.sampling import RowSample


def find_target(
    prior: PriorLike | None,
    classes: Sequence[str],
    calibration: Calibration,
    support: Floats,
    unlabelled: Probabilities,
) -> TargetPrior | None:
    """Find the class mix to fit for."""
    if prior is None:
        return None
    estimate = None
    if is_estimate(prior):
        if not len(unlabelled):
            raise InvalidInputError(
                "target prior: there are no rows without a label to estimate it from",
                hint="Give --unlabelled TABLE, leave labels empty in rows of the opt table, or "
                "give the shares",
            )
        estimate = estimate_of(unlabelled, calibration)
    if estimate is not None:
        shares = estimate.shares
    elif isinstance(prior, str):
        shares = read_prior(prior, classes)
    else:
        shares = check_prior(prior, classes)
    return TargetPrior(shares, estimate, effective_rows(support, shares))


def estimate_of(unlabelled: Probabilities, calibration: Calibration) -> PriorEstimate:
    """Estimate the class mix of rows without a label, or of a sample if there are many."""
    sample = RowSample(most_rows(unlabelled.shape[1]))
    sample.add(probabilities=unlabelled)
    return estimate_prior(sample.columns["probabilities"], calibration)
