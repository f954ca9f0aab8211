"""Options of what a fit has to keep to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.method.constraints import Constraints

_PANEL = "Constraints, kept on the labelled rows of OPT"

MaxAccuracyLoss: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="RATE",
        help="How far accuracy may fall below that of the raw argmax, such as 0.01.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
MinClassAccuracy: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS=RATE",
        help="Least accuracy of a class, by name or index, such as Tech=0.6; all=0.5 is that of "
        "every class that is not named. May be given several times.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Freeze: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS,…",
        help="Classes whose weight stays 1, the largest there is. May be given several times.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
AllowSilence: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-silence",
        help="Let the fit leave a class with no right prediction that the raw argmax gets right.",
        rich_help_panel=_PANEL,
    ),
]
CostsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What each prediction costs, as CSV or JSON: rows true classes, columns predicted "
        "ones, with or without names. Their mean takes the place of the error.",
        show_default=False,
        readable=False,
    ),
]


def read_constraints(
    max_accuracy_loss: float | None,
    floors: Sequence[str] | None,
    freeze: Sequence[str] | None,
    *,
    allow_silence: bool = False,
) -> Constraints:
    """Return the constraints that options ask for.

    Raises
    ------
    InvalidInputError
        For a floor that is no CLASS=RATE, or a class with two of them.
    """
    from dnip.base.errors import InvalidInputError
    from dnip.method.constraints import Constraints

    rates: dict[str | int, float] = {}
    for text in floors or ():
        name, sign, number = text.rpartition("=")
        name = name.strip()
        try:
            rate = float(number)
        except ValueError:
            rate = -1.0
        if not sign or not name or not 0 <= rate <= 1:
            raise InvalidInputError(
                f"--min-class-accuracy is {text!r}, not CLASS=RATE with a rate from 0 to 1",
                hint="Write it like Tech=0.6",
            )
        if rates.setdefault(name, rate) != rate:
            raise InvalidInputError(
                f"--min-class-accuracy asks class {name} for {rates[name]:g} and for {rate:g}",
                hint="Give each class once",
            )
    names = [name.strip() for text in freeze or () for name in text.split(",")]
    return Constraints(max_accuracy_loss, rates, names, allow_silence)
