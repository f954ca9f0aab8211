"""Evidence for a fit from its own labels: bootstrap refits, what they show, and a verdict."""

from dnip.bootstrap.assess import Refit, assess
from dnip.bootstrap.evidence import FitEvidence
from dnip.bootstrap.resamples import LEAST, draw_resample, n_affordable
from dnip.bootstrap.settings import EvidenceSettings

__all__ = [
    "LEAST",
    "EvidenceSettings",
    "FitEvidence",
    "Refit",
    "assess",
    "draw_resample",
    "n_affordable",
]
