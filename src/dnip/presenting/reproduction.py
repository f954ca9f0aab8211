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
    >>> models = [{"name": "small", "model": "models/small", "memory": "1 GB", "cost": ""}]
    >>> print(describe_survey({
    ...     "plan": "quick", "experiments": ["main"], **counts, "models": models,
    ...     "missing": {}, "left_out": {"time": "it needs a model"},
    ... }))
    plan quick: main
    2 of 9 cells and 1 of 1 tables left to do, 500 prompts
    small (models/small)
      memory: 1 GB
    left out: time: it needs a model
    """
    lines = [
        f"plan {survey['plan']}: {', '.join(survey['experiments'])}",
        f"{survey['cells_left']:,} of {survey['cells']:,} cells and {survey['tables_left']:,} of "
        f"{survey['tables']:,} tables left to do, {survey['rows_left']:,} prompts",
    ]
    for model in survey["models"]:
        lines.append(f"{model['name']} ({model['model']})")
        lines += [f"  {key}: {model[key]}" for key in ("memory", "cost") if model[key]]
    left_out = {**survey["missing"], **survey["left_out"]}
    lines += [f"left out: {name}: {reason}" for name, reason in left_out.items()]
    return "\n".join(lines)


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
