"""What a solver found, and how the search went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dnip.base.escaping import html_table

if TYPE_CHECKING:
    from dnip.base.typing import Counts, Floats, WeightIndices
    from dnip.method.objective import ObjectiveLike
    from dnip.method.scales import WeightScale


class Status(StrEnum):
    """Why a search ended; ``solution.status.sentence`` says it in words."""

    OPTIMAL = "optimal"
    WITHIN_GAP = "within_gap"
    FINISHED = "finished"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """What the status means, and what to do about it.

        Examples
        --------
        >>> Status.OPTIMAL.sentence
        'Proven optimal: no weight indices on this scale give a lower objective.'
        """
        return _SENTENCES[self]

    @property
    def unproven(self) -> Status:
        """The same status, without its proof: ``FINISHED`` for a proven one."""
        return Status.FINISHED if self in (Status.OPTIMAL, Status.WITHIN_GAP) else self


_SENTENCES = {
    Status.OPTIMAL: "Proven optimal: no weight indices on this scale give a lower objective.",
    Status.WITHIN_GAP: "Proven to be within the gap that was asked for.",
    Status.FINISHED: "The search ran to its end. More effort may find better weights.",
    Status.TIME_LIMIT: "Stopped at the time limit with the best found so far; allow more time "
    "for a full search.",
    Status.INTERRUPTED: "Interrupted; this is the best found so far.",
}


@dataclass(frozen=True, eq=False)
class TraceEntry:
    """One moment of a search.

    Attributes
    ----------
    seconds : float
        Since the search began.
    evaluations : int
        Objective values computed so far.
    value : float
        Of the point that the solver proposed; infinite if it misses a constraint.
    incumbent : float
        The best value so far.
    statistics : dict
        Numbers on the solver's own state, such as temperature and accepted moves.
    """

    seconds: float
    evaluations: int
    value: float
    incumbent: float
    statistics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The weights that a search found, and everything known about them.

    Attributes
    ----------
    weight_indices : ndarray of shape (N,)
        ξ, whole numbers 1..K.
    scale : WeightScale
        The weights that a class could have.
    objective : dict
        Settings of what was minimised.
    value : float
        The objective of `weight_indices` on the whole opt set; 1 less it where that is a metric.
    terms : dict
        ``error``, ``cobias``, ``cobias_single`` and ``pmi``, unweighted.
    confusion : ndarray of shape (N, N)
        Counts on the opt set, rows true; weighted by `sample_weight` if given.
    status : Status
        Why the search ended.
    lower_bound, gap : float or None
        A bound that no weights can beat, and `value` minus it; None if nothing was proven.
    evaluations : int
        Objective values computed.
    seconds : float
        Wall time of the search.
    solver : str
        Name of the solver.
    seed : int
        Seed of its random choices.
    trace : tuple of TraceEntry
        How the search went.
    unfitted : tuple of int
        Classes without examples: their index is the geometric middle of the fitted ones.
    constraints : dict or None
        What was asked of the weights, and what they reach; None if nothing was asked.

    Examples
    --------
    >>> from dnip import solve
    >>> solution = solve([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]], [0, 1, 0], scale=30)
    >>> solution.value, solution.weights.round(2), solution.status.value
    (0.0, array([0.27, 1.  ]), 'finished')
    """

    weight_indices: WeightIndices
    scale: WeightScale
    objective: dict[str, Any]
    value: float
    terms: dict[str, float]
    confusion: Counts
    status: Status
    lower_bound: float | None
    gap: float | None
    evaluations: int
    seconds: float
    solver: str
    seed: int
    trace: tuple[TraceEntry, ...]
    unfitted: tuple[int, ...] = ()
    constraints: dict[str, Any] | None = None

    def __repr__(self) -> str:
        """Name the objective, its terms and why the search ended."""
        terms = ", ".join(f"{name} {self.terms[name]:.3f}" for name in ("error", "cobias"))
        return f"Solution(objective {self.value:.6f}, {terms}, {self.status})"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        rows = [*enumerate(self.weights.tolist())]
        return html_table(repr(self), ["class", "weight"], rows)

    def restated(self, goal: ObjectiveLike, confusion: Counts, **changes: Any) -> Solution:  # noqa: ANN401
        """Return the solution with its value on other rows, of which nothing is proven."""
        return replace(
            self,
            value=goal(confusion),
            terms=goal.terms_of(confusion),
            confusion=confusion,
            status=self.status.unproven,
            lower_bound=None,
            gap=None,
            **changes,
        )

    @property
    def weights(self) -> Floats:
        """ω, the weight of each class, above 0 and at most 1; shape (N,)."""
        return self.scale.weights(self.weight_indices)

    @property
    def multipliers(self) -> Floats:
        """What probabilities are multiplied by, shape (N,): ξ on a linear scale, else ω."""
        return self.scale.multipliers(self.weight_indices)

    @property
    def sentence(self) -> str:
        """What the status means for this solution."""
        scale = f"the scale {self.scale}"
        if self.constraints is not None:
            scale += " that satisfy the constraints"
        return self.status.sentence.replace("this scale", scale)

    def search_record(self, classes: Sequence[str] = ()) -> dict[str, Any]:
        """Return how the search went, as files hold it; classes by name, where names are given."""
        return {
            "solver": self.solver,
            "status": self.status.value,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "evaluations": self.evaluations,
            "seconds": self.seconds,
            "seed": self.seed,
            "unfitted": tuple(classes[c] if classes else c for c in self.unfitted),
            **({} if self.constraints is None else {"constraints": self.constraints}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the summary that ``dnip fit --json`` prints: all but confusion and trace."""
        return {
            "weight_indices": self.weight_indices.tolist(),
            **self.scale.to_dict(),
            "weights": self.weights.tolist(),
            "objective": self.value,
            "terms": self.terms,
            **self.search_record(),
        }
