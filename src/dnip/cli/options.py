"""What commands are made of: decorators, and the options that several of them share.

A command is click's own, with examples. Its options are in the order of the help. Those that most
need have no heading; the others have one, and only ``--help-all`` shows them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import cleandoc
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dnip.base.errors import InvalidInputError, counted
from dnip.cli.console import complain, live_progress
from dnip.cli.gone import check_gone

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster
    from dnip.tables import Scan
    from dnip.using.drift import Check
    from dnip.using.evaluation import Evaluation

_Name = TypeVar("_Name")
_Value = TypeVar("_Value")
_Run = Callable[..., None]
_Decorator = Callable[[_Run], _Run]

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}

# Set in a context whose help is to name every option.
_ALL = "dnip.help_all"
# The options that take a file to be read next to the first one.
_SECOND_FILES = ("--test", "--coefficients", "--unlabelled")

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) *(?:([kmgt])(i?))?b?", re.IGNORECASE)

#: Where coefficients are, if no option names the file.
COEFFICIENTS = Path("coefficients.json")


class Command(click.Command):
    """A command whose help shows examples, and the options that most need or all by headings."""

    def __init__(self, *args: Any, examples: Sequence[str], **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self.examples = examples
        self.params.append(_HELP_ALL)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; if that fails, say what went, and where a second file is given."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            check_gone(self.name or "", typed)
            if isinstance(error, click.NoSuchOption):
                raise
            unexpected = self.make_parser(ctx).parse_args(typed)[1]
            if unexpected:
                check_gone(self.name or "", ["FILE"] * (1 + len(unexpected)))
            takers = [name for param in self.params for name in param.opts if name in _SECOND_FILES]
            if not (unexpected and takers):
                raise
            ctx.fail(
                f"Got unexpected extra argument ({' '.join(unexpected)}). A second file is given "
                f"with {' or '.join(takers)}"
            )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's
        """Run the command; of a file that is no probability table, show how it becomes one."""
        try:
            return super().invoke(ctx)
        except InvalidInputError as error:
            from dnip.tables.cells import BadRowError, ForeignError

            table = ctx.params.get("table")
            is_bad_row = isinstance(error, BadRowError)
            about_table = error.message.startswith(f"{table}:") and not is_bad_row
            if isinstance(table, Path) and about_table:
                from dnip.llm.sources.proposing import propose
                from dnip.tables.formats import ARRAYS

                is_foreign = isinstance(error, ForeignError)
                if table.suffix not in ARRAYS:
                    error.hint = propose(table, is_foreign=is_foreign) or error.hint
            raise

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and examples."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that most need; all, by headings, where those are asked for."""
        every = [
            (getattr(param, "heading", None) or "Options", record)
            for param in self.get_params(ctx)
            if param.param_type_name == "option" and (record := param.get_help_record(ctx))
        ]
        plain = [record for record in every if record[0] == "Options"]
        rest = [record for record in every if record[0] != "Options"]
        write_sections(formatter, plain + rest if _ALL in ctx.meta else plain)
        if rest and _ALL not in ctx.meta:
            formatter.write_paragraph()
            more = counted(len(rest), "more option")
            formatter.write_text(f"`{ctx.command_path} --help-all` shows {more}.")


def write_sections(
    formatter: click.HelpFormatter, records: list[tuple[str, tuple[str, str]]]
) -> None:
    """Write names and what they mean under their headings, in order."""
    for heading in dict.fromkeys(heading for heading, _ in records):
        with formatter.section(heading):
            formatter.write_dl([record for section, record in records if section == heading])


def _help_all(ctx: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    """Print the help with every option."""
    if is_asked:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    hidden=True,
    help="Show all options and exit.",
)


class _Option(click.Option):
    def __init__(self, *args: Any, heading: str | None = None, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self.heading = heading


# --- decorators ---
def command(
    name: str, about: str, *, examples: Sequence[str], environment: str | None = None
) -> Callable[[_Run], Command]:
    """Return a decorator that makes a command of a function, with its help and lines to type.

    Where `environment` is given, variables that begin with it set options, too.

    Examples
    --------
    >>> @command("show", "Show a file.", examples=["dnip show c.json"])
    ... @argument("file", type=path, help="The file.")
    ... @option("--times", type=int, default=1, help="How often.")
    ... def show(file: Path, times: int) -> None:
    ...     print(times * file.name)
    >>> show.main(["c.json", "--times", "2"], standalone_mode=False)
    c.jsonc.json
    """
    settings = {**SETTINGS, "auto_envvar_prefix": environment}
    return click.command(
        name, Command, help=cleandoc(about), examples=examples, context_settings=settings
    )


argument = click.argument


def option(*names: str, heading: str | None = None, help: str, **settings: Any) -> _Decorator:  # noqa: A002, ANN401 - click's
    """Return a decorator that adds an option; one under a heading is shown by --help-all."""
    return click.option(*names, cls=_Option, heading=heading, help=help, **settings)


def flag(*names: str, heading: str | None = None, help: str) -> _Decorator:  # noqa: A002 - click's
    """Return a decorator that adds an option without a value."""
    return option(*names, heading=heading, help=help, is_flag=True)


# --- what the text of a value means ---
def path(text: str | Path) -> Path:
    """Return the path that a text names; a text that cannot be encoded names none."""
    if str(text) == "-":
        raise click.BadParameter("- is not a file. Standard input and output are not used")
    os.fsencode(text)
    return Path(text)


def names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list.

    Examples
    --------
    >>> names("World, Sports")
    ('World', 'Sports')
    """
    return tuple(name.strip() for name in text.split(","))


def size(text: str) -> int:
    """Return a size in bytes: 500MB and 0.5G are powers of 1000, 512MiB is one of 1024.

    Raises
    ------
    click.BadParameter
        For a text that is not a size.

    Examples
    --------
    >>> size("1G"), size("500MB"), size("1.5 GiB"), size("4096")
    (1000000000, 500000000, 1610612736, 4096)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size; write it like 1G, 500MB or 512MiB")
    number, unit, binary = match.groups()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def pair(form: str) -> Callable[[str], tuple[str, str]]:
    """Return what reads a text of a form such as CLASS=RATE.

    Examples
    --------
    >>> pair("CLASS=RATE")("a = 0.5")
    ('a', '0.5')
    """

    def parse(text: str) -> tuple[str, str]:
        name, _, value = (side.strip() for side in text.partition("="))
        if not (name and value):
            raise click.BadParameter(f"{text!r} is not {form}")
        return name, value

    return parse


def by_name(flag: str, pairs: Iterable[tuple[_Name, _Value]]) -> dict[_Name, _Value]:
    """Return what an option that may be given several times says, by name."""
    values: dict[_Name, _Value] = {}
    for name, value in pairs:
        if name in values:
            raise click.BadParameter(f"{flag} gives {name!r} twice")
        values[name] = value
    return values


class Words(click.Choice[Any]):
    """Words to choose from, some of which are members of a class."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Return the word that is typed for one."""
        return str(choice)


# --- options that several commands share ---
labelled_table = argument(
    "table",
    type=path,
    help="Labelled probabilities to fit on: .csv, .jsonl, .parquet, a folder of these, or arrays "
    "of p and y, .npz or .npy.",
)
scored_table = argument(
    "table",
    type=path,
    help="Probabilities: .csv, .jsonl, .parquet, a folder of these, or arrays of p and y, .npz or "
    ".npy. Only rows with a label are scored.",
)
coefficients = option(
    "--coefficients",
    type=path,
    metavar="FILE",
    default=COEFFICIENTS,
    help="The file that `dnip fit` wrote.",
)
classes = option(
    "--classes",
    type=names,
    metavar="A,B,C",
    help="Class names in order, for columns p0, p1, …. [default: the names of the columns]",
)
group = option(
    "--group",
    metavar="COLUMN",
    help="What rows belong to, such as a user with many texts: the rows of a group count as one, "
    "and an empty cell is a group of its own.",
)
by = option(
    "--by",
    metavar="COLUMN",
    help="Also score the rows of each value of this column by themselves; of a time, its halves.",
)
json = flag("--json", help="Print one JSON object.")
#: The level of all intervals that commands show.
CONFIDENCE = 0.9
seed = option(
    "--seed",
    type=int,
    metavar="N",
    default=0,
    heading="Details",
    help="Seed of all random choices: the same seed gives the same result.",
)
target_prior = option(
    "--target-prior",
    metavar="MIX",
    heading="Details",
    help="The class mix that the coefficients are for: A=0.5,B=0.3,… for every class, or a .json "
    "file of the same; uniform; or estimate, from rows without labels.",
)
beta = option(
    "--beta",
    type=float,
    metavar="NUMBER",
    help="β, the weight of COBias, the mean gap between the accuracies of two classes, next to the "
    "error. [default: 0.5, or a larger one that the fit chooses]",
)
scale = option(
    "--scale",
    metavar="K|log:K|span:S",
    heading="Objective",
    help="The weights that a class may have. K: 1/K, 2/K, …, 1; the paper has K = 30. log:K: K "
    "geometric steps from 1/K to 1. span:S: 10,000 geometric steps from e^-S to 1. [default: the "
    "spread of the probabilities]",
)


def cluster(run: _Run) -> _Run:
    """Add the options of a cluster, which the function gets as one `cluster`."""

    @option(
        "--on",
        metavar="CLUSTER",
        heading="Cluster",
        help="Work on a Ray cluster: ray for one on this machine, or ray:ADDRESS.",
    )
    @option(
        "--workers",
        type=int,
        metavar="N",
        heading="Cluster",
        help="Processes that share the work. [default: one per core]",
    )
    @wraps(run)
    def with_cluster(*, on: str | None, workers: int | None, **options: Any) -> None:  # noqa: ANN401
        run(cluster=ClusterOptions(on, workers), **options)

    return with_cluster


@dataclass(frozen=True)
class ClusterOptions:
    """Where to work."""

    on: str | None = None
    workers: int | None = None

    @contextmanager
    def connect(self, *, gpus: bool = False) -> Iterator[Cluster | None]:
        """Connect to the cluster, for a block; None is this process."""
        if self.on is None:
            if self.workers is not None:
                raise InvalidInputError(
                    "--workers is for a cluster", hint="Give --on ray, or leave --workers out"
                )
            yield None
            return
        from dnip.base.cluster import connect

        with connect(self.on, self.workers, gpus=gpus) as cluster:
            if self.on == "ray":
                complain("note", f"it took {cluster.seconds:.1f} s to start the cluster")
            yield cluster

    @contextmanager
    def reading(self, doing: str, scan: Scan) -> Iterator[tuple[Scan, Callable[[int], None]]]:
        """Connect, for a block that reads a table, and give what reads and what shows progress."""
        with self.connect() as workers, live_progress(doing) as show:
            if workers is not None:
                scan = scan.on(workers)
            yield scan, lambda done: show(f"{done:,} rows")


# --- what commands do with the values ---
def tell_of_rows(
    result: Evaluation | Check, group: str | None, by: str | None, level: float
) -> str:
    """Say which rows belong together and where slices starve; return the slices as text."""
    if result.grouping is not None:
        complain("note" if group else "warning", result.grouping.sentence)
    overlap = getattr(result, "overlap", None)
    if overlap is not None and overlap.share:
        complain("warning", overlap.sentence)
    if result.slices is None:
        return ""
    from dnip.presenting.text import describe_slices

    for sentence in result.slices.warnings:
        complain("warning", f"by {by}: {sentence}")
    return f"\n\n{describe_slices(result.slices, by or '', level)}"


def named_file(text: str | None, suffix: str) -> str | None:
    """Return what an option names if that is a file, for it may be a word instead."""
    return text if text is not None and text.lower().endswith(suffix) else None


def line(
    command: str,
    table: Path,
    classes: Sequence[str] | None,
    *,
    by: str | None = None,
    there: Sequence[str] = (),
    **columns: str | None,
) -> str:
    """Return a line to type that reads a table as this command did.

    Parameters
    ----------
    command, table, classes
        What is typed; no classes where the header has them.
    by : str, optional
        A column that the line does not name, so that it has to name the classes.
    there : sequence of str, optional
        The classes that were read.
    **columns : str, optional
        Options that name a column, such as ``group``.

    Examples
    --------
    >>> line("fit", Path("my table.csv"), None, group="user")
    "dnip fit 'my table.csv' --group user"
    >>> line("fit", Path("opt.csv"), None, by="lang", there=["ham", "spam"])
    'dnip fit opt.csv --classes ham,spam'
    """
    from dnip.tables.labels import default_classes

    if by is not None and tuple(there) != default_classes(len(there)):
        classes = there
    named = {"classes": None if classes is None else ",".join(classes), **columns}
    words = [word for name, text in named.items() if text for word in (f"--{name}", text)]
    path = f"./{table}" if str(table).startswith("-") else str(table)  # no option
    return join(["dnip", command, path, *words])
