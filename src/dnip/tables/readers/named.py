"""Class names that travel inside a file, against the names that the caller gives."""

from __future__ import annotations

from dnip.errors import InvalidInputError


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
