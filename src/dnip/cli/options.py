"""Arguments and options that several commands share."""

from __future__ import annotations

import re
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
TargetPrior: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MIX",
        help="The class mix that the coefficients are for: uniform; A=0.5,B=0.3,… for every class; "
        "0.5,0.3,… in class order; a .json file of either; or estimate, from rows without labels.",
        show_default=False,
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.")
]

Confidence: TypeAlias = Annotated[
    float,
    typer.Option(help="Level of the confidence intervals, between 0 and 1.", metavar="LEVEL"),
]
DEFAULT_CONFIDENCE = 0.9

#: Bytes of memory that a command keeps to where the user names no other size.
DEFAULT_MEMORY = 10**9

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+) *(?:([kmgt])(i?))?b?", re.IGNORECASE)


def parse_memory(text: str | int) -> int:
    """Return a size in bytes: 500MB and 0.5G are powers of 1000, 512MiB is one of 1024.

    Raises
    ------
    typer.BadParameter
        For a text that is no size.

    Examples
    --------
    >>> parse_memory("1G"), parse_memory("500MB"), parse_memory("1.5 GiB"), parse_memory(4096)
    (1000000000, 500000000, 1610612736, 4096)
    """
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no size; write it like 1G, 500MB or 512MiB")
    number, unit, binary = match.groups()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    size = float(number) * (1024 if binary else 1000) ** power
    if size >= 1e18:
        raise typer.BadParameter(f"{number[:20]}… is more memory than there is; write it like 1G")
    return int(size)


Memory: TypeAlias = Annotated[
    int,
    typer.Option(
        "--memory",
        parser=parse_memory,
        metavar="SIZE",
        help="Peak memory to keep to, such as 500MB or 4G; larger tables are read in passes."
        "  [default: 1G]",
        show_default=False,
    ),
]


def scale_name(name: str) -> str:
    """Return the name of a scale of weights.

    Raises
    ------
    typer.BadParameter
        For another text.
    """
    from dnip.method.scales import SCALE_NAME

    if SCALE_NAME.fullmatch(name) is None:
        raise typer.BadParameter(f"{name!r} is not K, log:K or continuous")
    return name


Beta: TypeAlias = Annotated[float, typer.Option(help="β, weight of COBias.")]
Tau: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="τ, weight of the PMI term.  [default: 0; 0.2 with --smoothing]", show_default=False
    ),
]
Smoothing: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="MU",
        help="μ, the paper's: added to the counts inside PMI. The objective is then the paper's "
        "as it stands, and may silence classes.  [default: 0.4·M where τ is above 0]",
        show_default=False,
    ),
]
Scale: TypeAlias = Annotated[
    str,
    typer.Option(
        parser=scale_name,
        metavar="K|log:K|continuous",
        help="K: weights are 1/K, 2/K, …, 1, with K = 30 in the paper. log:K: K geometric steps "
        "from 1/K to 1. continuous: any weights, for the coordinate solver.",
    ),
]
#: That of `dnip.method.scales`, which is too slow to import for a list of options.
DEFAULT_SCALE = "log:1000"


def tau_of(tau: float | None, smoothing: float | None) -> float:
    """Return τ: the published one beside a μ of the paper's kind, where none is given."""
    from dnip.method.objective import PUBLISHED_TAU

    if tau is not None:
        return tau
    return 0.0 if smoothing is None else PUBLISHED_TAU


def named_file(text: str | None, suffix: str) -> str | None:
    """Return what an option names if that is a file, for it may be a word instead."""
    return text if text is not None and text.lower().endswith(suffix) else None


def split_classes(classes: str | None) -> tuple[str, ...] | None:
    """Return the names in a comma-separated list, None for none."""
    if classes is None:
        return None
    return tuple(name.strip() for name in classes.split(","))
