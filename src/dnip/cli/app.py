"""The application: every command is registered here, with its defaults from a pyproject.toml."""

from __future__ import annotations

import tomllib
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer

from dnip.base.errors import InvalidInputError
from dnip.cli.command import Command, Commands, gone_option, with_option_groups
from dnip.cli.console import Verbosity

#: The commands by what they are for, in the order of the help. Each is a function in a file of its
#: own name; both end in "_" where Python reserves the word.
GROUPS = {
    "See what it does": ("demo",),
    "Make tables": ("prompt", "import", "audit"),
    "Fit": ("fit", "tune", "pareto"),
    "Look": ("evaluate", "report", "compare", "check"),
    "Use": ("apply", "serve", "export", "show"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)

app = typer.Typer(
    name="dnip",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, names in GROUPS.items():
    for name in names:
        function = f"{name}_" if iskeyword(name) else name
        command = getattr(import_module(f"dnip.cli.commands.{function}"), function)
        app.command(name, cls=Command, rich_help_panel=group)(with_option_groups(command))


def _print_version(wanted: bool) -> None:
    if wanted:
        from dnip import __version__

        typer.echo(f"dnip {__version__}")
        raise typer.Exit


@app.callback()
def dnip(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print no notes and no progress; warnings and errors stay."
        ),
    ] = False,
) -> None:
    """Give every class its due: one coefficient per class, learned from class probabilities.

    Fit coefficients on a table of class probabilities and labels, look at accuracy per class
    before and after, and apply them to new probabilities.
    """
    Verbosity.quiet = quiet


#: All of this as the parser of the command line; slow to build.
commands = typer.main.get_group(app)


def read_defaults(folder: Path) -> dict[str, Any]:
    """Return the defaults of options by command.

    They stand in the first pyproject.toml of a folder and those above it that has a table
    ``[tool.dnip]``: ``[tool.dnip.fit]`` holds the options of ``dnip fit``.

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
            return _checked(tables, str(path))
    return {}


def _checked(tables: Any, source: str) -> dict[str, Any]:  # noqa: ANN401 - whatever the file holds
    if not isinstance(tables, dict):
        raise InvalidInputError(f"{source}: tool.dnip is not a table", hint="Write [tool.dnip.fit]")
    defaults = {}
    for command, values in tables.items():
        if command not in COMMANDS or not isinstance(values, dict):
            raise InvalidInputError(
                f"{source}: [tool.dnip.{command}] is no table of options of a command",
                hint=f"The commands are {', '.join(COMMANDS)}",
            )
        known = {parameter.name for parameter in commands.commands[command].params}
        unknown = [name for name in values if name.replace("-", "_") not in known]
        if unknown:
            raise InvalidInputError(
                f"{source}: `dnip {command}` has no option {unknown[0]}",
                hint=gone_option(command, [f"--{unknown[0]}"])
                or f"`dnip {command} --help` lists its options",
            )
        defaults[command] = {name.replace("-", "_"): value for name, value in values.items()}
    return defaults
