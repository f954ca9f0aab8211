"""TOML files as pydantic models: one place that reads them and words what is wrong in them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic_core import ErrorDetails

from dnip.base.errors import InvalidInputError, MissingDependencyError, listed, shown
from dnip.base.files import read_text

try:
    from pydantic import BaseModel, ConfigDict, Field, ValidationError
except ImportError as error:
    raise MissingDependencyError("pydantic", purpose="read a task", extra="prompt") from error


_SUFFIX = ".toml"
_Value = TypeVar("_Value")
_Model = TypeVar("_Model", bound="TomlModel")

#: A list of one or more values, kept as a tuple: ``seeds: Several[int]``.
Several = Annotated[tuple[_Value, ...], Field(strict=False, min_length=1)]


class TomlModel(BaseModel):
    """Base of all models of TOML tables: strict types, finite numbers, no unknown keys.

    A validator may raise `InvalidInputError` with a whole message, or `ValueError` with one that
    begins with "must"; the value that was found is added to the latter.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def built_in_names(folder: Traversable) -> tuple[str, ...]:
    """Return the names of the TOML files in a folder of the package, sorted.

    Examples
    --------
    >>> from importlib.resources import files
    >>> "agnews" in built_in_names(files("dnip.prompting") / "tasks")
    True
    """
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def load_toml(
    name: str | os.PathLike[str], folder: Traversable, *, kind: str
) -> tuple[dict[str, Any], str]:
    """Read a built-in TOML file by name, or any other by its path.

    Parameters
    ----------
    name : str or path-like
        A file of `folder` without its suffix, or the path of a ``.toml`` file.
    folder : Traversable
        Where the built-in files are.
    kind : str
        What the file holds, for messages: "plan", "task".

    Returns
    -------
    table : dict
        The content, not yet checked.
    source : str
        The name, for messages.

    Raises
    ------
    InvalidInputError
        If there is no such file, or it is not TOML.
    """
    source = str(name)
    built_in = built_in_names(folder)
    if source in built_in:
        content = (folder / f"{source}{_SUFFIX}").read_text(encoding="utf-8")
        return tomllib.loads(content), source
    path = Path(source)
    if path.suffix != _SUFFIX:
        raise InvalidInputError(
            f"there is no built-in {kind} {source!r}",
            hint=f"Name one of {', '.join(built_in)}, or a .toml file",
        )
    try:
        content = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InvalidInputError(f"{path}: the {kind} cannot be read: {reason}") from error
    try:
        return tomllib.loads(content), source
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond all bounds
        raise InvalidInputError(f"{source}: not valid TOML: {error}") from error


def check_table(
    model: type[_Model], table: object, source: str, within: Sequence[str] = ()
) -> _Model:
    """Check a TOML table against its model.

    Parameters
    ----------
    model : type of TomlModel
    table : object
        What the file holds.
    source : str
        The file, for messages.
    within : sequence of str
        Keys that lead from the top of the file to the table.

    Raises
    ------
    InvalidInputError
        For the first key that is missing, unknown or of a wrong value.

    Examples
    --------
    >>> class Colour(TomlModel):
    ...     name: str
    ...     parts: Several[int] = (0,)
    >>> check_table(Colour, {"name": "red", "parts": [255, 0]}, "red.toml")
    Colour(name='red', parts=(255, 0))
    >>> check_table(Colour, {"name": "red", "parts": [255, 0.5]}, "red.toml")
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: red.toml: parts[1] must be a valid integer; got 0.5
    >>> check_table(Colour, {"nam": "red"}, "red.toml")
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: red.toml: unknown key nam. Keys here are name, parts
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        # an unknown key explains why another one is missing, so it comes first
        first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
        raise _worded(first, model, source, within) from error


def _worded(
    error: ErrorDetails, model: type[TomlModel], source: str, within: Sequence[str]
) -> InvalidInputError:
    """Return an error of pydantic as ours: source, key, what is wrong, value, remedy."""
    where = _path([*within, *error["loc"]])
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInputError):
        parts = [source, where, cause.message]
        return InvalidInputError(": ".join(filter(None, parts)), hint=cause.hint)
    if error["type"] in ("missing", "extra_forbidden"):
        text = f"{where} is missing" if error["type"] == "missing" else f"unknown key {where}"
        keys = listed(list(model.model_fields), most=40) if len(error["loc"]) == 1 else ""
        return InvalidInputError(f"{source}: {text}", hint=keys and f"Keys here are {keys}")
    text = str(cause or error["msg"])
    for theirs, ours in {"Input should": "must", "dictionary": "table", "tuple": "list"}.items():
        text = text.replace(theirs, ours)
    return InvalidInputError(f"{source}: {where} {text}; got {shown(error['input'])}")


def _path(keys: Sequence[int | str]) -> str:
    """Return keys as they are written: ``models[0].name``."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")
