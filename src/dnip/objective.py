"""The objective: a function of the confusion matrix, with named terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from dnip.errors import InvalidInputError
from dnip.metrics import accuracy, cobias, cobias_single, pmi
from dnip.validation import check_choice, check_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Any function of a confusion matrix (N, N), rows true, that is to be minimised.
ConfusionFunction = Callable[[Any], float]


def term_values(confusion: ArrayLike, smoothing: float) -> dict[str, float]:
    """Return every term by name, in rates and unweighted; ``pmi`` is the sum over classes.

    Examples
    --------
    >>> terms = term_values([[8, 2], [4, 6]], smoothing=1.0)
    >>> sorted(terms), round(terms["error"], 6)
    (['cobias', 'cobias_single', 'error', 'pmi'], 0.3)
    """
    return {
        "error": 1 - accuracy(confusion),
        "cobias": cobias(confusion),
        "cobias_single": cobias_single(confusion),
        "pmi": float(pmi(confusion, smoothing).sum()),
    }


@runtime_checkable
class ObjectiveLike(Protocol):
    """What a solver minimises."""

    def __call__(self, confusion: ArrayLike) -> float:
        """Return the value of a confusion matrix."""
        ...

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return the terms of a confusion matrix by name."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, as they stand in a coefficients file."""
        ...


@dataclass(frozen=True)
class Objective:
    """Z = error + β·COBias - τ·Σ_j PMI_j (equation 2), in rates, to be minimised.

    Parameters
    ----------
    beta : float, default=2.7
        β, the weight of COBias, at least 0.
    tau : float, default=0.2
        τ, the weight of the PMI term, at least 0.
    smoothing : float, default=1.0
        μ, added to the counts inside PMI, above 0. The published setting is 4000.
    terms : tuple of str, default=("error", "cobias", "pmi")
        The terms that Z keeps.
    gap : {"pairwise", "single"}, default="pairwise"
        COBias over all pairs of classes, or COBias_single over odd classes in its place.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, an unknown term, or none.

    Examples
    --------
    >>> objective = Objective(beta=1.0, tau=0.0)
    >>> round(objective([[8, 2], [4, 6]]), 6)  # error 0.3 + COBias 0.2
    0.5
    """

    beta: float = 2.7
    tau: float = 0.2
    smoothing: float = 1.0
    terms: tuple[str, ...] = ("error", "cobias", "pmi")
    gap: str = "pairwise"

    TERMS: ClassVar[tuple[str, ...]] = ("error", "cobias", "pmi")
    GAPS: ClassVar[tuple[str, ...]] = ("pairwise", "single")

    def __post_init__(self) -> None:
        check_number("beta", self.beta, at_least=0)
        check_number("tau", self.tau, at_least=0)
        check_number("smoothing", self.smoothing, above=0)
        check_choice("gap", self.gap, self.GAPS)
        for term in self.terms:
            check_choice("terms", term, self.TERMS)
        if not self.terms:
            raise InvalidInputError(f"terms must keep at least one of {', '.join(self.TERMS)}")

    @classmethod
    def published(cls) -> Objective:
        """Return the published settings: β = 2.7, τ = 0.2, μ = 4000.

        Examples
        --------
        >>> Objective.published().smoothing
        4000.0
        """
        return cls(beta=2.7, tau=0.2, smoothing=4000.0)

    def ablations(self) -> dict[str, Objective]:
        """Return the paper's seven objectives (section 5.5): each subset of the terms.

        Examples
        --------
        >>> list(Objective().ablations())
        ['z1', 'z2', 'z3', 'z1+z2', 'z1-z3', 'z2-z3', 'z1+z2-z3']
        """
        subsets = {
            "z1": ("error",),
            "z2": ("cobias",),
            "z3": ("pmi",),
            "z1+z2": ("error", "cobias"),
            "z1-z3": ("error", "pmi"),
            "z2-z3": ("cobias", "pmi"),
            "z1+z2-z3": ("error", "cobias", "pmi"),
        }
        return {
            name: Objective(self.beta, self.tau, self.smoothing, terms, self.gap)
            for name, terms in subsets.items()
        }

    def __call__(self, confusion: ArrayLike) -> float:
        """Return Z of a confusion matrix of shape (N, N)."""
        values = self.terms_of(confusion)
        gap = values["cobias" if self.gap == "pairwise" else "cobias_single"]
        z = 0.0
        if "error" in self.terms:
            z += values["error"]
        if "cobias" in self.terms:
            z += self.beta * gap
        if "pmi" in self.terms:
            z -= self.tau * values["pmi"]
        return z

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return all terms of a confusion matrix, unweighted, also those that Z leaves out."""
        return term_values(confusion, self.smoothing)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, as they stand in a coefficients file."""
        return {
            "beta": self.beta,
            "tau": self.tau,
            "smoothing": self.smoothing,
            "terms": list(self.terms),
            "gap": self.gap,
        }


@dataclass(frozen=True)
class CustomObjective:
    """Any function of the confusion matrix, to be minimised.

    Parameters
    ----------
    function : callable
        Takes an integer array of shape (N, N), rows true, and returns a float. It must not
        change the array.
    name : str, optional
        Stands in the coefficients file; the function's own name by default.

    Examples
    --------
    >>> from dnip.metrics import macro_f1
    >>> CustomObjective(lambda confusion: -macro_f1(confusion), name="macro-F1")([[8, 2], [2, 8]])
    -0.8
    """

    function: ConfusionFunction
    name: str = ""

    def __call__(self, confusion: ArrayLike) -> float:
        """Return the function's value."""
        return float(self.function(confusion))

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return the terms of the paper's objective, for reading only; μ is 1."""
        return term_values(confusion, smoothing=1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the function's name, as it stands in a coefficients file."""
        return {"function": self.name or getattr(self.function, "__name__", "function")}


def as_objective(objective: ObjectiveLike | ConfusionFunction | None) -> ObjectiveLike:
    """Return what a solver can minimise: the default objective for None, a function wrapped.

    Examples
    --------
    >>> as_objective(None)
    Objective(beta=2.7, tau=0.2, smoothing=1.0, terms=('error', 'cobias', 'pmi'), gap='pairwise')
    """
    if objective is None:
        return Objective()
    if isinstance(objective, ObjectiveLike):
        return objective
    return CustomObjective(objective)
