"""One HTML page about a table: apply the coefficients or not, what they change, what they cost.

The page holds counts, and no row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, MissingDependencyError, load_optional, unwarned
from dnip.base.escaping import html
from dnip.base.files import check_suffix, write_text
from dnip.base.typing import Booleans
from dnip.fitting.fit import Fit, fit
from dnip.method.coefficients import Coefficients, CoefficientsLike, DataRecord, as_coefficients
from dnip.method.prediction import decide
from dnip.metrics import HEADLINE, METRICS
from dnip.presenting.formats import percent, shorten
from dnip.presenting.text import (
    MOST_SLICES,
    deferring_facts,
    findings,
    served_facts,
    taken_for,
    verdict,
    with_interval,
)
from dnip.tables import ProbabilityTable
from dnip.tables.table import TableLike, as_table, check_same_classes
from dnip.using.drift import LEAST_ROWS, check
from dnip.using.evaluation import Evaluation, evaluate
from dnip.using.slices import Slices

_LABELS = (
    "Labels per class are the rows of a class that have a label. Where they are few, a simple "
    "model counts for more: it is less exact, and holds better on other rows."
)
# Letters of a class name; confusions, classes on the first screen, and answers that are shown.
_LONGEST, _MOST_FLOWS, _FIRST_CLASSES, _MOST_ANSWERS = 40, 10, 8, 30
_APPLY, _KEEP = "Apply the coefficients", "Keep the answers as they are"

#: Headings, and names and values below each.
Facts: TypeAlias = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a page says and draws.

    Attributes
    ----------
    title : str
    verdict : str
        Apply or keep, and why, in a sentence.
    coefficients : Coefficients
        Those given or fitted.
    data : dict
        What the page draws. Of labelled rows, `choices` are the sides of an evaluation: first the
        most probable class, then the coefficients, or several β; `chosen` is the number of one.
    facts : tuple of tuple of str
        Names and values of what is folded away: rows, fit, provenance.
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
        safe = jinja2.utils.markupsafe.Markup

        def escaped(value: Any) -> Any:  # noqa: ANN401 - a no-break space keeps "5 %" on a line
            text = value if isinstance(value, safe) else html(str(value)).replace(" %", "\u00a0%")
            return safe(text)

        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("dnip.presenting"),
            autoescape=True,
            finalize=escaped,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        short = partial(shorten, most=_LONGEST)
        environment.filters |= {"thousand": _of_1000, "short": short}
        return str(environment.get_template("report.html").render(report=self, **self.data))

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


def _of_1000(rate: float | None) -> str:
    """Return a rate in rows of a thousand, by the three digits that are shown elsewhere.

    Examples
    --------
    >>> _of_1000(0.4504), _of_1000(1.0), _of_1000(None)
    ('450', '1,000', '–')
    """
    return "–" if rate is None else f"{round(1000 * round(rate, 3)):,}"


def report(
    data: TableLike,
    y: ArrayLike | None = None,
    *,
    coefficients: CoefficientsLike | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    groups: ArrayLike | str | None = None,
    by: ArrayLike | str | None = None,
    confidence: float = 0.9,
) -> Report:
    """Make one page about a table, which shows itself in a notebook.

    It says whether to apply coefficients, what they change for each class, and what they cost.

    Parameters
    ----------
    data, y, classes, label, groups, by
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
    'table: each class, before and after'
    """
    fitted = coefficients if isinstance(coefficients, Fit) else None
    given = None if coefficients is None else as_coefficients(coefficients)
    if classes is None and given is not None:
        classes = given.classes
    table = as_table(data, y, classes, label, groups=groups, by=by)
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
    source = given.fit.data or DataRecord()
    is_own = source.sha256 == table.data_hash
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
    if evaluation.grouping is not None:
        facts += (("Rows that belong together", (("ranges", evaluation.grouping.sentence),)),)
    is_fitted = is_own and source.labelled_rows != 0  # without labels, the fit has seen none
    judged = fitted if is_fitted and fitted is not None and fitted.evidence is not None else None
    if judged is not None:
        choices, chosen = _choices(judged, confidence)
        sentence = _verdict_of_fit(judged, choices[0], choices[chosen])
    else:
        sides, chosen = evaluation.to_dict(confidence), 1
        choices = [{"name": "before", **sides["raw"]}, {"name": "after", **sides["reweighted"]}]
        sentence = _verdict_of_rows(evaluation, given, choices, confidence, is_fitted=is_fitted)
    raw, now = choices[0], choices[chosen]
    slices = evaluation.slices or Slices(())
    figures = [(METRICS[name].title, _both(raw, now, name)) for name in HEADLINE]
    return Report(
        f"{Path(table.source).name}: each class, before and after",
        sentence,
        given,
        {
            "classes": list(table.classes),
            "support": evaluation.raw.sum(axis=1).tolist(),
            "level": confidence,
            "expected": judged is not None,
            "choices": choices,
            "chosen": chosen,
            "order": _weakest_first(raw),
            "most": _FIRST_CLASSES,
            "weights": (given.weights / given.weights.max()).tolist(),
            "taken_for": taken_for(table.classes, np.array(now["confusion"])),
            "flows": _flows(table.classes, raw["confusion"], now["confusion"]),
            "by": by if isinstance(by, str) else "by",
            "slices": [part.to_dict(confidence) for part in slices.parts[:MOST_SLICES]],
            "warnings": [*slices.warnings],
        },
        (("Figures", tuple(figures)), *facts),
    )


def _choices(fitted: Fit, level: float) -> tuple[list[dict[str, Any]], int]:
    """Return the sides that refits expect: before, and every β that was looked at; and which is it.

    Of refits, gaps are what they are expected to be, for counts alone make them too large.
    """
    assert fitted.evidence is not None
    sides = fitted.evidence.to_dict(level)
    choices = [{"name": "before", **sides["raw"]}]
    for other in fitted.alternatives:
        side = other.evaluation.to_dict(level)["reweighted"]
        side |= {"cobias": other.cobias, "worst_class_accuracy": other.worst}
        choices.append({"name": f"β = {other.beta:g}", "beta": other.beta, **side})
        if other.is_chosen:
            choices[-1] |= sides["reweighted"]
    if not fitted.alternatives:
        choices.append({"name": "after", **sides["reweighted"]})
    chosen = [n for n, other in enumerate(fitted.alternatives, 1) if other.is_chosen]
    return choices, chosen[0] if chosen else 0 if fitted.alternatives else 1


def _without_labels(shown: ProbabilityTable, coefficients: Coefficients, facts: Facts) -> Report:
    """Say how many decisions change; nothing can be said of right and wrong."""
    before = decide(shown.probabilities)
    after = decide(shown.probabilities, coefficients.multipliers)
    changed = int((before != after).sum())
    shares = [np.bincount(side, minlength=shown.n_classes) / len(shown) for side in (before, after)]
    return Report(
        f"{Path(shown.source).name}: answers, before and after",
        f"Not judged: no row has a label, so this page cannot say which answers are right. The "
        f"coefficients change {changed:,} of {len(shown):,} answers.",
        coefficients,
        {
            "classes": list(shown.classes),
            "order": np.argsort(-np.maximum(*shares), kind="stable")[:_MOST_ANSWERS].tolist(),
            "before": shares[0].tolist(),
            "after": shares[1].tolist(),
        },
        facts,
    )


def _weakest_first(side: Mapping[str, Any]) -> list[int]:
    """Return the classes with rows, those that are least often right first."""
    rates = side["class_accuracies"]
    known = [c for c, rate in enumerate(rates) if rate is not None]
    return sorted(known, key=lambda c: rates[c])


def _flows(
    classes: Sequence[str], before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]
) -> list[tuple[str, str, int, int]]:
    """Return the largest confusions before, and what is left of them: true and predicted class.

    Examples
    --------
    >>> _flows("ab", [[5, 1], [4, 0]], [[3, 3], [1, 3]])
    [('b', 'a', 4, 1), ('a', 'b', 1, 3)]
    """
    errors = np.array(before, np.float64)
    np.fill_diagonal(errors, 0)
    largest = np.argsort(-errors, axis=None, kind="stable")[:_MOST_FLOWS]
    return [
        (classes[true], classes[taken], round(errors[true, taken]), round(after[true][taken]))
        for true, taken in (divmod(place, len(classes)) for place in largest.tolist())
        if errors[true, taken]
    ]


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
    record = coefficients.fit
    if record.evidence is not None:
        reason = " ".join(str(record.evidence.get("reason", "")).split())
        yield "verdict", f"{record.evidence.get('verdict')}. {reason}"
    if fitted is not None:
        if fitted.choice is not None:
            yield "choice", fitted.choice
        if fitted.decision is not None:
            yield "fit", f"{fitted.decision.sentence}\n{_LABELS}"
        yield "search", fitted.solution.sentence
        for note in fitted.notes:
            yield "note", note
    data = record.data or DataRecord()
    facts = {
        "fitted on": data.source,
        "rows of the fit": data.rows,
        "data hash (SHA-256)": data.sha256,
        "solver": record.solver,
        "package version": record.package_version,
    }
    for name, value in facts.items():
        if value is not None:
            yield name, f"{value:,}" if isinstance(value, int) else str(value)


def _both(before: Mapping[str, Any], after: Mapping[str, Any], metric: str) -> str:
    """Return a metric before and after, with its intervals."""
    return f"{with_interval(before, metric)} -> {with_interval(after, metric)}"


# --- the sentence that decides ---
def _verdict_of_fit(fitted: Fit, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the verdict of a fit that refits have judged, and why, in one sentence."""
    assert fitted.evidence is not None
    if fitted.verdict == "no signal":
        return f"{_KEEP}: no signal. {' '.join(fitted.evaluation.no_signal.split())}"
    if fitted.verdict == "apply":
        return f"{_APPLY}: {_in_rows(fitted.evaluation.classes, before, after, 'new rows')}."
    if fitted.is_raw:
        return (
            f"{_KEEP}: of 1,000 new rows {_of_1000(before['accuracy'])} should be right, and no "
            "coefficients are expected to do better."
        )
    numbers = _in_rows(fitted.evaluation.classes, before, after, "new rows")
    return f"{_KEEP}: with these coefficients, {numbers}."


def _verdict_of_rows(
    evaluation: Evaluation,
    coefficients: Coefficients,
    choices: Sequence[Mapping[str, Any]],
    level: float,
    *,
    is_fitted: bool,
) -> str:
    """Return what labelled rows say of coefficients, next to the verdict of their fit.

    Parameters
    ----------
    evaluation : Evaluation
        Of the rows that the page shows, before and after.
    coefficients : Coefficients
        With the verdict of their fit, where it has one.
    choices : sequence of mapping
        Both sides, as `evaluation.to_dict` has them.
    level : float
        Of the intervals, between 0 and 1.
    is_fitted : bool
        Whether the rows are those of the fit, which say little of others.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 40)
    >>> table = ProbabilityTable(p, np.array([0, 1] * 40), classes=["ham", "spam"])
    >>> given = Coefficients(["ham", "spam"], [15, 30], 30)
    >>> report(table, coefficients=given).verdict.partition(". ")[2]
    'As far as these rows can show, the gap between classes falls, and accuracy rises.'
    """
    if evaluation.signal is False:
        return f"{_KEEP}: no signal. {' '.join(evaluation.no_signal.split())}"
    said = (coefficients.fit.evidence or {}).get("verdict")
    lead = {"apply": _APPLY, "keep": _KEEP, "no signal": _KEEP}.get(str(said), "Not judged")
    numbers = _in_rows(evaluation.classes, choices[0], choices[1], "rows")
    if is_fitted:
        return (
            f"{lead}: on the rows of the fit themselves, {numbers}. They say little of others; "
            "without coefficients, a report shows what to expect of these."
        )
    change = evaluation.to_dict(level)["difference"]
    gap, right = (
        ("may not have changed", "falls", "rises")[(low > 0) * 2 + (high < 0)]
        for low, high in (change["intervals"]["cobias"], change["intervals"]["accuracy"])
    )
    if "metric" not in coefficients.objective:
        betas = {0.5, float(coefficients.objective.get("beta", 0.5))}  # judged by, and fitted at
        worse = [beta * change["cobias"] - change["accuracy"] > 0 for beta in betas]
        lead = _KEEP if all(worse) else lead if any(worse) and said is not None else _APPLY
    known = None if evaluation.overlap is None else evaluation.overlap.sentence
    with_them = "with the coefficients, " if lead == _KEEP else ""
    text = (
        f"{lead}: {with_them}{numbers}. As far as these rows can show, the gap between classes "
        f"{gap}, and accuracy {right}."
    )
    return text if not known else f"{text} {known[:1].upper()}{known[1:]}."


def _in_rows(
    classes: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any], rows: str
) -> str:
    """Return what is gained and what it costs, in rows of a thousand."""
    are = "should be" if rows == "new rows" else "are"
    names, rates = [], []
    for side in (before, after):
        known = [(rate, c) for c, rate in enumerate(side["class_accuracies"]) if rate is not None]
        rate, weakest = min(known)
        rates.append(_of_1000(rate))
        names.append(shorten(classes[weakest], _LONGEST))
    then, now = (f" ({name})" for name in names)
    weakest_text = f"{rates[1]} of 1,000 {rows} {are} right{now} instead of {rates[0]}"
    text = f"in the weakest class, {weakest_text}{'' if then == now else then}"
    whole = [round(1000 * round(side["accuracy"], 3)) for side in (before, after)]
    lost = whole[0] - whole[1]
    text += f", and of all rows {whole[1]:,} " + (
        f"instead of {whole[0]:,}" if lost else "as before"
    )
    return f"{text}: it costs {lost:,} right answers in 1,000" if lost > 0 else text
