"""The tables to measure on, and how to print what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dnip import ProbabilityTable
from dnip.comparing.demonstration import bundled_table

SHARED = Path(__file__).parents[1] / ".." / "shared" / "tables"


class Table(NamedTuple):
    """One table, cut in two halves."""

    name: str
    opt: ProbabilityTable
    test: ProbabilityTable


def load(folder: Path) -> list[Table]:
    """Return the bundled table and those of a folder, fewest classes first."""
    tables = [Table("agnews (bundled)", bundled_table("opt"), bundled_table("test"))]
    for opt in folder.glob("*/opt.csv.gz"):
        halves = (ProbabilityTable.read(opt.parent / f"{half}.csv.gz") for half in ("opt", "test"))
        tables.append(Table(opt.parent.name, *halves))
    return sorted(tables, key=lambda table: (table.opt.n_classes, table.name))


def print_markdown(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a heading and a table; the first column is text, the others numbers."""
    print(f"\n### {title}\n", flush=True)
    print(f"| {' | '.join(header)} |")
    print(f"|{'|'.join([' --- ', *[' ---: '] * (len(header) - 1)])}|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
