"""Optional libraries, loaded where they are used and named where they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from dnip.base.errors import MissingDependencyError


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
installed. In a checkout, install it with: pip install '.[tea]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingDependencyError(library, purpose=purpose, extra=extra) from error
