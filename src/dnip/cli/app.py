"""The application: every command is registered here, with its defaults from a pyproject.toml."""

from __future__ import annotations

import sys
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from signal import SIGINT
from typing import Any

import click

from dnip.base.errors import InvalidInputError
from dnip.base.version import __version__
from dnip.cli.command import GONE, Command, command_of, write_sections
from dnip.cli.console import Verbosity

#: The commands by what they are for, in the order of the help. Each is a function in a file of its
#: own name; both end in "_" where Python reserves the word. The file is loaded with the command.
GROUPS = {
    "See what it does": {"demo": "Run the main job on a bundled table."},
    "Make tables": {
        "prompt": "Ask a language model for class probabilities.",
        "import": "Make a probability table of answers that you already have.",
        "audit": "Check the label tokens of a task before spending compute.",
    },
    "Fit": {
        "fit": "Learn coefficients from a labelled table.",
        "tune": "Choose the settings of a fit on labels, then learn coefficients.",
        "pareto": "Show every trade-off between accuracy and COBias.",
    },
    "Look": {
        "evaluate": "Show which classes starve, and what coefficients change.",
        "report": "Write one HTML page: which classes starve, and what mending costs.",
        "compare": "Compare DNIP with other methods.",
        "check": "Tell whether coefficients still fit new rows.",
    },
    "Use": {
        "apply": "Reweight a table and predict, at any size.",
        "serve": "Correct the answers of a decision server on their way.",
        "export": "Export coefficients to the format of another system.",
        "show": "Show what is in a coefficients file, or what differs between two.",
    },
}
COMMANDS = tuple(name for commands in GROUPS.values() for name in commands)

_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


def command_named(name: str) -> Command:
    """Return one of the commands; this loads its file."""
    function = f"{name}_" if iskeyword(name) else name
    module = import_module(f"dnip.cli.commands.{function}")
    return command_of(name, getattr(module, function), context_settings=_SETTINGS)


class Commands(click.Group):
    """The group of all commands, each loaded when it is run or when its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """Return a command, None for a name that is none."""
        return command_named(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:  # noqa: ANN401
        """Find the command that is typed, or whose help is; refuse one that is gone."""
        if args[0] == "help":
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [args[1], "--help"]
        if args[0] in GONE:
            ctx.fail(f"{args[0]} is gone: {GONE[args[0]]}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, by groups."""
        write_sections(
            formatter,
            [(group, about) for group, names in GROUPS.items() for about in names.items()],
        )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command that is typed; Ctrl-C is told by :func:`dnip.cli.main`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(128 + SIGINT)


@click.group("dnip", Commands, no_args_is_help=True, context_settings=_SETTINGS)
@click.version_option(__version__, message="%(prog)s %(version)s", help="Print the version.")
@click.option(
    "--quiet", "-q", is_flag=True, help="Print no notes and no progress; warnings and errors stay."
)
def commands(quiet: bool) -> None:
    """Give every class its due: one coefficient per class, learned from class probabilities.

    `dnip evaluate TABLE` shows which classes starve, and `dnip fit TABLE` learns coefficients.
    `dnip help COMMAND` tells all about a command, with examples.
    """
    Verbosity.quiet = quiet


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
        import tomllib

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
        known = {parameter.name for parameter in command_named(command).params}
        unknown = [name for name in values if name.replace("-", "_") not in known]
        if unknown:
            raise InvalidInputError(
                f"{source}: `dnip {command}` has no option {unknown[0]}",
                hint=f"`dnip help {command}` lists its options",
            )
        defaults[command] = {
            # text, as on a command line
            name.replace("-", "_"): list(map(str, value)) if isinstance(value, list) else str(value)
            for name, value in values.items()
        }
    return defaults
