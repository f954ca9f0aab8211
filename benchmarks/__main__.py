"""Run the benchmarks named on the command line, or all; ``race`` has a command line of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import (
    classifier,
    constraints,
    corrections,
    coverage,
    drift,
    equality,
    expected,
    fronts,
    kills,
    mixes,
    peers,
    prompting,
    proofs,
    quality,
    sampled,
    scale,
    scores,
    settings,
    shift,
    sidecar,
    speed,
    startup,
    streaming,
    tuning,
    weights,
)
from benchmarks.race.command import main as race
from benchmarks.tables import SHARED, load

BENCHMARKS = {
    "speed": speed.run,
    "quality": quality.run,
    "mixes": mixes.run,
    "coverage": coverage.run,
    "expected": expected.run,
    "drift": drift.run,
    "shift": shift.run,
    "proofs": proofs.run,
    "fronts": fronts.run,
    "scores": scores.run,
    "settings": settings.run,
    "tuning": tuning.run,
    "constraints": constraints.run,
    "weights": weights.run,
    "peers": peers.run,
    "corrections": corrections.run,
    "together": corrections.together,
    "classifier": classifier.run,
    "startup": startup.run,
    "prompting": prompting.run,
    "sidecar": sidecar.run,
    "equality": equality.run,
    "kills": kills.run,
    "streaming": streaming.run,
    "scale": scale.run,
    "sampled": sampled.run,
}

if sys.argv[1:2] == ["race"]:
    sys.exit(race(sys.argv[2:]))

parser = argparse.ArgumentParser(prog="python -m benchmarks")
parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME")
parser.add_argument("--tables", type=Path, default=SHARED, metavar="DIR")
arguments = parser.parse_args()

tables = load(arguments.tables)
if len(tables) == 1:
    print(f"no tables in {arguments.tables}: measuring the bundled one alone")
for name in arguments.names or BENCHMARKS:
    BENCHMARKS[name](tables)
