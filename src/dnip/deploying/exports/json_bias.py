"""JSON with a temperature and a bias per option."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dnip.deploying.exports.base import Export

if TYPE_CHECKING:
    from dnip.method.coefficients import Coefficients


@dataclass(frozen=True)
class JsonBias(Export):
    """The bias ln ω of every option, to be added to its log-probability.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> print(JsonBias().render(Coefficients(["no", "yes"], [30, 15], 30)), end="")
    {"temperature": 1.0, "bias": {"no": 0.0, "yes": -0.6931471805599453}}
    """

    promise: ClassVar[str] = (
        "Logarithms are rounded: two classes whose products differ by less than about 1e-15 of "
        "their size may change places"
    )

    def render(self, coefficients: Coefficients) -> str:
        """Return the JSON text, in ASCII."""
        return json.dumps({"temperature": 1.0, "bias": coefficients.logit_bias()}) + "\n"
