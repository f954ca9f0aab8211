"""The application: every command is registered here."""

from __future__ import annotations

from typing import Annotated

import typer

from dnip.cli.ablate import ablate
from dnip.cli.apply import apply
from dnip.cli.audit import audit
from dnip.cli.bench import bench
from dnip.cli.compare import compare
from dnip.cli.demo import demo
from dnip.cli.evaluate import evaluate
from dnip.cli.fit import fit
from dnip.cli.grouped_help import GroupedCommand
from dnip.cli.pareto import pareto
from dnip.cli.prompt import prompt
from dnip.cli.reproduce import reproduce
from dnip.cli.tune import tune

app = typer.Typer(
    name="dnip",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    audit,
    prompt,
    fit,
    tune,
    pareto,
    evaluate,
    ablate,
    apply,
    reproduce,
    compare,
    bench,
):
    app.command(cls=GroupedCommand)(command)


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
) -> None:
    """Give every class its due: one coefficient per class, learned from class probabilities.

    Fit coefficients on a table of class probabilities and labels, look at accuracy per class
    before and after, and apply them to new probabilities.
    """
