"""Run the benchmarks named on the command line, or all; ``race`` has a command line of its own.

With ``--keep`` what each prints goes to ``benchmarks/results/NAME.md``, which the documentation
quotes.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmarks import (
    classifier,
    constraints,
    corrections,
    coverage,
    defer,
    drift,
    expected,
    fronts,
    looks,
    mixes,
    peers,
    prompting,
    proofs,
    sampled,
    scores,
    settings,
    shift,
    sidecar,
    startup,
    streaming,
    tasks,
    verdicts,
    weights,
)
from benchmarks.kept import keep
from benchmarks.race.command import main as race
from benchmarks.tables import SHARED, load

BENCHMARKS = {
    "mixes": mixes.run,
    "verdicts": verdicts.run,
    "coverage": coverage.run,
    "expected": expected.run,
    "drift": drift.run,
    "changes": drift.changes,
    "looks": looks.run,
    "shift": shift.run,
    "proofs": proofs.run,
    "fronts": fronts.run,
    "defer": defer.run,
    "scores": scores.run,
    "tasks": tasks.run,
    "settings": settings.run,
    "constraints": constraints.run,
    "weights": weights.run,
    "peers": peers.run,
    "corrections": corrections.run,
    "together": corrections.together,
    "classifier": classifier.run,
    "startup": startup.run,
    "prompting": prompting.run,
    "sidecar": sidecar.run,
    "streaming": streaming.run,
    "sampled": sampled.run,
}

if sys.argv[1:2] == ["race"]:
    sys.exit(race(sys.argv[2:]))

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
