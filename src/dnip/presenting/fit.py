"""A fit as text and JSON, and the course of a search as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.fitting.record import Fit, note_on_free
from dnip.metrics.intervals import class_accuracy_intervals
from dnip.presenting.artefacts import Column, Table
from dnip.presenting.evaluation import class_rates, describe, describe_constraints
from dnip.presenting.formats import percent
from dnip.presenting.results import write_rows
from dnip.presenting.terminal import to_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from dnip.fitting.evidence import FitEvidence
    from dnip.method.solution import Solution


def describe_fit(fitted: Fit, confidence: float) -> str:
    """Return every class before and after, what the fit decided, and the objective.

    Parameters
    ----------
    fitted : Fit
    confidence : float
        Level of the intervals of the evidence, where there is any.
    """
    solution, mix = fitted.solution, fitted.target
    parts = [describe(fitted.evaluation, fitted.coefficients)]
    if mix is not None:
        parts.append(
            f"{mix.sentence(fitted.coefficients.classes)}\n"
            f"accuracy is that of this mix, for which the {fitted.evaluation.n:,} labels count as "
            f"{mix.effective_rows:,.0f}"
        )
    if fitted.decision is not None:
        parts.append(fitted.decision.sentence)
    if fitted.notes:
        parts.append("\n".join(fitted.notes))
    if fitted.evidence is not None:
        parts.append(describe_evidence(fitted.evidence, confidence))
    if fitted.free is not None:
        parts.append(note_on_free(*fitted.free))
    if fitted.deferring:
        parts.append(describe_deferring(fitted, confidence))
    if solution.constraints is not None:
        parts.append(describe_constraints(solution.constraints))
    bound = f", no weights below {solution.lower_bound:.6f}" if solution.gap else ""
    parts.append(f"objective {solution.value:.6f}{bound}\n{solution.sentence}")
    return "\n\n".join(parts)


def describe_evidence(evidence: FitEvidence, confidence: float) -> str:
    """Return what the labels say of other rows: every class, and the verdict."""
    found = evidence.evaluation
    told = found.to_dict()
    assert found.reweighted is not None
    bounds = class_accuracy_intervals(found.reweighted, confidence)
    after = {**told["reweighted"], "intervals": {"class_accuracies": bounds}}
    cells = zip(
        found.classes,
        [f"{low:.3f} to {high:.3f}" for low, high in evidence.ranges],
        told["raw"]["class_accuracies"],
        class_rates(after),
        strict=True,
    )
    columns = [
        Column("class"),
        Column("weights of refits", right=True),
        Column("before", 3),
        Column("after", 3),
    ]
    by = f"by {evidence.n_refits} refits that each left labels out"
    if not evidence.n_refits:
        by = "as far as these few labels tell"
    return "\n".join(
        [
            f"Expected on other rows, {by} ({100 * confidence:g} % intervals):",
            to_text(Table("evidence", "", columns, list(cells))),
            "",
            f"verdict: {evidence.verdict}",
            evidence.reason,
        ]
    )


def describe_deferring(fitted: Fit, confidence: float) -> str:
    """Return what other rows are expected to show if some are deferred, beside simpler ways."""
    defer, points = fitted.coefficients.defer, {each.asked: each for each in fitted.deferring}
    assert defer is not None
    chosen, helper, rows = points[defer.share], defer.helper_accuracy, []
    ways = {"nothing": points[0].one, "one threshold": chosen.one, "one per class": chosen.each}
    for name, way in ways.items():
        told = way.to_dict(confidence)
        interval = "{:.3f} to {:.3f}".format(*told["intervals"]["cobias"])
        metrics = [told[metric] for metric in ("share", "accuracy", "cobias")]
        rows.append((name, *metrics, interval, told["worst_class_accuracy"]))
    figures = [Column(name, 3) for name in ("deferred", "accuracy", "COBias")]
    level = Column(f"{100 * confidence:g} % interval", right=True)
    columns = [Column("thresholds"), *figures, level, Column("worst class", 3)]
    who = "; of those that remain" if helper is None else f" to a helper, right on {helper:.0%}"
    title = f"Expected on other rows, {100 * defer.share:.3g}% of them deferred{who}:"
    return f"{title}\n{to_text(Table('deferring', '', columns, rows))}"


def deferring_to_dict(fitted: Fit, confidence: float) -> dict[str, Any] | None:
    """Return the thresholds and, if they were judged, what to expect of several shares."""
    defer = fitted.coefficients.defer
    if defer is None:
        return None
    front = []
    for asked, one, each in fitted.deferring:
        ways = {"one_threshold": one.to_dict(confidence), "per_class": each.to_dict(confidence)}
        front.append({"asked": asked, **ways})
    return {**defer.to_dict(), "front": front}


def deferring_facts(fit: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what other rows are expected to show by the share deferred, if a fit has judged it."""
    told = "COBias {cobias:.3f} at accuracy {accuracy:.3f}"
    for point in fit.get("deferring", ()):
        each, one = (told.format(**point[way]) for way in ("each", "one"))
        said = f"{each}; by one threshold {one}" if point["asked"] else each
        yield f"expected, {percent(point['asked'])} deferred", said


def notes_on_fit(fitted: Fit, unlabelled: Path | None) -> Iterator[str]:
    """Yield which rows without labels were not used."""
    estimated = fitted.target is not None and fitted.target.estimate is not None
    if fitted.decision is not None or estimated:
        return
    if unlabelled is not None:
        yield f"the fit is plain, {unlabelled} was not used"
    if fitted.evaluation.n_unlabelled:
        yield f"rows without a label, not used: {fitted.evaluation.n_unlabelled:,}"


def fit_to_dict(fitted: Fit, robust: str, confidence: float) -> dict[str, Any]:
    """Return what ``dnip fit --json`` prints, but for the file that was written.

    Parameters
    ----------
    fitted : Fit
    robust : {"auto", "on", "off"}
        What was asked for.
    confidence : float
        Level of the intervals of the evidence.
    """
    decision, mix, evidence = fitted.decision, fitted.target, fitted.evidence
    free, mass = fitted.free, fitted.captured_mass
    return {
        "classes": list(fitted.coefficients.classes),
        "mass": None if mass is None else mass.to_dict(),
        "constraints": None,
        **fitted.solution.to_dict(),
        "robust": None if decision is None else {"mode": robust, **decision.to_dict()},
        "target_prior": None if mix is None else mix.to_dict(fitted.coefficients.classes),
        "notes": list(fitted.notes),
        "defer": deferring_to_dict(fitted, confidence),
        "evidence": None if evidence is None else evidence.to_dict(confidence),
        "at_little_cost": None
        if free is None
        else {"max_accuracy_loss": free[0], **free[1].to_dict(confidence)},
    }


def write_trace(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write one line per trace entry, with a column for each statistic of the solver.

    Parameters
    ----------
    solution : Solution
    path : path-like
        The CSV file.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    statistics = list(dict.fromkeys(name for entry in solution.trace for name in entry.statistics))
    rows: list[list[Any]] = [["seconds", "evaluations", "value", "incumbent", *statistics]]
    rows += [
        [
            f"{entry.seconds:.6f}",
            entry.evaluations,
            entry.value,
            entry.incumbent,
            *(entry.statistics.get(name, "") for name in statistics),
        ]
        for entry in solution.trace
    ]
    write_rows(Path(path), rows)
