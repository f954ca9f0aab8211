"""The unit of work, of caching and of failure."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dnip.tables import ProbabilityTable

# Of the cut of a table into an opt and a test side.
_CUT_SEED = 0

#: What a cell computes: takes tables and settings by name, returns plain JSON values.
CellFunction = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class TableRef:
    """A probability table that is there, or that prompting will make.

    Attributes
    ----------
    name : str
        For people, such as ``"agnews-1-shot-seed0-train"``.
    key : str
        Hash of all that the table's content depends on.
    path : str
        Where it is, or will be.
    rows : int
        How many rows it has, or will have at most.
    classes : tuple of str
        Names of its classes.
    part : str
        ``"opt"`` or ``"test"`` where the table is cut in two by seed and this is one side of it;
        empty for the whole table.
    opt_share : float
        How much of the table its opt side has.
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
        """What stands for the rows in the hash of a cell."""
        return f"{self.key} {self.part} {self.opt_share}" if self.part else self.key

    def side(self, part: str, opt_share: float) -> TableRef:
        """Return one side of a cut; rows are divided alike within every class."""
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
        What the cell is about: model, task, shots, seed, method and the like; columns of the
        results. No part of the work: two cells may differ in labels only.
    function : callable
        A function of a module (not a lambda, not nested). It receives every table of `tables` as a
        `ProbabilityTable` and every setting, by name, and returns plain JSON values.
    tables : mapping of str to TableRef
    settings : mapping
        Plain JSON values.

    Examples
    --------
    >>> from dnip.studies.reproduction.protocol import score_table
    >>> test = TableRef("test", "5e11", "test.csv", 100, ("no", "yes"))
    >>> one = Cell("confusion", {"task": "agnews"}, score_table, {"test": test})
    >>> two = Cell("main", {"task": "AG News"}, score_table, {"test": test})
    >>> one.key == two.key
    True
    """

    experiment: str
    labels: Mapping[str, Any]
    function: CellFunction
    tables: Mapping[str, TableRef]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The experiment and the labels, for people."""
        return " ".join([self.experiment, *(str(value) for value in self.labels.values())])

    @property
    def key(self) -> str:
        """Hash of the work: function and its source, tables, settings, package version."""
        return content_key(
            {
                "function": f"{self.function.__module__}.{self.function.__qualname__}",
                "source": _source_hash(self.function.__module__),
                "tables": {name: table.content for name, table in self.tables.items()},
                "settings": dict(self.settings),
                "package_version": version("dnip"),
            }
        )


def content_key(content: dict[str, Any]) -> str:
    """Return the SHA-256 of plain JSON values, whatever the order of keys.

    Examples
    --------
    >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _source_hash(module: str) -> str:
    """Return the hash of a module's source: what an experiment computes changes with it."""
    path = sys.modules[module].__file__
    assert path is not None
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
