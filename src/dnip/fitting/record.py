"""What a fit returns, what is told of single classes, and what a coefficients file records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dnip.base import __version__
from dnip.base.errors import listed
from dnip.base.escaping import html, valid_unicode
from dnip.base.frames import make_frame
from dnip.base.typing import Booleans, Integers
from dnip.base.validation import MAX_SCALE
from dnip.fitting.evidence import NEEDED, NO_SIGNAL, FitEvidence, Point
from dnip.fitting.robust import Blend
from dnip.method.coefficients import Coefficients
from dnip.method.problem import Problem
from dnip.method.scales import Spacing
from dnip.method.solution import Solution
from dnip.priors.calibration import Calibration
from dnip.priors.target import TargetPrior
from dnip.tables import ProbabilityTable
from dnip.tables.captured_mass import CapturedMass
from dnip.tables.provenance import origin_of
from dnip.tables.sampling import Sample
from dnip.using.evaluation import Evaluation
from dnip.using.sketch import TableSample

#: What is said of a fit without refits.
NOT_JUDGED = "No refits were made, so nothing is known of other rows."

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
    >>> found = solve(p, y)
    >>> coefficients = Coefficients.from_solution(found, ["ham", "spam"])
    >>> evaluation = evaluate(p, y, coefficients)
    >>> print(*notes_on_classes(Problem.of(p, y), found, evaluation))
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
    places = np.arange(len(labels)), labels
    own = p[places].copy()
    p[places] = 0
    levels = solution.scale.levels
    right = own * (levels[-1] / levels[0]) > p.max(axis=1)
    above, reached = (
        np.bincount(labels, count * which, problem.n_classes) for which in (own > 0, right)
    )
    return np.ceil(above).astype(np.int64), np.rint(reached).astype(np.int64)


def _named(names: Sequence[str], chosen: Booleans) -> str:
    return listed([names[c] for c in np.flatnonzero(chosen).tolist()])


def note_on_limit(most: float, part: float) -> str:
    """Return what a limit on lost accuracy comes to on other rows.

    Parameters
    ----------
    most : float
        The limit.
    part : float
        How much of the way from equal weights to the fit they go, 0..1.

    Examples
    --------
    >>> print(note_on_limit(0.01, 0.45))
    To be 90% sure that other rows lose at most 0.01 of accuracy,
    the weights go 45% of the way from equal ones to those without this limit.
    """
    lost = f"at most {most:g} of accuracy" if most else "no accuracy"
    if part == 1:
        return f"It is {NEEDED:.0%} sure that other rows lose {lost}."
    if part == 0:
        return (
            f"The raw argmax stays: of no other weights it is {NEEDED:.0%} sure that other rows\n"
            f"lose {lost}. More labels would tell more."
        )
    return (
        f"To be {NEEDED:.0%} sure that other rows lose {lost},\n"
        f"the weights go {part:.0%} of the way from equal ones to those without this limit."
    )


def note_on_free(limit: float, expected: FitEvidence) -> str:
    """Return which evenness costs next to no accuracy, and the option that takes it."""
    accuracies = " -> ".join(f"{value:.3f}" for value in expected.accuracies)
    gaps = " -> ".join(f"{side.cobias:.3f}" for side in (expected.raw, expected.reweighted))
    return (
        f"Evenness at next to no cost: --max-accuracy-loss {limit:g}. Expected on other rows:\n"
        f"accuracy {accuracies}, COBias {gaps}"
    )


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
    free : tuple of float and FitEvidence, or None
        Where this fit is expected to cost more than a point of accuracy: a ``max_accuracy_loss``,
        and what is to be had under it.
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
    free: tuple[float, FitEvidence] | None = None
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
        own, raw = self.coefficients, (self.evidence or self).evaluation.raw
        fit = {
            **own.fit,
            "scores": {"rows": raw.sum(axis=1).tolist(), "right": np.diag(raw).tolist()},
            "sketch": {**own.fit["sketch"], "changed_decisions": 0.0},
        }
        objective = {k: v for k, v in own.objective.items() if k not in ("value", "term_values")}
        top = [own.scale.size] * len(own.classes)
        return Coefficients(own.classes, top, own.scale, objective, fit)

    @property
    def captured_mass(self) -> CapturedMass | None:
        """How many rows of the opt table have a low captured mass; None if it is not known."""
        return self.evaluation.captured_mass


def provenance_of(
    sample: Sample, data_hash: str, calibration: Calibration, seed: int
) -> dict[str, Any]:
    """Return what a coefficients file records of the package and of the opt set."""
    support = sample.class_sizes
    data = {
        **describe_data(sample.table.source, data_hash),
        "rows": sample.n_rows,
        "labelled_rows": int(support.sum()),
    }
    if not sample.is_whole:
        data["sample"] = {"rows": len(sample.table), "seed": seed}
    return {
        "package_version": __version__,
        "data": data,
        "class_shares": (support / support.sum()).tolist(),
        "calibration": calibration.to_dict(),
    }


def describe_data(source: str, data_hash: str) -> dict[str, Any]:
    """Return where a table came from, the model and the prompt if known, and its hash."""
    # a path may hold bytes that are no Unicode; JSON may not
    data: dict[str, Any] = {"source": valid_unicode(source), "sha256": data_hash}
    origin = origin_of(Path(source))
    return data if origin is None else {**data, "origin": origin}


def recorded(
    fitted: Fit,
    provenance: dict[str, Any],
    like: TableSample,
    robust: str,
    unlabelled: ProbabilityTable | None,
) -> Fit:
    """Return a fit whose coefficients hold the record of how they came about.

    Parameters
    ----------
    fitted : Fit
    provenance : dict
        Of its rows.
    like : TableSample
        Rows like those that the coefficients are for, which `dnip check` compares with.
    robust : {"auto", "on", "off"}
        What was asked for.
    unlabelled : ProbabilityTable or None
        More rows without a label, if they were used.
    """
    classes, target, record = fitted.coefficients.classes, fitted.target, dict(provenance)
    if target is not None:
        record["class_shares"] = target.shares.tolist()
        record["target_prior"] = target.to_dict(classes)
    if fitted.decision is not None:
        record["robust"] = {"mode": robust, **fitted.decision.to_dict()}
    if unlabelled is not None:
        data = describe_data(unlabelled.source, unlabelled.data_hash)
        record["unlabelled"] = {**data, "rows": len(unlabelled)}
    scored, side = fitted.evaluation, None
    if fitted.evidence is not None:
        scored = fitted.evidence.evaluation  # of rows that were left out
        side = fitted.evidence.reweighted
    if fitted.verdict != "not judged":
        record["evidence"] = {"verdict": fitted.verdict, "reason": fitted.reason}
        if fitted.free is not None:
            record["evidence"]["at_little_cost"] = note_on_free(*fitted.free)
    assert scored.reweighted is not None
    coefficients = Coefficients.from_solution(fitted.solution, classes, provenance=record)
    kept = {
        "scores": {
            **({} if side is None else {"followed": side.followed, "expected": side.cobias}),
            "rows": scored.reweighted.sum(axis=1).tolist(),
            "right": np.diag(scored.reweighted).tolist(),
        },
        "sketch": like.sketch(coefficients.multipliers).to_dict(),
    }
    return replace(fitted, coefficients=coefficients.with_fit({**coefficients.fit, **kept}))
