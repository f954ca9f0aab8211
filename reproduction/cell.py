"""The unit of work, of caching and of failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from reproduction.fingerprints import hash_package, hash_values

if TYPE_CHECKING:
    from dnip.tables import ProbabilityTable

# Seed of the division of a table into an opt and a test side.
_CUT_SEED = 0
# Temperatures of the paper's annealing; seconds of a move, and of a move for each row.
_TEMPERATURES, _PER_MOVE, _PER_ROW = 180, 4e-6, 6e-9

#: What a cell computes: it takes tables and settings by name and returns plain JSON values.
CellFunction = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class TableRef:
    """A probability table on disk, or one that prompting will write.

    Attributes
    ----------
    name : str
        A name for people, such as ``"agnews-1-shot-seed0-train"``.
    key : str
        Hash of everything that the table's content depends on.
    path : str
        Where the table is, or will be.
    rows : int
        How many rows it has, or will have at most.
    classes : tuple of str
        Names of the classes.
    part : str
        ``"opt"`` or ``"test"`` for one side of a table that is divided in two by seed; empty for
        the whole table.
    opt_share : float
        The share of rows on the opt side.
    """

    name: str
    key: str
    path: str
    rows: int
    classes: tuple[str, ...]
    part: str = ""
    opt_share: float = 0.5

    @property
    def content(self) -> str:
        """What identifies the rows in the hash of a cell."""
        return f"{self.key} {self.part} {self.opt_share}" if self.part else self.key

    def side(self, part: str, opt_share: float) -> TableRef:
        """Return one side; every class is divided in the same shares."""
        share = opt_share if part == "opt" else 1 - opt_share
        return replace(self, part=part, opt_share=opt_share, rows=round(share * self.rows))

    def read(self) -> ProbabilityTable:
        """Return the rows."""
        from dnip.tables import ProbabilityTable  # noqa: PLC0415

        table = ProbabilityTable.read(self.path, self.classes)
        if not self.part:
            return table
        shares = {"opt": self.opt_share, "test": 1 - self.opt_share}
        return table.split(shares, seed=_CUT_SEED)[self.part]


@dataclass(frozen=True)
class Cell:
    """One computation.

    Attributes
    ----------
    experiment : str
        The experiment that asks for it.
    labels : mapping
        What the cell is about: model, task, shots, seed, method and the like. They are columns of
        the results, and no part of the work: cells that differ in labels only are computed once.
    function : callable
        A function at the top of a module. It receives every table of `tables` as a
        `ProbabilityTable` and every setting, by name, and returns plain JSON values. It must
        depend on nothing else.
    tables : mapping of str to TableRef
    settings : mapping
        Plain JSON values.
    chains : float
        How many fits on `opt` anneal by ``--preset paper``, at K = 30.

    Examples
    --------
    >>> from reproduction.methods import raw_scores
    >>> test = TableRef("test", "5e11", "test.csv", 100, ("no", "yes"))
    >>> one = Cell("confusion", {"task": "agnews"}, raw_scores, {"test": test})
    >>> two = Cell("main", {"task": "AG News"}, raw_scores, {"test": test})
    >>> one.key == two.key
    True
    """

    experiment: str
    labels: Mapping[str, Any]
    function: CellFunction
    tables: Mapping[str, TableRef]
    settings: Mapping[str, Any] = field(default_factory=dict)
    chains: float = 0

    @property
    def hours(self) -> float:
        """Reckoned hours of one core for the chains, most of what a cell may take."""
        if not self.chains:
            return 0.0
        opt = self.tables["opt"]
        moves = _TEMPERATURES * 3 * len(opt.classes) * 30 * self.chains
        return moves * (_PER_MOVE + _PER_ROW * opt.rows) / 3600

    @property
    def name(self) -> str:
        """The experiment and the labels, as one line for people."""
        return " ".join([self.experiment, *(str(value) for value in self.labels.values())])

    @property
    def function_name(self) -> str:
        """The module and name of the function."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def key(self) -> str:
        """Hash of the work: function, tables, settings, and the code of the whole package.

        Any line of the package may change what a function returns, as it calls solvers, kernels
        and metrics.
        """
        return hash_values(
            {
                "function": self.function_name,
                "code": hash_package(),
                "tables": {name: table.content for name, table in self.tables.items()},
                "settings": dict(self.settings),
                "package_version": version("dnip"),
            }
        )


def compute(key: str, cell: Cell) -> dict[str, Any]:
    """Read the tables of a cell and call its function; `key` is for the cache, as it holds all."""
    tables = {name: ref.read() for name, ref in cell.tables.items()}
    result = cell.function(**tables, **cell.settings)
    return json.loads(json.dumps(result, allow_nan=False))  # type: ignore[no-any-return]
