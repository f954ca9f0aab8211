"""Coefficients as text, alone or next to new rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil, log10
from typing import Any

from dnip.base.validation import flat
from dnip.method.coefficients import Coefficients
from dnip.presenting.formats import (
    Column,
    Estimate,
    Value,
    columns_to_text,
    percent,
    shorten,
    to_text,
)
from dnip.using.drift import Check

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
        (shorten(name, _ENTRY), shorten(_written(value), _VALUE))
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


def _written(value: object) -> str:
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
    past = "" if check.changed_at_fit is None else f"at the fit {percent(check.changed_at_fit)}, "
    rows.append(("changed decisions", f"{past}now {percent(check.changed)} of the rows"))
    if check.deferred is not None:
        now_on, asked = map(percent, check.deferred)
        rows.append(("deferred", f"asked for {asked}, now {now_on} of the rows"))
    if check.signal is False:
        why = check.cause or "the probabilities tell nothing about these labels"
        rows.append(("signal", f"none: {why}"))
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
