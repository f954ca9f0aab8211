"""What a user may choose about the evidence for a fit."""

from __future__ import annotations

from dataclasses import dataclass

from dnip.validation import check_level, check_number


@dataclass(frozen=True)
class EvidenceSettings:
    """How evidence is gathered, and what it is held against.

    Parameters
    ----------
    always : bool, default=False
        Gather it also where the time allows too few refits.
    seconds : float, default=1.0
        About how long the refits may take, above 0. Their number follows from this and the size of
        the data, so that it is the same on every machine.
    confidence : float, default=0.9
        Level of the intervals, between 0 and 1.
    tolerance : float, default=0.05
        Accuracy that may be lost, 0 to 1.

    Raises
    ------
    InvalidInputError
        For a setting outside its range.

    Examples
    --------
    >>> EvidenceSettings(seconds=5.0).tolerance
    0.05
    """

    always: bool = False
    seconds: float = 1.0
    confidence: float = 0.9
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        check_number("evidence time", self.seconds, above=0)
        check_level("confidence", self.confidence)
        check_number("tolerance", self.tolerance, at_least=0, at_most=1)
