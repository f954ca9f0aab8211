"""Benchmark: this package's solvers and other optimisers, side by side on one table."""

from dnip.studies.benchmarking.contestants import DEFAULT_SOLVERS, PEERS, Contestant, choose
from dnip.studies.benchmarking.race import race
from dnip.studies.benchmarking.results import Race

__all__ = ["DEFAULT_SOLVERS", "PEERS", "Contestant", "Race", "choose", "race"]
