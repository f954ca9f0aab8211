"""One HTML page about a table: which classes starve, what weights change, and what that costs.

The page holds counts, and no row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, MissingDependencyError, load_optional, unwarned
from dnip.base.escaping import html
from dnip.base.files import check_suffix, write_text
from dnip.base.typing import Booleans, Counts
from dnip.fitting.fit import Fit, fit
from dnip.method.coefficients import Coefficients, CoefficientsLike, DataRecord, as_coefficients
from dnip.method.prediction import decide
from dnip.metrics import (
    CLASS_METRICS,
    HEADLINE,
    METRICS,
    accuracy,
    class_accuracies,
    cobias,
    scores,
)
from dnip.metrics.intervals import wilson
from dnip.presenting.formats import percent, shorten
from dnip.presenting.text import deferring_facts, findings, served_facts, verdict
from dnip.tables import ProbabilityTable
from dnip.tables.groups import Grouping
from dnip.tables.table import TableLike, as_table, check_same_classes
from dnip.using.drift import LEAST_ROWS, check
from dnip.using.evaluation import Evaluation, evaluate
from dnip.using.slices import as_counted

_LABELS = (
    "Labels per class are the rows of a class that have a label. Where they are few, a simple "
    "model counts for more: it is less exact, and holds better on other rows."
)
# Letters of a class name in the verdict.
_LONGEST = 60

#: Headings, and names and values below each.
Facts: TypeAlias = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a page says and draws.

    Attributes
    ----------
    title : str
    verdict : str
        That of the fit, and what the rows show.
    coefficients : Coefficients
        Those given or fitted.
    data : dict
        What the page draws, ready for JSON. The choices of weights come with all their counts:
        first the plain argmax, then the coefficients, or several β and these among them.
    facts : tuple of tuple of str
        Names and values for the tables at the end: rows, fit, provenance.
    """

    title: str
    verdict: str
    coefficients: Coefficients
    data: dict[str, Any]
    facts: Facts

    def to_html(self) -> str:
        """Return one HTML file that loads nothing from elsewhere.

        Raises
        ------
        MissingDependencyError
            If jinja2 is not installed.
        """
        jinja2 = load_optional("jinja2", purpose="write HTML", extra="report")
        # "<" never appears in the text, so nothing in it can end the script element
        data = json.dumps(self.data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("dnip.presenting"),
            # a no-break space keeps a number and its % on one line
            finalize=lambda v: v if v is data else html(str(v)).replace(" %", "\u00a0%"),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        return str(environment.get_template("report.html").render(report=self, data=data))

    def save(self, path: str | os.PathLike[str] = "report.html") -> None:
        """Write the page to a file, whole or not at all.

        Raises
        ------
        MissingDependencyError
            If jinja2 is not installed.
        OutputError
            If the file cannot be written, or is not called .html.
        """
        check_suffix(path, ".html")
        write_text(path, self.to_html())

    def __repr__(self) -> str:
        """Say what the page says first."""
        return f"Report({self.title}. {self.verdict})"

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks; without jinja2, its verdict."""
        try:
            page = html(self.to_html())
        except MissingDependencyError as error:
            return f"<p>{html(self.verdict)}</p><p>{html(str(error))}</p>"
        return f'<iframe srcdoc="{page}" width="100%" height="800" frameborder="0"></iframe>'


def report(
    data: TableLike,
    y: ArrayLike | None = None,
    *,
    coefficients: CoefficientsLike | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    groups: ArrayLike | str | None = None,
    confidence: float = 0.9,
) -> Report:
    """Make one page about a table, which shows itself in a notebook.

    It says which classes starve, what weights change, and what that costs.

    Parameters
    ----------
    data, y, classes, label, groups
        As for :func:`dnip.evaluate`.
    coefficients : Coefficients, Fit or path, optional
        Show what these do to the rows. By default the rows are fitted, as :func:`dnip.fit` does,
        and the page shows what refits expect of other rows; so it does for a `Fit` of these rows.
    confidence : float, default=0.9
        Level of the intervals.

    Returns
    -------
    Report
        ``report.save("report.html")`` writes the page.

    Raises
    ------
    InvalidInputError
        For bad input, or a table with neither labels nor coefficients.
    CoefficientsFormatError
        For coefficients of other classes.

    Examples
    --------
    >>> import dnip
    >>> P, y = [[0.9, 0.1], [0.6, 0.4]] * 40, ["ham", "spam"] * 40
    >>> dnip.report(P, y, coefficients=dnip.Coefficients(["ham", "spam"], [15, 30], 30)).title
    'Class accuracies of table'
    """
    fitted = coefficients if isinstance(coefficients, Fit) else None
    given = None if coefficients is None else as_coefficients(coefficients)
    if classes is None and given is not None:
        classes = given.classes
    table = as_table(data, y, classes, label, groups=groups)
    has_labels = table.labels is not None and bool((table.labels >= 0).any())
    if given is None:
        if not has_labels:
            raise InvalidInputError(
                f"{table.source}: there are neither labels nor coefficients, so there is nothing "
                "to report",
                hint="Give --coefficients FILE, or a column `label`",
            )
        fitted = fit(table)
        given = fitted.coefficients
    check_same_classes(table, given.classes)
    is_own = (given.fit.data or DataRecord()).sha256 == table.data_hash
    facts: Facts = (("Rows", tuple(_rows(table, given))), ("The fit", tuple(_fit(given, fitted))))
    if not is_own and given.fit.sketch is not None and len(table) >= LEAST_ROWS:
        with unwarned():  # the evaluation says the same
            checked = check([table], given)
        facts += (("Do they still fit?", (("verdict", verdict(checked)), *findings(checked))),)
    if not has_labels:
        return _without_labels(table, given, facts)
    evaluation = evaluate(table, coefficients=given)
    if given.defer is not None:
        here = served_facts(evaluation.to_dict()["defer"])
        all_rows = ("elsewhere on this page", "all rows as they are decided, deferred or not")
        facts += (("Deferring", (*here, all_rows, *deferring_facts(given.fit))),)
    judged = fitted if is_own and fitted is not None and fitted.evidence is not None else None
    if judged is not None and judged.evidence is not None:
        evaluation = judged.evidence.evaluation
    if evaluation.grouping is not None:
        facts += (("Rows that belong together", (("ranges", evaluation.grouping.sentence),)),)
    choices, chosen = _choices(evaluation, judged, given, confidence)
    return Report(
        f"Class accuracies of {Path(table.source).name}",
        _verdict_of(evaluation, given, confidence, is_own=is_own, is_expected=judged is not None),
        given,
        {
            "classes": list(table.classes),
            "support": evaluation.raw.sum(axis=1).tolist(),
            "level": confidence,
            "expected": judged is not None,
            "choices": choices,
            "chosen": chosen,
        },
        facts,
    )


def _choices(
    evaluation: Evaluation, fitted: Fit | None, coefficients: Coefficients, level: float
) -> tuple[list[dict[str, Any]], int]:
    """Return the plain argmax and the coefficients, or every β that a fit looked at; and which.

    Parameters
    ----------
    evaluation : Evaluation
        Before and after.
    fitted : Fit or None
        Of what the page shows.
    """
    assert evaluation.reweighted is not None
    others = () if fitted is None else fitted.alternatives
    raw: dict[str, float] = {}
    if others and fitted is not None and fitted.evidence is not None:
        before = fitted.evidence.raw
        raw = {"cobias": before.cobias, "worst_class_accuracy": before.worst_class_accuracy}
    choices = [
        {
            "name": "before",
            "weights": [1] * len(evaluation.classes),
            **_measure(evaluation.raw, level, evaluation.grouping, expected=raw),
        }
    ]
    for other in others:
        assert other.evaluation.reweighted is not None
        counts = other.evaluation.reweighted
        expected = {"cobias": other.cobias, "worst_class_accuracy": other.worst}
        choices.append(
            {"name": f"β = {other.beta:g}", **_measure(counts, level, expected=expected)}
        )
    chosen = next((n for n, other in enumerate(others, 1) if other.is_chosen), 0 if others else 1)
    if not others:
        choices.append(
            {"name": "coefficients", **_measure(evaluation.reweighted, level, evaluation.grouping)}
        )
    choices[chosen] |= {
        "weights": (coefficients.weights / coefficients.weights.max()).round(4).tolist(),
        "coefficients": coefficients.to_json(),
    }
    return choices, chosen


def _measure(
    confusion: Counts,
    level: float,
    grouping: Grouping | None = None,
    *,
    expected: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return counts, metrics and intervals of one side, ready for JSON.

    Of refits, gaps are what they are expected to be, for counts alone make them too large. The page
    shows `totals` as they are, `rates` and `details` times 100: none is rounded again.

    Examples
    --------
    >>> found = _measure(np.array([[0, 1], [1, 1]]), 0.9)
    >>> found["confusion"], found["totals"]["accuracy"]
    ([[1, 1], [0, 1, 1, 1]], '33.3 %')
    """
    summary = scores(confusion, with_counts=False)
    rates = summary["class_accuracies"]
    counts = confusion if grouping is None else as_counted(confusion, grouping.counted)
    bounds = wilson(np.diag(counts), counts.sum(axis=1), level).round(4).tolist()
    values = {name: summary[name] for name in HEADLINE} | dict(expected or {})
    shown = {
        METRICS[name].title: f"{value:.3f}" if name == "cobias" else percent(value)
        for name, value in values.items()
    }
    return {
        **values,
        "totals": {**shown, "classes never right": str(rates.count(0))},
        "rates": [
            None if rate is None else [round(rate, 3), *ends]
            for rate, ends in zip(rates, bounds, strict=True)
        ],
        "details": {
            title: [value if value is None else round(value, 3) for value in summary[of.__name__]]
            for title, of in CLASS_METRICS.items()
        },
        "confusion": [_sparse(row) for row in confusion],
    }


def _sparse(row: Counts) -> list[int]:
    """Return places and counts, one after the other, without zeros: most of many classes are 0.

    Of refits that were drawn several times, counts are means.
    """
    counts = np.rint(row).astype(np.int64)
    places = np.flatnonzero(counts)
    return np.column_stack([places, counts[places]]).ravel().tolist()


def _without_labels(shown: ProbabilityTable, coefficients: Coefficients, facts: Facts) -> Report:
    """Say how many decisions change; nothing can be said of right and wrong."""
    before = decide(shown.probabilities)
    after = decide(shown.probabilities, coefficients.multipliers)
    changed = int((before != after).sum())
    counts = [np.bincount(side, minlength=shown.n_classes).tolist() for side in (before, after)]
    return Report(
        f"Decisions on {Path(shown.source).name}",
        f"The coefficients change {changed:,} of {len(shown):,} decisions. No row has a label, so "
        "this page cannot say whether they are better: accuracy and COBias need labels.",
        coefficients,
        {"classes": list(shown.classes), "before": counts[0], "after": counts[1]},
        facts,
    )


def _rows(shown: ProbabilityTable, coefficients: Coefficients) -> Iterator[tuple[str, str]]:
    """Yield what is known of the rows: how many, and how many are beyond the reach of weights."""
    p = shown.probabilities
    ordered = np.sort(p, axis=1)
    n_labelled = int((shown.labels >= 0).sum()) if shown.labels is not None else 0
    yield "table", shown.source
    yield "rows", f"{len(p):,}, {n_labelled:,} with a label"
    if shown.corrected_by is not None:
        yield "the probabilities are corrected already, by the coefficients", shown.corrected_by
    changed = decide(p) != decide(p, coefficients.multipliers)
    yield "decisions that the coefficients change", _share(changed)
    if coefficients.defer is not None:
        yield "deferred rows", _share(coefficients.deferred(p))
    yield (
        "rows where two classes share the highest probability",
        _share(ordered[:, -1] == ordered[:, -2]),
    )
    yield "rows that no weight can move (one class has everything)", _share(ordered[:, -2] == 0)
    mass = shown.captured_mass
    if mass is not None:
        yield "median captured mass", f"{mass.median:g}"
        if mass.worth_telling:
            yield "captured mass", mass.sentence


def _share(rows: Booleans) -> str:
    return f"{int(rows.sum()):,} ({percent(rows.mean())})"


def _fit(coefficients: Coefficients, fitted: Fit | None) -> Iterator[tuple[str, str]]:
    """Yield how the coefficients came about."""
    if fitted is not None:
        if fitted.decision is not None:
            yield "fit", f"{fitted.decision.sentence}\n{_LABELS}"
        yield "search", fitted.solution.sentence
        for note in fitted.notes:
            yield "note", note
    fit = coefficients.fit
    data = fit.data or DataRecord()
    facts = {
        "fitted on": data.source,
        "rows": data.rows,
        "data hash (SHA-256)": data.sha256,
        "solver": fit.solver,
        "package version": fit.package_version,
    }
    for name, value in facts.items():
        if value is not None:
            yield name, f"{value:,}" if isinstance(value, int) else str(value)


def _verdict_of(
    evaluation: Evaluation,
    coefficients: Coefficients,
    level: float,
    *,
    is_own: bool = False,
    is_expected: bool = False,
) -> str:
    """Return the verdict of the fit, and what the rows show, in two or three sentences.

    Parameters
    ----------
    evaluation : Evaluation
        Of the rows that the page shows, before and after.
    coefficients : Coefficients
        With the verdict of their fit, where it has one.
    level : float
        Of the intervals, between 0 and 1.
    is_own : bool, default=False
        Whether the rows are those of the fit, which say nothing of others.
    is_expected : bool, default=False
        Whether the counts are of refits that left the rows out.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> from dnip.using.evaluation import evaluate
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 40)
    >>> table = ProbabilityTable(p, np.array([0, 1] * 40), classes=["ham", "spam"])
    >>> coefficients = Coefficients(["ham", "spam"], [15, 30], 30)
    >>> print(_verdict_of(evaluate([table], coefficients=coefficients), coefficients, 0.9))
    The weakest class, spam, goes from 0.0 % to 100.0 % right, accuracy from 50.0 % to 100.0 %, \
and COBias from 1.000 to 0.000. As far as these rows can show, COBias falls, and accuracy rises.
    """
    assert evaluation.reweighted is not None
    if evaluation.signal is False:
        return f"No signal. {evaluation.no_signal}"
    sides = evaluation.raw, evaluation.reweighted
    before, after = map(class_accuracies, sides)
    weakest, now = int(np.nanargmin(before)), int(np.nanargmin(after))
    names = [shorten(evaluation.classes[c], _LONGEST) for c in (weakest, now)]
    rates, gaps = [percent(accuracy(side)) for side in sides], [cobias(side) for side in sides]
    first = (
        f"The weakest class, {names[0]}, goes from {percent(before[weakest])} to "
        f"{percent(after[weakest])} right"
    )
    last = ""
    if after[now] < after[weakest]:
        last = f" Now {names[1]} is the weakest, with {percent(after[now])}."
    text = (
        f"{first}, accuracy from {rates[0]} to {rates[1]}, and COBias from {gaps[0]:.3f} to "
        f"{gaps[1]:.3f}.{last}"
    )
    match coefficients.fit.evidence:
        case {"verdict": str(verdict), "reason": str(reason)} if is_own:
            why = " ".join(reason.split()).rstrip(".")
            lead = f"Verdict of the fit: {verdict}. {why}. "
            if not is_expected:
                return f"{lead}This page shows the rows of the fit."
            return f"{lead}{first}.{last} All this is what refits expect of other rows."
        case {"verdict": str(verdict)} if not is_own:
            known = None if evaluation.overlap is None else evaluation.overlap.sentence
            which = "These are other rows." if not known else f"{known[:1].upper()}{known[1:]}."
            text = f"Verdict of the fit: {verdict}. {which} {text}"
    if is_own:
        return f"{text} These are the rows of the fit itself; give others for a verdict."
    bounds = evaluation.to_dict(level)["difference"]["intervals"]
    moves = [
        "rises" if low > 0 else "falls" if high < 0 else "may not have changed"
        for low, high in (bounds["cobias"], bounds["accuracy"])
    ]
    return f"{text} As far as these rows can show, COBias {moves[0]}, and accuracy {moves[1]}."
