"""Methods to compare with: calibrations, scalings, an adapter, membership functions, and DNIP."""

from dnip.studies.baselines.base import ClassWeights, Correction, LogLinear, Method, OptSet
from dnip.studies.baselines.calibration import (
    BatchCalibration,
    BatchCalibrationOnOpt,
    ContextualCalibration,
    PriorDivision,
    RawArgmax,
)
from dnip.studies.baselines.dnip import AuthorsDNIP, OurDNIP, PaperDNIP, PlainDNIP
from dnip.studies.baselines.linear_adapter import LinearAdapter
from dnip.studies.baselines.membership import Membership, MembershipCorrection
from dnip.studies.baselines.registry import RAW, all_methods, choose
from dnip.studies.baselines.scaling import (
    BalancedMatrixScaling,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

__all__ = [
    "RAW",
    "AuthorsDNIP",
    "BalancedMatrixScaling",
    "BatchCalibration",
    "BatchCalibrationOnOpt",
    "ClassWeights",
    "ContextualCalibration",
    "Correction",
    "LinearAdapter",
    "LogLinear",
    "MatrixScaling",
    "Membership",
    "MembershipCorrection",
    "Method",
    "OptSet",
    "OurDNIP",
    "PaperDNIP",
    "PlainDNIP",
    "PriorDivision",
    "RawArgmax",
    "TemperatureScaling",
    "VectorScaling",
    "all_methods",
    "choose",
]
