"""Methods to compare with: calibrations, scalings and DNIP."""

from __future__ import annotations

from dnip.base.validation import check_choice
from dnip.comparing.baselines.base import ClassWeights, Correction, LogLinear, Method, OptSet
from dnip.comparing.baselines.scaling import BalancedMatrixScaling, MatrixScaling, VectorScaling
from dnip.comparing.baselines.weights import (
    BatchCalibration,
    ContextualCalibration,
    CWPlugin,
    OurDNIP,
    PaperDNIP,
    PlainDNIP,
    RawArgmax,
)
from dnip.method.objective import Objective
from dnip.method.scales import DEFAULT_SCALE

__all__ = [
    "RAW",
    "BalancedMatrixScaling",
    "BatchCalibration",
    "CWPlugin",
    "ClassWeights",
    "ContextualCalibration",
    "Correction",
    "LogLinear",
    "MatrixScaling",
    "Method",
    "OptSet",
    "OurDNIP",
    "PaperDNIP",
    "PlainDNIP",
    "RawArgmax",
    "VectorScaling",
    "all_methods",
    "choose",
]

#: The method that all others are compared with.
RAW = RawArgmax.name


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
    'raw batch-calibration contextual-calibration vector-scaling matrix-scaling \
matrix-scaling-balanced cw-plugin dnip-paper dnip-plain dnip'
    """
    goal = Objective() if objective is None else objective
    methods: tuple[Method, ...] = (
        RawArgmax(),
        BatchCalibration(),
        ContextualCalibration(),
        VectorScaling(),
        MatrixScaling(),
        BalancedMatrixScaling(),
        CWPlugin(goal),
        PaperDNIP(),
        PlainDNIP(goal, scale),
        OurDNIP(goal, scale),
    )
    return {method.name: method for method in methods}


def choose(
    names: str | None = None,
    objective: Objective | None = None,
    *,
    scale: int | str = DEFAULT_SCALE,
) -> list[Method]:
    """Return the methods that comma-separated names ask for, the raw argmax always first.

    Parameters
    ----------
    names : str, optional
        All where it is left out.
    objective, scale
        As for :func:`all_methods`.

    Raises
    ------
    InvalidInputError
        For a name that is not known.

    Examples
    --------
    >>> [method.name for method in choose("dnip, batch-calibration")]
    ['raw', 'dnip', 'batch-calibration']
    """
    known = all_methods(objective, scale=scale)
    if names is None:
        return list(known.values())
    wanted = dict.fromkeys([RAW, *(name.strip() for name in names.split(","))])
    return [known[check_choice("methods", name, list(known))] for name in wanted]
