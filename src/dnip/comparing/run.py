"""Every method fitted and scored on the same rows, with the same seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from dnip.base.errors import DNIPError, listed, warn
from dnip.base.validation import check_integer, check_level
from dnip.comparing.baselines import RAW, choose
from dnip.comparing.material import Material, Method, OptSet
from dnip.comparing.results import Comparison, MethodScores, ScoredFit
from dnip.method.objective import Objective
from dnip.metrics.confusion import count_pairs

#: Called before every piece of work: its variant, its number, and the number of all.
Progress = Callable[[str, int, int], None]


def compare(
    material: Material,
    methods: Sequence[Method] | None = None,
    *,
    n_labels: int | None = None,
    n_seeds: int = 3,
    confidence: float = 0.9,
    strict: bool = False,
    objective: Objective | None = None,
    scale: int | str | None = None,
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
    scale : int or str, optional
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
    >>> result = compare(material, choose("dnip"))
    >>> [method.estimates["accuracy"].value for method in result.methods]
    [0.5, 1.0]
    """
    goal = Objective() if objective is None else objective
    check_integer("seeds", n_seeds, at_least=1)
    check_level("confidence", confidence)
    draws = [material.draw(n_labels, seed) for seed in range(n_seeds)]
    _tell_missing(material, draws)
    asked = choose(None, goal, scale=scale) if methods is None else methods
    ready = [*choose(RAW), *(method for method in asked if method.name != RAW)]
    scored: list[MethodScores] = []
    skipped: dict[str, str] = {}
    interrupted = False
    for n_done, method in enumerate(ready):
        fits: list[ScoredFit] = []
        try:
            for seed in range(n_seeds):
                if progress is not None:
                    progress(method.name, n_done * n_seeds + seed + 1, len(ready) * n_seeds)
                if fits and n_labels is None and not method.seeded:
                    fits.append(replace(fits[0], seed=seed))  # all are alike
                else:
                    fits.append(_scored(method, material, draws[seed], seed))
        except KeyboardInterrupt:
            interrupted = True
            break
        except DNIPError as error:
            if strict:
                raise
            skipped[method.name] = str(error)
            continue
        scored.append(MethodScores.of(method, fits, confidence, scored[0] if scored else None))
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
        skipped=skipped,
        interrupted=interrupted,
    )


def _scored(method: Method, material: Material, opt: OptSet, seed: int) -> ScoredFit:
    """Fit a method with a seed, and score it."""
    n = material.opt.n_classes
    began = time.perf_counter()
    correction = method.fit(opt, seed)
    seconds = time.perf_counter() - began
    predicted = correction.predict(material.test)
    confusion = count_pairs(material.true, predicted, n, n)
    raw_right = material.test.argmax(axis=1) == material.true
    rights = 2 * raw_right + (predicted == material.true)
    agreement = count_pairs(material.true, rights, n, 4).reshape(n, 2, 2)
    return ScoredFit(seed, seconds, confusion, agreement, correction.to_dict())


def _tell_missing(material: Material, draws: Sequence[OptSet]) -> None:
    """Warn once of classes that nothing can be learned of, or that cannot be scored."""
    opt, test = material.sources
    unlearned = {name for drawn in draws for name in material.missing(drawn.labels)}
    names = [name for name in material.opt.classes if name in unlearned]
    where = opt if len(draws) == 1 else f"some draw of {opt}"
    unscored = material.missing(material.true)
    messages = {
        f"{where}: no label of class {listed(names)}; nothing is learned of it there": names,
        f"{test}: no labelled row of class {', '.join(unscored)}: left out": unscored,
    }
    for message in (text for text, lacking in messages.items() if lacking):
        warn(message)
