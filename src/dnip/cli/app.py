"""The application: every command is registered here, and parsed.

The options of a command are read from its signature: positional parameters are arguments, others
are options. A parameter that is a dataclass stands for all its fields: they are options of the
command, which is handed the whole object. What an option is for stands in the docstring of the
function or the dataclass; or in that of :mod:`dnip.cli.options`, where several commands share it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import wraps
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from keyword import iskeyword
from os import fsencode
from pathlib import Path
from signal import SIGINT
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import click

from dnip.base import __version__
from dnip.base.progress import SignsOfLife
from dnip.cli.console import Verbosity
from dnip.cli.options import __doc__ as shared_words

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
        "pareto": "Show what every β gives, from accurate to even.",
    },
    "Look": {
        "evaluate": "Show which classes starve, and what coefficients change.",
        "report": "Write one HTML page: which classes starve, and what mending costs.",
        "compare": "Compare DNIP with other methods.",
        "check": "Tell whether coefficients still fit new rows.",
    },
    "Use": {
        "apply": "Reweight a table and predict, at any size.",
        "serve": "Correct decisions and chat answers on their way.",
        "export": "Export coefficients to the format of another system.",
        "show": "Show what is in a coefficients file, or what differs between two.",
    },
}
COMMANDS = tuple(name for commands in GROUPS.values() for name in commands)

_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


# Set in a context whose help is to name every option.
_ALL = "dnip.help_all"


def _help_all(ctx: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    """Print the help with every option."""
    if is_asked:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


# The options that take a file to be read beside the first one.
_SECOND_FILES = ("--test", "--coefficients", "--unlabelled")


class Command(click.Command):
    """A command whose help shows the options that most need, or all under plain headings."""

    #: The headings of the options; options without one are those that most need.
    headings: dict[str, str | None]
    #: Lines to type.
    examples: list[str]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; if that fails for a second file, say which options take one."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            unexpected = self.make_parser(ctx).parse_args(typed)[1]
            takers = [name for param in self.params for name in param.opts if name in _SECOND_FILES]
            if not (unexpected and takers):
                raise
            ctx.fail(
                f"Got unexpected extra argument ({' '.join(unexpected)}). A second file is given "
                f"with {' or '.join(takers)}"
            )

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and examples."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each heading: the common options first, the cluster last."""

        def rank(parameter: click.Parameter) -> tuple[bool, bool, bool]:
            heading = self.headings.get(parameter.name)
            return heading is not None, heading == "Cluster", not parameter.required

        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        records = [
            (self.headings.get(option.name), record)
            for option in sorted(options, key=rank)
            if (record := option.get_help_record(ctx)) is not None
        ]
        shown = records if _ALL in ctx.meta else [record for record in records if record[0] is None]
        _write_sections(formatter, [(heading or "Options", record) for heading, record in shown])
        if len(shown) < len(records):
            formatter.write_paragraph()
            n_more = len(records) - len(shown)
            formatter.write_text(f"`{ctx.command_path} --help-all` shows {n_more} more options.")


def _write_sections(
    formatter: click.HelpFormatter, records: list[tuple[str, tuple[str, str]]]
) -> None:
    """Write names and what they stand for under their headings, in order."""
    for heading in dict.fromkeys(heading for heading, _ in records):
        with formatter.section(heading):
            formatter.write_dl([record for section, record in records if section == heading])


class _Words(NamedTuple):
    """What the help says of a parameter."""

    heading: str | None = None
    metavar: str | None = None
    names: tuple[str, ...] = ()  # others that the option has
    text: str = ""


_SECTION = re.compile(r"^(.+)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w.*)\n((?: {4}.*\n?)+)", re.MULTILINE)


def _read_docstring(text: str | None) -> tuple[str, dict[str, _Words], list[str]]:
    """Return what a docstring says: its text, its words on parameters, and lines to type.

    Parameters stand as ``name : METAVAR`` under ``Parameters`` if most need them, else under the
    heading that their options stand under; the names of an option are separated by commas.

    Examples
    --------
    >>> from dnip.cli.options import ClusterOptions
    >>> text, words, lines = _read_docstring(ClusterOptions.__doc__)
    >>> text, words["on"].heading, words["on"].metavar
    ('Where to work.', 'Cluster', 'CLUSTER')
    """
    about, *sections = _SECTION.split(cleandoc(text or ""))
    bodies = dict(zip(sections[::2], sections[1::2], strict=True))
    examples = bodies.pop("Examples", "").splitlines()
    words = {}
    for heading, body in bodies.items():
        for entry, lines in _ENTRY.findall(body):
            names, _, metavar = entry.partition(" : ")
            name, *others = names.split(", ")
            sentences = " ".join(lines.split()).replace(" [default", "  [default")
            section = None if heading == "Parameters" else heading
            words[name] = _Words(section, metavar or None, tuple(others), sentences)
    return about.strip(), words, examples


def _command_of(name: str, function: Callable[..., None], **settings: Any) -> Command:  # noqa: ANN401
    """Return a function as a command, whose options are its parameters and their fields.

    An option without a default is required. A type hint may be ``Annotated`` with what makes the
    value of its text. The docstring is the help; see `_read_docstring`.

    Examples
    --------
    >>> from dnip.cli.options import ObjectiveOptions
    >>> def show(table: Path, /, weights: ObjectiveOptions) -> None:
    ...     print(table, weights.beta)
    >>> _command_of("show", show).main(["here.csv", "--beta", "1"], standalone_mode=False)
    here.csv 1.0
    """
    settings["help"], words_here, examples = _read_docstring(function.__doc__)
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    words = _read_docstring(shared_words)[1]
    declared: list[tuple[str, Any, object]] = []
    arguments = []
    for parameter in signature(function).parameters.values():
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            arguments.append(parameter.name)
        if parameter.name in groups:
            group = groups[parameter.name]
            for base in reversed(group.__mro__):
                words |= _read_docstring(base.__doc__)[1]
            kinds = get_type_hints(group, include_extras=True)
            declared += [(field.name, kinds[field.name], field.default) for field in fields(group)]
        else:
            declared.append((parameter.name, hints[parameter.name], parameter.default))
    words |= words_here

    @wraps(function)
    def run(**values: Any) -> None:  # noqa: ANN401
        for value in values.values():
            if Path("-") in (value if isinstance(value, tuple) else [value]):
                raise click.BadParameter("- is not a file. Standard input and output are not used")
        for parameter, group in groups.items():
            values[parameter] = group(
                **{field.name: values.pop(field.name) for field in fields(group)}
            )
        function(*[values.pop(name) for name in arguments], **values)

    # there are no words under python -OO
    parameters = [
        _parameter(name, kind, default, words.get(name, _Words()), name in arguments)
        for name, kind, default in declared
    ]
    every = click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_help_all,
        hidden=True,
        help="Show all options and exit.",
    )
    command = Command(name, callback=run, params=[*parameters, every], **settings)
    command.examples = examples
    command.headings = {name: words[name].heading for name, *_ in declared if name in words}
    return command


#: What stands for a value of these types.
_METAVARS = {str: "TEXT", int: "N", float: "NUMBER"}


class _Choice(click.Choice[Any]):
    """Words, some of which are members of a class."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        return str(choice)


def _path(text: str | Path) -> Path:
    """Return the path that a text names; a text that cannot be encoded names none."""
    fsencode(text)
    return Path(text)


def _parameter(
    name: str,
    kind: Any,  # noqa: ANN401
    default: object,
    words: _Words,
    is_argument: bool,
) -> click.Parameter:
    """Return an option or an argument."""
    required = default is MISSING or default is Parameter.empty
    settings: dict[str, Any] = {"required": required, "help": words.text}
    if not required:
        settings["default"] = str(default) if isinstance(default, Enum) else default
    parser = None
    if get_origin(kind) is Annotated:
        kind, parser = get_args(kind)
    optional = NoneType in get_args(kind)
    if optional:
        kind = get_args(kind)[0]
    several = get_origin(kind) is list
    if several:
        kind = get_args(kind)[0]
    if kind is Path:
        kind = _path
    if is_argument:
        return click.Argument([name], type=kind, nargs=-1 if several else 1, **settings)
    flag = name.rstrip("_").replace("_", "-")  # a name that Python reserves ends in "_"
    if kind is bool:
        flag = f"--{flag}/--no-{flag}" if optional else f"--{flag}"
        return click.Option([name, flag], is_flag=True, **settings)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = tuple(kind)
    return click.Option(
        [name, f"--{flag}", *(f"--{other}" for other in words.names)],
        type=parser or (_Choice(choices) if choices else kind),
        metavar=words.metavar or "|".join(choices) or _METAVARS.get(kind),
        multiple=several,
        **settings,
    )


class Commands(click.Group):
    """The group of all commands, each loaded when it is run or when its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """Return a command, whose file is loaded; None for a name that is none."""
        if cmd_name not in COMMANDS:
            return None
        function = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = import_module(f"dnip.cli.commands.{function}")
        return _command_of(cmd_name, getattr(module, function), context_settings=_SETTINGS)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:  # noqa: ANN401
        """Find the command that is typed, or whose help is."""
        if args[0] == "help":
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [args[1], "--help"]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, by groups."""
        _write_sections(
            formatter,
            [(group, about) for group, names in GROUPS.items() for about in names.items()],
        )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command that is typed; Ctrl-C is told by `dnip.cli.main`."""
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
    `dnip help COMMAND` says what a command does, with examples and the options that most need;
    `dnip COMMAND --help-all` lists every option.
    """
    Verbosity.quiet = quiet
    SignsOfLife.wanted = False


# What click suggests where a name is mistyped; `get_command` loads the commands themselves.
commands.commands = dict.fromkeys(COMMANDS, commands)
