"""A check of coefficients as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.presenting.artefacts import Column, Estimate, Table
from dnip.presenting.terminal import to_text

if TYPE_CHECKING:
    from dnip.deploying.check import Check
    from dnip.presenting.artefacts import Row


def describe_check(check: Check) -> str:
    """Return every class at the fit and now, the tests, and the verdict."""
    columns = [
        Column("class"),
        Column("share at fit", 3),
        Column("share now", 3),
        Column("distance", 3),
    ]
    mix = check.mix
    now = map(Estimate, mix.shares.tolist(), mix.low.tolist(), mix.high.tolist())
    distances = check.comparison.distances.tolist()
    rows: list[Row] = [*zip(check.classes, check.shares.tolist(), now, distances, strict=True)]
    parts = [
        f"{check.n_rows:,} new rows, against {check.rows_at_fit:,.0f} rows of the fit",
        to_text(Table("check", "", columns, rows)),
        "\n".join(f"{name:<18} {text}" for name, text in findings(check)),
    ]
    if check.origin:
        parts.append("\n".join(check.origin))
    parts.append(f"verdict: {verdict(check)}")
    return "\n\n".join(parts)


def findings(check: Check) -> list[tuple[str, str]]:
    """Return what was compared, and how it differs, a pair of texts each."""
    name, distance = check.farthest
    p_value = check.comparison.p_value
    found = [
        (
            "distribution",
            f"p = {p_value:.2g}; largest distance {distance:.3f}, of class {name}: {check.effect}",
        )
    ]
    if check.mass is not None and check.mass_at_fit is not None:
        far = check.comparison.mass_distance
        means = f"{check.mass_at_fit:.3f} -> {check.mass:.3f} on average"
        found.append(("captured mass", f"{means}, distance {far:.3f}"))
    before = "?" if check.changed_at_fit is None else f"{100 * check.changed_at_fit:.1f} %"
    found.append(("changed decisions", f"{before} -> {100 * check.changed:.1f} % of the rows"))
    for title, score in (("accuracy", check.accuracy), ("COBias", check.cobias)):
        if score is not None:
            expected = f"expected {score.low:.3f} to {score.high:.3f}"
            found.append((title, f"{score.at_fit:.3f} -> {score.now:.3f}, {expected}"))
    if check.accuracy is not None:
        rows = f"on {check.n_labelled:,} labelled rows; {100 * check.level:.3g} % intervals"
        found.append(("", rows))
    elif check.n_labelled:
        found.append(("accuracy", "not compared: the coefficients keep none of the fit"))
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
        "Look at what has changed, and fit again on labelled rows like these. If it is the class "
        "mix alone, `dnip apply --target-prior estimate` may do."
    )
