"""What commands print: of an evaluation, a fit, a path over β, coefficients and a check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log10
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from dnip.base.errors import listed
from dnip.base.typing import Counts
from dnip.base.validation import flat
from dnip.method.coefficients import Coefficients, FitRecord
from dnip.method.objective import MetricObjective
from dnip.metrics import CLASS_METRICS, HEADLINE, METRICS, class_accuracies, odd_classes
from dnip.metrics.intervals import class_accuracy_intervals
from dnip.presenting.formats import (
    WIDTH,
    Column,
    Estimate,
    Row,
    Value,
    columns_to_text,
    percent,
    shorten,
    show,
    to_text,
    wrapped,
)
from dnip.using.drift import Check
from dnip.using.evaluation import Evaluation
from dnip.using.slices import Slices

if TYPE_CHECKING:
    import os

    from dnip.fitting.fit import Fit
    from dnip.fitting.path import Path
    from dnip.method.solution import Solution

# --- an evaluation ---
# Classes with one floor that are named, the lowest.
_FEW = 3
#: Values of a column that are shown.
MOST_SLICES = 30


def describe_evaluation(
    evaluation: Evaluation,
    coefficients: Coefficients | None = None,
    *,
    confidence: float | None = None,
    most: int | None = None,
) -> str:
    """Return accuracy, COBias and every class, before and after.

    Parameters
    ----------
    evaluation : Evaluation
    coefficients : Coefficients, optional
        Also show their weights.
    confidence : float, optional
        Also show confidence intervals of this level, which hold for rows that the coefficients
        were not fitted on.
    most : int, optional
        Show this many classes at most, the weakest.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.using.evaluation import evaluate
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> print(describe_evaluation(evaluate([table])))
    class  rows  accuracy  precision     F1  taken for
    0         1     1.000      0.500  0.667
    1         1     0.000          -  0.000  0
    <BLANKLINE>
    accuracy     0.500
    COBias       1.000
    worst class  0.000
    """
    numbers = evaluation.to_dict(confidence, with_counts=False)
    names = ("before", "after", "adjusted") if evaluation.reweighted is not None else ("accuracy",)
    sides = dict(zip(names, ("raw", "reweighted", "adjusted"), strict=False))
    columns: dict[Column, Sequence[Value]] = {
        Column("class"): evaluation.classes,
        Column("rows"): evaluation.raw.sum(axis=1).tolist(),
    }
    if coefficients is not None:
        columns[Column("weight", 3)] = coefficients.weights.tolist()
    *before, last = (side for side in sides.items() if side[1] in numbers)
    columns |= {Column(title, 3): numbers[side]["class_accuracies"] for title, side in before}
    columns |= class_scores(last[0], numbers[last[1]])
    counts = [*evaluation.sides.values()][-1]
    columns[Column("taken for")] = taken_for(evaluation.classes, counts)
    left = ""
    if most is not None and len(counts) > most:
        order = np.argsort(class_accuracies(counts), kind="stable")  # without rows: at the end
        columns = {column: [values[c] for c in order[:most]] for column, values in columns.items()}
        left = f"\n… and {len(counts) - most:,} classes that are right more often"
    return f"{columns_to_text(columns, DETAILS)}{left}\n\n{_totals(numbers)}"


#: Columns that a table goes without where it would be too wide, the first one first.
DETAILS = tuple(Column(title, 3) for title in reversed(CLASS_METRICS))


def class_scores(title: str, side: Mapping[str, Any]) -> dict[Column, Sequence[Value]]:
    """Return how often each class is right, with intervals if they are known, and the details.

    Parameters
    ----------
    title : str
        Of the first column.
    side : mapping
        Such as ``evaluation.to_dict()["raw"]``.
    """
    rates = side["class_accuracies"]
    if "intervals" in side:
        bounds = side["intervals"]["class_accuracies"]
        rates = [
            None if rate is None else Estimate(rate, *ends)
            for rate, ends in zip(rates, bounds, strict=True)
        ]
    details = {Column(name, 3): side[of.__name__] for name, of in CLASS_METRICS.items()}
    return {Column(title, 3): rates, **details}


def describe_slices(slices: Slices, by: str, confidence: float | None = None) -> str:
    """Return a line for each value of a column: rows, accuracy, COBias and the worst class.

    Those before coefficients are left out where a terminal has no room for them.

    Parameters
    ----------
    slices : Slices
    by : str
        The name of the column.
    confidence : float, optional
        Also show intervals of this level.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.using.slices import slices_of
    >>> labels, values = np.arange(80) % 2, np.repeat(["en", "de"], 40).astype(object)
    >>> print(describe_slices(slices_of(values, labels, {"raw": labels}, None, "ab"), "lang"))
    lang  rows  accuracy  COBias  worst class
    de      40     1.000   0.000        1.000
    en      40     1.000   0.000        1.000
    """
    parts = [part.to_dict(confidence) for part in slices.parts[:MOST_SLICES]]
    sides = [side for side in ("raw", "reweighted") if side in parts[0]]
    columns: dict[Column, Sequence[Value]] = {
        Column(by): [part["name"] for part in parts],
        Column("rows"): [part["rows"] for part in parts],
    }
    for side in sides:
        group = "" if len(sides) == 1 else {"raw": "before", "reweighted": "after"}[side]
        for metric in HEADLINE:
            column = Column(METRICS[metric].title, 3, group=group)
            columns[column] = [part[side][metric] for part in parts]
            if side == sides[-1]:
                columns[column] = [_estimate(part[side], metric) for part in parts]
    left = len(slices.parts) - len(parts)
    more = f"\n… and {left:,} values with fewer rows" if left > 0 else ""
    return columns_to_text(columns, [c for c in columns if c.group == "before"]) + more


def _estimate(side: Mapping[str, Any], metric: str) -> Value:
    bounds = side.get("intervals", {}).get(metric)
    return side[metric] if bounds is None else Estimate(side[metric], *bounds)


def describe_confusion(evaluation: Evaluation) -> str:
    """Return the confusion matrices, one below the other; columns are numbered if names are long.

    Examples
    --------
    >>> print(describe_confusion(Evaluation(("ham", "spam"), 4, 0, np.array([[2, 0], [1, 1]]))))
    rows of  ham  spam
    ham        2     0
    spam       1     1
    """
    names = evaluation.classes
    tables = []
    for side, counts in evaluation.sides.items():
        first = "rows of" if len(evaluation.sides) == 1 else f"{side}, rows of"
        rows = [(name, *line) for name, line in zip(names, counts.tolist(), strict=True)]
        columns = [Column(first), *map(Column, names)]
        if sum(map(cell_len, names)) > WIDTH // 2:
            columns = [Column(first), *(Column(str(c)) for c in range(len(names)))]
            rows = [(f"{c} {name}", *line) for c, (name, *line) in enumerate(rows)]
        tables.append(to_text(columns, rows))
    return "\n\n".join(tables)


def taken_for(classes: Sequence[str], confusion: Counts) -> list[str]:
    """Return the class that most errors of each class go to; nothing for one without errors."""
    return ["" if c < 0 else classes[c] for c in odd_classes(confusion)]


def always_sentence(always: tuple[str, float]) -> str:
    """Return what always answering the class of most rows would score.

    Examples
    --------
    >>> always_sentence(("ham", 0.85))
    'Always answering ham would be right on 85.0 % of the rows.'
    """
    return f"Always answering {always[0]} would be right on {percent(always[1])} of the rows."


def next_step(evaluation: Evaluation, level: float, command: str) -> str:
    """Return which classes starve, and what to type next.

    Parameters
    ----------
    evaluation : Evaluation
    level : float
        How sure it must be, between 0 and 1.
    command : str
        A line that learns coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.using.evaluation import evaluate
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]]).repeat(9, axis=0)
    >>> table = ProbabilityTable(p, np.array([0, 1]).repeat(9), classes=["ham", "spam"])
    >>> print(next_step(evaluate(table), 0.9, "dnip fit opt.csv"))
    Starving: spam. Below the average class, 0.500, by more than chance.
    Next, learn coefficients: dnip fit opt.csv
    """
    if evaluation.signal is False:
        step = "" if evaluation.cause else "\nNext, look at the prompt: dnip prompt TEXTS --check"
        return wrapped(f"No signal. {evaluation.no_signal}{step}")
    weak = evaluation.starving(level)
    text = "No class is below the average class by more than chance."
    if weak:
        mean = np.nanmean(class_accuracies(evaluation.raw))
        text = f"Starving: {listed(weak, _FEW)}. "
        text += f"Below the average class, {mean:.3f}, by more than chance."
    if evaluation.always is not None:
        text = f"{always_sentence(evaluation.always)}\n{text}"
    return f"{wrapped(text)}\nNext, learn coefficients: {command}"


def describe_constraints(constraints: Mapping[str, Any]) -> str:
    """Return what was asked for and what was reached on the rows of the fit, in one line.

    Parameters
    ----------
    constraints : mapping
        As `Solution.constraints`.

    Examples
    --------
    >>> describe_constraints(
    ...     {"max_accuracy_loss": 0.01, "accuracy_loss": -0.02, "freeze": ["cat"],
    ...      "min_class_accuracies": {"dog": 0.6}, "class_accuracies": {"dog": 0.625}}
    ... )
    'kept on these rows: accuracy loss -0.020 (at most 0.01); dog 0.625 (at least 0.6); frozen: cat'
    """
    parts = []
    if "max_accuracy_loss" in constraints:
        loss, most = constraints["accuracy_loss"], constraints["max_accuracy_loss"]
        parts.append(f"accuracy loss {loss:.3f} (at most {most:g})")
    floors = constraints.get("min_class_accuracies", {})
    for least in dict.fromkeys(floors.values()):
        reached = {c: constraints["class_accuracies"][c] for c in floors if floors[c] == least}
        lowest = sorted(reached, key=lambda c: reached[c])
        shown = listed([f"{c} {reached[c]:.3f}" for c in lowest], most=_FEW)
        parts.append(f"{shown} (at least {least:g})")
    if "freeze" in constraints:
        parts.append(f"frozen: {', '.join(constraints['freeze'])}")
    return f"kept on these rows: {'; '.join(parts)}"


def served_facts(served: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is deferred, and how what remains and the system are served, by name.

    Parameters
    ----------
    found : mapping
        What :func:`dnip.method.coefficients.served` returns.
    """
    yield "deferred", f"{percent(served['share'])}; asked for {percent(served['asked'])}"
    for side, end in (("remaining", ""), ("system", "; helper right on {helper_accuracy:.0%}")):
        scores = served.get(side, {}).items()
        texts = [f"{METRICS[name].title} {show(value, Column(name, 3))}" for name, value in scores]
        if texts:
            yield side, ", ".join(texts) + end.format(**served)


def _totals(numbers: dict[str, Any]) -> str:
    sides = [numbers[side] for side in ("raw", "reweighted", "adjusted") if side in numbers]
    lines = []
    for metric in HEADLINE:
        values = " -> ".join(with_interval(side, metric) for side in sides)
        lines.append(f"{METRICS[metric].title:<12} {values}")
    if "confidence" in numbers and "difference" in numbers:
        changes = [
            f"{METRICS[metric].title} {with_interval(numbers['difference'], metric, signed=True)}"
            for metric in HEADLINE
            if metric in numbers["difference"]["intervals"]
        ]
        lines.append(f"{'change':<12} {', '.join(changes)}")
    if "defer" in numbers:
        lines += [f"{name:<12} {text}" for name, text in served_facts(numbers["defer"])]
    if "confidence" not in numbers:
        return "\n".join(lines)
    level = f"In brackets: {100 * numbers['confidence']:g} % intervals."
    ends = [(side[m], *side["intervals"].get(m, (0, 1))) for side in sides for m in HEADLINE]
    if any(not round(low, 3) <= round(value, 3) <= round(high, 3) for value, low, high in ends):
        level += (
            " A value may be outside of its own: with few\nrows, chance sets classes apart, or "
            "spares them all errors."
        )
    return "\n".join([*lines, "", level])


def with_interval(side: Mapping[str, Any], metric: str, *, signed: bool = False) -> str:
    """Return a metric of a side of an evaluation, with its interval if it has one."""
    return show(_estimate(side, metric), Column(metric, 3, signed=signed))


# --- a fit ---
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
    if not fitted.has_labels:
        frame = {Column("class"): fitted.coefficients.classes}
        frame[Column("weight", 3)] = fitted.weights.tolist()
        parts = [_describe_verdict(fitted, table, out), columns_to_text(frame)]
        parts += [] if mix is None else [mix.sentence(fitted.coefficients.classes)]
        return "\n\n".join(parts)
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
        is_alone = not fitted.decision.n_unlabelled and fitted.chosen is None
        if is_alone and fitted.decision.support.min() < _FEW_LABELS:
            parts[-1] += _ASK_FOR_ROWS
    if fitted.notes:
        parts.append(wrapped("\n".join(fitted.notes)))
    if fitted.deferring:
        parts.append(_describe_deferring(fitted, confidence))
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
# Worst class and accuracy first: they are what people ask for.
_FIRST = ("worst_class_accuracy", "accuracy", "cobias")
_OF_BETA = ("accuracy", "cobias", "worst_class_accuracy")


def _headlines(fitted: Fit, level: float) -> str:
    """Return what other rows are likely to show, or what the fitted ones do."""
    evidence = fitted.evidence
    if evidence is None:
        sides = fitted.evaluation.to_dict(with_counts=False)
        lines = ["On the rows of the fit themselves, which says little of others:"]
        title, value = _title(fitted.solution), _shown(fitted.solution, fitted.solution.value)
        objective = f"{title:<12} {value:.3f}"
    else:
        sides = evidence.to_dict(level)
        by = f"by {evidence.n_refits} refits that each left labels out"
        lines = [
            f"On other rows, {by if evidence.n_refits else 'as far as these few labels show'}:"
        ]
        objective = f"{evidence.aim:<12} {evidence.change}"
    for metric in _FIRST:
        ends = " -> ".join(with_interval(sides[side], metric) for side in ("raw", "reweighted"))
        lines.append(f"{METRICS[metric].title:<12} {ends}")
    lines.append(objective)
    if evidence is not None:
        known = f"In brackets: {100 * level:g} % intervals."
        lines.append(f"{known} The worst class may be another one on other rows.")
    if (always := fitted.evaluation.always) is not None:
        lines.append(always_sentence(always))
    return "\n".join(lines)


def _alternatives(fitted: Fit) -> str:
    """Return what other β are expected to give, the chosen one marked."""
    columns = [Column("β", right=True), *(Column(METRICS[name].title, 3) for name in _OF_BETA)]
    rows: list[Row] = [
        (f"{'* ' * other.is_chosen}{other.beta:g}", other.accuracy, other.cobias, other.worst)
        for other in fitted.alternatives
    ]
    star = " (* this fit)" * any(other.is_chosen for other in fitted.alternatives)
    return f"What other β would give on other rows{star}:\n{to_text(columns, rows)}"


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
    is_usual = out == "coefficients.json"
    option = "" if is_usual else f" --coefficients {quote(out)}"
    written = "" if is_usual else f" --out {quote(out)}"
    steps = {
        "apply": f"correct new rows: dnip apply NEW.csv{option} --out corrected.csv",
        "keep": "label more rows, and fit again; or name a goal, such as --beta 1",
        "no signal": "look at the prompt: dnip prompt TEXTS --check",
        "not judged": f"ask for a verdict: dnip fit {quote(table)}{written} --evidence",
    }
    if fitted.chosen is not None:
        steps["not judged"] = f"label rows at random, and fit again: dnip fit {quote(table)}"
    if not fitted.has_labels:
        again = f"dnip fit {quote(table)}{written}"
        steps["not judged"] = f"label a hundred rows, and fit again: {again}"
    lines = [f"verdict: {text}"]
    lines += [] if fitted.choice is None else [fitted.choice]
    if verdict == "keep" and not fitted.is_raw:
        lines.append("The weights are written as they were asked for.")
    if evidence is None:
        lines.append(fitted.reason)
    else:
        lines += [fitted.evaluation.no_signal] if verdict == "no signal" else []
        lines += evidence.notes
    lines = wrapped("\n".join(lines)).split("\n")
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
        **class_scores("after", after),
        Column("taken for"): taken_for(names, shown.reweighted),
    }
    return columns_to_text(columns, (refits, *DETAILS))


def _describe_deferring(fitted: Fit, confidence: float) -> str:
    """Return what other rows are expected to show if some are deferred, next to none."""
    defer, points = fitted.coefficients.defer, {point.asked: point for point in fitted.deferring}
    assert defer is not None
    helper, rows = defer.helper_accuracy, []
    for asked in (0.0, defer.share):
        numbers = points[asked].to_dict(confidence)
        interval = "{:.3f} to {:.3f}".format(*numbers["intervals"]["cobias"])
        metrics = [numbers[metric] for metric in ("share", "accuracy", "cobias")]
        rows.append((*metrics, interval, numbers["worst_class_accuracy"]))
    figures = [Column(name, 3) for name in ("deferred", "accuracy", "COBias")]
    level = Column(f"{100 * confidence:g} % interval", right=True)
    columns = [*figures, level, Column("worst class", 3)]
    who = "; of those that remain" if helper is None else f" to a helper, right on {helper:.0%}"
    title = f"Expected on other rows, {100 * defer.share:.3g}% of them deferred{who}:"
    return f"{title}\n{to_text(columns, rows)}"


def _deferring_to_dict(fitted: Fit, confidence: float) -> dict[str, Any] | None:
    """Return the thresholds and, if they were judged, what to expect of several shares."""
    defer = fitted.coefficients.defer
    if defer is None:
        return None
    front = [{"asked": point.asked, **point.to_dict(confidence)} for point in fitted.deferring]
    return {**defer.to_dict(), "front": front}


def deferring_facts(fit: FitRecord) -> Iterator[tuple[str, str]]:
    """Yield what other rows are expected to show by the share deferred, if a fit has judged it."""
    for point in fit.deferring:
        scores = point.get("each", point["one"])  # files of old have a threshold for each class
        text = "COBias {cobias:.3f} at accuracy {accuracy:.3f}".format(**scores)
        yield f"expected, {percent(point['asked'])} deferred", text


def notes_on_fit(fitted: Fit, unlabelled: os.PathLike[str] | None) -> Iterator[str]:
    """Yield which rows without labels were not used."""
    estimated = fitted.target is not None and fitted.target.estimate is not None
    if fitted.decision is not None or estimated or not fitted.has_labels:
        return
    if unlabelled is not None:
        yield f"the fit is plain, {unlabelled} was not used"
    if fitted.evaluation.n_unlabelled:
        yield f"rows without a label, not used: {fitted.evaluation.n_unlabelled:,}"


def fit_to_dict(fitted: Fit, confidence: float) -> dict[str, Any]:
    """Return what ``dnip fit --json`` prints, but for the file that was written.

    Parameters
    ----------
    fitted : Fit
    confidence : float
        Level of the intervals of the evidence.
    """
    mix, evidence = fitted.target, fitted.evidence
    mass = fitted.evaluation.captured_mass
    return {
        "classes": list(fitted.coefficients.classes),
        "mass": None if mass is None else mass.to_dict(),
        "constraints": None,
        **fitted.solution.to_dict(),
        **({} if fitted.has_labels else {"objective": None, "terms": None}),
        "robust": fitted.coefficients.fit.robust,
        "target_prior": None if mix is None else mix.to_dict(fitted.coefficients.classes),
        "notes": list(fitted.notes),
        "defer": _deferring_to_dict(fitted, confidence),
        "evidence": {
            "verdict": fitted.verdict,
            **({} if fitted.chosen is None else {"chosen": fitted.chosen}),
            **({} if evidence is None else evidence.to_dict(confidence)),
            "choice": fitted.choice,
            "alternatives": [other.to_dict() for other in fitted.alternatives],
        },
    }


# --- a path over β ---
def describe_path(path: Path) -> str:
    r"""Return what every β of a path gives, with the raw argmax above.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.fitting.path import trace_path
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]] * 20)
    >>> path = trace_path(ProbabilityTable(p, np.array([0, 0, 0, 1] * 20)), betas=(0.5,))
    >>> print("\n".join(describe_path(path).splitlines()[:4]))
                 on other rows
      β  accuracy  COBias  worst class
    raw     0.750   0.954        0.035
    0.5     1.000   0.020        0.974
    """
    side = "on other rows" if path.is_expected else "on the fitted rows"
    scores = [Column(METRICS[name].title, 3, group=side) for name in HEADLINE]
    rows: list[Row] = [
        (name, *(numbers[metric] for metric in HEADLINE))
        for name, numbers in [("raw", path.points[0].raw)]
        + [(f"{point.beta:g}", point.expected) for point in path.points]
    ]
    text = to_text([Column("β", right=True), *scores], rows)
    notes = ["β weighs COBias next to the error: the larger it is, the more even the classes."]
    if path.is_expected:
        notes.insert(0, "On other rows: as refits expect that left these rows out.")
    return f"{text}\n\n" + "\n".join(notes)


# --- coefficients, alone and next to new rows ---
# How entries begin that say what the coefficients are, and whether they help.
_SHOWN = ("mark", "scale", "objective.beta", "fit.data", "fit.evidence", "fit.package", "defer")
# Letters of a class name, of the name of an entry and of a value, so that lines fit 80 columns.
_CLASS, _ENTRY, _VALUE = 40, 28, 50


def describe_coefficients(coefficients: Coefficients) -> str:
    """Return the weight of every class, and what most want to know of the fit.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> coefficients = Coefficients(["no", "yes"], [30, 15], 30, {"beta": 2.7}, {"seed": 0})
    >>> print(describe_coefficients(coefficients))
    class   weight  index
    no     1.00000     30
    yes    0.50000     15
    <BLANKLINE>
    entry           value
    mark            202fe88dd43e4192
    scale           30
    objective.beta  2.7
    <BLANKLINE>
    1 more entry: --json
    """
    indices = coefficients.weight_indices.tolist() or [None] * len(coefficients.classes)
    columns: dict[Column, Sequence[Value]] = {
        Column("class"): [shorten(name, _CLASS) for name in coefficients.classes],
        Column("weight", 5): coefficients.weights.tolist(),
        Column("index"): indices,
    }
    if coefficients.defer is not None:
        columns[Column("deferred below", 5)] = coefficients.defer.thresholds.tolist()
    entries = {"mark": coefficients.digest, **_entries(coefficients)}
    shown = [
        (shorten(name, _ENTRY), shorten(_as_text(value), _VALUE))
        for name, value in entries.items()
        if name.startswith(_SHOWN)
    ]
    record = to_text([Column("entry"), Column("value")], shown)
    n_more = len(entries) - len(shown)
    more = f"\n\n{n_more} more {'entry' if n_more == 1 else 'entries'}: --json" if n_more else ""
    return f"{columns_to_text(columns)}\n\n{record}{more}"


def _entries(coefficients: Coefficients) -> dict[str, Any]:
    """Return what is recorded next to the weights, by dotted names."""
    scale = str(coefficients.scale)
    record = {
        "scale": scale,
        "objective": coefficients.objective,
        "fit": coefficients.fit.to_dict(),
    }
    if coefficients.defer is not None:
        record["defer"] = coefficients.defer.to_dict()
    return flat(record)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def describe_check(check: Check) -> str:
    """Return every class at the fit and now, the tests, and the verdict."""
    mix, title = check.mix, "share of labels" if check.n_labelled else "estimated share"
    now = mix.shares.tolist()
    if not check.n_labelled:
        now = [*map(Estimate, now, mix.low.tolist(), mix.high.tolist())]
    columns = {
        Column("class"): check.classes,
        Column("share at fit", 3): check.shares.tolist(),
        Column(title, 3): now,
        Column("distance", 3): check.comparison.distances.tolist(),
    }
    parts = [
        f"{check.n_rows:,} new rows, against {check.rows_at_fit:,.0f} rows of the fit",
        columns_to_text(columns),
        "\n".join(f"{name:<18} {text}" for name, text in findings(check)),
    ]
    if check.origin:
        parts.append("\n".join(check.origin))
    parts.append(f"verdict: {verdict(check)}")
    return "\n\n".join(parts)


def findings(check: Check) -> list[tuple[str, str]]:
    """Return what was compared, and how it differs, a pair of texts each."""
    name, distance = check.farthest
    far = f"largest distance {distance:.3f}, of class {name}: {check.effect}"
    rows = [("distribution", f"p = {check.comparison.p_value:.2g}; {far}")]
    if check.mass is not None and check.mass_at_fit is not None:
        apart = check.comparison.mass_distance
        means = f"at the fit {check.mass_at_fit:.3f}, now {check.mass:.3f} on average"
        rows.append(("captured mass", f"{means}; distance {apart:.3f}"))
    elif check.mass is not None or check.mass_at_fit is not None:
        at_fit = check.mass_at_fit is None
        where = "was not in the rows of the fit" if at_fit else "is not in the new rows"
        rows.append(("captured mass", f"not compared: it {where}"))
    past = "" if check.changed_at_fit is None else f"at the fit {percent(check.changed_at_fit)}, "
    rows.append(("changed decisions", f"{past}now {percent(check.changed)} of the rows"))
    if check.deferred is not None:
        now_on, asked = map(percent, check.deferred)
        rows.append(("deferred", f"asked for {asked}, now {now_on} of the rows"))
    if check.signal is False:
        why = check.cause or "the probabilities say nothing about these labels"
        first, *more = f"none: {why}".splitlines()
        rows += [("signal", first), *(("", line) for line in more)]
    if check.absent:
        rows.append(("absent", f"no row is of {listed(check.absent)} any more"))
    for title, score in (("accuracy", check.accuracy), ("COBias", check.cobias)):
        if score is not None:
            before, now, low, high = (round(value, 3) for value in score)
            expected = f"expected now {low:.3f} to {high:.3f}"
            rows.append((title, f"at the fit {before:.3f}, now {now:.3f}; {expected}"))
            if not low <= before <= high:
                why = "another class mix" if title == "accuracy" else "weights suit their own rows"
                rows.append(("", f"(that of the fit is outside: {why})"))
    if check.cobias is not None and check.accuracy is None:
        rows.append(("accuracy", "not compared: the fit was made without evidence"))
    if check.compared:
        digits = max(3, ceil(1 - log10(1 - check.level)))
        basis = f"on {check.n_labelled:,} labelled rows; {100 * check.level:.{digits}g} % intervals"
        rows.append(("", basis))
    elif check.n_labelled:
        rows.append(("accuracy", "not compared: the coefficients keep no scores of these classes"))
    return rows


def verdict(check: Check) -> str:
    """Return whether the coefficients hold, why not, and what to do."""
    if check.holds:
        return "the coefficients hold"
    reasons = []
    if not check.same_distribution:
        reasons.append("the probabilities are distributed otherwise than at the fit")
    if check.worse:
        reasons.append(f"{' and '.join(check.worse)} got worse")
    if check.signal is False:
        reasons.append("these labels carry no signal")
    if reasons:
        return (
            f"the coefficients do not hold: {'; '.join(reasons)}\n"
            "Look at what has changed, and fit again on labelled rows like these."
        )
    return (
        "not compared: the labels have nothing to be compared with\n"
        "Fit again with `dnip fit`, which keeps the scores of every labelled class."
    )
