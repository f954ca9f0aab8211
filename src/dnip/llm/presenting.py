"""A look at prompts and an import of answers, as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.errors import counted, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.llm.prompting.check import PromptCheck
    from dnip.llm.sources import ImportSummary


def describe_check(check: PromptCheck) -> str:
    """Return a prompt, the answers, the tokens of every class, and what they came to."""
    lines = ["--- the first prompt", check.prompt, "---"]
    if any(answer is not None for answer in check.answers):
        lines.append(f"answers: {', '.join(shown(answer) for answer in check.answers)}")
    rows = [("class", "label", "mass", "tokens")] if check.classes else []
    for of_class in check.classes:
        mass = "" if of_class.mass is None else f"{of_class.mass:.4f}"
        tokens = " ".join(map(repr, of_class.texts)) or "not known without --tokenizer"
        rows.append((of_class.name, of_class.word, mass, tokens))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if check.mass is not None:
        lines.append(
            f"captured mass {check.mass:.3f} on average over "
            f"{counted(check.n_measured, 'prompt')}, {check.lowest_mass:.3g} at least"
        )
    if check.n_without:
        lines.append(f"answers without a label: {check.n_without} of {check.n_measured}")
    requests = f", {counted(check.n_requests, 'request')}" if check.n_requests else ""
    lines.append(f"the whole table: {counted(check.n_prompts, 'prompt')}{requests}")
    return "\n".join(lines)


def describe_import(summary: ImportSummary, out: Path) -> str:
    """Return what was imported, from where, and how many rows have labels."""
    text = f"{summary.n:,} rows written to {out}, {summary.n_labelled:,} of them with a label"
    text += f"\nsource {summary.source}"
    if summary.model:
        text += f", model {summary.model}"
    if summary.question not in (None, "none"):  # the filter of lm-evaluation-harness
        text += f", question {summary.question}"
    if summary.mean_mass is not None:
        text += f"; captured mass {summary.mean_mass:.3f} on average"
    return text


def notes_on_import(summary: ImportSummary) -> Iterator[str]:
    """Yield what a user should know of answers that are missing, incomplete or rounded."""
    if summary.votes:
        yield (
            "votes of a row: {fewest:,} to {most:,}, and half a vote more for each class; rows "
            f"with ties for the best class: {summary.n_tied:,}; no votes, of "
            "{answers:,} answers: {refused:,} refusals and {unmatched:,} without one class"
        ).format(**summary.votes)
    if summary.class_columns:
        yield f"the classes were read from the columns {listed(summary.class_columns)}"
    if summary.naming:
        yield (
            f"no row has a label, but {listed(summary.naming)} names a class in every row: if "
            f"these are the gold labels, not answers of the model, give --label {summary.naming[0]}"
        )
    refusals = "rows without a vote" if summary.votes else "refusals"
    if len(summary.columns) > 1:
        others = [name for name in summary.columns if name != summary.question]
        yield (
            f"log-probabilities were read from {summary.question}, not from {listed(others)}; "
            "--question takes another column"
        )
    left_out = {
        refusals: summary.refused,
        "failed requests": summary.failed,
        "answers that state several classes": summary.several,
        "answers that state no class": summary.unstated,
        "answers without probabilities": summary.silent,
    }
    for kind, ids in left_out.items():
        if ids:
            yield f"{kind}, which are not in the table: {len(ids):,} ({listed(ids)})"
    if summary.unreported:
        yield (
            "classes of which no answer reports a token, so that no weights can help them: "
            f"{listed(summary.unreported)}; --map gives another word for one"
        )
    counts = {
        "answers to other questions or of other rows, which are not in the table": summary.n_other,
        "labels of ids that no answer has": summary.n_unknown,
        "rows without a label": summary.n_labelled and summary.n - summary.n_labelled,
        "rows whose decision depends on labels that are not reported": summary.n_open,
        "answers of one token that is no class, read there": summary.n_nameless,
        "rows whose numbers do not sum to 1, divided by their sum": summary.n_normalised,
        "rows that give everything to one class, so that no weights can move them": (
            summary.n_one_class
        ),
    }
    yield from (f"{text}: {count:,}" for text, count in counts.items() if count)
    if summary.decimals and not summary.votes:
        yield (
            f"probabilities are rounded to {10.0**-summary.decimals:g}; rows with ties for the "
            f"best class: {summary.n_tied:,}"
        )
