"""A field of a settings class as an option of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_origin, get_type_hints


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
    """

    help: str
    group: str | None = None
    metavar: str | None = None
    parser: Callable[[str], Any] | None = None


def option_of(hint: object) -> Option | None:
    """Return the description in a type hint, None where there is none.

    Examples
    --------
    >>> option_of(Annotated[int, Option("How many.")]).help, option_of(int)
    ('How many.', None)
    """
    if get_origin(hint) is not Annotated:
        return None
    found = (extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Option))
    return next(found, None)


def options_in(settings: type, group: str) -> tuple[str, ...]:
    """Return the names of the fields under one heading."""
    options = {
        name: option_of(hint)
        for name, hint in get_type_hints(settings, include_extras=True).items()
    }
    return tuple(name for name, option in options.items() if option and option.group == group)
