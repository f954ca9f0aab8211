"""The contestants of a race: this package's solvers, and other optimisers (peers)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.base.optional import missing_library
from dnip.base.validation import check_choice
from dnip.solvers import SOLVERS
from dnip.studies.benchmarking.evaluations import evaluate_in_numpy, evaluate_on_kernels
from dnip.studies.benchmarking.peers import (
    cp_sat,
    optuna,
    published,
    pycma,
    scipy,
    solvers,
    tunethresholds,
)
from dnip.studies.benchmarking.results import REFERENCE

if TYPE_CHECKING:
    from dnip.base.errors import MissingDependencyError
    from dnip.studies.benchmarking.arena import Arena, ObjectiveFunction

#: What contestants with real weights are compared with.
FINE = "coordinate-continuous"
#: What is added to the name of a peer on the compiled evaluation.
ON_KERNELS = " (kernels)"
#: Solvers that race unless the user names others; those that prove come first.
DEFAULT_SOLVERS = tuple(
    name for name in ("exact", REFERENCE, FINE, "anneal") if name in SOLVERS or name == FINE
)


@dataclass(frozen=True)
class Contestant:
    """A search that proposes weights to a recorded objective until it is stopped.

    Attributes
    ----------
    name : str
    search : callable
        Takes an arena and a seed. It may end by itself, and is then started again with another
        seed until time is up.
    library : str
        The module that must be installed; empty for none.
    extra : str
        The extra of this package that installs it.
    evaluate : callable
        The evaluation that it is given.
    takes_evaluation : bool
        Whether it uses the evaluation that it is given, and so can be given the compiled one.
    reference : str
        The solver that it is compared with: one with the same freedom of weights.
    """

    name: str
    search: Callable[[Arena, int], None]
    library: str = ""
    extra: str = "bench"
    evaluate: Callable[[Arena], ObjectiveFunction] = evaluate_in_numpy
    takes_evaluation: bool = True
    reference: str = REFERENCE

    def missing(self) -> MissingDependencyError | None:
        """Return what to tell the user where the library is not installed."""
        return missing_library(self.library, purpose=f"run the peer {self.name}", extra=self.extra)

    def on_kernels(self) -> Contestant:
        """Return the same search on this package's compiled evaluation."""
        return replace(self, name=self.name + ON_KERNELS, evaluate=evaluate_on_kernels)


#: The solvers of this package, by name.
OURS: dict[str, Contestant] = {
    name: Contestant(name, solvers.searcher(name), takes_evaluation=False) for name in SOLVERS
} | {
    FINE: Contestant(
        FINE,
        solvers.searcher(REFERENCE, continuous=True),
        takes_evaluation=False,
        reference=FINE,
    )
}

#: What a user might pick instead, by name.
PEERS: dict[str, Contestant] = {
    peer.name: peer
    for peer in (
        Contestant("published-loops", published.search, takes_evaluation=False),
        Contestant("differential-evolution", scipy.differential_evolution, "scipy"),
        Contestant("dual-annealing", scipy.dual_annealing, "scipy"),
        Contestant("optuna-tpe", optuna.tpe, "optuna"),
        Contestant("optuna-cmaes", optuna.cmaes, "cmaes"),
        Contestant("cma", pycma.search, "cma"),
        Contestant(
            "tunethresholds",
            tunethresholds.search,
            "tunethresholds",
            "tunethresholds",
            takes_evaluation=False,
            reference=FINE,
        ),
        Contestant("cp-sat", cp_sat.search, "ortools", takes_evaluation=False),
    )
}


def choose(solvers: str, peers: str, *, kernels: bool = False) -> list[Contestant]:
    """Return the contestants that comma-separated names ask for, solvers first.

    Parameters
    ----------
    solvers, peers : str
        Names; "all" for all peers, "none" for none.
    kernels : bool, default=False
        Also race the peers on the compiled evaluation, where they take one.

    Raises
    ------
    InvalidInputError
        For a name that is not known, or no name at all.

    Examples
    --------
    >>> [contestant.name for contestant in choose("coordinate", "cma,optuna-tpe", kernels=True)]
    ['coordinate', 'cma', 'optuna-tpe', 'cma (kernels)', 'optuna-tpe (kernels)']
    """
    chosen = _named("solvers", solvers, OURS)
    others = list(PEERS.values()) if peers == "all" else _named("peers", peers, PEERS)
    fast = [peer.on_kernels() for peer in others if kernels and peer.takes_evaluation]
    if not chosen + others:
        raise InvalidInputError(
            "solvers and peers are both none: there is nothing to run",
            hint=f"Name some of {', '.join([*OURS, *PEERS])}",
        )
    return chosen + others + fast


def _named(setting: str, names: str, known: dict[str, Contestant]) -> list[Contestant]:
    if names == "none":
        return []
    wanted = dict.fromkeys(name.strip() for name in names.split(","))
    return [known[check_choice(setting, name, [*known, "none"])] for name in wanted]
