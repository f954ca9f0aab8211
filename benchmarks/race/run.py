"""All contestants on one table, each with the same seeds and the same time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.race.arena import Arena, Stop
from benchmarks.race.evaluations import plain_evaluation
from benchmarks.race.results import Race, Run, highest_bound
from dnip.base.errors import InvalidInputError
from dnip.base.optional import missing_library
from dnip.base.validation import check_integer, check_number, check_scale
from dnip.comparing.run import repeat
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.tables.guards import scored_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.race.contestants import Contestant
    from dnip.comparing.run import Progress
    from dnip.tables import ProbabilityTable

# Seconds of a rehearsal, and how often at most: each may end at the next thing to compile or load.
_REHEARSAL, _REHEARSALS = 0.05, 5


def race(
    table: ProbabilityTable,
    contestants: Sequence[Contestant],
    objective: Objective | None = None,
    *,
    scale: int = 30,
    time_limit: float = 1.0,
    n_seeds: int = 3,
    name: str | None = None,
    progress: Progress | None = None,
) -> Race:
    """Give every contestant the same time on the labelled rows of a table, once per seed.

    A search that ends by itself is started again with another seed until time is up. A run ends
    early where it stands at an optimum that has been proven, by itself or by a run before. Ctrl-C
    ends the race; the runs that were finished are kept. What a contestant loads or compiles once
    per process is done before its clock starts; what it prepares for the table is timed.

    Parameters
    ----------
    table : ProbabilityTable
        Every class must have labelled rows.
    contestants : sequence of Contestant
        Those that prove come first: their proofs spare time afterwards.
    objective : Objective, optional
        ``Objective()`` by default; all three terms, COBias over pairs.
    scale : int, default=30
        K, at least 2.
    time_limit : float, default=1.0
        Seconds of each run.
    n_seeds : int, default=3
        Runs of each contestant, with the seeds 0, 1, …
    name : str, optional
        What to call the table; its source by default.
    progress : callable, optional
        Called before every run with the contestant, the number of the run, and the number of all.

    Returns
    -------
    Race

    Raises
    ------
    InvalidInputError
        For a setting outside its range, or a class without labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from benchmarks.race import choose, race
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
    >>> table = ProbabilityTable(p, np.array([0, 1, 0, 1]))
    >>> both = choose("exhaustive", "authors-loops")
    >>> result = race(table, both, time_limit=5.0, n_seeds=1)
    >>> result.is_proven, [one.best == result.best_known for one in result.summaries]
    (True, [True, True])
    """
    objective = Objective() if objective is None else objective
    scale = check_integer("scale", check_scale(scale), at_least=2)
    time_limit = check_number("time_limit", time_limit, above=0)
    n_seeds = check_integer("n_seeds", n_seeds, at_least=1)
    labelled = scored_rows(table, "a benchmark")
    assert labelled.labels is not None
    rows = Problem.of(labelled.probabilities, labelled.labels, classes=table.classes)
    if not rows.present.all():
        missing = ", ".join(np.array(table.classes)[~rows.present])
        raise InvalidInputError(
            f"{table.source}: no labelled row of class {missing}, which peers cannot leave out",
            hint="Give a table with labelled rows of every class",
        )
    skipped, ready = {}, []
    for contestant in contestants:
        error = missing_library(
            contestant.library, purpose=f"run the peer {contestant.name}", extra="bench"
        )
        if error is None:
            ready.append(contestant)
        else:
            skipped[contestant.name] = str(error)

    evaluate = plain_evaluation(rows.probabilities, rows.labels, objective)
    raw = evaluate(np.full(rows.n_classes, scale))
    runs: list[Run] = []

    def enter(contestant: Contestant, seed: int, seconds: float, floor: float | None) -> Run:
        arena = Arena(
            rows.probabilities,
            rows.labels,
            objective,
            scale,
            raw=raw,
            evaluate=contestant.evaluate,
            time_limit=seconds,
            floor=floor,
        )
        try:
            for own_seed in _seeds(seed):
                arena.check_time()
                contestant.search(arena, own_seed)
        except Stop:
            pass
        return Run(contestant.name, seed, tuple(arena.course), arena.evaluations, arena.lower_bound)

    def entering(contestant: Contestant) -> Callable[[int], None]:
        def run(seed: int) -> None:
            if seed == 0:
                _rehearse(lambda: enter(contestant, 0, _REHEARSAL, None))
            floor = highest_bound(runs)
            runs.append(enter(contestant, seed, time_limit, floor))

        return run

    repeats = repeat({one.name: entering(one) for one in ready}, range(n_seeds), progress)
    return Race(
        table=table.source if name is None else name,
        n_rows=len(rows.labels),
        classes=rows.classes,
        scale=scale,
        objective=objective.to_dict(),
        time_limit=time_limit,
        runs=tuple(runs),
        skipped={**skipped, **repeats.skipped},
        interrupted=repeats.interrupted,
    )


def _seeds(seed: int) -> Iterator[int]:
    """Yield the seed, then others drawn from it."""
    yield seed
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(2**31))


def _rehearse(run: Callable[[], object]) -> None:
    """Run again and again until nothing is left that takes time once only."""
    for _ in range(_REHEARSALS):
        began = time.perf_counter()
        run()
        if time.perf_counter() - began < 2 * _REHEARSAL:
            return
