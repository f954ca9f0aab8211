"""Corrections to compare with: calibrations, scalings, an adapter, memberships, and DNIP itself."""

from dnip.baselines.base import ClassWeights, Correction, LogLinear, Method, OptSet
from dnip.baselines.batch_calibration import BatchCalibration
from dnip.baselines.contextual_calibration import ContextualCalibration
from dnip.baselines.dnip import OurDNIP, PaperDNIP
from dnip.baselines.linear_adapter import LinearAdapter
from dnip.baselines.matrix_scaling import MatrixScaling
from dnip.baselines.membership import MembershipCorrection
from dnip.baselines.membership_search import Membership
from dnip.baselines.prior_division import PriorDivision
from dnip.baselines.raw import RawArgmax
from dnip.baselines.registry import all_methods
from dnip.baselines.scaling import TemperatureScaling, VectorScaling

__all__ = [
    "BatchCalibration",
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
    "PriorDivision",
    "RawArgmax",
    "TemperatureScaling",
    "VectorScaling",
    "all_methods",
]
