"""The one loop: methods × seeds on the same rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dnip.base.errors import DNIPError, DNIPWarning, InvalidInputError, listed
from dnip.base.validation import check_integer, check_level
from dnip.method.objective import Objective
from dnip.method.scales import DEFAULT_SCALE
from dnip.metrics.confusion import count_pairs
from dnip.studies.comparison.choosing import RAW, choose, missing_library
from dnip.studies.comparison.results import Comparison, MethodScores, ScoredFit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.studies.baselines import Correction, Method, OptSet
    from dnip.studies.comparison.material import Material

#: Told before every fit: the method, and the number of this fit and of all.
Progress = Callable[[str, int, int], None]

# A first fit is repeated, to learn what it takes without loading and compiling, unless it took
# longer than this and there are others to tell.
_REPEAT_BELOW = 5.0


def compare(
    material: Material,
    methods: Sequence[Method] | None = None,
    *,
    n_labels: int | None = None,
    n_seeds: int = 3,
    confidence: float = 0.9,
    strict: bool = False,
    objective: Objective | None = None,
    scale: int | str = DEFAULT_SCALE,
    progress: Progress = lambda _what, _number, _total: None,
) -> Comparison:
    """Fit every method on the same opt rows and score it on the same test rows.

    Parameters
    ----------
    material : Material
        Opt and test rows.
    methods : sequence of Method, optional
        All by default. The raw argmax is always among them.
    n_labels : int, optional
        Labels that each run draws from the opt rows; all by default.
    n_seeds : int, default=3
        Runs, with the seeds 0, 1, … for draws and fits.
    confidence : float, default=0.9
        Level of the intervals, between 0 and 1.
    strict : bool, default=False
        Raise where a method cannot run, instead of leaving it out.
    objective : Objective, optional
        Told in the result, and given to the methods where these are left out.
    scale : int or str, default="log:1000"
        Likewise.
    progress : callable, optional
        Told before every fit.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInputError
        For a setting outside its range, or with `strict` for a method that cannot run.
    MissingDependencyError
        With `strict`, for a library that is not installed.

    Warns
    -----
    DNIPWarning
        For classes without labelled rows in the opt or test table.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.studies.comparison import Material, choose, compare
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 10)
    >>> labels = np.array([0, 1, 0, 1] * 10)
    >>> material = Material.of(ProbabilityTable(p, labels), ProbabilityTable(p[:20], labels[:20]))
    >>> result = compare(material, choose("dnip-plain"))
    >>> [outcome.estimates["accuracy"].value for outcome in result.methods]
    [0.5, 1.0]
    """
    goal = Objective() if objective is None else objective
    check_integer("seeds", n_seeds, at_least=1)
    check_level("confidence", confidence)
    draws = [material.draw(n_labels, seed) for seed in range(n_seeds)]
    _tell_missing(material, draws)
    ready, skipped = _ready(choose(None, goal, scale=scale) if methods is None else methods, strict)

    raw_right = material.test.argmax(axis=1) == material.true
    n = material.n_classes
    done: list[tuple[Method, list[ScoredFit]]] = []
    interrupted = False
    try:
        for place, method in enumerate(ready):
            runs: list[ScoredFit] = []
            try:
                for seed, opt in enumerate(draws):
                    if seed > 0 and n_labels is None and not method.seeded:
                        runs.append(replace(runs[0], seed=seed))  # the same rows, no chance
                        continue
                    progress(method.name, place * n_seeds + seed + 1, len(ready) * n_seeds)
                    correction, seconds = _fit(method, opt, seed)
                    predicted = correction.predict(material.test)
                    confusion = count_pairs(material.true, predicted, n, n)
                    rights = 2 * raw_right + (predicted == material.true)
                    agreement = count_pairs(material.true, rights, n, 4).reshape(n, 2, 2)
                    learned = correction.to_dict()
                    runs.append(ScoredFit(seed, seconds, confusion, agreement, learned))
            except DNIPError as error:
                if strict:
                    raise
                skipped[method.name] = str(error)
            else:
                done.append((method, runs))
    except KeyboardInterrupt:
        interrupted = True

    outcomes: list[MethodScores] = []
    for method, runs in done:
        raw = outcomes[0] if outcomes else None
        told = method.name, method.summary, method.reads
        outcomes.append(MethodScores.of(*told, runs, confidence, raw=raw))
    return Comparison(
        *material.sources,
        classes=material.classes,
        n_opt=len(draws[0].labels),
        n_test=len(material.true),
        n_unlabelled=len(draws[0].unlabelled),
        n_content_free=len(material.content_free),
        n_seeds=n_seeds,
        confidence=confidence,
        objective=goal.to_dict(),
        scale=scale,
        methods=tuple(outcomes),
        skipped=skipped,
        interrupted=interrupted,
    )


def _ready(methods: Sequence[Method], strict: bool) -> tuple[list[Method], dict[str, str]]:
    """Return the methods that can run, the raw argmax first, and why the others cannot."""
    raw = [method for method in methods if method.name == RAW] or choose(RAW)
    ready, skipped = raw, {}
    for method in methods:
        missing = missing_library(method)
        if missing is not None:
            if strict:
                raise missing
            skipped[method.name] = str(missing)
        elif method.name != RAW:
            ready.append(method)
    names = [method.name for method in ready]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"methods must have different names; got {listed(names)}")
    return ready, skipped


def _fit(method: Method, opt: OptSet, seed: int) -> tuple[Correction, float]:
    """Fit and time; once more where loading and compiling may be part of a first time."""
    began = time.perf_counter()
    correction = method.fit(opt, seed)
    seconds = time.perf_counter() - began
    if seed == 0 and (seconds < _REPEAT_BELOW or not method.seeded):
        began = time.perf_counter()
        correction = method.fit(opt, seed)
        seconds = min(seconds, time.perf_counter() - began)
    return correction, seconds


def _tell_missing(material: Material, draws: Sequence[OptSet]) -> None:
    """Warn once of classes that nothing can be learned of, or that cannot be scored."""
    unlearned = {name for opt in draws for name in material.missing(opt.labels)}
    names = [name for name in material.classes if name in unlearned]
    if names:
        where = material.sources[0] if len(draws) == 1 else f"some draw of {material.sources[0]}"
        warnings.warn(
            f"{where}: no label of class {listed(names)}; nothing is learned of it there",
            DNIPWarning,
            stacklevel=3,
        )
    unscored = material.missing(material.true)
    if unscored:
        warnings.warn(
            f"{material.sources[1]}: no labelled row of class {', '.join(unscored)}: left out",
            DNIPWarning,
            stacklevel=3,
        )
