"""What several commands share: words on their arguments and options, and how these are read.

Parameters
----------
table
    Probabilities: a column for each class, and label; .csv, .jsonl, .parquet, or a folder of it.
    Rows without a label are not scored.
coefficients : FILE
    The coefficients.json that `dnip fit` wrote.
classes : A,B,C
    Class names in order, for columns p0, p1, …. [default: the names of the columns]
confidence : LEVEL
    Level of the intervals, between 0 and 1.
target_prior : MIX
    The class mix that the coefficients are for: uniform; A=0.5,B=0.3,… for every class; 0.5,0.3,…
    in class order; a .json file of either; or estimate, from rows without labels.
task
    agnews, dbpedia, ddi, pubmedqa, rte, sst5, trec, or a .toml file.
shots
    Demonstrations: a number, or balanced for one of each class.
seed
    Seed of the demonstrations.
json
    Print one JSON object.

Objective
---------
scale : K|log:K|span:S
    K: weights are 1/K, 2/K, …, 1; the paper has K = 30. log:K: K geometric steps from 1/K to 1.
    span:S: 10,000 geometric steps from e^-S to 1.
smoothing : MU
    μ, added to the counts inside PMI. The objective is then the published one, and may leave
    classes without predictions. [default: 0.4·M where τ is above 0]
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

import click

from dnip.base.errors import InvalidInputError
from dnip.cli.console import complain, live_progress

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster
    from dnip.method.objective import Objective
    from dnip.tables import ProbabilityTable, Rows, Scan

# Defaults of the library that are too slow to import for a list of options.
BETA = 0.5
PUBLISHED_TAU = 0.2

#: Text, for the parser of the option reads defaults, too.
DEFAULT_CONFIDENCE = 0.9

# Suffixes of the files in a model's folder.
_OF_MODELS = (".json", ".safetensors", ".jinja", ".txt", ".model", ".py", ".gguf")

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+) *(?:([kmgt])(i?))?b?", re.IGNORECASE)


def parse_memory(text: str | int) -> int:
    """Return a size in bytes: 500MB and 0.5G are powers of 1000, 512MiB is one of 1024.

    Raises
    ------
    click.BadParameter
        For a text that is not a size.

    Examples
    --------
    >>> parse_memory("1G"), parse_memory("500MB"), parse_memory("1.5 GiB"), parse_memory(4096)
    (1000000000, 500000000, 1610612736, 4096)
    """
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size; write it like 1G, 500MB or 512MiB")
    number, unit, binary = match.groups()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    size = float(number) * (1024 if binary else 1000) ** power
    if size >= 1e18:
        raise click.BadParameter(f"{number[:20]}… is more memory than there is; write it like 1G")
    return int(size)


#: Text, as on a command line.
DEFAULT_ROWS: Any = "1000000"


def parse_rows(text: str) -> int | None:
    """Return a number of rows; None for all.

    Raises
    ------
    click.BadParameter
        For another text.

    Examples
    --------
    >>> parse_rows("1000000"), parse_rows("all")
    (1000000, None)
    """
    if text == "all":
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise click.BadParameter(f"{text!r} is neither a number of rows nor all")
    return int(text)


def scale_name(name: str) -> str:
    """Return the name of a scale of weights.

    Raises
    ------
    click.BadParameter
        For another text.
    """
    from dnip.method.scales import SCALE_NAME

    if SCALE_NAME.fullmatch(name) is None:
        raise click.BadParameter(f"{name!r} is not K, log:K or span:S")
    return name


@dataclass(frozen=True)
class ObjectiveOptions:
    """The weights of the objective's terms.

    Parameters
    ----------
    beta
        β, weight of COBias. [default: 0.5; 2.7 with a preset]

    Objective
    ---------
    tau
        τ, weight of the PMI term. [default: 0; 0.2 with --smoothing]
    """

    beta: float | None = None
    tau: float | None = None
    smoothing: float | None = None

    def weighted(self, **settings: Any) -> Objective:  # noqa: ANN401
        """Return the objective; a μ alone brings the published τ with it."""
        from dnip.method.objective import Objective

        tau = self.tau
        if tau is None:
            tau = 0.0 if self.smoothing is None else PUBLISHED_TAU
        beta = BETA if self.beta is None else self.beta
        return Objective(beta, tau, self.smoothing, **settings)


def named_file(text: str | None, suffix: str) -> str | None:
    """Return what an option names if that is a file, for it may be a word instead."""
    return text if text is not None and text.lower().endswith(suffix) else None


def split_classes(classes: str | None) -> tuple[str, ...] | None:
    """Return the names in a comma-separated list, None for none."""
    if classes is None:
        return None
    return tuple(name.strip() for name in classes.split(","))


def line(command: str, table: Path, classes: str | None) -> str:
    """Return a line to type.

    Examples
    --------
    >>> line("fit", Path("my table.csv"), None)
    "dnip fit 'my table.csv'"
    """
    return join(["dnip", command, str(table), *([] if classes is None else ["--classes", classes])])


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
    here = [Path(model) for model in models if model is not None and os.path.exists(model)]  # noqa: PTH110  # no error for a name that is too long
    return [
        path
        for place in here
        for path in (place.iterdir() if place.is_dir() else (place,))
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
                from dnip.tables.reading import ClusterScan

                scan = ClusterScan(Path(scan.source), workers, classes, others=others)
            yield scan, lambda done: show(f"{done:,} rows")
