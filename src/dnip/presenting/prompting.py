"""A run of prompts, and an audit of label tokens, as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.prompting.audit import Audit
    from dnip.prompting.run import RunSummary


def describe_run(summary: RunSummary, out: Path) -> str:
    """Return the number of rows and the captured mass."""
    return (
        f"{summary.n:,} rows written to {out} ({summary.n_resumed:,} from an earlier run); "
        f"captured mass {summary.mean_mass:.3f} on average, {summary.least_mass:.3g} at least"
    )


def notes_on_run(summary: RunSummary) -> Iterator[str]:
    """Yield what a user should know of answers that are incomplete."""
    details = summary.details
    if summary.n_open:
        yield (
            "rows whose decision depends on labels that the server did not report: "
            f"{summary.n_open:,}"
        )
    if details.get("fallback"):
        yield (
            "answers without a label, of which the last token is scored: "
            f"{details['fallback']:,} of {summary.n:,}; answers cut at their longest: "
            f"{details['cut']:,}"
        )
    if details.get("unmatched"):
        yield (
            f"sampled answers that end in no label: {details['unmatched']:,} "
            f"of {details['samples']:,}"
        )


def describe_audit(audit: Audit) -> str:
    """Return the tokens of every class, and the captured mass where it was measured."""
    lines = []
    for one in audit.classes:
        tokens = " ".join(repr(text) for text in one.texts)
        mass = "" if one.mass is None else f"  mass {one.mass:.4f}"
        lines.append(f"{one.name:<24} {one.word:<16} {tokens}{mass}")
    if audit.mass is not None:
        lines.append(
            f"\ncaptured mass {audit.mass:.3f} on average over "
            f"{counted(audit.n_measured, 'prompt')}, {audit.lowest_mass:.3g} at least"
        )
        if audit.fallbacks is not None:
            lines.append(f"answers without a label: {audit.fallbacks} of {audit.n_measured}")
    return "\n".join(lines)
