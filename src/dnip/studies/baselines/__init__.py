"""Methods to compare with: calibrations, scalings, an adapter, membership functions, and DNIP."""

from dnip.studies.baselines.base import ClassWeights, Correction, LogLinear, Method, OptSet
from dnip.studies.baselines.batch_calibration import BatchCalibration
from dnip.studies.baselines.contextual_calibration import ContextualCalibration
from dnip.studies.baselines.dnip import OurDNIP, PaperDNIP
from dnip.studies.baselines.linear_adapter import LinearAdapter
from dnip.studies.baselines.matrix_scaling import MatrixScaling
from dnip.studies.baselines.membership import MembershipCorrection
from dnip.studies.baselines.membership_search import Membership
from dnip.studies.baselines.prior_division import PriorDivision
from dnip.studies.baselines.raw import RawArgmax
from dnip.studies.baselines.registry import all_methods
from dnip.studies.baselines.scaling import TemperatureScaling, VectorScaling

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
