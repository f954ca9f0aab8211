"""What several commands share: words on their arguments and options, and how these are read.

Options under ``Parameters`` are those that most need. Others stand under a heading of their own,
and only ``--help-all`` shows them.

Parameters
----------
table
    Probabilities: a column for each class, and label; .csv, .jsonl, .parquet, or a folder of it.
    Only rows with a label are scored.
coefficients : FILE
    The file that `dnip fit` wrote.
classes : A,B,C
    Class names in order, for columns p0, p1, …. [default: the names of the columns]
task
    agnews, dbpedia, ddi, pubmedqa, rte, sst5, trec, or a .toml file.
shots
    Demonstrations: a number, or balanced for one of each class.
json
    Print one JSON object.

Details
-------
seed
    Seed of all random choices: the same seed gives the same result.
confidence : LEVEL
    Level of the intervals, between 0 and 1.
target_prior : MIX
    The class mix that the coefficients are for: uniform; A=0.5,B=0.3,… for every class; 0.5,0.3,…
    in class order; a .json file of either; or estimate, from rows without labels.

Objective
---------
scale : K|log:K|span:S
    The weights that a class may have. K: 1/K, 2/K, …, 1; the paper has K = 30. log:K: K geometric
    steps from 1/K to 1. span:S: 10,000 geometric steps from e^-S to 1.
    [default: the spread of the probabilities]
smoothing : MU
    μ, added to the counts inside PMI, as published; it may leave classes without predictions.
    [default: 0.4·M for M rows, where τ is above 0]
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import click

from dnip.base.errors import InvalidInputError
from dnip.cli.console import complain, live_progress

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster
    from dnip.method.objective import Objective
    from dnip.tables import ProbabilityTable, Rows, Scan

_Name = TypeVar("_Name")
_Value = TypeVar("_Value")

# Suffixes of the files in a model's folder.
_OF_MODELS = (".json", ".safetensors", ".jinja", ".txt", ".model", ".py", ".gguf")

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) *(?:([kmgt])(i?))?b?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return a size in bytes: 500MB and 0.5G are powers of 1000, 512MiB is one of 1024.

    Raises
    ------
    click.BadParameter
        For a text that is not a size.

    Examples
    --------
    >>> parse_size("1G"), parse_size("500MB"), parse_size("1.5 GiB"), parse_size("4096")
    (1000000000, 500000000, 1610612736, 4096)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size; write it like 1G, 500MB or 512MiB")
    number, unit, binary = match.groups()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def _parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list.

    Examples
    --------
    >>> _parse_names("World, Sports")
    ('World', 'Sports')
    """
    return tuple(name.strip() for name in text.split(","))


def parse_pair(form: str) -> Callable[[str], tuple[str, str]]:
    """Return what reads a text of a form such as CLASS=RATE.

    Examples
    --------
    >>> parse_pair("CLASS=RATE")("a = 0.5")
    ('a', '0.5')
    """

    def parse(text: str) -> tuple[str, str]:
        name, _, value = (side.strip() for side in text.partition("="))
        if not (name and value):
            raise click.BadParameter(f"{text!r} is not {form}")
        return name, value

    return parse


def by_name(flag: str, pairs: Iterable[tuple[_Name, _Value]] | None) -> dict[_Name, _Value]:
    """Return what an option that may be given several times says, by name."""
    values: dict[_Name, _Value] = {}
    for name, value in pairs or ():
        if name in values:
            raise click.BadParameter(f"{flag} gives {name!r} twice")
        values[name] = value
    return values


#: Where coefficients are, if no option names the file.
COEFFICIENTS = Path("coefficients.json")

#: Names, comma-separated; and a level between 0 and 1.
Names: TypeAlias = Annotated[tuple[str, ...] | None, _parse_names]
Level: TypeAlias = Annotated[float, click.FloatRange(0, 1, min_open=True, max_open=True)]


@dataclass(frozen=True)
class ObjectiveOptions:
    """The weights of the objective's terms.

    Parameters
    ----------
    beta
        β, the weight beside the error of COBias, the mean gap between the accuracies of two
        classes. [default: 0.5]

    Objective
    ---------
    tau
        τ, the weight of PMI, by which predictions and labels agree in each class. [default: 0; 0.2
        with --smoothing]
    """

    beta: float | None = None
    tau: float | None = None
    smoothing: float | None = None

    def weighted(self, usual: Objective | None = None, **terms: Any) -> Objective:  # noqa: ANN401
        """Return the objective, the usual one but for what is named.

        A μ alone brings the published τ with it.
        """
        from dnip.method.objective import PUBLISHED_TAU, Objective

        terms |= {"beta": self.beta, "tau": self.tau, "smoothing": self.smoothing}
        if self.tau is None and self.smoothing is not None:
            terms["tau"] = PUBLISHED_TAU
        named = {name: value for name, value in terms.items() if value is not None}
        return replace(usual or Objective(), **named)


def named_file(text: str | None, suffix: str) -> str | None:
    """Return what an option names if that is a file, for it may be a word instead."""
    return text if text is not None and text.lower().endswith(suffix) else None


def line(command: str, table: Path, classes: Sequence[str] | None) -> str:
    """Return a line to type.

    Examples
    --------
    >>> line("fit", Path("my table.csv"), None)
    "dnip fit 'my table.csv'"
    """
    names = [] if classes is None else ["--classes", ",".join(classes)]
    return join(["dnip", command, str(table), *names])


def read_others(
    beside: ProbabilityTable | Rows, classes: Sequence[str] | None, *paths: Path | None
) -> list[ProbabilityTable | None]:
    """Return tables that may be given beside another one, None for one that is not.

    Columns p0, p1, … have the classes of the other table.
    """
    from dnip.tables import ProbabilityTable

    if classes is None and not beside.classes[0].isdigit():
        classes = beside.classes
    return [None if path is None else ProbabilityTable.read(path, classes) for path in paths]


def model_files(*models: str | None) -> list[Path]:
    """Return the files of the models that lie here, for `dnip.base.files.check_files`."""
    here = [Path(name) for name in models if name is not None and os.path.exists(name)]  # noqa: PTH110  # no error for a name that is too long
    return [
        path
        for model in here
        for path in (model.iterdir() if model.is_dir() else (model,))
        if path.suffix in _OF_MODELS and not path.name.endswith(".meta.json")  # a table's, beside
    ]


@dataclass(frozen=True)
class ClusterOptions:
    """Where to work.

    Cluster
    -------
    on : CLUSTER
        Work on a Ray cluster: ray for one on this machine, or ray:ADDRESS.
    workers : N
        Processes that share the work. [default: one per core]
    """

    on: str | None = None
    workers: int | None = None

    @contextmanager
    def connect(self, gpus: float | None = None) -> Iterator[Cluster | None]:
        """Connect to the cluster, for a block; None stands for this process."""
        if self.on is None:
            if self.workers is not None or gpus is not None:
                name = "--workers" if self.workers is not None else "--gpus-per-worker"
                raise InvalidInputError(
                    f"{name} is for a cluster", hint=f"Give --on ray, or leave {name} out"
                )
            yield None
            return
        from dnip.base.cluster import connect

        with connect(self.on, self.workers, gpus or 0.0) as cluster:
            if self.on == "ray":
                complain("note", f"it took {cluster.seconds:.1f} s to start the cluster")
            yield cluster

    @contextmanager
    def reading(
        self, doing: str, scan: Scan, classes: Sequence[str] | None, *, others: bool = False
    ) -> Iterator[tuple[Scan, Callable[[int], None]]]:
        """Connect, for a block that reads a table, and give what reads and what shows progress."""
        with self.connect() as workers, live_progress(doing) as show:
            if workers is not None:
                from dnip.tables.files import ClusterScan

                scan = ClusterScan(Path(scan.source), workers, classes, others=others)
            yield scan, lambda done: show(f"{done:,} rows")
