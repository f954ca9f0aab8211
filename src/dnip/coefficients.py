"""The deployable artefact: one coefficient per class. Applying it never loads a solver."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.decisions import decide, reweight
from dnip.errors import CoefficientsFormatError, InvalidInputError
from dnip.files import atomic_path
from dnip.validation import (
    check_classes,
    check_probabilities,
    check_scale,
    check_weight_indices,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dnip.solution import Solution
    from dnip.typing import Floats, Labels, Probabilities, WeightIndices

FORMAT = "dnip-coefficients"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Weight indices by class, with what is known of the fit that made them.

    Parameters
    ----------
    classes : sequence of str
        Class names, in the order of the probability columns.
    weight_indices : array-like of shape (N,)
        ξ, whole numbers 1..K.
    scale : int
        K.
    objective : dict, optional
        Settings of the objective and its value on the opt set.
    fit : dict, optional
        Provenance: data hash, rows, solver, seed, package version.

    Raises
    ------
    InvalidInputError
        For indices outside 1..K, or class names that are not as many or not distinct.

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

    def __init__(
        self,
        classes: Sequence[str],
        weight_indices: ArrayLike,
        scale: int,
        objective: dict[str, Any] | None = None,
        fit: dict[str, Any] | None = None,
    ) -> None:
        names = check_classes(classes)
        k = check_scale(scale)
        indices = check_weight_indices(weight_indices, n_classes=len(names), scale=k)
        indices.setflags(write=False)
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "scale", k)
        object.__setattr__(self, "weight_indices", indices)
        object.__setattr__(self, "objective", dict(objective or {}))
        object.__setattr__(self, "fit", dict(fit or {}))

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
        summary = solution.to_dict()
        reported = {"value": summary.pop("objective"), "term_values": summary.pop("terms")}
        for name in ("weight_indices", "scale"):
            summary.pop(name)
        summary["unfitted"] = [str(classes[c]) for c in solution.unfitted]
        return cls(
            classes,
            solution.weight_indices,
            solution.scale,
            objective={**solution.objective, **reported},
            fit={**(provenance or {}), **summary},
        )

    @property
    def weights(self) -> Floats:
        """ω = ξ / K, shape (N,)."""
        return np.asarray(self.weight_indices / self.scale)

    def apply(self, probabilities: ArrayLike) -> Probabilities:
        """Reweight class probabilities: ω_n·p_mn, normalised to sum 1 per row.

        They rank the classes as `predict` does; they are not calibrated.

        Parameters
        ----------
        probabilities : array-like of shape (M, N)

        Returns
        -------
        ndarray of shape (M, N)

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of another number of classes.
        """
        return reweight(self._checked(probabilities), self.weight_indices)

    def predict(self, probabilities: ArrayLike) -> Labels:
        """Predict argmax_n ξ_n·p_mn, the lowest class on a tie.

        Parameters
        ----------
        probabilities : array-like of shape (M, N)

        Returns
        -------
        ndarray of shape (M,)
            Class indices.

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of another number of classes.
        """
        return decide(self._checked(probabilities), self.weight_indices).astype(np.int64)

    def _checked(self, probabilities: ArrayLike) -> Probabilities:
        p = check_probabilities(probabilities)
        if p.shape[1] != len(self.classes):
            raise InvalidInputError(
                f"probabilities have {p.shape[1]} classes, but the coefficients were fitted for "
                f"{len(self.classes)}: {', '.join(self.classes)}",
                hint="Apply coefficients to the task that they were fitted on",
            )
        return p

    def logit_bias(self) -> dict[str, float]:
        """Return ln ω by class: the bias on a single-token label that equals the weight.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).logit_bias()
        {'no': 0.0, 'yes': -0.6931471805599453}
        """
        return {
            name: math.log(index / self.scale)
            for name, index in zip(self.classes, self.weight_indices.tolist(), strict=True)
        }

    def to_json(self) -> str:
        """Return the artefact as JSON text.

        Examples
        --------
        >>> coefficients = Coefficients(["no", "yes"], [30, 15], scale=30)
        >>> Coefficients.from_json(coefficients.to_json()).weight_indices
        array([30, 15])
        """
        content = {
            "format": FORMAT,
            "version": VERSION,
            "classes": list(self.classes),
            "weight_indices": self.weight_indices.tolist(),
            "scale": self.scale,
            "weights": self.weights.tolist(),
            "objective": self.objective,
            "fit": self.fit,
        }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

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
        try:
            content = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
            raise CoefficientsFormatError(
                f"{source}: not valid JSON: {error}", hint=_REFIT
            ) from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CoefficientsFormatError(f'{source}: "format" is not "{FORMAT}"', hint=_REFIT)
        if content.get("version") != VERSION:
            raise CoefficientsFormatError(
                f"{source}: version {content.get('version')!r} is unknown; this package reads "
                f"version {VERSION}",
                hint="Install the newer package that wrote the file",
            )
        missing = [key for key in ("classes", "weight_indices", "scale") if key not in content]
        if missing:
            raise CoefficientsFormatError(f"{source}: {', '.join(missing)} missing", hint=_REFIT)
        for key, kind in (
            ("classes", list),
            ("weight_indices", list),
            ("objective", dict),
            ("fit", dict),
        ):
            if not isinstance(content.get(key, kind()), kind):
                raise CoefficientsFormatError(
                    f'{source}: "{key}" is {content[key]!r}, not a JSON {_JSON_KINDS[kind]}',
                    hint=_REFIT,
                )
        if not all(isinstance(name, str) for name in content["classes"]):
            raise CoefficientsFormatError(
                f'{source}: "classes" holds other things than names: {content["classes"]!r}',
                hint=_REFIT,
            )
        try:
            coefficients = cls(
                content["classes"],
                content["weight_indices"],
                content["scale"],
                content.get("objective"),
                content.get("fit"),
            )
            if "weights" in content and not _are_close(content["weights"], coefficients.weights):
                raise InvalidInputError("weights do not equal weight_indices / scale")
        except (ValueError, TypeError) as error:
            raise CoefficientsFormatError(f"{source}: {error}", hint=_REFIT) from error
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
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise CoefficientsFormatError(
                f"{path}: cannot be read: {reason}",
                hint="Give the coefficients.json that `dnip fit` wrote",
            ) from error
        return cls.from_json(text, source=str(path))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _are_close(stated: object, weights: Floats) -> bool:
    values = np.asarray(stated)
    return (
        values.shape == weights.shape
        and values.dtype.kind in "iuf"
        and np.allclose(values, weights, rtol=0, atol=1e-9)
    )


_REFIT = "Give the coefficients.json that `dnip fit` wrote, or fit again"
_JSON_KINDS = {list: "array", dict: "object"}
