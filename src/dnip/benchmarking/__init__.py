"""Benchmark: the solvers against what a user would pick instead, side by side on one table."""

from dnip.benchmarking.contestants import DEFAULT_SOLVERS, PEERS, Contestant, choose
from dnip.benchmarking.race import race
from dnip.benchmarking.results import Race, Standing

__all__ = ["DEFAULT_SOLVERS", "PEERS", "Contestant", "Race", "Standing", "choose", "race"]
