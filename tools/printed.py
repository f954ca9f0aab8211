"""What commands print, for the documentation: blocks of output are made, not typed.

A page says ``<!-- [[[cog show("dnip evaluate test.csv") ]]] -->`` and ``<!-- [[[end]]] -->``;
``make printed`` writes the command and its output between the two, and a test runs all of them
again. The commands of a page run in one folder, one after the other. It holds the two bundled
tables, as opt.csv and test.csv and in examples/.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import cog  # is there while cog runs

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
    return done.stdout.strip("\n")


def pick(printed: str, lines: str) -> str:
    """Return some lines of a text, with … for those between and after."""
    if not lines:
        return printed
    every, last = printed.split("\n"), 0
    shown: list[str] = []
    for part in lines.split(","):
        first, _, end = part.partition("-")
        if shown and int(first) > last + 1:
            shown.append("…")
        last = int(end or first)
        shown += every[int(first) - 1 : last]
    if last < len(every):
        shown.append("…")
    return "\n".join(shown).strip("\n")


@cache
def folder(page: str) -> Path:
    """Return the folder of a page, which goes when cog ends."""
    made = Path(tempfile.mkdtemp(prefix=f"{Path(page).stem}-"))
    atexit.register(shutil.rmtree, made)
    shutil.copytree(ROOT / "examples", made / "examples")
    for name in ("opt.csv", "test.csv"):
        shutil.copy(ROOT / "examples" / name, made)
    return made
