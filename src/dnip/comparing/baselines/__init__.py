"""Methods to compare with: calibrations, scalings and DNIP."""

from dnip.comparing.baselines.base import ClassWeights, Correction, LogLinear, Method, OptSet
from dnip.comparing.baselines.calibration import (
    BatchCalibration,
    BatchCalibrationOnOpt,
    ContextualCalibration,
    PriorDivision,
    RawArgmax,
)
from dnip.comparing.baselines.dnip import AuthorsDNIP, OurDNIP, PaperDNIP, PlainDNIP
from dnip.comparing.baselines.registry import RAW, all_methods, choose
from dnip.comparing.baselines.scaling import (
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
    "LogLinear",
    "MatrixScaling",
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
