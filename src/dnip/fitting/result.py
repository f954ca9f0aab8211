"""What a fit returns, and notes on it: one sentence each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import listed
from dnip.base.escaping import html, html_table
from dnip.base.typing import Booleans, Floats, Integers
from dnip.base.validation import MAX_SCALE
from dnip.fitting.evidence import NO_SIGNAL, FitEvidence, ServedShare
from dnip.method.coefficients import Coefficients
from dnip.method.problem import Problem
from dnip.method.scales import Spacing
from dnip.method.solution import Solution
from dnip.metrics import HEADLINE, METRICS
from dnip.priors.target import TargetPrior
from dnip.tables.columns import make_frame
from dnip.tables.mass import CapturedMass
from dnip.using.evaluation import Evaluation

#: What is said of a fit without refits.
NOT_JUDGED = "No refits were made, so nothing is known of other rows."


@dataclass(frozen=True, eq=False)
class Blend:
    """How the coefficients of a robust fit came about.

    Attributes
    ----------
    n_unlabelled : int
        Unlabelled rows that were given; only a sample is used if there are many.
    support : ndarray of shape (N,)
        Labels of each class.
    trust : ndarray of shape (N,)
        Part of the way from the smooth estimator to the optimum, 0..1.
    shares : ndarray of shape (N,)
        Class shares, given or estimated.
    sharpness : float
        Inverse temperature at which the probabilities are calibrated.
    batch, smooth, optimum : ndarray of shape (N,)
        Log-weights of the prior, of the smooth estimator, and of the optimum of labels and
        unlabelled rows.
    drift : float or None
        The p value of the unlabelled rows being like the labelled ones, if it is so small that the
        labelled ones were moved; else None.
    toward_constraints : float
        How far the weights went from there to the optimum that satisfies the constraints, 0..1.
    """

    n_unlabelled: int
    support: Floats
    trust: Floats
    shares: Floats
    sharpness: float
    batch: Floats
    smooth: Floats
    optimum: Floats
    drift: float | None
    toward_constraints: float

    @property
    def sentence(self) -> str:
        """What was decided and why, in a few lines of text."""
        present = self.support > 0
        labels = _span(self.support[present], "{:,.0f}")
        trust = _span(self.trust[present], "{:.0%}")
        rows = f", also of {self.n_unlabelled:,} unlabelled rows," if self.n_unlabelled else ""
        text = f"robust: the labels ({labels} per class) decide {trust} of each weight,"
        text += f"\nand a simple model of the probabilities{rows} the rest."
        if self.drift is not None:
            text += (
                f"\nThe unlabelled rows differ from the labelled ones beyond chance (p = "
                f"{self.drift:.1g}), and not by their class mix alone. The weights follow the "
                "unlabelled rows: labelled ones were moved to where these lie."
            )
        if self.toward_constraints:
            text += (
                "\nThese do not keep the constraints, so the weights go on, "
                f"{self.toward_constraints:.0%} of the way to the optimum that does."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return it as a coefficients file records it."""
        return {
            "unlabelled_rows": self.n_unlabelled,
            "labels": self.support.tolist(),
            "trust": self.trust.tolist(),
            "shares": self.shares.tolist(),
            "sharpness": self.sharpness,
            "log_weights": {
                "batch": self.batch.tolist(),
                "smooth": self.smooth.tolist(),
                "optimum": self.optimum.tolist(),
            },
            "drift_p_value": self.drift,
            "toward_constraints": self.toward_constraints,
        }


def _span(values: Floats, form: str) -> str:
    low, high = form.format(values.min()), form.format(values.max())
    return low if low == high else f"{low} to {high}"


class Alternative(NamedTuple):
    """What a β is expected to give on other rows."""

    beta: float
    accuracy: float
    cobias: float
    worst: float  # the accuracy of the class that will be worst
    is_chosen: bool
    evaluation: Evaluation  # in `reweighted`, refits predict rows that they have not seen

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: value for name, value in self._asdict().items() if name != "evaluation"}


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
    deferring : tuple of ServedShare
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
    deferring: tuple[ServedShare, ...] = ()

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
        """Return the verdict, what to expect of other rows, and every class, for notebooks."""
        judged = self.evidence or self.evaluation
        where = "on other rows, expected" if self.evidence else "on the rows of the fit themselves"
        sides = judged.to_dict()
        both = [sides["raw"], sides["reweighted"]]
        rows = [(METRICS[name].title, *(side[name] for side in both)) for name in HEADLINE]
        names = [name.replace("_", " ") for name in self._by_class]
        classes = html_table("every class", names, [*zip(*self._by_class.values(), strict=True)])
        verdict = html(f"{self.verdict}: {self.reason}")
        return f"<p>{verdict}</p>{html_table(where, ['', 'before', 'after'], rows)}{classes}"

    @property
    def weights(self) -> Floats:
        """One weight per class, as :attr:`dnip.Coefficients.weights`."""
        return self.coefficients.weights

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
        >>> fit([[0.9, 0.1], [0.6, 0.4]] * 30, ["ham", "spam"] * 30).to_frame().columns.tolist()[:7]
        ['class', 'rows', 'weight', 'before', 'after', 'precision', 'f1']
        """
        return make_frame(self._by_class, library)

    @property
    def _by_class(self) -> dict[str, Any]:
        """What is known of each class, by name, as columns."""
        columns: dict[str, Any] = (self.evidence or self).evaluation.by_class
        columns = {
            **{name: columns.pop(name) for name in ("class", "rows")},
            "weight": self.coefficients.weights,
            **columns,
        }
        if self.evidence is not None:
            least, most = self.evidence.ranges.T
            columns |= {"least_weight": least, "most_weight": most}
        return columns

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


# Names in one note.
_MOST_NAMES = 8


def notes_on_classes(
    problem: Problem, solution: Solution, evaluation: Evaluation
) -> tuple[str, ...]:
    """Return notes on single classes, one sentence each; none if all is well.

    Parameters
    ----------
    problem : Problem
        The labelled rows, or a sample of them that counts for all.
    solution : Solution
        Of a fit to these rows.
    evaluation : Evaluation
        Of all labelled rows, before and after.

    Examples
    --------
    >>> from dnip import Coefficients, ProbabilityTable, evaluate, solve
    >>> p, y = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]]), np.array([0, 1, 0])
    >>> solution = solve(p, y)
    >>> coefficients = Coefficients.from_solution(solution, ["ham", "spam"])
    >>> evaluation = evaluate(p, y, coefficients)
    >>> print(*notes_on_classes(Problem.of(p, y), solution, evaluation))
    Never right before: spam is right on 1 of 1 rows now.
    """
    names = evaluation.classes
    assert evaluation.reweighted is not None
    rows = evaluation.raw.sum(axis=1)
    before, after = np.diag(evaluation.raw), np.diag(evaluation.reweighted)
    notes = []
    silent = (rows > 0) & (before == 0)
    positive, reachable = _at_best(problem, solution, silent)
    hopeless = silent & (positive == 0)
    if hopeless.any():
        notes.append(
            f"No weight can lift class {_named(names, hopeless)}: its probability is 0 in all of "
            "its labelled rows."
        )
    gained = silent & (after > 0)
    if gained.any():
        counts = "; ".join(
            f"{names[c]} is right on {after[c]:,} of {rows[c]:,} rows now"
            for c in np.flatnonzero(gained)[:_MOST_NAMES].tolist()
        )
        notes.append(f"Never right before: {counts}.")
    lacking = silent & (after == 0) & ~hopeless
    beyond = lacking & (reachable == 0)
    if beyond.any():
        notes.append(
            f"Out of reach: class {_named(names, beyond)}. No weights on this scale make any of "
            "its labelled rows right."
        )
    lacking &= reachable > 0
    if lacking.any():
        counts = "; ".join(
            f"{names[c]} (weights could make {reachable[c]:,} of {rows[c]:,} rows right)"
            for c in np.flatnonzero(lacking)[:_MOST_NAMES].tolist()
        )
        notes.append(f"Never right, before and after: {counts}.")
    end = np.isin(np.arange(len(names)), solution.at_the_end) & (rows > 0)
    scale = solution.scale
    if end.any() and scale.spacing is Spacing.LOG:
        further = "" if scale.size == MAX_SCALE else f" --scale log:{MAX_SCALE} goes further."
        notes.append(f"At the end of the scale {scale}: class {_named(names, end)}.{further}")
    return tuple(notes)


def _at_best(problem: Problem, solution: Solution, silent: Booleans) -> tuple[Integers, Integers]:
    """Return on how many rows silent classes are above 0, and right by as much weight as can be."""
    chosen = np.flatnonzero(silent[problem.labels])
    p, labels = problem.probabilities[chosen], problem.labels[chosen]
    count = problem.weights[chosen]
    cells = np.arange(len(labels)), labels
    of_class = p[cells].copy()
    p[cells] = 0
    levels = solution.scale.levels
    right = of_class * (levels[-1] / levels[0]) > p.max(axis=1)
    above, reached = (
        np.bincount(labels, count * which, problem.n_classes) for which in (of_class > 0, right)
    )
    return np.ceil(above).astype(np.int64), np.rint(reached).astype(np.int64)


def _named(names: Sequence[str], chosen: Booleans) -> str:
    return listed([names[c] for c in np.flatnonzero(chosen).tolist()])


def note_on_limit(limit: float, beta: float | None) -> str:
    """Return what a limit on lost accuracy comes to.

    Parameters
    ----------
    limit : float
        On accuracy lost on other rows.
    beta : float or None
        The β that was taken for it; None where the raw argmax stays.

    Examples
    --------
    >>> print(note_on_limit(0.01, 0.25))
    To lose at most 0.01 of accuracy on other rows, β is 0.25.
    """
    lost = f"at most {limit:g} of accuracy" if limit else "no accuracy"
    if beta is None:
        return f"The raw argmax stays: no β is sure to lose {lost} on other rows and be more even."
    return f"To lose {lost} on other rows, β is {beta:g}."
