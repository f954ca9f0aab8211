"""Every method fitted and scored on the same rows, with the same seeds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Generic, TypeVar

from dnip.base.errors import DNIPError, DNIPWarning, listed
from dnip.base.optional import missing_library
from dnip.base.validation import check_integer, check_level
from dnip.comparing.baselines import RAW, Correction, Method, OptSet, choose
from dnip.comparing.material import Material
from dnip.comparing.results import Comparison, MethodScores, ScoredFit
from dnip.method.objective import Objective
from dnip.method.scales import DEFAULT_SCALE
from dnip.metrics.confusion import count_pairs

#: Called before every piece of work: its variant, its number, and the number of all.
Progress = Callable[[str, int, int], None]

Result = TypeVar("Result")

# A first fit is timed again without loading, unless it took longer than this and there are fits
# with other seeds to time.
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
    progress: Progress | None = None,
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
        Reported in the result; also that of the methods where `methods` is left out.
    scale : int or str, default="log:1000"
        Likewise.
    progress : callable, optional
        Called before every fit with the method, the number of the fit, and the number of all.

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
    >>> from dnip.comparing.baselines import choose
    >>> from dnip.comparing import Material, compare
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 10)
    >>> labels = np.array([0, 1, 0, 1] * 10)
    >>> material = Material.of(ProbabilityTable(p, labels), ProbabilityTable(p[:20], labels[:20]))
    >>> result = compare(material, choose("dnip-plain"))
    >>> [method.estimates["accuracy"].value for method in result.methods]
    [0.5, 1.0]
    """
    goal = Objective() if objective is None else objective
    check_integer("seeds", n_seeds, at_least=1)
    check_level("confidence", confidence)
    draws = [material.draw(n_labels, seed) for seed in range(n_seeds)]
    _tell_missing(material, draws)
    ready, skipped = _ready(choose(None, goal, scale=scale) if methods is None else methods, strict)

    fits = repeat(
        {method.name: _fitting(method, material, draws, n_labels is None) for method in ready},
        range(n_seeds),
        progress,
        strict=strict,
    )
    scored: list[MethodScores] = []
    for method in ready:
        if method.name in fits.complete:
            raw = scored[0] if scored else None
            scored.append(MethodScores.of(method, fits.complete[method.name], confidence, raw))
    return Comparison(
        *material.sources,
        classes=material.opt.classes,
        n_opt=len(draws[0].labels),
        n_test=len(material.true),
        n_unlabelled=len(draws[0].unlabelled),
        n_content_free=len(material.opt.content_free),
        seeds=n_seeds,
        confidence=confidence,
        objective=goal.to_dict(),
        scale=scale,
        methods=tuple(scored),
        skipped={**skipped, **fits.skipped},
        interrupted=fits.interrupted,
    )


def _ready(methods: Sequence[Method], strict: bool) -> tuple[list[Method], dict[str, str]]:
    """Return the methods that can run, the raw argmax first, and why the others cannot."""
    ready, skipped = choose(RAW), {}
    for method in methods:
        missing = missing_library(
            method.library, purpose=f"run the method {method.name}", extra=method.extra
        )
        if missing is not None:
            if strict:
                raise missing
            skipped[method.name] = str(missing)
        elif method.name != RAW:
            ready.append(method)
    return ready, skipped


def _fitting(
    method: Method, material: Material, draws: Sequence[OptSet], same_rows: bool
) -> Callable[[int], ScoredFit]:
    """Return what fits a method with a seed and scores it; one fit will do where all are alike."""
    n = material.n_classes
    raw_right = material.test.argmax(axis=1) == material.true

    def run(seed: int) -> ScoredFit:
        correction, seconds = _fit(method, draws[seed], seed)
        predicted = correction.predict(material.test)
        confusion = count_pairs(material.true, predicted, n, n)
        rights = 2 * raw_right + (predicted == material.true)
        agreement = count_pairs(material.true, rights, n, 4).reshape(n, 2, 2)
        return ScoredFit(seed, seconds, confusion, agreement, correction.to_dict())

    if method.seeded or not same_rows:
        return run
    only = cache(lambda: run(0))
    return lambda seed: replace(only(), seed=seed)


def _fit(method: Method, opt: OptSet, seed: int) -> tuple[Correction, float]:
    """Fit and time; once more where loading may be part of a first time."""
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
    opt, test = material.sources
    unlearned = {name for drawn in draws for name in material.missing(drawn.labels)}
    names = [name for name in material.opt.classes if name in unlearned]
    where = opt if len(draws) == 1 else f"some draw of {opt}"
    unscored = material.missing(material.true)
    told = {
        f"{where}: no label of class {listed(names)}; nothing is learned of it there": names,
        f"{test}: no labelled row of class {', '.join(unscored)}: left out": unscored,
    }
    for message in (text for text, lacking in told.items() if lacking):
        warnings.warn(message, DNIPWarning, stacklevel=3)


@dataclass
class Repeats(Generic[Result]):
    """What was found until the end, or until the user stopped it.

    Attributes
    ----------
    n_seeds : int
    found : dict of str to list
        Results by variant, one per seed; fewer where it failed or was interrupted.
    skipped : dict of str to str
        Variants that failed, and why.
    interrupted : bool
        Whether Ctrl-C ended the work.
    """

    n_seeds: int
    found: dict[str, list[Result]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def complete(self) -> dict[str, list[Result]]:
        """The variants that have a result for every seed."""
        return {name: found for name, found in self.found.items() if len(found) == self.n_seeds}


def repeat(
    variants: Mapping[str, Callable[[int], Result]],
    seeds: Sequence[int],
    progress: Progress | None = None,
    *,
    strict: bool = False,
) -> Repeats[Result]:
    """Call every variant with every seed, and keep what is finished when Ctrl-C is pressed.

    Parameters
    ----------
    variants : mapping of str to callable
        From a seed to a result. A variant whose call raises a :class:`~dnip.DNIPError` is left
        with what it has; a call may raise KeyboardInterrupt to end the work.
    seeds : sequence of int
    progress : callable, optional
        Called before every call of a variant.
    strict : bool, default=False
        Raise the error of a variant instead.

    Examples
    --------
    >>> repeats = repeat({"double": lambda seed: 2 * seed, "half": lambda seed: seed / 2}, [1, 2])
    >>> repeats.complete
    {'double': [2, 4], 'half': [0.5, 1.0]}
    """
    repeats: Repeats[Result] = Repeats(len(seeds))
    total = len(variants) * len(seeds)
    try:
        for place, (name, run) in enumerate(variants.items()):
            found = repeats.found.setdefault(name, [])
            try:
                for number, seed in enumerate(seeds, start=place * len(seeds) + 1):
                    if progress is not None:
                        progress(name, number, total)
                    found.append(run(seed))
            except DNIPError as error:
                if strict:
                    raise
                repeats.skipped[name] = str(error)
    except KeyboardInterrupt:
        repeats.interrupted = True
    return repeats
