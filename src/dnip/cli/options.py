"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

# readable=False: typer checks no path; whoever opens it says why it cannot, and what to do.

TablePath: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="Probability table: .csv, .csv.gz, .jsonl, .npz, .parquet, or a folder of Parquet "
        "files, with columns label (optional where nothing is scored), id (optional), p0, p1, …",
        show_default=False,
        readable=False,
    ),
]
Classes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Class names in order, comma-separated; also the names of the probability columns "
        "where those are not p0, p1, …",
        metavar="A,B,C",
        show_default=False,
    ),
]
CoefficientsPath: TypeAlias = Annotated[
    Path,
    typer.Option(
        help="The coefficients.json that `dnip fit` wrote.", show_default=False, readable=False
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.")
]


def split_classes(classes: str | None) -> tuple[str, ...] | None:
    """Return the names in a comma-separated list, None for none."""
    if classes is None:
        return None
    return tuple(name.strip() for name in classes.split(","))
