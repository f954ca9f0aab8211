"""How a command is parsed: its options in groups, and its help.

The options of a command are read from its signature. A parameter that is a dataclass stands for all
its fields: they are options of the command, which is handed the whole object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import wraps
from inspect import Parameter, cleandoc, signature
from os import fsencode
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from dnip.base.option import OPTION, Option


class Argument(Option):
    """What the command line shows of an argument, as ``Annotated[Path, Argument("...")]``."""


#: The heading of the options that stand last.
CLUSTER = "Cluster"


class Command(click.Command):
    """A command that lists its options under plain headings."""

    #: The headings of the options.
    headings: dict[str, str | None]
    #: Lines to type.
    examples: list[str]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and examples."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each heading: the common options first, the cluster last."""

        def rank(parameter: click.Parameter) -> tuple[bool, bool, bool]:
            heading = self.headings.get(parameter.name)
            return heading is not None, heading == CLUSTER, not parameter.required

        records = []
        for parameter in sorted(self.get_params(ctx), key=rank):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                records.append((self.headings.get(parameter.name) or "Options", record))
        write_sections(formatter, records)


def write_sections(
    formatter: click.HelpFormatter, records: list[tuple[str, tuple[str, str]]]
) -> None:
    """Write names and what they stand for under their headings, in order."""
    for heading in dict.fromkeys(heading for heading, _ in records):
        with formatter.section(heading):
            formatter.write_dl([record for place, record in records if place == heading])


def command_of(name: str, function: Callable[..., None], **settings: Any) -> Command:  # noqa: ANN401
    """Return a function as a command, whose options are its parameters and their fields.

    The type hint of each is ``Annotated``, and holds an :class:`Argument` or a
    :class:`dnip.base.option.Option`, unless it is a field of :func:`dnip.base.option.option`. An
    option without a default is required. The docstring is the help, and may end in a section
    "Examples" with lines to type.

    Examples
    --------
    >>> from dnip.cli.options import ObjectiveOptions, Table
    >>> def show(table: Table, weights: ObjectiveOptions) -> None:
    ...     print(table, weights.beta)
    >>> command_of("show", show).main(["here.csv", "--beta", "1"], standalone_mode=False)
    here.csv 1.0
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    found: list[tuple[str, Any, Option, object]] = []
    for parameter in signature(function).parameters.values():
        if parameter.name in groups:
            group = groups[parameter.name]
            of_fields = get_type_hints(group, include_extras=True)
            for one in fields(group):
                held = one.metadata.get(OPTION)
                shown = (of_fields[one.name], held) if held else get_args(of_fields[one.name])
                found.append((one.name, *shown, one.default))
        else:
            found.append((parameter.name, *get_args(hints[parameter.name]), parameter.default))

    @wraps(function)
    def run(**given: Any) -> None:  # noqa: ANN401
        for value in given.values():
            if Path("-") in (value if isinstance(value, tuple) else [value]):
                raise click.BadParameter("- is no file. Standard input and output are not used")
        for place, group in groups.items():
            given[place] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        function(**given)

    text, _, examples = cleandoc(function.__doc__ or "").partition("\n\nExamples\n--------\n")
    settings["help"] = text
    command = Command(name, callback=run, params=[_parameter(*one) for one in found], **settings)
    command.examples = examples.splitlines()
    command.headings = {name: shown.group for name, _, shown, _ in found}
    return command


#: What stands for a value of these types.
_WORDS = {str: "TEXT", int: "N", float: "NUMBER"}


class _Choice(click.Choice[Any]):
    """Words, some of which are members of a class."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        return str(choice)


def _path(text: str | Path) -> Path:
    """Return the path that a text names; a text that cannot be encoded names none."""
    fsencode(text)
    return Path(text)


def _parameter(name: str, kind: Any, shown: Option, default: object) -> click.Parameter:  # noqa: ANN401
    """Return an option or an argument."""
    required = default is MISSING or default is Parameter.empty
    settings: dict[str, Any] = {"required": required, "help": shown.help}
    if not required:
        settings["default"] = str(default) if isinstance(default, Enum) else default
    optional = NoneType in get_args(kind)
    if optional:
        kind = get_args(kind)[0]
    several = get_origin(kind) is list
    if several:
        kind = get_args(kind)[0]
    if kind is Path:
        kind = _path
    if isinstance(shown, Argument):
        return click.Argument([name], type=kind, nargs=-1 if several else 1, **settings)
    flag = name.rstrip("_").replace("_", "-")  # a name that Python reserves ends in "_"
    if kind is bool:
        flag = f"--{flag}/--no-{flag}" if optional else f"--{flag}"
        return click.Option([name, flag], is_flag=True, **settings)
    words = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, type) and issubclass(kind, Enum):
        words = tuple(kind)
    return click.Option(
        [name, f"--{flag}", *([f"--{shown.also}"] if shown.also else [])],
        type=shown.parser or (_Choice(words) if words else kind),
        metavar=shown.metavar or "|".join(words) or _WORDS.get(kind),
        multiple=several,
        **settings,
    )
