"""Commands, options and orders of arguments that are gone, and what to type instead."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Where a command went.
COMMANDS = {
    "diff": "`dnip show A B` shows what differs between two coefficients files",
    "reproduce": "it stands beside the package, as `python -m reproduction` from a checkout",
    "ablate": "it stands beside the package, as `python -m reproduction ablation` from a checkout",
    "bench": "it stands beside the package, as `python -m benchmarks race` from a checkout",
}

#: Where an option of a command went.
OPTIONS: dict[str, dict[str, str]] = {}

#: What two arguments in a row are now, for the commands that take one table.
ORDERS = {
    "check": ("{1}", "--coefficients", "{0}"),
    "compare": ("{0}", "--test", "{1}"),
    "report": ("{0}", "--test", "{1}"),
    "pareto": ("{0}", "--test", "{1}"),
    "evaluate": ("{0}", "--coefficients", "{1}"),
    "apply": ("{0}", "--coefficients", "{1}"),
}


def gone_option(command: str, given: Sequence[str]) -> str | None:
    """Return where the first of these options went that the command no longer has.

    Examples
    --------
    >>> gone_option("fit", ["--seed"])
    """
    gone = OPTIONS.get(command, {})
    names = (text.partition("=")[0].replace("_", "-") for text in given)
    return next((f"{name} is gone: {gone[name]}" for name in names if name in gone), None)


def new_order(command: str, table: str, second: str, given: Sequence[str]) -> str | None:
    """Return a command line with two arguments in the order of today, None for no such command.

    Parameters
    ----------
    command, table, second : str
        The command, and its arguments in the order in which they were given.
    given : sequence of str
        All that was given to the command, these two and the options.

    Examples
    --------
    >>> new_order("check", "c.json", "new rows.csv", ["c.json", "--json", "new rows.csv"])
    "dnip check 'new rows.csv' --coefficients c.json --json"
    """
    if command not in ORDERS:
        return None
    others = list(given)
    others.remove(table)
    others.remove(second)
    return join(
        ["dnip", command, *(part.format(table, second) for part in ORDERS[command]), *others]
    )
