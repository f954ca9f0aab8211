"""What commands print, for the documentation: blocks of output are made, not typed.

A page says ``<!-- [[[cog show("dnip evaluate test.csv") ]]] -->`` and ``<!-- [[[end]]] -->``;
``make printed`` writes the command and its output between the two, and a test runs all of them
again. The commands of a page run in one folder, one after the other. It holds the two bundled
tables, as opt.csv and test.csv and in examples/.

What takes long is measured apart: ``python -m benchmarks NAME --keep`` writes a file of results,
and ``table("NAME")`` quotes it.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import cog  # is there while cog runs

from benchmarks.kept import RESULTS, defaults

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
_WIDTH = 100


def show(*commands: str, lines: str = "", status: int = 0, quiet: bool = False) -> None:
    """Print shell commands, and what the last one prints, as two blocks of Markdown.

    Parameters
    ----------
    *commands : str
        Run by bash; the last one's output is shown, errors included.
    lines : str
        Which lines of the output are shown, counted from 1: ``"2-5,9"``. What is left out between
        them and at the end becomes ``…``.
    status : int
        The exit status that the last command must have.
    quiet : bool
        Show the output only.
    """
    place = folder(cog.inFile)
    for command in commands[:-1]:
        run(command, place)
    printed = run(commands[-1], place, status)
    if not quiet:
        cog.outl("```sh\n" + "\n".join(commands) + "\n```\n")
    cog.outl(f"```text\n{pick(printed, lines)}\n```")


def run(command: str, place: Path, status: int = 0) -> str:
    """Run a command in a folder, and return what it prints."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": str(_WIDTH),
            "TERMINAL_WIDTH": str(_WIDTH),
            "NO_COLOR": "1",
            "MPLBACKEND": "agg",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != status:
        raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stdout}")
    # What takes longer than half a minute on a slow machine writes of its progress, too.
    return re.sub(r"^progress: .*\n", "", done.stdout, flags=re.M).strip("\n")


def pick(printed: str, lines: str) -> str:
    """Return some lines of a text, with … for those between and after."""
    if not lines:
        return printed
    every, last = printed.split("\n"), 0
    shown: list[str] = []
    for first, end in _parts(lines):
        if shown and first > last + 1:
            shown.append("…")
        last = end
        shown += every[first - 1 : last]
    if last < len(every):
        shown.append("…")
    return "\n".join(shown).strip("\n")


def table(name: str, heading: str = "", *, rows: str = "", columns: str = "") -> None:
    """Print a table of ``benchmarks/results/NAME.md``, and when and of what code it was measured.

    Parameters
    ----------
    name : str
        The benchmark.
    heading : str
        How the heading of the table begins; the first table if it is left out.
    rows, columns : str
        Which are shown, counted from 1: ``"1,3-5"``. The first column has the names.
    """
    kept = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    head, _, settings = kept.split("\n", 1)[0].partition(", defaults ")
    if f"defaults {settings}" != defaults():  # of a day with others, which the page then names
        head += f", with {settings}"
    cog.outl(f"{quote(kept, heading, rows, columns)}\n\n*{head}*")


def quote(kept: str, heading: str = "", rows: str = "", columns: str = "") -> str:
    """Return a table of a text, or some rows and columns of it."""
    for section in kept.split("\n### ")[1:]:
        if section.startswith(heading):
            lines = [line for line in section.split("\n") if line.startswith("|")]
            break
    else:
        raise SystemExit(f"no table {heading!r}")
    lines = lines[:2] + _chosen(lines[2:], rows)
    cells = [_chosen(line.strip("|").split("|"), columns) for line in lines]
    return "\n".join(f"|{'|'.join(line)}|" for line in cells)


def _chosen(items: list[str], numbers: str) -> list[str]:
    if not numbers:
        return items
    return [item for first, last in _parts(numbers) for item in items[first - 1 : last]]


def _parts(numbers: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each part of ``"2-5,9"``."""
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        yield int(first), int(last or first)


@cache
def folder(page: str) -> Path:
    """Return the folder of a page, which goes when cog ends."""
    made = Path(tempfile.mkdtemp(prefix=f"{Path(page).stem}-"))
    atexit.register(shutil.rmtree, made)
    shutil.copytree(ROOT / "examples", made / "examples")
    for name in ("opt.csv", "test.csv"):
        shutil.copy(ROOT / "examples" / name, made)
    return made
