"""A Python file without dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dnip.deploying.exports.base import EXACT, Export

if TYPE_CHECKING:
    from dnip.method.coefficients import Coefficients

_FILE = '''\
"""Decide by class weights, exported by dnip.

{promise}.
"""

CLASSES = (
{classes}
)
WEIGHTS = (
{weights}
)


def predict(probabilities):
    """Return the class with the largest weight times probability; the first one on a tie."""
    if len(probabilities) != len(CLASSES):
        raise ValueError(f"{{len(CLASSES)}} probabilities are needed, got {{len(probabilities)}}")
    scores = [weight * float(p) for weight, p in zip(WEIGHTS, probabilities)]
    if not all(0 <= score < float("inf") for score in scores):
        raise ValueError(f"probabilities must be finite and not negative: {{probabilities}}")
    return CLASSES[scores.index(max(scores))]
'''


@dataclass(frozen=True)
class PythonFile(Export):
    """A file with one function, for Python 3 alone.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> names = {}
    >>> exec(PythonFile().render(Coefficients(["no", "yes"], [15, 30], 30)), names)
    >>> names["predict"]([0.6, 0.4])
    'yes'
    """

    promise: ClassVar[str] = EXACT

    def render(self, coefficients: Coefficients) -> str:
        """Return the file, in ASCII."""
        return _FILE.format(
            promise=self.promise,
            classes="\n".join(f"    {name!a}," for name in coefficients.classes),
            weights="\n".join(f"    {weight!r}," for weight in coefficients.multipliers.tolist()),
        )
