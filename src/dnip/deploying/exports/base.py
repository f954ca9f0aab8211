"""What all formats share."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.method.coefficients import Coefficients

#: When a format that multiplies in double precision decides as `dnip apply` does.
EXACT = "Decisions equal those of dnip apply for rows of doubles that sum to 1 within 0.001"


@dataclass(frozen=True)
class Export(ABC):
    """A format to export coefficients to. The fields of a subclass are its options.

    Attributes
    ----------
    promise : str
        One sentence, without a stop: when its decisions equal those of `Coefficients.predict`.
    """

    promise: ClassVar[str]

    @abstractmethod
    def render(self, coefficients: Coefficients) -> str | bytes:
        """Return the content of the exported file; text ends in a line end.

        Raises
        ------
        InvalidInputError
            If these coefficients, or the options, do not fit the format.
        """


def split_names(text: str, classes: Sequence[str], option: str) -> list[str]:
    """Return comma-separated names, one per class. Quotes protect a comma.

    Parameters
    ----------
    text : str
    classes : sequence of str
    option : str
        How the user knows the names, for messages.

    Raises
    ------
    InvalidInputError
        For another number of names, an empty one, or one given twice.

    Examples
    --------
    >>> split_names('a, "b,c"', ["cat", "dog"], "--labels")
    ['a', 'b,c']
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if len(names) != len(classes):
        raise InvalidInputError(
            f"{option} has {len(names)} names, but there are {len(classes)} classes",
            hint="Give one name per class, in the order of the classes, separated by commas",
        )
    if not all(names) or len(set(names)) < len(names):
        raise InvalidInputError(f"{option}: names must differ and not be empty; got {text!r:.200}")
    return names
