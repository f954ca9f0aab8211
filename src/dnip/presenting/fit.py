"""A fit as text and JSON."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from dnip.fitting.evidence import NO_SIGNAL
from dnip.fitting.result import NOT_JUDGED, Fit
from dnip.method.coefficients import NEVER, Coefficients, FitRecord
from dnip.method.objective import MetricObjective
from dnip.metrics import METRICS
from dnip.metrics.intervals import class_accuracy_intervals
from dnip.presenting.evaluation import (
    DETAILS,
    always_sentence,
    class_columns,
    describe_constraints,
    taken_for,
    with_interval,
)
from dnip.presenting.formats import WIDTH, Column, Row, columns_to_text, percent, to_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.method.solution import Solution


def describe_fit(
    fitted: Fit, confidence: float, table: str = "TABLE", out: str = "coefficients.json"
) -> str:
    """Return what to expect of other rows, the verdict and a next step; then every class.

    Parameters
    ----------
    fitted : Fit
    confidence : float
        Level of the intervals of the evidence, where there is any.
    table, out : str
        The opt table and the coefficients, as in lines to type.
    """
    solution, mix = fitted.solution, fitted.target
    parts = [_headlines(fitted, confidence), _describe_verdict(fitted, table, out)]
    if len(fitted.alternatives) > 1:
        parts.append(_alternatives(fitted))
    parts.append(_classes(fitted, confidence))
    if mix is not None:
        parts.append(
            f"{mix.sentence(fitted.coefficients.classes)}\n"
            f"accuracy is that of this mix, for which the {fitted.evaluation.n:,} labels count as "
            f"{mix.effective_rows:,.0f}"
        )
    if fitted.decision is not None:
        parts.append(wrapped(fitted.decision.sentence))
        if not fitted.decision.n_unlabelled and fitted.decision.support.min() < _FEW_LABELS:
            parts[-1] += _ASK_FOR_ROWS
    if fitted.notes:
        parts.append(wrapped("\n".join(fitted.notes)))
    if fitted.deferring:
        parts.append(_describe_deferring(fitted, confidence))
    if fitted.coefficients.fit.defer_below is not None:
        parts.append(_served(fitted.coefficients))
    if solution.constraints is not None:
        parts.append(describe_constraints(solution.constraints))
    parts.append(f"{_optimum(solution)}\n{wrapped(solution.sentence)}")
    return "\n\n".join(parts)


def _optimum(solution: Solution) -> str:
    """Return the objective of the labelled rows, and how far it may be from the optimum."""
    is_metric = "metric" in solution.objective
    title = f"{_title(solution)} {_shown(solution, solution.value):.6f}"
    where = " on the labelled rows" if is_metric else ""
    if solution.lower_bound is None or not solution.gap:
        return title + where
    bound = _shown(solution, solution.lower_bound)
    return f"{title}{where}, no weights {'above' if is_metric else 'below'} {bound:.6f}"


def _title(solution: Solution) -> str:
    """Name the objective: a metric by its own name."""
    metric = solution.objective.get("metric")
    return METRICS[MetricObjective(metric).function.__name__].title if metric else "objective"


def _shown(solution: Solution, value: float) -> float:
    """Return a value of the objective as it is shown: a metric itself, not 1 less it."""
    return 1 - value if "metric" in solution.objective else value


# Labels of a class below which rows without labels help.
_FEW_LABELS = 100
_ASK_FOR_ROWS = "\nRows without labels help, too: --unlabelled NEW.csv, the rows to be corrected."
# A loss of accuracy that is worth a word.
_A_POINT = 0.01
# Worst class and accuracy first: they are what people ask for.
_FIRST = ("worst_class_accuracy", "accuracy", "cobias")
_SHOWN = ("accuracy", "cobias", "worst_class_accuracy")


def _headlines(fitted: Fit, level: float) -> str:
    """Return what other rows are likely to show, or what the fitted ones do."""
    evidence = fitted.evidence
    if evidence is None:
        sides = fitted.evaluation.to_dict(with_counts=False)
        lines = ["On the rows of the fit themselves, which says little of others:"]
        objective = f"{_shown(fitted.solution, fitted.solution.value):.3f}"
    else:
        sides = evidence.to_dict(level)
        by = f"by {evidence.n_refits} refits that each left labels out"
        lines = [
            f"On other rows, {by if evidence.n_refits else 'as far as these few labels tell'}:"
        ]
        objective = evidence.change
    for metric in _FIRST:
        ends = " -> ".join(with_interval(sides[side], metric) for side in ("raw", "reweighted"))
        lines.append(f"{METRICS[metric].title:<12} {ends}")
    lines.append(f"{'objective':<12} {objective}")
    if evidence is not None:
        aim = evidence.aim if evidence.metric is None else f"{evidence.aim}, which has no β to vary"
        lines.append(f"In brackets: {100 * level:g} % intervals. Objective: {aim}.")
    if (always := fitted.evaluation.always) is not None:
        lines.append(always_sentence(always))
    return "\n".join(lines)


def _alternatives(fitted: Fit) -> str:
    """Return what other β are expected to give, the chosen one marked."""
    columns = [Column("β", right=True), *(Column(METRICS[name].title, 3) for name in _SHOWN)]
    rows: list[Row] = [
        (f"{'* ' * other.is_chosen}{other.beta:g}", other.accuracy, other.cobias, other.worst)
        for other in fitted.alternatives
    ]
    return f"What other β would give on other rows (* this fit):\n{to_text(columns, rows)}"


def _describe_verdict(fitted: Fit, table: str, out: str) -> str:
    """Return the verdict, its reason, and what to do next.

    Examples
    --------
    >>> from dnip import fit
    >>> fitted = fit([[0.9, 0.1], [0.6, 0.4]] * 30, [0, 1] * 30)
    >>> print(_describe_verdict(fitted, "t.csv", "coefficients.json"))
    verdict: apply
    Next, correct new rows: dnip apply NEW.csv --out corrected.csv
    Later, see whether they still fit: dnip check NEW.csv
    """
    verdict, evidence = fitted.verdict, fitted.evidence
    text = {"keep": "keep the raw argmax"}.get(verdict, verdict)
    option = "" if out == "coefficients.json" else f" --coefficients {quote(out)}"
    steps = {
        "apply": f"correct new rows: dnip apply NEW.csv{option} --out corrected.csv",
        "keep": "label more rows, and fit again",
        "no signal": "look at the prompt: dnip prompt TEXTS --check",
        "not judged": f"ask for a verdict: dnip fit {quote(table)} --evidence",
    }
    if evidence is not None and verdict == "apply" and evidence.accuracy_change < -_A_POINT:
        text += f", at a cost of {-100 * evidence.accuracy_change:.1f} points of accuracy"
    lines = [f"verdict: {text}"]
    if verdict == "not judged":
        lines.append(NOT_JUDGED)
    elif evidence is not None or verdict == "no signal":
        lines += [NO_SIGNAL] if evidence is None else evidence.objections
    step = f"Next, {steps[verdict]}"
    lines.append(step if len(step) <= WIDTH else step.replace(": dnip", ":\ndnip"))
    if verdict == "apply":
        lines.append(f"Later, see whether they still fit: dnip check NEW.csv{option}")
    return "\n".join(lines)


def _classes(fitted: Fit, level: float) -> str:
    """Return every class: its weight, and how often it is right, on rows left out if judged."""
    evidence, coefficients = fitted.evidence, fitted.coefficients
    shown = fitted.evaluation if evidence is None else evidence.evaluation
    assert shown.reweighted is not None
    sides = shown.to_dict(with_counts=False)
    after, names = sides["reweighted"], shown.classes
    columns = {
        Column("class"): names,
        Column("rows"): shown.raw.sum(axis=1).tolist(),
        Column("weight", 3): coefficients.weights.tolist(),
    }
    refits = Column("of refits", right=True)
    if evidence is not None:
        columns[refits] = [f"{low:.3f}–{high:.3f}" for low, high in evidence.ranges]
        bounds = class_accuracy_intervals(shown.reweighted, level)
        after = {**after, "intervals": {"class_accuracies": bounds}}
    columns |= {
        Column("before", 3): sides["raw"]["class_accuracies"],
        **class_columns("after", after),
        Column("taken for"): taken_for(names, shown.reweighted),
    }
    return columns_to_text(columns, (refits, *DETAILS))


def _describe_deferring(fitted: Fit, confidence: float) -> str:
    """Return what other rows are expected to show if some are deferred, beside simpler ways."""
    defer, points = fitted.coefficients.defer, {point.asked: point for point in fitted.deferring}
    assert defer is not None
    chosen, helper, rows = points[defer.share], defer.helper_accuracy, []
    ways = {
        "nothing": points[0].common,
        "one threshold": chosen.common,
        "one per class": chosen.by_class,
    }
    for name, way in ways.items():
        numbers = way.to_dict(confidence)
        interval = "{:.3f} to {:.3f}".format(*numbers["intervals"]["cobias"])
        metrics = [numbers[metric] for metric in ("share", "accuracy", "cobias")]
        rows.append((name, *metrics, interval, numbers["worst_class_accuracy"]))
    figures = [Column(name, 3) for name in ("deferred", "accuracy", "COBias")]
    level = Column(f"{100 * confidence:g} % interval", right=True)
    columns = [Column("thresholds"), *figures, level, Column("worst class", 3)]
    who = "; of those that remain" if helper is None else f" to a helper, right on {helper:.0%}"
    title = f"Expected on other rows, {100 * defer.share:.3g}% of them deferred{who}:"
    return f"{title}\n{to_text(columns, rows)}"


def _served(coefficients: Coefficients) -> str:
    """Return how much of each predicted class is served, and how often that is right."""
    floor, defer = coefficients.fit.defer_below, coefficients.defer
    assert floor is not None
    assert defer is not None
    thresholds = [None if t == NEVER else t for t in defer.thresholds.tolist()]
    columns = {
        Column("class"): coefficients.classes,
        Column("threshold", 3): thresholds,
        **{Column(name, 3): floor[name] for name in ("served", "right")},
    }
    title = f"To serve each class right at {floor['rate']:g}, {floor['sure']:.0%} sure:"
    return f"{title}\n{columns_to_text(columns)}"


def _deferring_to_dict(fitted: Fit, confidence: float) -> dict[str, Any] | None:
    """Return the thresholds and, if they were judged, what to expect of several shares."""
    defer = fitted.coefficients.defer
    if defer is None:
        return None
    front = []
    for asked, common, by_class in fitted.deferring:
        ways = {"one_threshold": common, "per_class": by_class}
        scores = {name: way.to_dict(confidence) for name, way in ways.items()}
        front.append({"asked": asked, **scores})
    return {**defer.to_dict(), "front": front}


def deferring_facts(fit: FitRecord) -> Iterator[tuple[str, str]]:
    """Yield what other rows are expected to show by the share deferred, if a fit has judged it."""
    template = "COBias {cobias:.3f} at accuracy {accuracy:.3f}"
    for point in fit.deferring:
        by_class, by_one = (template.format(**point[way]) for way in ("each", "one"))
        text = f"{by_class}; by one threshold {by_one}" if point["asked"] else by_class
        yield f"expected, {percent(point['asked'])} deferred", text


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
    mass = fitted.captured_mass
    return {
        "classes": list(fitted.coefficients.classes),
        "mass": None if mass is None else mass.to_dict(),
        "constraints": None,
        **fitted.solution.to_dict(),
        "robust": None if decision is None else {"mode": robust, **decision.to_dict()},
        "target_prior": None if mix is None else mix.to_dict(fitted.coefficients.classes),
        "notes": list(fitted.notes),
        "defer": _deferring_to_dict(fitted, confidence),
        "evidence": {
            "verdict": fitted.verdict,
            **({} if evidence is None else evidence.to_dict(confidence)),
            "alternatives": [other._asdict() for other in fitted.alternatives],
        },
    }
