"""How a command is parsed: its options in groups, its help, and what was typed in older versions.

Typer reads the options of a command from its signature. Here a parameter that is a dataclass
stands for all its fields: they are options of the command, which is handed the whole object.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import join
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from dnip.base.option import option_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


#: Where commands of older versions went.
GONE = {
    "diff": "`dnip show A B` shows what differs between two coefficients files",
    "reproduce": "it stands beside the package, as `python -m reproduction` from a checkout",
    "ablate": "it stands beside the package, as `python -m reproduction ablation` from a checkout",
    "bench": "it stands beside the package, as `python -m benchmarks race` from a checkout",
}

#: Where options of a command went.
GONE_OPTIONS = {
    "fit": {"--memory": "of a table with more rows than --rows, a sample is fitted in memory"},
    **{
        command: {"--memory": "tables of any size are read in small blocks"}
        for command in ("apply", "check", "evaluate")
    },
    "tune": {
        "--on": "settings are chosen on this machine",
        "--workers": "settings are chosen on this machine",
    },
}

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
    >>> gone_option("tune", ["--seed", "0", "--on=ray"])
    '--on is gone: settings are chosen on this machine'
    """
    gone = GONE_OPTIONS.get(command, {})
    names = (text.partition("=")[0].replace("_", "-") for text in given)
    return next((f"{name} is gone: {gone[name]}" for name in names if name in gone), None)


def new_order(command: str, table: str, second: str, given: Sequence[str]) -> str:
    """Return a command line with two arguments in the order of today.

    Parameters
    ----------
    command, table, second : str
        A command in `ORDERS`, and its arguments in the order in which they were given.
    given : sequence of str
        All that was given to the command, these two and the options.

    Examples
    --------
    >>> new_order("check", "c.json", "new rows.csv", ["c.json", "--json", "new rows.csv"])
    "dnip check 'new rows.csv' --coefficients c.json --json"
    """
    others = list(given)
    others.remove(table)
    others.remove(second)
    return join(
        ["dnip", command, *(part.format(table, second) for part in ORDERS[command]), *others]
    )


class Command(TyperCommand):
    """A command that explains old ways to type it, and lists its options under plain headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Read the options; refuse those that are gone, and a second table without its option."""
        gone = gone_option(self.name or "", args)
        if gone is not None:
            ctx.fail(gone)
        given, rest, _ = self.make_parser(ctx).parse_args(list(args))
        if len(rest) == 1 and self.name in ORDERS and not given.get("help"):
            line = new_order(self.name, given["table"], rest[0], args)
            ctx.fail(f"it takes one table, and the rest by options: {line}")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write a section for each heading, in order; required options stand first."""
        records = []
        for parameter in sorted(self.get_params(ctx), key=lambda one: not one.required):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                records.append((getattr(parameter, "rich_help_panel", None) or kind, record))
        write_sections(formatter, records)


def write_sections(formatter: Any, records: list[tuple[str, tuple[str, str]]]) -> None:  # noqa: ANN401
    """Write names and what they stand for under their headings, in order."""
    for heading in dict.fromkeys(heading for heading, _ in records):
        with formatter.section(heading):
            formatter.write_dl([record for place, record in records if place == heading])


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose signature has the fields of its dataclasses in place of these.

    The type hint of a field is what Typer takes, ``Annotated[int, typer.Option(help="...")]``, or
    holds a :class:`dnip.base.option.Option`. A field without a default is a required option.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> @with_option_groups
    ... def show(point: Point, name: str) -> None:
    ...     print(name, point)
    >>> signature(show)
    <Signature (*, x: int, y: int = 0, name: str)>
    >>> show(x=1, y=2, name="here")
    here Point(x=1, y=2)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            parameters += _parameters_of(groups[name])
        else:
            parameters.append(_parameter(name, hints[name], parameter.default))

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401
        for value in given.values():
            if Path("-") in (value if isinstance(value, list) else [value]):
                raise typer.BadParameter("- is no file. Standard input and output are not used")
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters_of(group: Any) -> list[Parameter]:  # noqa: ANN401
    hints = get_type_hints(group, include_extras=True)
    return [
        _parameter(
            field.name,
            hints[field.name],
            Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]


#: What stands for a value of these types.
_WORDS = {str: "TEXT", int: "N", float: "NUMBER"}


def _metavar(kind: Any) -> str | None:  # noqa: ANN401
    """Return what stands for the value of an option: a word, or all that it may be."""
    kinds = [one for one in get_args(kind) if one is not NoneType]
    if get_origin(kind) is Literal:
        return "|".join(kinds)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(kind)
    return _metavar(kinds[0]) if len(kinds) == 1 else _WORDS.get(kind)


def _parameter(name: str, hint: Any, default: object) -> Parameter:  # noqa: ANN401
    option = option_of(hint)
    if option is not None:
        kind = get_args(hint)[0]
        # A name that Python reserves ends in "_"; and a flag has no --no-...
        own = kind is bool or name.endswith("_")
        flag = [f"--{name.rstrip('_').replace('_', '-')}"] if own else []
        shown = typer.Option(
            *flag,
            help=option.help,
            metavar=option.metavar or _metavar(kind),
            parser=option.parser,
            rich_help_panel=option.group,
            readable=False,  # whoever opens a file says why it cannot be read, and what to do
        )
        hint = Annotated[kind, shown]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
