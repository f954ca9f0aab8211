"""A comparison as Markdown, for a terminal and a file alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.presenting.escaping import markdown

if TYPE_CHECKING:
    from dnip.studies.comparison.results import Comparison, Estimate, Outcome

_HEADER = (
    "method",
    "accuracy",
    "against raw",
    "COBias",
    "against raw",
    "worst class",
    "macro-F1",
    "fit",
)
_TRANSDUCTIVE = " *"


def describe_comparison(comparison: Comparison) -> str:
    """Return a heading, one table with a line per method, and notes."""
    lines = [
        f"### {markdown(comparison.title)}: {comparison.n_opt:,} labels of "
        f"{len(comparison.classes)} classes, {comparison.n_test:,} test rows\n",
        f"| {' | '.join(_HEADER)} |",
        f"|{'|'.join([' --- ', *[' ---: '] * (len(_HEADER) - 1)])}|",
        *(f"| {' | '.join(_cells(outcome))} |" for outcome in comparison.outcomes),
        "",
        _notes(comparison),
    ]
    lines += [
        f"Left out, {name}: {markdown(reason)}." for name, reason in comparison.skipped.items()
    ]
    return "\n".join(lines)


def seconds(value: float) -> str:
    """Return a time, in ms below a second.

    Examples
    --------
    >>> seconds(0.00004), seconds(0.0123), seconds(2.5)
    ('0.0 ms', '12 ms', '2.5 s')
    """
    if value >= 1:
        return f"{value:.1f} s"
    return f"{value * 1e3:.1f} ms" if value < 0.01 else f"{value * 1e3:.0f} ms"


def _cells(outcome: Outcome) -> list[str]:
    mark = _TRANSDUCTIVE if "batch" in outcome.reads else ""
    estimates, differences = outcome.estimates, outcome.differences
    return [
        markdown(outcome.name) + mark,
        _with_interval(estimates["accuracy"]),
        _signed(differences.get("accuracy")),
        _with_interval(estimates["cobias"]),
        _signed(differences.get("cobias")),
        f"{estimates['worst_class_accuracy'].value:.3f}",
        f"{estimates['macro_f1'].value:.3f}",
        seconds(outcome.seconds),
    ]


def _with_interval(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _signed(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    return f"{estimate.value:+.3f} ({estimate.low:+.3f} to {estimate.high:+.3f})"


def _notes(comparison: Comparison) -> str:
    seeds = comparison.n_seeds
    runs = "one run" if seeds == 1 else f"means of {seeds} runs"
    notes = f"Figures are {runs}; in brackets, their {comparison.confidence:.0%} intervals."
    if comparison.n_unlabelled:
        notes += f" Unlabelled rows at hand: {comparison.n_unlabelled:,}."
    if any("batch" in outcome.reads for outcome in comparison.outcomes):
        notes += " * reads the probabilities of all test rows, without labels, before it decides."
    return notes
