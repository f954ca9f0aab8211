"""All methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.method.objective import Objective
from dnip.method.scales import DEFAULT_SCALE
from dnip.studies.baselines.batch_calibration import BatchCalibration
from dnip.studies.baselines.contextual_calibration import ContextualCalibration
from dnip.studies.baselines.dnip import OurDNIP, PaperDNIP
from dnip.studies.baselines.linear_adapter import LinearAdapter
from dnip.studies.baselines.matrix_scaling import MatrixScaling
from dnip.studies.baselines.membership_search import Membership
from dnip.studies.baselines.prior_division import PriorDivision
from dnip.studies.baselines.raw import RawArgmax
from dnip.studies.baselines.scaling import TemperatureScaling, VectorScaling

if TYPE_CHECKING:
    from dnip.studies.baselines.base import Method


def all_methods(
    objective: Objective | None = None, *, scale: int | str = DEFAULT_SCALE
) -> dict[str, Method]:
    """Return every method by name, in the order in which they are shown.

    Parameters
    ----------
    objective : Objective, optional
        Of the methods that minimise one, but for the paper's, whose settings are its own;
        ``Objective()`` by default.
    scale : int or str, default="log:1000"
        Of this package's own fits.

    Examples
    --------
    >>> " ".join(all_methods())
    'raw batch-calibration batch-calibration-opt contextual-calibration prior-division \
temperature-scaling vector-scaling matrix-scaling matrix-scaling-balanced linear-adapter \
membership dnip-paper dnip-plain dnip'
    """
    goal = Objective() if objective is None else objective
    methods: tuple[Method, ...] = (
        RawArgmax(),
        BatchCalibration(),
        BatchCalibration("opt"),
        ContextualCalibration(),
        PriorDivision(),
        TemperatureScaling(),
        VectorScaling(),
        MatrixScaling(),
        MatrixScaling(balanced=True),
        LinearAdapter(objective=goal),
        Membership(goal),
        PaperDNIP(),
        OurDNIP("off", goal, scale),
        OurDNIP("auto", goal, scale),
    )
    return {method.name: method for method in methods}
