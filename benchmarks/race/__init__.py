"""Benchmark: this package's solvers and other optimisers, side by side on one table."""

from benchmarks.race.contestants import DEFAULT_SOLVERS, PEERS, Contestant, choose
from benchmarks.race.results import Race
from benchmarks.race.run import race

__all__ = ["DEFAULT_SOLVERS", "PEERS", "Contestant", "Race", "choose", "race"]
