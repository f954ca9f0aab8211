"""One HTML page about a table: which classes starve, what weights change, and what that costs.

The page holds counts, and no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, unwarned
from dnip.base.typing import Booleans
from dnip.base.validation import check_integer
from dnip.fitting.fit import fit
from dnip.fitting.path import trace_path
from dnip.fitting.result import Fit
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import Coefficients, CoefficientsLike, DataRecord, as_coefficients
from dnip.method.prediction import decide
from dnip.metrics import accuracy, class_accuracies, cobias
from dnip.presenting.coefficients import findings, verdict
from dnip.presenting.evaluation import served_facts
from dnip.presenting.fit import deferring_facts
from dnip.presenting.formats import percent, shorten
from dnip.presenting.page import BINS, Facts, Report, measure
from dnip.tables import ProbabilityTable
from dnip.tables.table import TableLike, as_table, check_disjoint, check_same_classes, scored_rows
from dnip.using.drift import LEAST_ROWS, check
from dnip.using.evaluation import Evaluation, evaluate

_LABELS = (
    "Labels per class are the rows of a class that have a label. Where they are few, a simple "
    "model counts for more: it is less exact, and holds better on other rows."
)
# Letters of a class name in the verdict.
_LONGEST = 60


def report(
    data: TableLike,
    y: ArrayLike | None = None,
    *,
    test: TableLike | tuple[TableLike, ArrayLike] | None = None,
    coefficients: CoefficientsLike | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    confidence: float = 0.9,
    seed: int = 0,
) -> Report:
    """Make one page about a table, which shows itself in a notebook.

    It says which classes starve, what weights change, and what that costs.

    Parameters
    ----------
    data, y, classes, label
        As for :func:`dnip.evaluate`.
    test : table, or tuple of probabilities and labels, optional
        Show these rows instead; `data` serves to find weights.
    coefficients : Coefficients, Fit or path, optional
        Show these; by default one half of the rows is fitted, and the other is shown.
    confidence : float, default=0.9
        Level of the intervals.
    seed : int, default=0
        Of the searches.

    Returns
    -------
    Report
        ``report.save("report.html")`` writes the page.

    Raises
    ------
    InvalidInputError
        For bad input, tables with rows in common, or a table with neither labels nor coefficients.
    CoefficientsFormatError
        For coefficients of other classes.

    Examples
    --------
    >>> import dnip
    >>> P, y = [[0.9, 0.1], [0.6, 0.4]] * 40, ["ham", "spam"] * 40
    >>> dnip.report(P, y, coefficients=dnip.Coefficients(["ham", "spam"], [15, 30], 30)).title
    'Class accuracies of table'
    """
    coefficients = None if coefficients is None else as_coefficients(coefficients)
    if classes is None and coefficients is not None:
        classes = coefficients.classes
    table, other = as_table(data, y, classes, label), None
    if test is not None:
        rows, labels = test if isinstance(test, tuple) else (test, None)
        other = as_table(rows, labels, table.classes, label if labels is None else None)
        check_disjoint(table, other)
    if coefficients is not None:
        check_same_classes(table, coefficients.classes)
    opt, shown = (None, table) if other is None else (table, other)
    fitted, lead = None, ""
    if coefficients is None:
        if opt is None:
            opt, shown = _halves(table, seed)
            lead = "Fitted on one half of the rows, shown on the other. "
        fitted = fit(opt, evidence=False if lead else None, seed=seed)
        coefficients = fitted.coefficients
    data = coefficients.fit.data or DataRecord()
    is_own = data.sha256 == shown.data_hash
    facts: Facts = (
        ("Rows", tuple(_rows(shown, coefficients))),
        ("The fit", tuple(_fit(coefficients, fitted))),
    )
    if not is_own and coefficients.fit.sketch is not None and len(shown) >= LEAST_ROWS:
        with unwarned():  # the evaluation tells the same
            checked = check([shown], coefficients)
        facts += (("Do they still fit?", (("verdict", verdict(checked)), *findings(checked))),)
    if not _has_labels(shown):
        return _without_labels(shown, coefficients, facts)
    evaluation = evaluate(shown, coefficients=coefficients)
    if coefficients.defer is not None:
        here = served_facts(evaluation.to_dict()["defer"])
        all_rows = ("elsewhere on this page", "all rows as they are decided, deferred or not")
        facts += (("Deferring", (*here, all_rows, *deferring_facts(coefficients.fit))),)
    choices, knee = _choices(opt, shown, coefficients, confidence, seed)
    return Report(
        f"Class accuracies of {Path(shown.source).name}",
        lead + _verdict_of(evaluation, coefficients, confidence, is_own=is_own),
        coefficients,
        {
            "classes": list(shown.classes),
            "support": evaluation.raw.sum(axis=1).tolist(),
            "level": confidence,
            "half": bool(lead),
            "bins": BINS,
            "choices": choices,
            "knee": knee,
            "deferring": coefficients.fit.deferring,
            "asked": coefficients.defer and coefficients.defer.share,
        },
        facts,
    )


def _has_labels(table: ProbabilityTable) -> bool:
    return table.labels is not None and bool((table.labels >= 0).any())


def _halves(table: ProbabilityTable, seed: int) -> tuple[ProbabilityTable, ProbabilityTable]:
    """Divide the labelled rows of each class; rows without a label are fitted on."""
    if not _has_labels(table):
        raise InvalidInputError(
            f"{table.source}: there are neither labels nor coefficients, so there is nothing to "
            "report",
            hint="Give --coefficients FILE, or a column `label`",
        )
    assert table.labels is not None
    rng = np.random.default_rng(check_integer("seed", seed, at_least=0))
    shown = np.zeros(len(table), bool)
    for c in range(table.n_classes):
        rows = rng.permutation(np.flatnonzero(table.labels == c))
        shown[rows[: len(rows) // 2]] = True
    if len(np.unique(table.labels[shown])) < 2:
        raise InvalidInputError(
            f"{table.source}: there are too few labels to fit on one half and show the other",
            hint="Label two rows each of two classes, or give --coefficients FILE",
        )
    return table.take(np.flatnonzero(~shown)), table.take(np.flatnonzero(shown))


def _without_labels(shown: ProbabilityTable, coefficients: Coefficients, facts: Facts) -> Report:
    """Say how many decisions change; nothing can be said of right and wrong."""
    before = decide(shown.probabilities)
    after = decide(shown.probabilities, coefficients.multipliers)
    changed = int((before != after).sum())
    counts = [np.bincount(side, minlength=shown.n_classes).tolist() for side in (before, after)]
    return Report(
        f"Decisions on {Path(shown.source).name}",
        f"The coefficients change {changed:,} of {len(shown):,} decisions. No row has a label, so "
        "this page cannot say whether they are better: accuracy, COBias and the front need labels.",
        coefficients,
        {"classes": list(shown.classes), "before": counts[0], "after": counts[1]},
        facts,
    )


def _choices(
    opt: ProbabilityTable | None,
    shown: ProbabilityTable,
    coefficients: Coefficients,
    level: float,
    seed: int,
) -> tuple[list[dict[str, Any]], int | None]:
    """Return the plain argmax, the coefficients and the fits of a path over β; and its knee."""
    rows = scored_rows(shown)
    assert rows.labels is not None
    p, y = rows.probabilities, rows.labels

    def choice(name: str, weights: Coefficients | None) -> dict[str, Any]:
        multipliers = np.ones(p.shape[1]) if weights is None else weights.multipliers
        return {
            "name": name,
            "weights": (multipliers / multipliers.max()).round(4).tolist(),
            "coefficients": None if weights is None else weights.to_json(),
            **measure(p, y, multipliers, level),
        }

    choices = [choice("before", None), choice("coefficients", coefficients)]
    if opt is None or not _has_labels(opt):
        return choices, None
    with unwarned():  # of missing classes
        path = trace_path(opt, evidence=False, settings=FitSettings(seed=seed))
    knee = len(choices) + path.knee
    choices += [choice(f"β = {point.beta:g}", point.fit.coefficients) for point in path.points]
    return choices, knee


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
        "solver": fit.search.get("solver"),
        "package version": fit.package_version,
    }
    for name, value in facts.items():
        if value is not None:
            yield name, f"{value:,}" if isinstance(value, int) else str(value)


def _verdict_of(
    evaluation: Evaluation, coefficients: Coefficients, level: float, *, is_own: bool = False
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

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> from dnip.using.evaluation import evaluate
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 40)
    >>> table = ProbabilityTable(p, np.array([0, 1] * 40), classes=["ham", "spam"])
    >>> coefficients = Coefficients(["ham", "spam"], [15, 30], 30)
    >>> print(_verdict_of(evaluate([table], coefficients=coefficients), coefficients, 0.9))
    The weakest class, spam, goes from 0.0 % to 100.0 % right, accuracy from 50.0 % to 100.0 %, \
and COBias from 1.000 to 0.000. As far as these rows can tell, COBias falls, and accuracy rises.
    """
    assert evaluation.reweighted is not None
    if evaluation.signal is False:
        return f"No signal. {evaluation.no_signal}"
    sides = evaluation.raw, evaluation.reweighted
    before, after = map(class_accuracies, sides)
    weakest, now = int(np.nanargmin(before)), int(np.nanargmin(after))
    names = [shorten(evaluation.classes[c], _LONGEST) for c in (weakest, now)]
    rates, gaps = [percent(accuracy(side)) for side in sides], [cobias(side) for side in sides]
    text = (
        f"The weakest class, {names[0]}, goes from {percent(before[weakest])} to "
        f"{percent(after[weakest])} right, accuracy from {rates[0]} to {rates[1]}, and COBias "
        f"from {gaps[0]:.3f} to {gaps[1]:.3f}."
    )
    if after[now] < after[weakest]:
        text += f" Now {names[1]} is the weakest, with {percent(after[now])}."
    match coefficients.fit.evidence:
        case {"verdict": str(verdict), "reason": str(reason)} if is_own:
            why = " ".join(reason.split()).rstrip(".")
            return f"Verdict of the fit: {verdict}. {why}. This page shows the rows of the fit."
        case {"verdict": str(verdict)} if not is_own:
            text = f"Verdict of the fit: {verdict}. These are other rows. {text}"
    if is_own:
        return f"{text} These are the rows of the fit itself; give others for a verdict."
    bounds = evaluation.to_dict(level)["difference"]["intervals"]
    moves = [
        "rises" if low > 0 else "falls" if high < 0 else "may not have changed"
        for low, high in (bounds["cobias"], bounds["accuracy"])
    ]
    return f"{text} As far as these rows can tell, COBias {moves[0]}, and accuracy {moves[1]}."
