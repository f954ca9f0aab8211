"""What a fit returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.escaping import html
from dnip.base.frames import make_frame
from dnip.fitting.evidence import NO_SIGNAL, FitEvidence, Point
from dnip.fitting.robust import Blend
from dnip.method.coefficients import Coefficients
from dnip.method.solution import Solution
from dnip.priors.target import TargetPrior
from dnip.tables.cells import CapturedMass
from dnip.using.evaluation import Evaluation

#: What is said of a fit without refits.
NOT_JUDGED = "No refits were made, so nothing is known of other rows."


class Alternative(NamedTuple):
    """What a β is expected to give on other rows."""

    beta: float
    accuracy: float
    cobias: float
    worst: float  # the accuracy of the class that will be worst
    is_chosen: bool = False

    @classmethod
    def of(cls, beta: float, evidence: FitEvidence, *, is_chosen: bool = False) -> Alternative:
        """Return what refits with a β say."""
        side = evidence.reweighted
        accuracy = evidence.accuracies[1]
        return cls(beta, accuracy, side.cobias, side.worst_class_accuracy, is_chosen)


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """What came of a fit.

    Attributes
    ----------
    coefficients : Coefficients
        What to use on other rows.
    solution : Solution
        What they were made of.
    evaluation : Evaluation
        Of the opt table itself, before and after.
    decision : Blend or None
        How the weights of a robust fit came about; None for the plain optimum.
    target : TargetPrior or None
        The class mix that the fit is for; None for that of the labelled rows.
    evidence : FitEvidence or None
        What the labels say of other rows; None if it was not asked for, or would take long.
    alternatives : tuple of Alternative
        What other β are expected to give on other rows; the one of this fit is among them. Empty
        without refits, and for objectives without β.
    notes : tuple of str
        Things to know about the sample and about single classes, one sentence each.
    deferring : tuple of Point
        Where rows are deferred: what other rows are expected to show, for the share that was asked
        for and for others. Empty without evidence.
    """

    coefficients: Coefficients
    solution: Solution
    evaluation: Evaluation
    decision: Blend | None = None
    target: TargetPrior | None = None
    evidence: FitEvidence | None = None
    alternatives: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()
    deferring: tuple[Point, ...] = ()

    def __repr__(self) -> str:
        """Name what the fit came to."""
        return f"Fit({self.evaluation!r}, verdict: {self.verdict})"

    @property
    def verdict(self) -> str:
        """Whether to use the coefficients.

        ``"apply"``; ``"keep"`` the raw argmax; ``"no signal"``, where probabilities tell nothing
        about the class; or ``"not judged"``, where no refits were made.

        Examples
        --------
        >>> from dnip import fit
        >>> fit([[0.9, 0.1], [0.6, 0.4]] * 30, [0, 1] * 30).verdict
        'apply'
        """
        if self.evaluation.signal is False:
            return "no signal"
        return "not judged" if self.evidence is None else self.evidence.verdict

    @property
    def reason(self) -> str:
        """The reason of the verdict."""
        if self.evidence is not None:
            return self.evidence.reason
        return NO_SIGNAL if self.verdict == "no signal" else NOT_JUDGED

    def _repr_html_(self) -> str:
        """Return a small table and the verdict, for notebooks."""
        said = html(f"{self.verdict}: {self.reason}")
        return f"{self.evaluation._repr_html_()}<p>{said}</p>"

    def predict(self, probabilities: ArrayLike) -> NDArray[np.object_]:
        """Predict as :meth:`dnip.Coefficients.predict` does."""
        return self.coefficients.predict(probabilities)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the coefficients to a file, as :meth:`dnip.Coefficients.save` does."""
        self.coefficients.save(path)

    def to_frame(self, library: str = "pandas") -> Any:  # noqa: ANN401 - of an optional library
        """Return a row for each class as a data frame: weights, and how often it is right.

        Rows are those left out, if the fit was judged.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"

        Examples
        --------
        >>> from dnip import fit
        >>> fit([[0.9, 0.1], [0.6, 0.4]] * 30, ["ham", "spam"] * 30).to_frame().columns.tolist()
        ['class', 'rows', 'weight', 'before', 'after', 'taken_for', 'least_weight', 'most_weight']
        """
        found = self.evidence
        frame = (self if found is None else found).evaluation.to_frame(library)
        columns = {name: frame[name].to_list() for name in frame.columns}
        columns = {
            **{name: columns.pop(name) for name in ("class", "rows")},
            "weight": self.coefficients.weights,
            **columns,
        }
        if found is not None:
            columns |= {"least_weight": found.ranges[:, 0], "most_weight": found.ranges[:, 1]}
        return make_frame(columns, library)

    def unweighted(self) -> Coefficients:
        """Return coefficients of 1, which decide as the raw argmax does, with this record.

        Examples
        --------
        >>> from dnip import fit
        >>> fit([[0.9, 0.1], [0.6, 0.4]], [0, 1]).unweighted()
        Coefficients(0: 1.000, 1: 1.000)
        """
        coefficients, raw = self.coefficients, (self.evidence or self).evaluation.raw
        record = replace(
            coefficients.fit,
            scores={"rows": raw.sum(axis=1).tolist(), "right": np.diag(raw).tolist()},
            sketch={**(coefficients.fit.sketch or {}), "changed_decisions": 0.0},
        )
        objective = dict(coefficients.objective)
        for name in ("value", "term_values"):
            objective.pop(name, None)
        scale, classes = coefficients.scale, coefficients.classes
        return Coefficients(classes, [scale.size] * len(classes), scale, objective, record)

    @property
    def captured_mass(self) -> CapturedMass | None:
        """How many rows of the opt table have a low captured mass; None if it is not known."""
        return self.evaluation.captured_mass
