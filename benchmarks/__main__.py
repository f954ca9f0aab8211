"""Run the benchmarks named on the command line, or all.

With ``--keep`` what each prints goes to ``benchmarks/results/NAME.md``, which the documentation
quotes.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from benchmarks import (
    chosen,
    classifier,
    constraints,
    corrections,
    coverage,
    defer,
    drift,
    levels,
    mixes,
    proofs,
    race,
    sampled,
    scores,
    shift,
    sidecar,
    slices,
    startup,
    unlabelled,
    verdicts,
)
from benchmarks.kept import keep
from benchmarks.tables import SHARED, load

BENCHMARKS = {
    "mixes": mixes.run,
    "verdicts": verdicts.run,
    "stability": verdicts.stability,
    "unlabelled": unlabelled.run,
    "coverage": coverage.run,
    "levels": levels.run,
    "drift": drift.run,
    "slices": slices.run,
    "shift": shift.run,
    "chosen": chosen.run,
    "proofs": proofs.run,
    "defer": defer.run,
    "scores": scores.run,
    "constraints": constraints.run,
    "race": race.run,
    "cells": race.cells,
    "corrections": corrections.run,
    "together": corrections.together,
    "classifier": classifier.run,
    "startup": startup.run,
    "sidecar": sidecar.run,
    "sampled": sampled.run,
}

parser = argparse.ArgumentParser(prog="python -m benchmarks")
parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME")
parser.add_argument("--tables", type=Path, default=SHARED, metavar="DIR")
parser.add_argument("--keep", action="store_true", help="write benchmarks/results/NAME.md")
arguments = parser.parse_args()

tables = load(arguments.tables)
if len(tables) == 1:
    print(f"no tables in {arguments.tables}: measuring the bundled one alone")
for name in arguments.names or BENCHMARKS:
    if arguments.keep:
        print(keep(name, partial(BENCHMARKS[name], tables)))
    else:
        BENCHMARKS[name](tables)
