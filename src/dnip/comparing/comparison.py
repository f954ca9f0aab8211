"""Every method fitted and scored on the same rows, with the same seeds, and how that is shown."""

from __future__ import annotations

import csv
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import DNIPError, InvalidInputError, MissingDependencyError, listed, warn
from dnip.base.files import atomic_path, new_folder, write_text
from dnip.base.typing import Confusion, Counts, Floats, Labels, Probabilities
from dnip.base.validation import check_integer, check_level
from dnip.comparing.methods import BATCH, OURS, RAW, Method, OptSet, choose, own_method
from dnip.fitting.refits import Moves, how_sure
from dnip.method.objective import Goal, Objective, ObjectiveLike, as_objective, name_of, on_classes
from dnip.metrics import HEADLINE, METRICS, metric_intervals, scores
from dnip.metrics.confusion import count_pairs
from dnip.metrics.intervals import PAIRED, difference_intervals
from dnip.presenting.formats import Column, Estimate, Row, to_text, wrapped
from dnip.presenting.pictures import (
    BLACK,
    BLUE,
    COLOURS,
    SUFFIXES,
    Figure,
    frame_front,
    legend_right,
    save_figure,
)
from dnip.tables import ProbabilityTable
from dnip.tables.columns import CONTENT_FREE
from dnip.tables.groups import Grouping, is_quick, sizes_of
from dnip.tables.labels import check_several_classes
from dnip.tables.table import (
    BALANCED_UP_TO,
    TableLike,
    as_table,
    check_classes_agree,
    check_disjoint,
    check_raw,
    draw_rows,
    scored_rows,
)
from dnip.using.slices import as_counted

#: Called before every fit: the method, the number of the fit, and the number of all.
Progress = Callable[[str, int, int], None]


def compare(
    data: TableLike | tuple[TableLike, ArrayLike],
    test: TableLike | tuple[TableLike, ArrayLike],
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    unlabelled: TableLike | None = None,
    content_free: TableLike | None = None,
    classes: Sequence[Any] | None = None,
    groups: str | None = None,
    n_labels: int | None = None,
    n_seeds: int = 3,
    confidence: float = 0.9,
    objective: Goal = None,
    scale: int | str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Fit every method on the same opt rows and score it on the same test rows.

    Parameters
    ----------
    data, test : table, or tuple of probabilities and labels
        The rows to fit on, and the rows to score on, as for :func:`dnip.evaluate`. Rows of `data`
        without a label are learned from, too. Rows whose id begins with content-free are
        content-free.
    methods : sequence of str or mapping, optional
        Some of raw, batch-calibration (Zhou et al. 2024), contextual-calibration (Zhao et al.
        2021), vector-scaling and matrix-scaling (Guo et al. 2017), matrix-scaling-balanced,
        dnip-paper and dnip; one that cannot run is an error. By default all, and those that cannot
        run are left out. The raw argmax is always among them. A mapping adds methods of your own to
        all, by name: an estimator of scikit-learn, fitted to the probabilities of the opt rows and
        their class numbers; or a function of these two and of the test rows' probabilities, which
        returns a class for each test row, by number or by name, or a score for each class.
    unlabelled : array-like, DataFrame, ProbabilityTable or path, optional
        More rows to learn from; labels that they have are not read.
    content_free : array-like, DataFrame, ProbabilityTable or path, optional
        Rows of inputs without content, such as N/A, for contextual calibration.
    classes : sequence, optional
        The class of each column, as for :func:`dnip.evaluate`.
    groups : str, optional
        The column of both tables that says what rows belong to: those of a group of test rows count
        as one in intervals.
    n_labels : int, optional
        Labels that each run draws from the opt rows, class-balanced up to 100; all by default.
    n_seeds : int, default=3
        Runs, with the seeds 0, 1, … for draws and fits.
    confidence : float, default=0.9
        Level of the intervals, between 0 and 1.
    objective : Objective, str or callable, optional
        The goal that methods are compared by, as for :func:`dnip.fit`: error + COBias/2 by default.
        Also that of this package's own fits, but for the paper's.
    scale : int or str, optional
        That of the same fits.
    progress : callable, optional
        Called before every fit with the method, the number of the fit, and the number of all.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidInputError
        For tables of other classes or with rows in common, labels of fewer than two classes, a
        setting outside its range, or a named method that cannot run.
    MissingDependencyError
        For a library that a named method needs.

    Warns
    -----
    DNIPWarning
        For classes without labelled rows in the opt or test table, and a method of your own that
        fails; the others are compared.

    Examples
    --------
    >>> import dnip
    >>> p, y = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 10, [0, 1, 0, 1] * 10
    >>> result = dnip.compare((p, y), (p[:20], y[:20]), ["dnip"])
    >>> [method.estimates["accuracy"].value for method in result.methods]
    [0.5, 1.0]
    >>> result = dnip.compare((p, y), (p[:20], y[:20]), {"ham": lambda p, y, new: [0] * len(new)})
    >>> result.of("ham").estimates["accuracy"].value
    0.5
    """
    check_integer("seeds", n_seeds, at_least=1)
    check_level("confidence", confidence)
    own, names = (methods, None) if isinstance(methods, Mapping) else ({}, methods)
    ready = [*choose(names, objective, scale)]
    if taken := {method.name for method in ready} & own.keys():
        raise InvalidInputError(
            f"methods: {listed(sorted(taken))} is the name of a method that is there already",
            hint="Give yours another name",
        )
    ready += [own_method(str(name), what) for name, what in own.items()]
    material = Material.of(data, test, unlabelled, content_free, classes, groups)
    draws = [_draw(material.opt, n_labels, seed) for seed in range(n_seeds)]
    _tell_missing(material, draws)
    goal = on_classes(as_objective(objective), material.opt.classes)
    scored: list[MethodScores] = []
    skipped: dict[str, str] = {}
    interrupted = False

    def begins(name: str, seed: int) -> None:
        if progress is not None:
            before = [method.name for method in ready].index(name) * n_seeds
            progress(name, before + seed + 1, len(ready) * n_seeds)

    for method in ready:
        try:
            fits = _fits_of(method, material, draws, begins)
        except KeyboardInterrupt:
            interrupted = True
            break
        except DNIPError as error:
            if names is not None:
                raise
            skipped[method.name] = str(error)
            if method.name in own:
                warn(str(error))
            continue
        raw = scored[0] if scored else None
        scored.append(MethodScores.of(method, fits, confidence, raw, material.grouping, goal))
    best = min(scored, key=lambda method: method.goal, default=None)
    sure = {} if best is None else {m.name: _how_sure(best, m, material, goal) for m in scored}
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
        goal=name_of(goal),
        sure=sure,
        scale=scale,
        methods=tuple(scored),
        skipped=skipped,
        interrupted=interrupted,
    )


# --- the rows ---
@dataclass(frozen=True, eq=False)
class Material:
    """Rows to learn from and rows to score.

    Attributes
    ----------
    opt : OptSet
        All labels, all rows without a label, and all test rows as the batch.
    test, true : ndarray of shape (T, N), ndarray of shape (T,)
        Labelled test rows.
    sources : tuple of str
        Names of the opt and the test table.
    grouping : Grouping or None
        Test rows that belong together.
    weight : ndarray of shape (T,) or None
        How much each test row counts, where rows belong together.
    """

    opt: OptSet
    test: Probabilities
    true: Labels
    sources: tuple[str, str]
    grouping: Grouping | None
    weight: Floats | None

    @classmethod
    def of(
        cls,
        data: TableLike | tuple[TableLike, ArrayLike],
        test: TableLike | tuple[TableLike, ArrayLike],
        unlabelled: TableLike | None = None,
        content_free: TableLike | None = None,
        classes: Sequence[Any] | None = None,
        groups: str | None = None,
    ) -> Material:
        """Sort the rows of what :func:`compare` takes; all tables have the classes of the first."""
        opt = _table(data, classes, groups)
        others = _table(test, opt.classes, groups)
        more = None if unlabelled is None else _table(unlabelled, opt.classes)
        free = None if content_free is None else _table(content_free, opt.classes)
        check_raw(opt, others, more, free)
        check_disjoint(opt, others)
        if more is not None:
            check_classes_agree(opt, more)
            check_disjoint(more, others)
        if free is not None:
            check_classes_agree(opt, free)
        opt_rows, opt_free = _without_content_free(opt)
        test_rows, test_free = _without_content_free(others)
        labelled, scored = scored_rows(opt_rows), scored_rows(test_rows)
        assert labelled.labels is not None
        assert scored.labels is not None
        at_hand = [opt_rows.unlabelled().probabilities]
        at_hand += [] if more is None else [more.probabilities]
        learned_from = OptSet(
            labelled.probabilities,
            labelled.labels,
            opt.classes,
            unlabelled=np.concatenate(at_hand),
            batch=test_rows.probabilities,
            content_free=np.concatenate(
                [opt_free, test_free] if free is None else [free.probabilities]
            ),
        )
        p, labels, sources = scored.probabilities, scored.labels, (opt.source, others.source)
        quick = p if is_quick(len(labels), opt.n_classes) else None
        grouping, numbers = Grouping.of(scored.groups, quick, labels, opt.n_classes)
        if grouping is not None:
            warn(f"{others.source}: {grouping.sentence}")
        sizes = sizes_of(numbers)
        return cls(learned_from, p, labels, sources, grouping, None if sizes is None else 1 / sizes)


def _table(
    rows: Any,  # noqa: ANN401 - a table, or probabilities and labels
    classes: Sequence[Any] | None,
    groups: str | None = None,
) -> ProbabilityTable:
    p, y = rows if isinstance(rows, tuple) else (rows, None)
    return as_table(p, y, classes, groups=groups)


def _without_content_free(table: ProbabilityTable) -> tuple[ProbabilityTable, Probabilities]:
    """Return the rows with content, and the probabilities of those without."""
    if table.ids is None:
        return table, table.probabilities[:0]
    free = np.array([str(name).startswith(CONTENT_FREE) for name in table.ids], np.bool_)
    return table.take(~free), table.probabilities[free]


def _draw(opt: OptSet, n_labels: int | None, seed: int) -> OptSet:
    """Return the opt set of one run: all labels, or some, the other rows unlabelled."""
    if n_labels is None:
        return opt
    check_integer("labels", n_labels, at_least=2, at_most=len(opt.labels))
    balanced = n_labels <= BALANCED_UP_TO
    rows = draw_rows(opt.labels, opt.n_classes, n_labels, seed, balanced=balanced)
    drawn = replace(opt, probabilities=opt.probabilities[rows], labels=opt.labels[rows])
    check_several_classes(drawn.present, opt.classes)
    others = np.delete(opt.probabilities, rows, axis=0)
    return replace(drawn, unlabelled=np.concatenate([others, opt.unlabelled]))


def _tell_missing(material: Material, draws: Sequence[OptSet]) -> None:
    """Warn once of classes that nothing can be learned of, or that cannot be scored."""
    (opt, test), classes = material.sources, np.array(material.opt.classes, np.object_)
    unlearned = classes[~np.all([drawn.present for drawn in draws], axis=0)]
    unscored = classes[np.bincount(material.true, minlength=len(classes)) == 0]
    if len(unlearned):
        where = opt if draws[0] is material.opt else f"some draw of {opt}"
        warn(f"{where}: no label of class {listed(unlearned)}; nothing is learned of it there")
    if len(unscored):
        warn(f"{test}: no labelled row of class {', '.join(unscored)}: left out")


# --- fits and scores ---
def _fits_of(
    method: Method, material: Material, draws: Sequence[OptSet], begins: Callable[[str, int], None]
) -> list[ScoredFit]:
    """Fit a method to each draw, with its number as the seed; one fit stands for equal ones."""
    fits: list[ScoredFit] = []
    for seed, drawn in enumerate(draws):
        begins(method.name, seed)
        fits.append(_scored(method, material, drawn, seed))
        if drawn is material.opt and not method.seeded:
            break  # all would be alike
    alike = all((fit.predicted == fits[0].predicted).all() for fit in fits)
    return fits[:1] if alike else fits


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
    return ScoredFit(seed, seconds, confusion, agreement, predicted, correction.learned)


def _how_sure(
    best: MethodScores, other: MethodScores, material: Material, goal: ObjectiveLike
) -> float:
    """Return how sure it is that a method reaches the goal better than another, on the same rows.

    A paired bootstrap: test rows are drawn again, with what both predict of them.
    """
    n = material.opt.n_classes
    n_fits = max(len(best.fits), len(other.fits))
    pairs = islice(zip(cycle(other.fits), cycle(best.fits), strict=False), n_fits)
    cells = [(material.true * n + one.predicted) * n + two.predicted for one, two in pairs]
    moves = Moves.of(cells, n, material.weight)
    before, after = (goal(moves.confusion(side)) for side in (moves.before, moves.after))
    return how_sure(moves, None, before, after, goal)


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """One fit of one method, scored on the test rows.

    Attributes
    ----------
    seed : int
        Of the fit, and of the draw of labels where there is one.
    seconds : float
        Of the fit.
    confusion : ndarray of shape (N, N)
        Of the test rows, rows true.
    agreement : ndarray of shape (N, 2, 2)
        Test rows of each class by whether the raw argmax and whether the method got them right.
    predicted : ndarray of shape (T,)
        The class of each test row.
    correction : dict
        What was learned.
    """

    seed: int
    seconds: float
    confusion: Confusion
    agreement: Confusion
    predicted: Labels
    correction: dict[str, Any]


@dataclass(frozen=True, eq=False)
class MethodScores:
    """One method: the means over its fits, with intervals.

    Attributes
    ----------
    name, summary : str
    reads : tuple of str
        What it read: labels, unlabelled, batch (the test rows without labels), content-free.
    estimates : mapping of str to Estimate
        By metric, the mean over fits.
    differences : mapping of str to Estimate
        Of accuracy and COBias from those of the raw argmax on the same rows; empty for itself.
    goal : float
        The mean over fits of what is to be low.
    spread_of_goal : float
        Its standard deviation over fits, 0 for one fit.
    fits : tuple of ScoredFit
        One, where seeds and draws change nothing.
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    goal: float
    spread_of_goal: float
    fits: tuple[ScoredFit, ...]

    @classmethod
    def of(
        cls,
        method: Method,
        fits: Sequence[ScoredFit],
        confidence: float,
        raw: MethodScores | None,
        grouping: Grouping | None,
        goal: ObjectiveLike,
    ) -> MethodScores:
        """Sum up the fits of a method, next to the raw argmax; None for itself."""

        def counted(counts: Counts) -> Counts:
            return counts if grouping is None else as_counted(counts, grouping.counted)

        values = {m: [metric.of(fit.confusion) for fit in fits] for m, metric in METRICS.items()}
        bounds = [metric_intervals(counted(fit.confusion), confidence) for fit in fits]
        estimates = {m: Estimate.mean(values[m], [ends[m] for ends in bounds]) for m in METRICS}
        differences = {}
        if raw is not None:
            changes = [difference_intervals(counted(fit.agreement), confidence) for fit in fits]
            for m in PAIRED:
                gains = [value - raw.estimates[m].value for value in values[m]]
                differences[m] = Estimate.mean(gains, [change[m] for change in changes])
        about = method.name, method.summary, method.reads
        reached = [goal(fit.confusion) for fit in fits]
        return cls(
            *about, estimates, differences, statistics.fmean(reached), _spread(reached), tuple(fits)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        metrics = {}
        for metric, estimate in self.estimates.items():
            change = self.differences.get(metric)
            metrics[metric] = {
                **estimate._asdict(),
                "spread": _spread([METRICS[metric].of(fit.confusion) for fit in self.fits]),
                "difference": change and change._asdict(),
            }
        runs = [
            {
                "seed": fit.seed,
                "seconds": fit.seconds,
                **scores(fit.confusion),
                "correction": fit.correction,
            }
            for fit in self.fits
        ]
        return {
            "name": self.name,
            "summary": self.summary,
            "reads": list(self.reads),
            "goal": {"value": self.goal, "spread": self.spread_of_goal},
            **metrics,
            "seconds": statistics.median(fit.seconds for fit in self.fits),
            "runs": runs,
        }


def _spread(values: Sequence[float]) -> float:
    """Return the standard deviation, 0 for one value."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


# How sure it must be that a method is behind the best, to be called worse.
_TOLD_APART = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """All methods on one opt and one test table.

    Attributes
    ----------
    opt, test : str
        Names of the tables.
    classes : tuple of str
    n_opt, n_test, n_unlabelled, n_content_free : int
        Rows: labels that a run learns from, labelled test rows, opt rows without a label, and
        content-free rows.
    seeds : int
        How many runs of each method that chance has a part in.
    confidence : float
        Level of the intervals.
    objective : dict
        The goal: what is to be low.
    goal : str
        Its name.
    sure : dict of str to float
        By method, how sure it is that the best one reaches the goal better, on the same test rows;
        at most 0.99.
    scale : int, str or None
        K that was asked for.
    methods : tuple of MethodScores
        In the order in which the methods ran, the raw argmax first.
    skipped : dict of str to str
        Methods that did not run, with the reason.
    interrupted : bool
        Whether the user stopped it; the methods are those that were finished.
    """

    opt: str
    test: str
    classes: tuple[str, ...]
    n_opt: int
    n_test: int
    n_unlabelled: int
    n_content_free: int
    seeds: int
    confidence: float
    objective: dict[str, Any]
    goal: str
    sure: dict[str, float]
    scale: int | str | None
    methods: tuple[MethodScores, ...]
    skipped: dict[str, str]
    interrupted: bool

    def __repr__(self) -> str:
        """Show the methods, and what follows."""
        return describe_comparison(self)

    @property
    def best(self) -> MethodScores:
        """The method that reaches the goal best."""
        return min(self.methods, key=lambda method: method.goal)

    @property
    def tied(self) -> tuple[str, ...]:
        """The other methods that cannot be told from the best, with 95 % certainty each."""
        best = self.best.name
        return tuple(
            method.name
            for method in self.methods
            if method.name != best and self.sure[method.name] < _TOLD_APART
        )

    def of(self, name: str) -> MethodScores:
        """Return the scores of a method.

        Raises
        ------
        KeyError
            If it did not run.
        """
        return {method.name: method for method in self.methods}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip compare --json`` prints.

        The attributes by their names, and `best`, `tied` and `n_classes`. Each of the `methods` has
        its `name`, `summary` and what it `reads`; `value` and `spread` over runs of the `goal`; of
        every metric these, the ends of its interval, `low` and `high`, and the `difference` from
        the raw argmax; the median `seconds` of a fit; and its `runs`. A run has its `seed` and
        `seconds`, all metrics, and the `correction` that was learned.
        """
        return {
            **vars(self),
            "best": self.best.name if self.methods else None,
            "tied": list(self.tied) if self.methods else [],
            "n_classes": len(self.classes),
            "classes": list(self.classes),
            "methods": [method.to_dict() for method in self.methods],
        }


# --- how it is shown ---
#: What is written into the folder of a comparison.
FILES = ("results.json", "runs.csv", *(f"comparison{suffix}" for suffix in SUFFIXES))


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write all as JSON, a line for each fit as CSV, and a picture in three formats; say where.

    The picture is left out where no method was finished or matplotlib is not installed.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    content = json.dumps(comparison.to_dict(), indent=2, allow_nan=False) + "\n"
    with new_folder(folder) as target:
        results, runs, *pictures = (target / name for name in FILES)
        written = [write_text(results, content)]
        with atomic_path(runs) as path, path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(_fits(comparison))
        written.append(runs)
        if comparison.methods:
            with suppress(MissingDependencyError):  # the data goes without its picture
                written += save_figure(_figure(comparison), *pictures)
    return written


def _fits(comparison: Comparison) -> Iterator[list[Any]]:
    """Yield a header, then the scores of every fit."""
    yield ["method", "seed", "seconds", *METRICS]
    for method in comparison.methods:
        for fit in method.fits:
            values = [metric.of(fit.confusion) for metric in METRICS.values()]
            yield [method.name, fit.seed, f"{fit.seconds:.6f}", *values]


def describe_comparison(comparison: Comparison, line: str | None = None) -> str:
    """Return a line per method, what follows, and notes; `line` as for `conclude`."""
    columns = [Column("method"), Column(comparison.goal, right=True)]
    columns += [Column(METRICS[name].title, 3) for name in HEADLINE]
    rows: list[Row] = []
    for method in comparison.methods:
        goal = f"{method.goal:.3f}"
        if len(method.fits) > 1:
            goal += f" ± {method.spread_of_goal:.3f}"
        star = " *" if "batch" in method.reads else ""
        figures = (method.estimates[name].value for name in HEADLINE)
        rows.append((method.name + star, goal, *figures))
    title = (
        f"{_title(comparison)}: {comparison.n_opt:,} labels of {len(comparison.classes)} classes, "
        f"{comparison.n_test:,} test rows"
    )
    skipped = (f"Left out, {name}: {reason}." for name, reason in comparison.skipped.items())
    notes = "\n".join((_caption(comparison), *skipped))
    parts = [wrapped(title), to_text(columns, rows), wrapped(notes)]
    if len(comparison.methods) > 1:
        parts.insert(2, wrapped(conclude(comparison, line)))
    return "\n\n".join(parts)


def _title(comparison: Comparison) -> str:
    return f"{Path(comparison.opt).name} and {Path(comparison.test).name}"


def _caption(comparison: Comparison) -> str:
    note = "Intervals are in results.json."
    runs = max((len(method.fits) for method in comparison.methods), default=1)
    if runs > 1:
        note += f" ±: standard deviation over {runs} runs; their means are shown."
    if comparison.n_unlabelled:
        note += f" Unlabelled rows at hand: {comparison.n_unlabelled:,}."
    if any("batch" in method.reads for method in comparison.methods):
        note += " * reads the probabilities of all test rows, without labels, before it decides."
    return note


#: Code that does the same as a method without this package.
_CODE = {
    "matrix-scaling": ", LogisticRegression().fit(np.log(P), y)",
    "matrix-scaling-balanced": ', LogisticRegression(class_weight="balanced").fit(np.log(P), y)',
}


def conclude(comparison: Comparison, line: str | None = None) -> str:
    """Return which methods are best, and what to do next.

    Parameters
    ----------
    comparison : Comparison
    line : str, optional
        What fits the opt table, as it is typed; in Python where it is left out.
    """
    best, tied = comparison.best.name, comparison.tied
    among = {best, *tied}
    others = f"as good within noise: {listed(tied)}" if tied else "worse beyond noise: all others"
    lines = [
        f"Best by {comparison.goal}: {best}; {others} (paired bootstrap of the test rows, 95 % "
        "each)."
    ]
    fit, without_labels = _fit_lines(comparison, line)
    if RAW in among:
        lines.append("Next: nothing that is shown here is needed; label more rows to see more.")
    elif OURS in among:
        lines.append(f"Next: {fit}")
        if BATCH in among:
            lines.append(f"As good, and without labels: {without_labels}")
    elif BATCH in among:
        lines.append(f"Next: {without_labels}")
    else:
        lines.append(f"Next: use {best} itself{_CODE.get(best, '')}")
        if OURS in comparison.sure:
            behind = comparison.of(OURS).goal - comparison.best.goal
            lines.append(f"Coefficients are {behind:.3f} behind: {fit}")
    return "\n".join(lines)


def _fit_lines(comparison: Comparison, typed: str | None) -> tuple[str, str]:
    """Return what fits the opt table at this goal, and what does without labels."""
    usual = Objective()
    if typed is None:
        goal = "" if comparison.objective == usual.to_dict() else ", objective"
        return f"dnip.fit(P, y{goal})", "dnip.fit(P, y, no_labels=True)"
    beta = comparison.objective.get("beta", usual.beta)  # on the command line, nothing else differs
    option = "" if beta == usual.beta else f" --beta {beta:g}"
    return typed + option, f"{typed} --no-labels"


def _figure(comparison: Comparison) -> Figure:
    title = (
        f"{_title(comparison)}: {comparison.n_opt:,} labels, {comparison.n_test:,} test rows, "
        f"{comparison.confidence:.0%} intervals"
    )
    return Figure(partial(_draw_methods, comparison=comparison), (9.0, 4.8), title)


def _draw_methods(figure: Any, comparison: Comparison) -> None:  # noqa: ANN401 - matplotlib's
    """Draw accuracy against COBias, with intervals over test rows; up and left is better."""
    axes, (raw, *others) = figure.subplots(), comparison.methods
    ends: list[tuple[float, float]] = []
    colours = cycle((*COLOURS[1:], BLACK))
    for method in others:
        is_ours = method.name == OURS
        colour = BLUE if is_ours else next(colours)
        x, y = method.estimates["cobias"], method.estimates["accuracy"]
        # the ends of an interval need not lie on both sides of the estimate
        for across, up in (((x.low, x.high), (y.value,) * 2), ((x.value,) * 2, (y.low, y.high))):
            axes.plot(across, up, color=colour, alpha=0.45, lw=1.4)
            ends += zip(across, up, strict=True)
        look = {"color": colour, "ms": 15 if is_ours else 7, "mec": "white", "ls": "", "zorder": 3}
        axes.plot(x.value, y.value, "*" if is_ours else "o", label=method.name, **look)
    at = raw.estimates["cobias"].value, raw.estimates["accuracy"].value
    frame_front(axes, ends or [at], at)
    legend_right(axes)
