"""Settings as options of the command line: the words that they may be, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Literal, NamedTuple, TypeAlias

#: Under which key a field of a dataclass holds its :class:`Option`.
OPTION = "option"

#: How to search for weights: the keys of `dnip.solvers.SOLVERS`.
SolverName: TypeAlias = Literal["coordinate", "exact", "anneal", "exhaustive"]

#: The pairs of classes that COBias is the mean of: all pairs, or each class and its odd class.
Pairs: TypeAlias = Literal["pairwise", "single"]

#: Whether to do something that costs time: where it is worth it, always, or never.
Switch: TypeAlias = Literal["auto", "on", "off"]


class Option(NamedTuple):
    """What the command line shows of a field, as ``Annotated[int | None, Option("...")]``.

    The library thus describes a setting once, and needs no library for command lines.

    Attributes
    ----------
    help : str
    group : str or None
        The heading that the option stands under.
    metavar : str or None
        What stands for the value; its type if this is None.
    parser : callable or None
        Makes the value of its text; by default its type does.
    also : str or None
        A second name of the option.
    """

    help: str
    group: str | None = None
    metavar: str | None = None
    parser: Callable[[str], Any] | None = None
    also: str | None = None


def option(
    text: str, group: str | None = None, metavar: str | None = None, *, default: object = None
) -> Any:  # noqa: ANN401 - the field has a type of its own
    """Return a field of a dataclass that the command line shows, as :class:`Option` says.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Search:
    ...     seed: int = option("Seed of the search.", default=0)
    >>> Search()
    Search(seed=0)
    """
    return field(default=default, metadata={OPTION: Option(text, group, metavar)})
