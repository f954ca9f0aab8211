"""What can be chosen about a fit, and the grid of choices."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from dnip.errors import InvalidInputError
from dnip.objective import Objective
from dnip.robust import ROBUST
from dnip.scales import Spacing, WeightScale
from dnip.validation import check_choice, check_number

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Settings:
    """One candidate: β, τ, the scale, μ, and how robust the fit is.

    Parameters
    ----------
    beta : float, default=2.7
        β, at least 0.
    tau : float, default=0.2
        τ, at least 0.
    scale : str, default="30"
        ``"K"``, ``"log:K"`` or ``"continuous"``; a number is taken as K.
    smoothing : float, default=1.0
        μ, above 0.
    robust : {"auto", "on", "off"}, default="auto"
        As for :func:`dnip.robust.solve_robustly`.

    Examples
    --------
    >>> print(Settings(beta=1.0))
    β = 1, τ = 0.2, K = 30, μ = 1, robust auto
    """

    beta: float = 2.7
    tau: float = 0.2
    scale: str = "30"
    smoothing: float = 1.0
    robust: str = "auto"

    def __post_init__(self) -> None:
        check_number("beta", self.beta, at_least=0)
        check_number("tau", self.tau, at_least=0)
        check_number("smoothing", self.smoothing, above=0)
        check_choice("robust", self.robust, ROBUST)
        object.__setattr__(self, "scale", str(WeightScale.of(self.scale)))

    def __str__(self) -> str:
        scale = f"K = {self.scale}" if self.scale.isdigit() else f"scale {self.scale}"
        return (
            f"β = {self.beta:g}, τ = {self.tau:g}, {scale}, μ = {self.smoothing:g}, "
            f"robust {self.robust}"
        )

    def of(self, base: Objective) -> Objective:
        """Return an objective with this β, τ and μ."""
        return replace(base, beta=self.beta, tau=self.tau, smoothing=self.smoothing)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name; the scale as a number where it is K."""
        scale = int(self.scale) if self.scale.isdigit() else self.scale
        return {
            "beta": self.beta,
            "tau": self.tau,
            "scale": scale,
            "smoothing": self.smoothing,
            "robust": self.robust,
        }

    @property
    def remoteness(self) -> tuple[int, float]:
        """How many settings differ from the defaults, and then how far; compare, do not add.

        Examples
        --------
        >>> Settings().remoteness, Settings(beta=10).remoteness > Settings(beta=5).remoteness
        ((0, 0.0), True)
        """
        default = Settings()
        differ = sum(getattr(self, f.name) != getattr(default, f.name) for f in fields(self))
        far = abs(math.log1p(self.beta) - math.log1p(default.beta))
        far += abs(math.log1p(self.tau) - math.log1p(default.tau))
        far += abs(math.log(self.smoothing / default.smoothing))
        scale, usual = WeightScale.of(self.scale), WeightScale.of(default.scale)
        # No distance between kinds of scales: geometric ones come after linear ones.
        far += abs(math.log(scale.size / usual.size)) if scale.size else 20.0
        far += 10.0 * (scale.spacing is not Spacing.LINEAR)
        return differ, far


@dataclass(frozen=True)
class Grid:
    """Every combination of these values is a candidate.

    Parameters
    ----------
    betas, taus, scales, smoothings, robust_modes : sequence
        Values of each setting, at least one; a value that stands twice counts once.

    Raises
    ------
    InvalidInputError
        For an empty list, or a value out of range.

    Examples
    --------
    >>> grid = Grid(betas=(1.0, 2.7), taus=(0.2,), scales=(30,), robust_modes=("auto",))
    >>> [str(settings) for settings in grid.candidates()]  # the nearest to the defaults first
    ['β = 2.7, τ = 0.2, K = 30, μ = 1, robust auto', 'β = 1, τ = 0.2, K = 30, μ = 1, robust auto']
    """

    betas: tuple[float, ...] = (0.5, 1.0, 2.7, 5.0, 10.0)
    taus: tuple[float, ...] = (0.0, 0.2, 1.0)
    scales: tuple[int | str, ...] = (30, 100)
    smoothings: tuple[float, ...] = (1.0,)
    robust_modes: tuple[str, ...] = ("auto",)

    def __post_init__(self) -> None:
        for f in fields(self):
            values = _distinct(f.name, getattr(self, f.name))
            object.__setattr__(self, f.name, values)
        self.candidates()  # refuses values out of range

    def candidates(self) -> tuple[Settings, ...]:
        """Return the combinations, the nearest to the defaults first.

        With τ = 0 there is no PMI to smooth, so μ stays at one value.
        """
        found = []
        least = min(self.smoothings, key=lambda mu: Settings(smoothing=mu).remoteness)
        for beta, tau, scale, mu, robust in product(
            self.betas, self.taus, self.scales, self.smoothings, self.robust_modes
        ):
            if tau or mu == least:
                found.append(Settings(beta, tau, str(scale), mu, robust))
        return tuple(sorted(dict.fromkeys(found), key=lambda settings: settings.remoteness))


def _distinct(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    distinct = tuple(dict.fromkeys(values))
    if not distinct:
        raise InvalidInputError(
            f"{name} is empty: there is nothing to choose from",
            hint="Give at least one value, such as the default alone",
        )
    return distinct
