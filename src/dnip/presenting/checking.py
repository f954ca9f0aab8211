"""A check of coefficients as text for a terminal."""

from __future__ import annotations

from math import ceil, log10

from dnip.presenting.formats import Column, Estimate, percent
from dnip.presenting.terminal import columns_to_text
from dnip.using.drift import Check


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
        rows.append(("signal", "none: the probabilities tell nothing about these labels"))
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
