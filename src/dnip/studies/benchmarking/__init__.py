"""Benchmark: the solvers against what a user would pick instead, side by side on one table."""

from dnip.studies.benchmarking.contestants import DEFAULT_SOLVERS, PEERS, Contestant, choose
from dnip.studies.benchmarking.race import race
from dnip.studies.benchmarking.results import Race, Standing

__all__ = ["DEFAULT_SOLVERS", "PEERS", "Contestant", "Race", "Standing", "choose", "race"]
