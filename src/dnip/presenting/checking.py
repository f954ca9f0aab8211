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
    found = [("distribution", f"p = {check.comparison.p_value:.2g}; {far}")]
    if check.mass is not None and check.mass_at_fit is not None:
        apart = check.comparison.mass_distance
        means = f"at the fit {check.mass_at_fit:.3f}, now {check.mass:.3f} on average"
        found.append(("captured mass", f"{means}; distance {apart:.3f}"))
    past = "" if check.changed_at_fit is None else f"at the fit {percent(check.changed_at_fit)}, "
    found.append(("changed decisions", f"{past}now {percent(check.changed)} of the rows"))
    if check.deferred is not None:
        now_on, asked = map(percent, check.deferred)
        found.append(("deferred", f"asked for {asked}, now {now_on} of the rows"))
    if check.signal is False:
        found.append(("signal", "none: the probabilities tell nothing about these labels"))
    for title, score in (("accuracy", check.accuracy), ("COBias", check.cobias)):
        if score is not None:
            before, now, low, high = (round(value, 3) for value in score)
            expected = f"expected now {low:.3f} to {high:.3f}"
            found.append((title, f"at the fit {before:.3f}, now {now:.3f}; {expected}"))
            if not low <= before <= high:
                why = "another class mix" if title == "accuracy" else "weights suit their own rows"
                found.append(("", f"(that of the fit is outside: {why})"))
    if check.cobias is not None and check.accuracy is None:
        found.append(("accuracy", "not compared: the fit was made without evidence"))
    if check.accuracy is not None or check.cobias is not None:
        digits = max(3, ceil(1 - log10(1 - check.level)))
        rows = f"on {check.n_labelled:,} labelled rows; {100 * check.level:.{digits}g} % intervals"
        found.append(("", rows))
    elif check.n_labelled:
        found.append(("accuracy", "not compared: the coefficients keep none of the fit"))
    if check.look is not None:
        number, alpha = check.look
        spent = f"number {number:,}, at level {check.alpha:.2g}"
        found.append(("look", f"{spent}; {check.look.left:.2g} of {alpha:g} left for later ones"))
    return found


def verdict(check: Check) -> str:
    """Return whether the coefficients hold, why not, and what to do."""
    if check.holds:
        return "the coefficients hold"
    reasons = []
    if not check.same_distribution:
        reasons.append("the probabilities are distributed otherwise than at the fit")
    if check.worse:
        reasons.append(f"{' and '.join(check.worse)} got worse")
    return (
        f"the coefficients do not hold: {'; '.join(reasons)}\n"
        "Look at what has changed, and fit again on labelled rows like these."
    )
