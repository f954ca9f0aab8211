"""Cheap cells for the engine, in a module that worker processes can import."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dnip.base.errors import InvalidInputError, OutputError
from reproduction.cell import Cell, TableRef


@dataclass(frozen=True)
class FakeRequest:
    """A table that is made by writing two rows."""

    path: str
    fails: bool = False
    rows: int = 2
    model: str = "m"

    @property
    def is_made(self):
        """Whether it is there."""
        return Path(self.path).exists()

    @property
    def table(self):
        """The table, named after its file."""
        return TableRef(Path(self.path).stem, f"key of {self.path}", self.path, 2, ("yes", "no"))

    def make(self, progress=None):
        """Write it, or fail as a model does that cannot be loaded."""
        if progress is not None:
            progress(1, 2)
        if self.fails:
            raise InvalidInputError("the model cannot be loaded")
        Path(self.path).write_text("label,p0,p1\nyes,0.9,0.1\nno,0.2,0.8\n")
        return {}


def draw(seed, nap=0.0, log=None):
    """Draw numbers; note in a file that it was done."""
    if log is not None:
        with Path(log).open("a") as file:
            file.write(f"{seed}\n")
    time.sleep(nap)
    return {"numbers": np.random.default_rng(seed).random(3).tolist()}


def fail_without(path):
    """Fail until a file is there."""
    if not Path(path).exists():
        raise ValueError(f"no file {path}")
    return {"found": True}


def die(seed):
    """End the process as a system short of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": seed}


def fill_disk(seed):
    """Fail as a full disk makes outputs fail."""
    raise OutputError(f"table-{seed}.csv cannot be written: No space left on device")


def no_number(seed):
    """Return what is no JSON."""
    return {"seed": seed, "value": float("nan")}


def describe(table, factor):
    """Sum up a table."""
    return {"rows": len(table), "classes": list(table.classes), "factor": factor}


def fake(function, label, tables=None, chains=0, **settings):
    """Return a cell of the experiment `fake`."""
    return Cell("fake", {"label": label}, function, tables or {}, settings, chains)
