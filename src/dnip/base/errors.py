"""One error tree; every message says what is wrong, where, the value, and what to do."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Self

from dnip.base.escaping import one_line

# Letters of a name in a list of them.
_LONG = 60
# Characters of a line of another library that are shown.
_LONG_LINE = 200


class DNIPError(Exception):
    """Base of all errors that this package raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong, where, and the value that was found.
    hint : str, optional
        What the user can do about it.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}. {self.hint}"


class InvalidInputError(DNIPError, ValueError):
    """A table, labels or a setting that cannot be used. It is a ``ValueError``, too."""


class InfeasibleError(InvalidInputError):
    """Constraints that no weights on the scale meet, or for which none were found."""


class CoefficientsFormatError(InvalidInputError):
    """A coefficients file that is damaged, of an unknown version, or for other classes."""


class CorrectedError(InvalidInputError):
    """Corrected probabilities where those of the model itself are needed."""

    @classmethod
    def at(cls, where: str, by: str) -> Self:
        """Return the error for probabilities with a mark, the hash of coefficients."""
        message = f"{where}: the probabilities are corrected already, by the coefficients {by}"
        return cls(message, hint="Give those of the model itself")


class OutputError(DNIPError, OSError):
    """An output that cannot be written. Whatever stood at the path before still stands."""


class MissingDependencyError(DNIPError, ImportError):
    """An optional library that this call needs is not installed.

    Parameters
    ----------
    library : str
        The library that could not be imported.
    purpose : str
        What it is needed for, as the end of "needed to ...".
    extra : str
        The extra of this package that installs it.
    """

    def __init__(self, library: str, *, purpose: str, extra: str) -> None:
        super().__init__(
            f"{library} is needed to {purpose} and is not installed",
            hint=f"Install it with: {install_line(extra)}",
        )
        self._arguments = library, purpose, extra

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[str]]:
        # The default repeats __init__ with the message alone, which would not do here.
        library, purpose, extra = self._arguments
        return partial(type(self), purpose=purpose, extra=extra), (library,)


def install_line(extra: str) -> str:
    """Return what to type for an extra: in a checkout its own folder, else the package's name."""
    in_checkout = Path(__file__).parents[3].joinpath("pyproject.toml").exists()
    return f"pip install '{'.' if in_checkout else 'dnip'}[{extra}]'"


class BackendError(DNIPError):
    """A language model that cannot be reached or that fails.

    Parameters
    ----------
    message : str
        What failed, where, and how.
    hint : str, optional
        What the user can do about it.
    retryable : bool, default=False
        Whether the same request may succeed later.
    """

    def __init__(self, message: str, *, hint: str | None = None, retryable: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


class DNIPWarning(UserWarning):
    """Something to know that stops nothing, such as a class without labels."""


def warn(message: str) -> None:
    """Warn, at the line outside of this package from which it was called."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == "dnip":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DNIPWarning, stacklevel=level)


@contextmanager
def unwarned() -> Iterator[None]:
    """Keep back this package's warnings in a block: whoever calls it has given them, or will."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        yield


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names for a message: the first few, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=1), listed(["x" * 100], most=1)
    ('a, b, c', 'a and 2 more', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    some = map(one_line, names[:most])
    shown = (name if len(name) <= _LONG else f"{name[:_LONG]}…" for name in some)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown) + more


def shown(value: object, most: int = 60) -> str:
    """Return a value for a message: quoted if it is a text, cut if it is long.

    Examples
    --------
    >>> shown("abc"), shown("0" * 100, most=10)
    ("'abc'", "'000000000...")
    """
    item = getattr(value, "item", None)  # of a number of NumPy
    text = repr(value if item is None else item())
    return text if len(text) <= most else f"{text[:most]}..."


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_line(error: Exception) -> str:
    r"""Return the first line of an error of another library, shortened.

    Examples
    --------
    >>> first_line(ValueError("no such file\nat line 3"))
    'no such file'
    """
    line = one_line(str(error).strip().partition("\n")[0]).rstrip(".")
    return line if len(line) <= _LONG_LINE else f"{line[:_LONG_LINE]}…"


def load_optional(module: str, *, purpose: str, extra: str) -> ModuleType:
    """Import a module of an optional library.

    Parameters
    ----------
    module : str
        The module's dotted name.
    purpose : str
        What it is needed for, as the end of "needed to ...".
    extra : str
        The extra of this package that installs it.

    Raises
    ------
    MissingDependencyError
        If the library is not installed; the message says how to install it.

    Examples
    --------
    >>> load_optional("json.decoder", purpose="read JSON", extra="json").__name__
    'json.decoder'
    >>> load_optional("no_such_library", purpose="read tea leaves", extra="tea")
    Traceback (most recent call last):
    ...
    dnip.MissingDependencyError: no_such_library is needed to read tea leaves and is not \
installed. Install it with: pip install '.[tea]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingDependencyError(library, purpose=purpose, extra=extra) from error


# Tracebacks and pickles name the public path.
for _class in [*globals().values()]:
    if isinstance(_class, type) and issubclass(_class, Exception):
        _class.__module__ = "dnip"
