"""The contestants of a race: this package's solvers, and other optimisers (peers)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.race.evaluations import evaluate_in_numpy, evaluate_on_kernels
from benchmarks.race.peers import cp_sat, published, scipy, solvers
from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice

if TYPE_CHECKING:
    from benchmarks.race.arena import Arena, ObjectiveFunction

#: What is added to the name of a peer on the compiled evaluation.
ON_KERNELS = " (kernels)"
#: Solvers that race unless the user names others; those that prove come first.
DEFAULT_SOLVERS = ("exact", "coordinate", "anneal", "anneal-paper")


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
    evaluate : callable or None
        Makes the evaluation that the search uses; None for a search that has its own.
    """

    name: str
    search: Callable[[Arena, int], None]
    library: str = ""
    evaluate: Callable[[Arena], ObjectiveFunction] | None = None


#: The solvers of this package, by name.
OURS = {name: Contestant(name, solvers.searcher(solver)) for name, solver in solvers.RACED.items()}

#: What a user might pick instead, by name.
PEERS = {
    peer.name: peer
    for peer in (
        Contestant("authors-loops", published.search),
        Contestant(
            "differential-evolution", scipy.differential_evolution, "scipy", evaluate_in_numpy
        ),
        Contestant("dual-annealing", scipy.dual_annealing, "scipy", evaluate_in_numpy),
        Contestant("cp-sat", cp_sat.search, "ortools"),
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
    >>> [one.name for one in choose("coordinate", "dual-annealing,cp-sat", kernels=True)]
    ['coordinate', 'dual-annealing', 'cp-sat', 'dual-annealing (kernels)']
    """
    chosen = _named("solvers", solvers, OURS)
    others = list(PEERS.values()) if peers == "all" else _named("peers", peers, PEERS)
    if not chosen + others:
        raise InvalidInputError(
            "solvers and peers are both none: there is nothing to run",
            hint=f"Name some of {', '.join([*OURS, *PEERS])}",
        )
    fast = [
        replace(peer, name=peer.name + ON_KERNELS, evaluate=evaluate_on_kernels)
        for peer in others
        if kernels and peer.evaluate is not None
    ]
    return chosen + others + fast


def _named(setting: str, names: str, known: dict[str, Contestant]) -> list[Contestant]:
    if names == "none":
        return []
    wanted = dict.fromkeys(name.strip() for name in names.split(","))
    return [known[check_choice(setting, name, [*known, "none"])] for name in wanted]
