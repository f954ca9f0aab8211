"""Defaults of options, from the table ``[tool.dnip]`` of a pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_defaults(commands: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the defaults of each command, as click takes them.

    They stand in the first pyproject.toml of a folder and those above it that has a table
    ``[tool.dnip]``: ``[tool.dnip.fit]`` holds the options of ``dnip fit``.

    Parameters
    ----------
    commands : mapping of str to click command
    folder : Path
        Where to begin.

    Raises
    ------
    InvalidInputError
        For a command or an option that is not known.
    """
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if not path.is_file():
            continue
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("dnip")
        except (OSError, ValueError):
            continue  # a file of other tools; they say what is wrong with it
        if tables is not None:
            return _checked(tables, commands, str(path))
    return {}


def _checked(
    tables: Any,  # noqa: ANN401 - whatever the file holds
    commands: Mapping[str, Any],
    source: str,
) -> dict[str, Any]:
    if not isinstance(tables, dict):
        raise InvalidInputError(f"{source}: tool.dnip is not a table", hint="Write [tool.dnip.fit]")
    defaults = {}
    for command, values in tables.items():
        if command not in commands or not isinstance(values, dict):
            raise InvalidInputError(
                f"{source}: [tool.dnip.{command}] is no table of options of a command",
                hint=f"The commands are {', '.join(commands)}",
            )
        known = {parameter.name for parameter in commands[command].params}
        unknown = [name for name in values if name.replace("-", "_") not in known]
        if unknown:
            raise InvalidInputError(
                f"{source}: `dnip {command}` has no option {unknown[0]}",
                hint=f"`dnip {command} --help` lists its options",
            )
        defaults[command] = {name.replace("-", "_"): value for name, value in values.items()}
    return defaults
