"""The application: every command is named here, and loaded when it is run."""

from __future__ import annotations

import sys
from importlib import import_module
from keyword import iskeyword
from signal import SIGINT
from typing import Any

import click

from dnip.base import __version__
from dnip.base.progress import SignsOfLife
from dnip.cli.console import Verbosity
from dnip.cli.gone import check_gone
from dnip.cli.options import SETTINGS, Command, write_sections

#: The commands by what they are for, in the order of the help. Each is in a file of its own name;
#: the name ends in "_" where Python reserves the word. The file is loaded with the command.
GROUPS = {
    "See what it does": {"demo": "Run the main job on a bundled table."},
    "Make tables": {
        "prompt": "Ask a language model for the class probabilities of texts.",
        "import": "Make a probability table of answers that you already have.",
    },
    "Fit": {"fit": "Learn coefficients from a labelled table."},
    "Look": {
        "evaluate": "Show which classes starve, and what coefficients change.",
        "report": "Write one HTML page: apply or keep, each class, and what it costs.",
        "compare": "Compare DNIP with other methods.",
        "check": "Check whether coefficients still fit new rows.",
    },
    "Use": {
        "apply": "Reweight a table and predict, at any size.",
        "serve": "Correct decisions and chat answers on their way.",
        "export": "Export coefficients to the format of another system.",
        "show": "Show what is in a coefficients file.",
    },
}
COMMANDS = tuple(name for commands in GROUPS.values() for name in commands)


class Commands(click.Group):
    """The group of all commands, each loaded when it is run or when its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """Return a command, whose file is loaded; None for a name that is none."""
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: Command = getattr(import_module(f"dnip.cli.commands.{name}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:  # noqa: ANN401
        """Find the command that is typed, or whose help is."""
        if args[0] == "help":
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [args[1], "--help"]
        if args[0] not in COMMANDS:
            check_gone(args[0], [])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, by groups."""
        write_sections(
            formatter,
            [(group, about) for group, names in GROUPS.items() for about in names.items()],
        )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command that is typed; `dnip.cli.main` reports Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(128 + SIGINT)


@click.group(
    "dnip",
    Commands,
    no_args_is_help=True,
    context_settings=SETTINGS,
    help="""\
Give every class its due: one coefficient per class, learned from class probabilities.

`dnip evaluate TABLE` shows which classes starve, and `dnip fit TABLE` learns coefficients.
`dnip help COMMAND` says what a command does, with examples and the options that most need;
`dnip COMMAND --help-all` lists every option.
""",
)
@click.version_option(__version__, message="%(prog)s %(version)s", help="Print the version.")
@click.option(
    "--quiet", "-q", is_flag=True, help="Print no notes and no progress; warnings and errors stay."
)
def commands(quiet: bool) -> None:
    """Set what all commands print."""
    Verbosity.quiet = quiet
    SignsOfLife.wanted = False


# What click suggests where a name is mistyped; `get_command` loads the commands themselves.
commands.commands = dict.fromkeys(COMMANDS, commands)
