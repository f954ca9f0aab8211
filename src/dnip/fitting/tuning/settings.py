"""The settings of a fit that can be chosen, and grids of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice
from dnip.fitting.settings import ROBUST, FitSettings
from dnip.method.objective import Objective, smoothing_name
from dnip.method.scales import DEFAULT_SCALE, WeightScale


@dataclass(frozen=True)
class Settings:
    """One candidate: β, τ, the scale, μ, and how robust the fit is.

    Parameters
    ----------
    beta : float, default=2.7
        β, at least 0.
    tau : float, default=0.0
        τ, at least 0.
    scale : str, default="log:1000"
        ``"K"`` or ``"log:K"``; a number is taken as K.
    smoothing : float, optional
        μ, above 0; 0.4·M if left out.
    robust : {"auto", "on", "off"}, default="auto"
        As for :func:`dnip.fit`.

    Examples
    --------
    >>> print(Settings(beta=1.0))
    β = 1, τ = 0, scale log:1000, μ = 0.4·M, robust auto
    """

    beta: float = 2.7
    tau: float = 0.0
    scale: str = DEFAULT_SCALE
    smoothing: float | None = None
    robust: str = "auto"

    def __post_init__(self) -> None:
        Objective(self.beta, self.tau, self.smoothing)  # refuses values out of range
        check_choice("robust", self.robust, ROBUST)
        object.__setattr__(self, "scale", str(WeightScale.of(self.scale)))

    def __str__(self) -> str:
        scale = f"K = {self.scale}" if self.scale.isdigit() else f"scale {self.scale}"
        return (
            f"β = {self.beta:g}, τ = {self.tau:g}, {scale}, {smoothing_name(self.smoothing)}, "
            f"robust {self.robust}"
        )

    def of(self, base: FitSettings) -> FitSettings:
        """Return the settings of a fit, with these of its own."""
        assert isinstance(base.objective, Objective)
        goal = replace(base.objective, beta=self.beta, tau=self.tau, smoothing=self.smoothing)
        scale = WeightScale.of(self.scale)
        return replace(base, objective=goal, scale=scale, robust=self.robust)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name; the scale as a number where it is K."""
        scale = int(self.scale) if self.scale.isdigit() else self.scale
        return {**vars(self), "scale": scale}

    @property
    def distance(self) -> tuple[int, float]:
        """How many settings differ from the defaults, and how far they are from them: for sorting.

        Examples
        --------
        >>> Settings().distance, Settings(beta=10).distance > Settings(beta=5).distance
        ((0, 0.0), True)
        """
        default = Settings()
        differ = sum(getattr(self, f.name) != getattr(default, f.name) for f in fields(self))
        far = abs(math.log1p(self.beta) - math.log1p(default.beta))
        far += abs(math.log1p(self.tau) - math.log1p(default.tau))
        # A given μ is farther than the default, smaller ones farthest.
        far += 0.0 if self.smoothing is None else 10.0 + abs(math.log(self.smoothing / 4000))
        scale, usual = WeightScale.of(self.scale), WeightScale.of(default.scale)
        # Linear scales are farther than geometric ones.
        far += abs(math.log(scale.size / usual.size)) if scale.size else 20.0
        far += 10.0 * (scale.spacing is not usual.spacing)
        return differ, far


@dataclass(frozen=True)
class Grid:
    """Every combination of these values is a candidate.

    Parameters
    ----------
    betas, taus, scales, smoothings, robust_modes : sequence
        Values of each setting, at least one; repeated values count once.

    Raises
    ------
    InvalidInputError
        For an empty list, or a value out of range.

    Examples
    --------
    >>> grid = Grid(betas=(1.0, 2.7), taus=(0.2,), smoothings=(4000.0,), scales=(30,))
    >>> [str(settings) for settings in grid.candidates()][0]  # the nearest to the defaults first
    'β = 2.7, τ = 0.2, K = 30, μ = 4000, robust auto'
    """

    betas: tuple[float, ...] = (0.5, 1.0, 2.7, 5.0, 10.0)
    taus: tuple[float, ...] = (0.0, 0.2)
    scales: tuple[int | str, ...] = (DEFAULT_SCALE,)
    smoothings: tuple[float | None, ...] = (None,)
    robust_modes: tuple[str, ...] = ("auto",)

    def __post_init__(self) -> None:
        for f in fields(self):
            values = tuple(dict.fromkeys(getattr(self, f.name)))
            if not values:
                raise InvalidInputError(
                    f"{f.name} is empty: there is nothing to choose from",
                    hint="Give at least one value, such as the default alone",
                )
            object.__setattr__(self, f.name, values)
        self.candidates()  # refuses values out of range

    def candidates(self) -> tuple[Settings, ...]:
        """Return the combinations, the nearest to the defaults first.

        With τ = 0 there is no PMI to smooth, so μ stays at one value.
        """
        found = []
        least = min(self.smoothings, key=lambda mu: Settings(smoothing=mu).distance)
        for beta, tau, scale, mu, robust in product(
            self.betas, self.taus, self.scales, self.smoothings, self.robust_modes
        ):
            if tau or mu == least:
                found.append(Settings(beta, tau, str(scale), mu, robust))
        return tuple(sorted(dict.fromkeys(found), key=lambda settings: settings.distance))
