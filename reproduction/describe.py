"""A reproduction as text for a terminal: what is left to do, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# Failures that are named one by one; the manifest names all.
_NAMED = 10


def describe_survey(survey: Mapping[str, Any]) -> str:
    """Return what is left to do, and what the models need.

    Examples
    --------
    >>> counts = {"cells": 9, "cells_left": 2, "tables": 1, "tables_left": 1, "rows_left": 500}
    >>> needs = {"prompts": 500, "tokens": 60_000, "reasoning_tokens": 0, "parameters": 3e6}
    >>> needs |= {"memory_gb": 0.014, "disk_gb": 0.012, "hours": {"A100": 0.1, "CPU core": 9.0}}
    >>> models = [{"name": "small", "model": "models/small", **needs}]
    >>> print(describe_survey({
    ...     "plan": "quick", "experiments": ["main"], **counts, "models": models,
    ...     "missing": {}, "left_out": {"time": "it needs a model"},
    ... }))
    plan quick: main
    2 of 9 cells and 1 of 1 tables left to do, 500 prompts
    small (models/small): 500 prompts, 60,000 tokens
      hours, reckoned: 0.1 on one A100, 9 on one CPU core
      memory 0.014 GB, disk 0.012 GB
    left out: time: it needs a model
    """
    lines = [
        f"plan {survey['plan']}: {', '.join(survey['experiments'])}",
        f"{survey['cells_left']:,} of {survey['cells']:,} cells and {survey['tables_left']:,} of "
        f"{survey['tables']:,} tables left to do, {survey['rows_left']:,} prompts",
    ]
    for model in survey["models"]:
        lines += _describe_needs(model)
    left_out = {**survey["missing"], **survey["left_out"]}
    lines += [f"left out: {name}: {reason}" for name, reason in left_out.items()]
    return "\n".join(lines)


def _describe_needs(model: Mapping[str, Any]) -> Iterator[str]:
    reasoning = model["reasoning_tokens"]
    more = f", up to {reasoning:,} tokens of reasoning" if reasoning else ""
    yield (
        f"{model['name']} ({model['model']}): {model['prompts']:,} prompts, "
        f"{model['tokens']:,} tokens{more}"
    )
    if model["hours"] is None:
        yield "  how many parameters it has is not known: set parameters in the plan"
        return
    hours = ", ".join(f"{_figure(value)} on one {name}" for name, value in model["hours"].items())
    yield f"  hours, reckoned: {hours}"
    yield f"  memory {_figure(model['memory_gb'])} GB, disk {_figure(model['disk_gb'])} GB"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def describe_reproduction(done: Mapping[str, Any], out: Path) -> str:
    """Return how much was done, and where it is."""
    return (
        f"{done['cells']:,} cells ({done['cells_reused']:,} from an earlier run), "
        f"{done['tables'] - done['tables_reused']:,} tables prompted for, "
        f"{done['seconds']:.0f} s\nwritten to {out}"
    )


def notes_on_reproduction(done: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what was left out and what failed, each with its kind: note or failed."""
    for name, reason in {**done["missing"], **done["left_out"]}.items():
        yield "note", f"{name} is left out: {reason}"
    failures = list(done["failures"].items())
    for name, reason in failures[:_NAMED]:
        yield "failed", f"{name}: {reason}"
    if failures[_NAMED:]:
        yield "failed", f"{len(failures) - _NAMED} more; manifest.json names all of them"
