"""The application: every command is registered here."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.command import Command, Commands, with_option_groups
from dnip.cli.console import Verbosity
from dnip.cli.defaults import read_defaults

#: The commands, in the order of the help. Each is a function in a file of its own name; both end in
#: "_" where Python reserves the word.
COMMANDS = (
    "demo",
    "audit",
    "prompt",
    "import",
    "fit",
    "tune",
    "pareto",
    "evaluate",
    "report",
    "check",
    "apply",
    "serve",
    "export",
    "show",
    "compare",
)

app = typer.Typer(
    name="dnip",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name in COMMANDS:
    function = f"{name}_" if iskeyword(name) else name
    command = getattr(import_module(f"dnip.cli.commands.{function}"), function)
    app.command(name, cls=Command)(with_option_groups(command))


def run() -> None:
    """Run the command that ``sys.argv`` names, with the defaults of ``[tool.dnip]``."""
    group = typer.main.get_group(app)
    group(prog_name="dnip", default_map=read_defaults(group.commands, Path.cwd()))


def _print_version(wanted: bool) -> None:
    if wanted:
        from dnip import __version__

        typer.echo(f"dnip {__version__}")
        raise typer.Exit


def _be_quiet(wanted: bool) -> None:
    Verbosity.quiet = wanted


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
            "--quiet",
            "-q",
            help="Print no notes and no progress; warnings and errors stay.",
            callback=_be_quiet,
        ),
    ] = False,
) -> None:
    """Give every class its due: one coefficient per class, learned from class probabilities.

    Fit coefficients on a table of class probabilities and labels, look at accuracy per class
    before and after, and apply them to new probabilities.
    """
