"""Class names that travel inside a file, against the names that the caller gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_classes

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_own_classes(names: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the class names that a file carries, checked.

    Raises
    ------
    InvalidInputError
        If they are no class names; the message names the file.

    Examples
    --------
    >>> check_own_classes(["bad", "good"], "opt.npz")
    ('bad', 'good')
    """
    try:
        return check_classes(names)
    except InvalidInputError as error:
        raise InvalidInputError(f"{source}: {error.message}", hint=error.hint) from error


def reconcile_classes(
    own: tuple[str, ...] | None, given: tuple[str, ...] | None, source: str
) -> tuple[str, ...] | None:
    """Return the class names of a file, None if nobody knows them.

    Raises
    ------
    InvalidInputError
        If the file and the caller name the classes differently.

    Examples
    --------
    >>> reconcile_classes(("bad", "good"), None, "opt.parquet")
    ('bad', 'good')
    """
    if own is not None and given is not None and own != given:
        raise InvalidInputError(
            f"{source}: the classes in the file are {', '.join(own)}, but {', '.join(given)} were "
            "given",
            hint="Leave the class names out, or give them as the file does, in its order",
        )
    return own if given is None else given
