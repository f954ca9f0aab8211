"""The deployable artefact: one coefficient per class. Applying it never loads a solver."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.arrays import check_probabilities
from dnip.base.errors import CoefficientsFormatError, InvalidInputError, listed
from dnip.base.files import atomic_path
from dnip.base.frames import check_column_names
from dnip.base.validation import check_classes, check_weight_indices, check_weights
from dnip.method.class_mix import calibration, class_shares, move_to_mix
from dnip.method.coefficients_file import REFIT, from_text, read, to_text
from dnip.method.prediction import decide, reweight
from dnip.method.scales import Spacing, WeightScale
from dnip.priors import estimate_prior

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dnip.base.typing import Floats, Labels, Probabilities, WeightIndices
    from dnip.method.solution import Solution
    from dnip.priors import Calibration, PriorEstimate, PriorLike


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Weights by class, with what is known of the fit that made them.

    Parameters
    ----------
    classes : sequence of str
        Class names, in the order of the probability columns.
    weight_indices : array-like of shape (N,)
        ξ, whole numbers 1..K; empty on the continuous scale.
    scale : int or str
        K, ``"log:K"`` or ``"continuous"``. The attribute holds K, 0 on the continuous scale.
    objective : dict, optional
        Settings of the objective and its value on the opt set.
    fit : dict, optional
        Provenance: data hash, rows, solver, seed, package version.
    weights : array-like of shape (N,), optional
        ω on the continuous scale, above 0 and at most 1; on others they follow from the indices.

    Attributes
    ----------
    spacing : Spacing
        How the weights of the scale lie.
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by before the argmax: ξ on a linear scale, where the
        factor 1/K cancels, and ω on any other.

    Raises
    ------
    InvalidInputError
        For indices outside 1..K, bad weights, or class names that are not as many or not distinct.

    Examples
    --------
    >>> coefficients = Coefficients(["cat", "dog"], [30, 15], scale=30)
    >>> coefficients.predict([[0.4, 0.6], [0.3, 0.7]])
    array([0, 1])
    >>> coefficients.apply([[0.4, 0.6]]).round(3)
    array([[0.571, 0.429]])
    """

    classes: tuple[str, ...]
    weight_indices: WeightIndices
    scale: int
    objective: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)
    spacing: Spacing = Spacing.LINEAR
    multipliers: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    def __init__(
        self,
        classes: Sequence[str],
        weight_indices: ArrayLike,
        scale: int | str | WeightScale,
        objective: dict[str, Any] | None = None,
        fit: dict[str, Any] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        names = check_classes(classes)
        k = WeightScale.of(scale)
        if k.spacing is Spacing.CONTINUOUS:
            if np.size(weight_indices):
                raise InvalidInputError(
                    "continuous weights have no weight_indices", hint="Give weights alone"
                )
            indices = np.empty(0, np.int64)
            multipliers = check_weights(weights, n_classes=len(names))
        else:
            if weights is not None:
                raise InvalidInputError(
                    f"weights on the scale {k} follow from weight_indices",
                    hint="Leave weights out, or give the scale continuous",
                )
            indices = check_weight_indices(weight_indices, n_classes=len(names), scale=k.size)
            multipliers = k.multipliers(indices)
        indices.setflags(write=False)
        multipliers.setflags(write=False)
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "scale", k.size)
        object.__setattr__(self, "spacing", k.spacing)
        object.__setattr__(self, "weight_indices", indices)
        object.__setattr__(self, "multipliers", multipliers)
        object.__setattr__(self, "objective", dict(objective or {}))
        object.__setattr__(self, "fit", dict(fit or {}))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Keep the arrays of a copy read-only, too."""
        vars(self).update(state)
        self.weight_indices.setflags(write=False)
        self.multipliers.setflags(write=False)

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        classes: Sequence[str],
        *,
        provenance: dict[str, Any] | None = None,
    ) -> Coefficients:
        """Make the artefact of a solution.

        Parameters
        ----------
        solution : Solution
        classes : sequence of str
            Class names, in the order of the probability columns.
        provenance : dict, optional
            What to record of the data, such as its hash; the solver's part is added.

        Examples
        --------
        >>> from dnip import solve
        >>> solution = solve([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> Coefficients.from_solution(solution, ["no", "yes"]).fit["solver"]
        'coordinate'
        """
        fit = {
            **(provenance or {}),
            **solution.search_summary,
            "unfitted": [str(classes[c]) for c in solution.unfitted],
        }
        if solution.constraints is not None:
            fit["constraints"] = solution.constraints
        return cls(
            classes,
            solution.weight_indices,
            WeightScale(solution.spacing, solution.scale),
            objective={
                **solution.objective,
                "value": solution.value,
                "term_values": solution.terms,
            },
            fit=fit,
            weights=solution.continuous_weights,
        )

    def with_fit(self, fit: dict[str, Any]) -> Coefficients:
        """Return the same coefficients with another provenance."""
        other = copy(self)
        object.__setattr__(other, "fit", dict(fit))
        return other

    @property
    def weights(self) -> Floats:
        """ω, shape (N,): ξ / K on a linear scale."""
        if self.spacing is Spacing.CONTINUOUS:
            return self.multipliers
        return WeightScale(self.spacing, self.scale).weights(self.weight_indices)

    def apply(self, probabilities: ArrayLike) -> Probabilities:
        """Reweight class probabilities: ω_n·p_mn, normalised to sum 1 per row.

        They rank the classes as `predict` does; they are not calibrated.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Columns of a data frame are checked if they have names: those of the classes, in order.

        Returns
        -------
        ndarray of shape (M, N)

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of other classes.
        """
        return reweight(self._checked(probabilities), self.multipliers)

    def predict(self, probabilities: ArrayLike) -> Labels:
        """Predict argmax_n ξ_n·p_mn, the lowest class on a tie; ω_n·p_mn unless ω is ξ / K.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Columns of a data frame are checked if they have names: those of the classes, in order.

        Returns
        -------
        ndarray of shape (M,)
            Class indices.

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of other classes.
        """
        return decide(self._checked(probabilities), self.multipliers).astype(np.int64)

    def _checked(self, probabilities: ArrayLike) -> Probabilities:
        check_column_names(probabilities, self.classes)
        p = check_probabilities(probabilities)
        if p.shape[1] != len(self.classes):
            raise InvalidInputError(
                f"probabilities have {p.shape[1]} classes, but the coefficients were fitted for "
                f"{len(self.classes)}: {listed(self.classes)}",
                hint="Apply coefficients to the task that they were fitted on",
            )
        return p

    def adjusted(self, target_prior: PriorLike | PriorEstimate) -> Coefficients:
        """Return the coefficients for use where the class mix is another.

        The log-weights go from those of the fit toward those of most accuracy under the target
        mix, by the calibration that the fit has learned, as far as the mix has changed: see "Other
        class mixes" in the documentation. A fit with this target prior serves the objective
        better; this needs no labelled rows.

        Parameters
        ----------
        target_prior : mapping, sequence, "uniform" or PriorEstimate
            Class shares by name, or in the order of the classes. Of an estimate, classes whose
            share in the fit is within the interval count as unchanged.

        Returns
        -------
        Coefficients
            With continuous weights; these coefficients themselves where their mix is the target.

        Raises
        ------
        InvalidInputError
            For shares that are no class mix.
        CoefficientsFormatError
            For coefficients without class shares or calibration, of an older version.

        Examples
        --------
        >>> import numpy as np
        >>> from dnip import ProbabilityTable
        >>> from dnip.fitting.fit import fit_table
        >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 50)
        >>> fitted = fit_table(ProbabilityTable(p, np.array([0, 1] * 100))).coefficients
        >>> fitted.predict([[0.65, 0.35], [0.85, 0.15]])
        array([1, 0])
        >>> fitted.adjusted({"0": 0.01, "1": 0.99}).predict([[0.65, 0.35], [0.85, 0.15]])
        array([1, 1])
        """
        moved = move_to_mix(
            target_prior, self.classes, self.weights, self.class_shares, self.calibration
        )
        if moved is None:
            return self
        objective = dict(self.objective)
        for name in ("value", "term_values"):  # they belong to other weights on other rows
            objective.pop(name, None)
        return Coefficients(
            self.classes,
            [],
            Spacing.CONTINUOUS.value,
            objective,
            {**self.fit, **moved.provenance},
            moved.weights,
        )

    def estimate_prior(self, probabilities: ArrayLike) -> PriorEstimate:
        """Estimate the class mix of rows without labels, by the calibration of the fit.

        Parameters
        ----------
        probabilities : array-like of shape (M, N)
            As the model gives them, not reweighted.

        Returns
        -------
        PriorEstimate

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract.
        CoefficientsFormatError
            For coefficients without calibration, of an older version.
        """
        return estimate_prior(self._checked(probabilities), self.calibration)

    @property
    def class_shares(self) -> Floats:
        """Class shares of the rows that they were fitted for, shape (N,)."""
        return class_shares(self.fit, len(self.classes))

    @property
    def calibration(self) -> Calibration:
        """Calibrated log-odds of the probabilities that they were fitted on."""
        return calibration(self.fit, len(self.classes))

    def logit_bias(self) -> dict[str, float]:
        """Return ln ω by class: the bias on a single-token label that equals the weight.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).logit_bias()
        {'no': 0.0, 'yes': -0.6931471805599453}
        """
        return {
            name: math.log(weight)
            for name, weight in zip(self.classes, self.weights.tolist(), strict=True)
        }

    def to_json(self) -> str:
        """Return the artefact as JSON text.

        Examples
        --------
        >>> coefficients = Coefficients(["no", "yes"], [30, 15], scale=30)
        >>> Coefficients.from_json(coefficients.to_json()).weight_indices
        array([30, 15])
        """
        return to_text(
            classes=self.classes,
            weight_indices=self.weight_indices,
            scale=WeightScale(self.spacing, self.scale),
            weights=self.weights,
            objective=self.objective,
            fit=self.fit,
        )

    @classmethod
    def from_json(cls, text: str, *, source: str = "coefficients") -> Coefficients:
        """Read the artefact from JSON text.

        Parameters
        ----------
        text : str
            What `to_json` returned.
        source : str, default="coefficients"
            Where the text came from, for messages.

        Raises
        ------
        CoefficientsFormatError
            If the text is damaged, of another format, or of a version yet unknown.
        """
        stored = from_text(text, source)
        try:
            coefficients = cls(**stored.arguments)
            stored.check_weights(coefficients.weights)
        except (ValueError, TypeError) as error:
            raise CoefficientsFormatError(f"{source}: {error}", hint=REFIT) from error
        return coefficients

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the artefact to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            The JSON file.

        Raises
        ------
        OutputError
            If the file cannot be written; whatever stood there still stands.
        """
        with atomic_path(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Coefficients:
        """Read the artefact from a file.

        Parameters
        ----------
        path : path-like
            The JSON file.

        Raises
        ------
        CoefficientsFormatError
            If the file cannot be read, is damaged, or of a version yet unknown.
        """
        return cls.from_json(read(path), source=str(path))
