"""The fit: from a table, a file, a frame or arrays to coefficients, and what is known of them.

The way of a fit:

- `fit_settings` checks what was asked.
- `read_fit_rows` reads the rows as they were given.
- `prepare` settles what no β changes: the class mix, the scale, groups, the estimator.
- `fit_rows` searches, and chooses by refits: a β, or weights of 1.
- `_fit_of` makes the record and the notes.

Of a very large file, a sample is fitted, stratified by class. Its rows count by the exact class
sizes, so that the objective on the sample is an estimate of that on all rows. What is reported is
counted on all rows.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base import __version__
from dnip.base.errors import InvalidInputError, listed
from dnip.base.escaping import html, html_table
from dnip.base.files import valid_unicode
from dnip.base.progress import sign_of_life
from dnip.base.typing import Booleans, Counts, Floats, Integers, Labels, Probabilities
from dnip.fitting.deferring import Deferring, Served, defer_share
from dnip.fitting.estimate import (
    MOST_CELLS,
    Blend,
    Common,
    Estimator,
    batch_shift,
    calibrate_sample,
    estimate_of,
    find_drift,
    find_floor,
    find_target,
    raised,
    round_to_scale,
)
from dnip.fitting.refits import (
    BETAS,
    DRAWS,
    FitEvidence,
    Judged,
    Refits,
    choose_beta,
    kept_sentence,
)
from dnip.fitting.settings import FitSettings, fit_settings
from dnip.method.coefficients import Coefficients, DataRecord, FitRecord
from dnip.method.constraints import Constraints
from dnip.method.kept import ClassScores
from dnip.method.objective import Costs, Goal, Objective, beta_of, on_classes
from dnip.method.problem import Problem, draw_per_class
from dnip.method.scales import WeightScale
from dnip.method.solution import Solution, Status
from dnip.metrics import HEADLINE, METRICS
from dnip.priors import (
    Calibration,
    PriorLike,
    TargetPrior,
    check_prior,
    is_estimate,
    label_shares,
    most_rows,
    to_power,
)
from dnip.solvers import Progress, Solver
from dnip.tables import Asked, ProbabilityTable, Rows, Scan
from dnip.tables.cells import check_some_weight, no_rows
from dnip.tables.frames import make_frame
from dnip.tables.groups import FittedRows, check_groups, find_copies, sizes_of
from dnip.tables.labels import UNLABELLED
from dnip.tables.origin import DataHash, origin_of, tell_left_out
from dnip.tables.sampling import Sample, Sampler
from dnip.tables.table import TableLike, as_table, check_classes_agree, check_raw, scored_rows
from dnip.using.drift import LEAST_ROWS, TableSample
from dnip.using.evaluation import Evaluation, evaluate

#: Rows of a table file that are fitted at most; a larger table is sampled. With 10 million rows of
#: 14 classes such a fit takes a sixth to a third of the processor time of a fit on all, and its
#: objective on all rows is higher by .0012 (even shares) and .0016 (python -m benchmarks sampled).
MOST_ROWS = 1_000_000

#: More rows than any table has.
ALL_ROWS = 2**60


def fit(
    data: TableLike,
    y: ArrayLike | None = None,
    objective: Goal = None,
    *,
    beta: float | None = None,
    costs: ArrayLike | Costs | None = None,
    preset: str | None = None,
    scale: int | str | WeightScale | None = None,
    solver: str | Solver | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    constraints: Constraints | None = None,
    robust: str = "auto",
    target_prior: PriorLike | None = None,
    defer: float | None = None,
    helper_accuracy: float | None = 0.9,
    evidence: bool | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    unlabelled: TableLike | None = None,
    groups: ArrayLike | str | None = None,
    weights: ArrayLike | str | None = None,
    rows: int | None = MOST_ROWS,
    no_labels: bool = False,
    progress: Progress | None = None,
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    data, y, classes, label
        The opt set, as for :func:`dnip.evaluate`. Rows without a label serve a robust fit only.
    objective : Objective, str or callable, optional
        ``"cobias"``, the default: error + β·COBias. ``"balanced-accuracy"`` and ``"macro-f1"``
        are maximised instead. Any function of a confusion matrix (N, N) works too, but is slower.
    beta : float, optional
        β, the weight of COBias next to the error, at least 0; 0.5 by default: one point of
        accuracy for two of COBias.
    costs : array-like of shape (N, N) or Costs, optional
        What each prediction costs, rows true classes, columns predicted ones. The mean cost then
        replaces the error.
    preset : {"paper", "authors"}, optional
        The published settings, with the plain optimum: β = 2.7, τ = 0.2, K = 30, annealing.
        Other settings override them.
    scale : int, str or WeightScale, optional
        K for weights k/K, ``"log:K"`` for K geometric steps from 1/K to 1, ``"span:S"`` for 10,000
        from e^-S to 1. By default S is the spread of the probabilities.
    solver : {"coordinate", "exact", "anneal"} or Solver, optional
        The name of a solver, ``"coordinate"`` by default, or one with settings of its own.
    seed : int, default=0
        Of all random choices; the same seed gives the same coefficients.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    constraints : Constraints, optional
        What the weights must keep on the labelled rows. A limit on lost accuracy is kept on other
        rows, too, as far as the labels can tell.
    robust : {"auto", "on", "off"}, default="auto"
        ``"on"``: weights that hold on other rows, however few the labels. ``"off"``: the plain
        optimum of the labelled rows. ``"auto"``: on, but off for large tables, and for solvers
        other than coordinate.
    target_prior : mapping, sequence, "uniform" or "estimate", optional
        The class mix to fit for, by class or in their order. A labelled row counts by the target
        share of its class over the observed one. ``"estimate"`` takes the mix of the rows without
        a label.
    defer : float, optional
        The share of rows to leave to a person or a larger model, above 0 and below 1.
    helper_accuracy : float or None, default=0.9
        How often that helper is right in every class; None: serve the rows that remain best.
    evidence : bool, optional
        Whether to judge the fit by refits that leave labels out; by default if that is quick.
    unlabelled : array-like, DataFrame, ProbabilityTable or path, optional
        More rows without a label; its labels, if any, are not read.
    groups : array-like of shape (M,) or str, optional
        What each row of `data` belongs to, such as the number of its prompt; of a file or a data
        frame, the name of the column. An empty one is a group of its own. Rows of one group lie in
        one fold of every refit, and count as one label. Without groups, copies (rows equal in every
        probability and in label, which rounding does not explain) are told, and are groups.
    weights : array-like of shape (M,) or str, optional
        How much each row counts, or the name of that column; 1 by default. Only ratios matter.
        What is shown of the rows of the fit counts each as one.
    rows : int or None, default=1_000_000
        Rows to fit on at most; None: all. Of a file of more, a sample is used. The objective and
        the evaluation are those of all rows. ``robust="auto"`` means ``"off"`` for a sample.
    no_labels : bool, default=False
        Use no label: batch calibration makes the classes equally likely on average, where they have
        the shares of `target_prior`, or equal ones. Nothing is judged.
    progress : callable, optional
        As for :func:`dnip.solve`. By default a notebook or a terminal shows after two seconds that
        the work goes on.

    Returns
    -------
    Fit
        Its `coefficients` are what to use on other rows, and to save.

    Raises
    ------
    InvalidInputError
        For bad input, settings outside their ranges or that contradict each other, if fewer than
        two classes have labelled rows, or the unlabelled rows have other classes.
    InfeasibleError
        If no weights on the scale keep the constraints, or none were found.

    Examples
    --------
    >>> import dnip
    >>> p, y = [[0.9, 0.1], [0.6, 0.4]] * 20, ["ham", "spam"] * 20
    >>> fitted = dnip.fit(p, y, evidence=False)
    >>> fitted.coefficients.predict([[0.65, 0.35]]).tolist()
    ['spam']
    """
    settings = fit_settings(
        objective,
        beta=beta,
        costs=costs,
        preset=preset,
        scale=scale,
        solver=solver,
        seed=seed,
        time_limit=time_limit,
        constraints=constraints,
        robust=robust,
        target_prior=target_prior,
        defer=defer,
        helper_accuracy=helper_accuracy,
    )
    if no_labels:
        _refuse_what_needs_labels(
            objective=objective,
            beta=beta,
            costs=costs,
            preset=preset,
            robust=None if robust == "auto" else robust,
            constraints=constraints or None,
            defer=defer,
            evidence=evidence,
            groups=groups,
            weights=weights,
            **{"target_prior='estimate'": is_estimate(target_prior)},
        )
    opt = read_fit_rows(
        data,
        y,
        classes=classes,
        label=label,
        unlabelled=unlabelled,
        groups=groups,
        weights=weights,
        rows=rows,
        seed=seed,
    )
    with sign_of_life("fitting", wanted=progress is None):
        if no_labels:
            return _fit_no_labels(opt, settings)
        prepared = prepare(opt, settings, evidence)
        return fit_rows(prepared, progress)


#: What is said of a fit without refits.
NOT_JUDGED = "No refits were made, so nothing is known of other rows."

#: What is said of a fit without labels, with what it costs by `python -m benchmarks unlabelled`.
NO_LABELS = (
    "No label was used, so nothing is known of right and wrong. "
    "The weights make classes equally likely on average, were they equally frequent; {}."
)
#: What is said of a fit to labels that were chosen by what the model answered.
CHOSEN = (
    "The labels were chosen by the model's answers, or so it seems: labelled rows differ from the "
    "unlabelled ones beyond chance (p = {:.1g}), and not by their class mix alone. So nothing is "
    "promised of other rows, and the unlabelled rows are left out.\n"
    "If the unlabelled rows are of another prompt or model, give them with --unlabelled."
)
_SHARES_GIVEN = "this holds as far as the shares of the target prior do"
_SHARES_EQUAL = (
    "that they are is assumed. Where one of four has 80 % of the rows, this costs 9 points of "
    "accuracy next to the raw argmax, and 12 next to naming the shares with --target-prior"
)


class Alternative(NamedTuple):
    """What a β is expected to give on other rows."""

    beta: float
    accuracy: float
    cobias: float
    worst: float  # the accuracy of the class that will be worst
    is_chosen: bool
    evaluation: Evaluation  # in `reweighted`, refits predict rows that they have not seen

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: value for name, value in self._asdict().items() if name != "evaluation"}


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """What came of a fit.

    Attributes
    ----------
    coefficients : Coefficients
        What to use on other rows.
    solution : Solution
        What they were made of.
    evaluation : Evaluation
        Of the opt table itself, before and after.
    decision : Blend or None
        How the weights of a robust fit came about; None for the plain optimum.
    target : TargetPrior or None
        The class mix that the fit is for; None for that of the labelled rows.
    evidence : FitEvidence or None
        What the labels say of other rows; None if it was not asked for, or would take long.
    choice : str or None
        What was chosen instead of the usual, and what it costs, in one line.
    alternatives : tuple of Alternative
        What each β is expected to give on other rows, where one of them was chosen; else empty.
    notes : tuple of str
        Things to know about the sample and about single classes, one sentence each.
    chosen : float or None
        The p value of rows being labelled whatever the model answered, where it is so small that
        nothing is promised.
    deferring : tuple of Served
        Where rows are deferred: what other rows are expected to show, for the share that was asked
        for and for others. Empty without evidence.
    """

    coefficients: Coefficients
    solution: Solution
    evaluation: Evaluation
    decision: Blend | None = None
    target: TargetPrior | None = None
    evidence: FitEvidence | None = None
    choice: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    notes: tuple[str, ...] = ()
    chosen: float | None = None
    deferring: tuple[Served, ...] = ()

    def __repr__(self) -> str:
        """Name what the fit came to."""
        return f"Fit({self.evaluation!r}, verdict: {self.verdict})"

    @property
    def verdict(self) -> str:
        """Whether to use the coefficients.

        ``"apply"``; ``"keep"`` the raw argmax; ``"no signal"``, where probabilities tell nothing
        about the class; or ``"not judged"``, where no refits were made.

        Examples
        --------
        >>> from dnip import fit
        >>> fit([[0.9, 0.1], [0.6, 0.4]] * 30, [0, 1] * 30).verdict
        'apply'
        """
        if self.evaluation.signal is False:
            return "no signal"
        return "not judged" if self.evidence is None else self.evidence.verdict

    @property
    def reason(self) -> str:
        """The reason of the verdict."""
        if self.evidence is not None:
            return self.evidence.reason
        if self.chosen is not None:
            return CHOSEN.format(self.chosen)
        if not self.has_labels:
            return NO_LABELS.format(_SHARES_EQUAL if self.target is None else _SHARES_GIVEN)
        return self.evaluation.no_signal if self.verdict == "no signal" else NOT_JUDGED

    def _repr_html_(self) -> str:
        """Return the verdict, what to expect of other rows, and every class, for notebooks."""
        verdict = html(f"{self.verdict}: {self.reason}")
        if not self.has_labels:
            rows = [*zip(self.coefficients.classes, self.weights.tolist(), strict=True)]
            return f"<p>{verdict}</p>{html_table('every class', ['class', 'weight'], rows)}"
        judged = self.evidence or self.evaluation
        where = "on other rows, expected" if self.evidence else "on the rows of the fit themselves"
        sides = judged.to_dict()
        both = [sides["raw"], sides["reweighted"]]
        metrics = [(METRICS[name].title, *(side[name] for side in both)) for name in HEADLINE]
        names = [name.replace("_", " ") for name in self._by_class]
        classes = html_table("every class", names, [*zip(*self._by_class.values(), strict=True)])
        return f"<p>{verdict}</p>{html_table(where, ['', 'before', 'after'], metrics)}{classes}"

    @property
    def has_labels(self) -> bool:
        """Whether labels were used; without, `evaluation` and `solution` count no row."""
        return self.evaluation.n > 0

    @property
    def weights(self) -> Floats:
        """One weight per class, as :attr:`dnip.Coefficients.weights`."""
        return self.coefficients.weights

    @property
    def is_raw(self) -> bool:
        """Whether all weights are 1, which decides as the raw argmax does."""
        return bool((self.weights == 1).all())

    def predict(self, probabilities: ArrayLike) -> NDArray[np.object_]:
        """Predict as :meth:`dnip.Coefficients.predict` does."""
        return self.coefficients.predict(probabilities)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the coefficients to a file, as :meth:`dnip.Coefficients.save` does."""
        self.coefficients.save(path)

    def to_frame(self, library: str = "pandas") -> Any:  # noqa: ANN401 - of an optional library
        """Return a row for each class as a data frame: weights, and how often it is right.

        Rows are those left out, if the fit was judged.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"

        Examples
        --------
        >>> from dnip import fit
        >>> fit([[0.9, 0.1], [0.6, 0.4]] * 30, ["ham", "spam"] * 30).to_frame().columns.tolist()[:7]
        ['class', 'rows', 'weight', 'before', 'after', 'precision', 'f1']
        """
        return make_frame(self._by_class, library)

    @property
    def _by_class(self) -> dict[str, Any]:
        """What is known of each class, by name, as columns."""
        if not self.has_labels:
            return {"class": list(self.coefficients.classes), "weight": self.weights}
        columns: dict[str, Any] = (self.evidence or self).evaluation.by_class
        columns = {
            **{name: columns.pop(name) for name in ("class", "rows")},
            "weight": self.coefficients.weights,
            **columns,
        }
        if self.evidence is not None:
            least, most = self.evidence.ranges.T
            columns |= {"least_weight": least, "most_weight": most}
        return columns


# --- The rows that are fitted, and what counts all of them ---
@dataclass(frozen=True, eq=False)
class FitRows:
    """The rows of a fit as they were given.

    Attributes
    ----------
    sample : Sample
        The opt set, or a sample of it.
    more : ProbabilityTable or None
        More rows without a label.
    weight : ndarray of shape (M,) or None
        How much each labelled row counts.
    groups : ndarray of shape (M,) or None
        The number of the group of each row of the sample.
    finds_copies : bool
        Whether rows that are copies of others are groups, where none are given.
    """

    sample: Sample
    more: ProbabilityTable | None = None
    weight: Floats | None = None
    groups: Integers | None = None
    finds_copies: bool = True

    def count(self, coefficients: Coefficients, target: Floats | None) -> tuple[Evaluation, str]:
        """Count the whole opt set under coefficients, for a class mix; return its hash, too."""
        table = self.sample.table
        if self.sample.is_whole:
            return evaluate([table], coefficients=coefficients, target=target), table.data_hash
        data_hash = DataHash(table.classes, labelled=True, n_rows=self.sample.n_rows)

        def hashed() -> Iterator[Rows]:
            for rows in Scan(table.source, table.classes, as_a_whole=False):
                data_hash.add(rows.probabilities, rows.labels)
                yield rows

        evaluation = evaluate(hashed(), coefficients=coefficients, target=target)
        return evaluation, data_hash.hexdigest()


def read_fit_rows(
    data: TableLike,
    y: ArrayLike | None = None,
    *,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    unlabelled: TableLike | None = None,
    groups: ArrayLike | str | None = None,
    weights: ArrayLike | str | None = None,
    rows: int | None = MOST_ROWS,
    seed: int = 0,
) -> FitRows:
    """Read the rows of a fit; all is as for :func:`fit`."""
    group, weight = (v if isinstance(v, str) else None for v in (groups, weights))
    is_more_given = y is not None or groups is not group or weights is not weight
    if is_more_given or label is not None or not isinstance(data, str | os.PathLike):
        table = as_table(data, y, classes, label, groups=groups, weights=weights)
        check_raw(table)
        sample = Sample.whole(table)
    else:
        sample = _sample_of(data, classes, Asked(group, weight), rows, seed)
    table, more = sample.table, None
    if isinstance(unlabelled, str | os.PathLike):
        more = _sample_of(unlabelled, classes, Asked(), rows, seed).table
    elif unlabelled is not None:
        more = as_table(unlabelled, None, classes or table.classes)
    if more is not None:
        check_classes_agree(table, more)
        check_raw(more)
    if not sample.is_whole and (table.groups is not None or table.weights is not None):
        raise InvalidInputError(
            f"{table.source}: a sample is fitted, and a sample does not keep groups and weights",
            hint="Give fewer rows, or rows=None (--rows all)",
        )
    members = None if table.groups is None else check_groups(table.groups, len(table))
    counts = None
    if table.weights is not None and table.labels is not None:
        counts = check_some_weight(table.weights[table.labels != UNLABELLED], table.source)
    return FitRows(sample, more, counts, members)


def _sample_of(
    path: str | os.PathLike[str],
    classes: Sequence[Any] | None,
    asked: Asked,
    rows: int | None,
    seed: int,
) -> Sample:
    """Return the rows of a file, or a sample of so many."""
    tell_left_out(Path(path))
    sampler = Sampler(ALL_ROWS if rows is None else rows, seed)
    for block in Scan(path, classes, asked):
        sampler.add(block)
    return sampler.sample()


# --- From rows to a fit ---
#: The β of the path from the most accurate weights to the most even ones.
PATH = (0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.7, 5.0, 10.0)

#: The spread of ln p, in nats, that priors and pulls are made for: p and p^k are one problem, and
#: the smooth estimate sees all at this spread. Any from ln 30 to ln 60 does as well.
COMMON_SPREAD = math.log(50)

# What a fit without labels is, in records.
_BATCH = "batch calibration"

# Level of the interval that keeps a limit on lost accuracy: one standard error to either side.
_SPARE = 0.68

# Rows times squared classes of the rows that refits are made of; of those whose folds are drawn
# several times; and the rows of a class that a sample of more must leave.
_MOST_PRODUCTS, _FEW_PRODUCTS, _LEAST_ROWS = 5_000_000, 500_000, 20


@dataclass(frozen=True, eq=False)
class Prepared:
    """Checked rows, and all that a fit of them needs and no β changes.

    Attributes
    ----------
    settings : FitSettings
        With the scale and the class mix settled.
    opt : FitRows
        As it was given.
    labelled : ProbabilityTable
        Its labelled rows.
    weight : ndarray of shape (M,) or None
        How much each of them counts, where they do not count alike.
    unlabelled : ndarray of shape (U, N)
        Rows without a label that are learned from.
    chosen : float or None
        As `Fit` has it; nothing is learned from rows without a label then.
    shares : ndarray of shape (N,)
        The class mix of the labelled rows, as they count.
    target : TargetPrior or None
        The class mix that was asked for.
    calibration : Calibration
    groups : ndarray of shape (M,) or None
        The number of the group of each labelled row.
    common : Common
    estimator : Estimator
    is_whole : bool
        Whether refits are made of all labelled rows, rather than of a sample.
    is_judged : bool
        Whether the fit is judged by refits.
    may_keep : bool
        Whether weights of 1 are written where the fit is not expected to gain.
    deadline : float or None
        A ``time.perf_counter`` reading.
    """

    settings: FitSettings
    opt: FitRows
    labelled: ProbabilityTable
    weight: Floats | None
    unlabelled: Probabilities
    chosen: float | None
    shares: Floats
    target: TargetPrior | None
    calibration: Calibration
    groups: Integers | None
    common: Common
    estimator: Estimator
    is_whole: bool
    is_judged: bool
    may_keep: bool
    deadline: float | None

    @property
    def asked(self) -> Floats | None:
        """The class mix that was asked for."""
        return None if self.target is None else self.target.shares

    @property
    def mix(self) -> Floats | None:
        """The class mix that labelled rows count by; None where they count as they come."""
        return self.asked if self.weight is None or self.target is not None else self.shares

    @property
    def raw_counts(self) -> Counts:
        """Labelled rows by class and by prediction, under weights of 1."""
        problem = self.estimator.problem
        return problem.in_examples(problem.confusion(np.ones(problem.n_classes)))

    @cached_property
    def refits(self) -> Refits:
        """Fits without each fold of the labelled rows, made when they are asked for."""
        rows, groups, mix = self.estimator.rows, self.groups, self.mix
        if mix is None:  # rows are judged in the mix that is fitted
            mix = self.common.there
        if not self.is_whole:
            rows, drawn = _sample_for_refits(rows)
            groups = None if groups is None else groups[drawn]
            mix = self.shares if mix is None else mix
        return Refits(
            rows,
            replace(self.settings, robust="on" if self.estimator.is_robust else "off"),
            self.unlabelled,
            target=mix,
            is_mix_given=self.target is not None,
            captured_mass=self.labelled.captured_mass,
            groups=groups,
            common=self.common,
            draws=DRAWS if _products_of(rows.probabilities) <= _FEW_PRODUCTS else 1,
        )


def _products_of(p: Probabilities) -> int:
    return int(p.size * p.shape[1])


def _sample_for_refits(rows: Problem) -> tuple[Problem, Integers]:
    """Return rows that are refitted quickly, in the same mix, and their numbers.

    They count as no more labels than they are.
    """
    n = rows.n_classes
    most = max(_MOST_PRODUCTS // n**3, _LEAST_ROWS)
    drawn = draw_per_class(rows.labels, n, np.random.default_rng(0), most)
    labels, weight = rows.labels[drawn], rows.weights[drawn]
    sizes = np.bincount(rows.labels, rows.weights, n)
    weight = weight * (sizes / np.maximum(np.bincount(labels, weight, n), 1e-300))[labels]
    weight *= len(drawn) / weight.sum()
    return Problem.trusted(rows.probabilities[drawn], labels, rows.classes, weight), drawn


def prepare(opt: FitRows, settings: FitSettings, evidence: bool | None = None) -> Prepared:
    """Settle what a fit of some rows needs and no β changes.

    Parameters
    ----------
    opt : FitRows
    settings : FitSettings
    evidence : bool, optional
        Whether to judge fits by refits; by default if that is quick.

    Raises
    ------
    InvalidInputError
        As :func:`fit`.
    """
    more, is_off = opt.more, settings.robust == "off"
    if is_off and more is not None and not is_estimate(settings.target_prior):
        raise InvalidInputError(
            "unlabelled rows serve a robust fit only, but it is off",
            hint="Leave --unlabelled out, or give --robust auto",
        )
    may_keep, deadline = not is_off, settings.deadline()
    if not opt.sample.is_whole and settings.robust == "auto":
        settings, is_off = replace(settings, robust="off"), True

    # the rows, and what is learned from those without a label
    table, n_classes = opt.sample.table, opt.sample.table.n_classes
    labelled = scored_rows(table)
    p, labels = labelled.probabilities, labelled.labels
    assert labels is not None
    unlabelled = table.probabilities[table.labels == UNLABELLED]
    weight = opt.sample.weights if opt.weight is None else opt.weight
    floor = None if is_off else find_floor(p, labels)
    chosen = _find_chosen(settings, p, labels, weight, unlabelled, floor)
    if more is not None:
        unlabelled = np.concatenate([unlabelled, more.probabilities])
    learned = unlabelled[: 0 if is_off or chosen is not None else None]

    # the scale, and the class mix
    seen = unlabelled if chosen is None else learned
    settings, exponent = _on_common_scale(settings, p, labels, weight, seen, floor)
    calibration = calibrate_sample(p, labels, opt.weight, deadline=deadline)
    sizes = opt.sample.class_sizes.astype(np.float64)
    if opt.weight is not None:
        sizes = np.bincount(labels, opt.weight, n_classes).astype(np.float64)
    target, there = None, None
    if settings.target_prior is not None:
        prior = settings.target_prior
        target = find_target(prior, table.classes, calibration, sizes, unlabelled)
        settings = replace(settings, target_prior=target.shares)
    elif len(learned):
        there = estimate_of(learned, calibration).shrunk_to(label_shares(calibration.labels))

    # groups, and the estimator
    is_whole, groups = _products_of(p) <= _MOST_PRODUCTS, None
    if opt.groups is not None:
        groups = opt.groups[table.labels != UNLABELLED]
    elif is_whole and opt.finds_copies:
        groups = find_copies(p, labels)
    common = Common(exponent, floor, there)
    estimator = Estimator.of(
        Problem.trusted(p, labels, table.classes, weight),
        settings,
        learned,
        deadline,
        group_sizes=sizes_of(groups),
        common=common,
    )
    is_quick = is_whole or _LEAST_ROWS * n_classes**3 <= _MOST_PRODUCTS
    return Prepared(
        settings=settings,
        opt=opt,
        labelled=labelled,
        weight=weight,
        unlabelled=learned,
        chosen=chosen,
        shares=sizes / sizes.sum(),
        target=target,
        calibration=calibration,
        groups=groups,
        common=common,
        estimator=estimator,
        is_whole=is_whole,
        is_judged=chosen is None and (is_quick if evidence is None else evidence),
        may_keep=may_keep,
        deadline=deadline,
    )


def _on_common_scale(
    settings: FitSettings,
    p: Probabilities,
    labels: Labels,
    counts: Floats | None,
    unlabelled: Probabilities,
    floor: float | None,
) -> tuple[FitSettings, float]:
    """Return the settings with a scale, and what brings ln p to the spread that is common to all.

    The usual scale is as wide as the spread of all rows among the classes that have labels, down to
    the floor, so that p and p^k are one problem.
    """
    if settings.scale is not None:
        return settings, 1.0
    every = np.concatenate([p, unlabelled]) if len(unlabelled) else p
    if floor is not None:
        every = raised(every, floor)[:, np.unique(labels)]
    counts = np.ones(len(p)) if counts is None else counts
    scale = WeightScale.over(every, np.concatenate([counts, np.ones(len(unlabelled))]))
    assert scale.span is not None
    return replace(settings, scale=scale), COMMON_SPREAD / scale.span


def _find_chosen(
    settings: FitSettings,
    p: Probabilities,
    labels: Labels,
    counts: Floats | None,
    own: Probabilities,
    floor: float | None,
) -> float | None:
    """Return the p value of rows of one table being labelled whatever the model answered.

    None where it is not small, so that nothing speaks against it. Of many rows, a sample is tested.
    """
    if not len(own):
        return None
    rng, most = np.random.default_rng(0), most_rows(p.shape[1])
    drawn, others = (
        rng.permutation(len(some))[:most] if len(some) > most else slice(None) for some in (p, own)
    )
    p, labels, own = p[drawn], labels[drawn], own[others]
    counts = None if counts is None else counts[drawn]
    exponent = _on_common_scale(settings, p, labels, counts, own, floor)[1]
    here, there = (to_power(raised(some, floor), exponent) for some in (p, own))
    drift = find_drift(here, labels, there, counts=counts, by_answer=True)
    return None if drift is None else drift.p_value


def fit_rows(rows: Prepared, progress: Progress | None = None) -> Fit:
    """Return the fit of prepared rows: what refits expect most of, or weights of 1.

    The goal that the settings name is taken as it is; where they name none, β is chosen.
    """
    settings, limit = rows.settings, rows.settings.constraints.max_accuracy_loss
    solution, decision = rows.estimator.solve(settings, rows.deadline, progress)
    has_beta = isinstance(settings.objective, Objective)
    is_limited = limit is not None and has_beta and rows.estimator.is_robust and rows.is_whole
    is_done = solution.status is Status.INTERRUPTED or not (rows.is_judged or is_limited)
    if is_done or not rows.refits.are_possible:
        return _fit_of(rows, settings, solution, decision)

    # which β
    refits, others = rows.refits, dict[float, FitEvidence]()
    beta: float | None = None
    choice: str | None = None
    if limit is not None and is_limited:
        beta, choice = _beta_within(limit, rows)
    elif settings.chooses_beta:
        others = {b: refits.judge(settings.at(b)).evidence for b in BETAS}
        beta, choice = choose_beta(others)
    if beta is not None and beta != beta_of(settings.objective):
        settings = settings.at(beta)
        solution, decision = rows.estimator.solve(settings, settings.deadline(), progress)

    # or weights of 1
    judged = refits.judge(settings)
    evidence, is_kept = judged.evidence, beta is None
    if not is_limited:
        gains = evidence.goal(solution.confusion) < evidence.goal(rows.raw_counts) - 1e-9
        is_kept = not (evidence.gains and gains)
        choice = kept_sentence(evidence, beta) if is_kept else choice
    if is_kept and rows.may_keep:
        solution = _with_weights_of_1(solution, rows, settings)
        judged = refits.judge_raw(settings)
    evidence = replace(judged.evidence, is_kept=is_kept, sure=evidence.sure)
    judged = judged._replace(evidence=evidence)
    return _fit_of(rows, settings, solution, decision, judged, others, choice)


def fit_at(rows: Prepared, beta: float) -> Fit:
    """Return the fit of prepared rows at one β, with what it is expected to give on other rows."""
    settings = replace(rows.settings.at(beta), chooses_beta=False)
    solution, decision = rows.estimator.solve(settings, rows.deadline)
    judged = None
    if rows.is_judged:
        evidence, left_out = rows.refits.judge(settings)
        judged = Judged(replace(evidence, is_kept=not evidence.gains), left_out)
    return _fit_of(rows, settings, solution, decision, judged)


def _beta_within(limit: float, rows: Prepared) -> tuple[float | None, str]:
    """Return the β of the most even weights that keep a limit on lost accuracy on other rows.

    One standard error is to spare. None where no weights keep it that are more even than the raw
    argmax. Next to it is a sentence on what was chosen.
    """
    path = {beta: rows.refits.judge(rows.settings.at(beta)).evidence for beta in PATH}
    within = {
        beta: evidence.reweighted.cobias
        for beta, evidence in path.items()
        if evidence.evaluation.accuracy_change(_SPARE)[0] >= -limit
    }
    lost = f"at most {limit:g} of accuracy" if limit else "no accuracy"
    best = min(within, key=within.__getitem__, default=None)
    if best is None or within[best] >= path[best].raw.cobias:
        said = f"no β is sure to lose {lost} on other rows and be more even"
        return None, f"The raw argmax stays: {said}."
    return best, f"To lose {lost} on other rows, β is {best:g}."


def _with_weights_of_1(solution: Solution, rows: Prepared, settings: FitSettings) -> Solution:
    """Return weights of 1 in place of a solution."""
    problem, counts = rows.estimator.problem, rows.raw_counts
    demands = settings.constraints.on(problem.classes, problem.present)
    return solution.restated(
        on_classes(settings.objective, problem.classes),
        counts,
        weight_indices=np.full(problem.n_classes, solution.scale.size),
        constraints=demands.to_dict(counts, counts),
    )


def _fit_of(
    rows: Prepared,
    settings: FitSettings,
    solution: Solution,
    decision: Blend | None,
    judged: Judged | None = None,
    others: Mapping[float, FitEvidence] | None = None,
    choice: str | None = None,
) -> Fit:
    """Return a fit with everything that it shows."""
    opt, classes = rows.opt, rows.labelled.classes
    weights = Coefficients(classes, solution.weight_indices, solution.scale)
    evaluation, data_hash = opt.count(weights, rows.asked)
    if not opt.sample.is_whole:
        solution = _on_all_rows(solution, evaluation, settings)
    evidence, beta = None, None
    if judged is not None:
        evidence = judged.evidence
        known = replace(evidence.evaluation, signal=evaluation.signal, cause=evaluation.cause)
        evidence = replace(evidence, evaluation=known)
        judged = judged._replace(evidence=evidence)
        beta = None if evidence.is_kept and rows.may_keep else beta_of(settings.objective)
    deferring = None
    if settings.defer is not None:
        deferring = defer_share(
            settings, solution.multipliers, rows.estimator.rows, rows.mix, judged
        )
    fitted = Fit(
        weights,
        solution,
        evaluation,
        decision,
        rows.target,
        evidence if rows.is_judged else None,
        choice,
        tuple(_alternative(at, other, beta) for at, other in sorted((others or {}).items())),
        tuple(_notes(rows, settings, solution, evaluation, judged, deferring)),
        rows.chosen,
        () if deferring is None else deferring.points,
    )
    record = _record(rows, fitted, settings, data_hash)
    defer = None if deferring is None else deferring.thresholds
    return replace(
        fitted, coefficients=Coefficients.from_solution(solution, classes, record, defer)
    )


def _on_all_rows(solution: Solution, evaluation: Evaluation, settings: FitSettings) -> Solution:
    """Return a solution of a sample with its objective on all rows; nothing is proven of them."""
    assert evaluation.reweighted is not None
    raw, confusion = map(evaluation.in_population, (evaluation.raw, evaluation.reweighted))
    goal = on_classes(settings.objective, evaluation.classes)
    demands = settings.constraints.on(evaluation.classes, evaluation.raw.sum(axis=1) > 0)
    return solution.restated(goal, confusion, constraints=demands.to_dict(confusion, raw))


def _alternative(beta: float, evidence: FitEvidence, chosen: float | None) -> Alternative:
    """Return what a β is expected to give."""
    side = evidence.reweighted
    numbers = evidence.accuracies[1], side.cobias, side.worst_class_accuracy
    return Alternative(beta, *numbers, beta == chosen, evidence.evaluation)


def _record(rows: Prepared, fitted: Fit, settings: FitSettings, data_hash: str) -> FitRecord:
    """Return how the coefficients came about."""
    sample, more, target = rows.opt.sample, rows.opt.more, rows.target
    table, classes, decision = sample.table, sample.table.classes, fitted.decision
    is_used = decision is not None or (target is not None and target.estimate is not None)
    scored, expected = fitted.evaluation, {}
    if fitted.evidence is not None:
        scored, gaps = fitted.evidence.evaluation, fitted.evidence.reweighted
        expected = {"followed": gaps.followed, "expected": gaps.cobias}
    counts, scores = scored.reweighted, None
    evidence: dict[str, Any] | None = None
    assert counts is not None
    if rows.chosen is None:
        right = np.diag(counts.astype(np.float64))
        scores = ClassScores(counts.sum(axis=1), right, **expected)
    if fitted.verdict != "not judged" or rows.chosen is not None:
        evidence = {"verdict": fitted.verdict, "reason": fitted.reason}
        more_known = {"choice": fitted.choice, "chosen": rows.chosen}
        evidence |= {name: value for name, value in more_known.items() if value is not None}
    return FitRecord(
        package_version=__version__,
        data=_data_record(
            table,
            sha256=data_hash,
            rows=sample.n_rows,
            labelled_rows=int(sample.class_sizes.sum()),
            sums_to_one=table.sums_to_one,
            sample=None if sample.is_whole else {"rows": len(table), "seed": settings.seed},
        ),
        class_shares=rows.shares if rows.asked is None else rows.asked,
        calibration=rows.calibration,
        target_prior=None if target is None else target.to_dict(classes),
        robust=None if decision is None else {"mode": settings.robust, **decision.to_dict()},
        unlabelled=None
        if more is None or not is_used
        else _data_record(more, sha256=more.data_hash, rows=len(more)),
        evidence=evidence,
        **fitted.solution.search_record(classes),
        scores=scores,
        sketch=_rows_like_others(rows).sketch(fitted.solution.multipliers),
        fitted=FittedRows.of(rows.labelled.probabilities, rows.labelled.ids),
        deferring=tuple(point.to_record() for point in fitted.deferring),
    )


def _data_record(table: ProbabilityTable, **known: Any) -> DataRecord:  # noqa: ANN401
    """Return where rows came from."""
    source = valid_unicode(table.source)  # a path may hold bytes that JSON may not
    return DataRecord(source=source, origin=origin_of(Path(table.source)), **known)


def _rows_like_others(rows: Prepared) -> TableSample:
    """Return a sample of rows like those that the coefficients will be used for."""
    labelled, table = rows.labelled, rows.opt.sample.table
    if rows.chosen is not None:
        return _sketched(table)
    if len(rows.unlabelled) < LEAST_ROWS:
        p, labels, mass = labelled.probabilities, labelled.labels, labelled.mass
        assert labels is not None
        return TableSample.of(p, labels, mass=mass, weight=rows.weight, target=rows.asked)
    return _sketched(table.unlabelled(), rows.opt.more)


def _sketched(*tables: ProbabilityTable | None) -> TableSample:
    """Return a sample of the rows of tables, with captured mass where all of them have it."""
    some = [table for table in tables if table is not None and len(table)]
    is_known = all(table.mass is not None for table in some)
    sample = TableSample(some[0].n_classes)
    for table in some:
        sample.add(probabilities=table.probabilities, mass=table.mass if is_known else None)
    return sample


# --- Notes: what a user can do something about, one sentence each ---
def _notes(
    rows: Prepared,
    settings: FitSettings,
    solution: Solution,
    evaluation: Evaluation,
    judged: Judged | None,
    deferring: Deferring | None,
) -> Iterator[str]:
    """Yield what there is to know of the rows, of single classes and of simpler ways."""
    sample, robust = rows.opt.sample, rows.estimator.is_robust
    if not sample.is_whole:
        met = ", the constraints are kept on the sample" if solution.constraints else ""
        yield (
            f"Fitted on a sample of {len(sample.table):,} of {sample.n_rows:,} rows; the "
            f"objective is of all{met}."
        )
    yield from _notes_on_silent_classes(rows.labelled, evaluation)
    if rows.groups is not None and rows.opt.groups is None:
        n_rows = len(rows.groups)
        yield (
            f"{n_rows - len(np.unique(rows.groups)):,} of {n_rows:,} rows are copies of others, "
            "with the same probabilities and label.\nCopies lie in one fold, and count as one "
            "label."
        )
    is_large = not sample.is_whole or rows.labelled.probabilities.size > MOST_CELLS
    if rows.may_keep and is_large and not robust:
        yield (
            "The weights are the plain optimum: of so many rows, robust ones take long. --robust "
            "on makes them."
        )
    if judged is not None and not rows.is_whole:
        yield "Refits are of a sample of the rows, so other rows may do a little better."
    if judged is not None and rows.is_judged and judged.evidence.verdict == "apply":
        yield from _notes_on_batch_calibration(rows, settings, judged)
    if deferring is not None:
        yield from deferring.notes


def _notes_on_silent_classes(labelled: ProbabilityTable, evaluation: Evaluation) -> Iterator[str]:
    """Yield which classes are never right, before and after, and what may help."""
    assert evaluation.reweighted is not None
    assert labelled.labels is not None
    right = np.diag(evaluation.raw + evaluation.reweighted)
    silent = (evaluation.raw.sum(axis=1) > 0) & (right == 0)
    if not silent.any():
        return
    of_label = labelled.probabilities[np.arange(len(labelled)), labelled.labels]
    possible = np.bincount(labelled.labels, of_label, labelled.n_classes) > 0
    if (hopeless := silent & ~possible).any():
        yield (
            f"No weight can lift class {_named(evaluation, hopeless)}: its probability is 0 in all "
            "of its labelled rows."
        )
    if (lacking := silent & possible).any():
        yield (
            f"Never right, before and after: class {_named(evaluation, lacking)}. More labels, or "
            "a larger --beta, may help."
        )


def _named(evaluation: Evaluation, chosen: Booleans) -> str:
    return listed([evaluation.classes[c] for c in np.flatnonzero(chosen).tolist()])


def _notes_on_batch_calibration(
    rows: Prepared, settings: FitSettings, judged: Judged
) -> Iterator[str]:
    """Say where batch calibration without labels is expected to do as well as weights of labels."""
    if not rows.may_keep or rows.target is not None:
        return
    every = np.concatenate([rows.labelled.probabilities, rows.unlabelled])
    even = np.full(every.shape[1], 1 / every.shape[1])
    shift = _batch_calibration(replace(settings, scale=None), every, even)[1]
    batch = np.exp(shift - shift.max())
    chosen = rows.refits.assess(settings, [judged.left_out], before=batch)
    if chosen.gains:
        return
    ends = np.array([chosen.before, chosen.after])
    of_batch, value = ends if chosen.metric is None else 1 - ends
    yield (
        f"Without labels, batch calibration does as well, as far as refits show: {chosen.aim} "
        f"{of_batch:.3f} next to {value:.3f}. --no-labels makes it."
    )


# --- Without labels ---
def _refuse_what_needs_labels(**asked: object) -> None:
    """Refuse what a fit without labels has no use for."""
    given = [name for name, value in asked.items() if value is not None and value is not False]
    if given:
        raise InvalidInputError(
            f"{listed(given)}: needs labels, and a fit without labels uses none",
            hint="Leave that out, or --no-labels (no_labels=True)",
        )


def _fit_no_labels(opt: FitRows, settings: FitSettings) -> Fit:
    """Return the batch calibration of rows whose labels are not used."""
    began, table = time.perf_counter(), opt.sample.table
    p = table.probabilities
    if opt.more is not None:
        p = np.concatenate([p, opt.more.probabilities])
    n_rows, n = p.shape
    if n_rows == 0:
        raise no_rows(table.source)
    target, shares = None, np.full(n, 1 / n)
    if settings.target_prior is not None:
        shares = check_prior(settings.target_prior, table.classes)
        target = TargetPrior(shares)
    scale, shift = _batch_calibration(settings, p, shares)
    absent = shares == 0
    shift[absent] = shift[~absent].min()
    none_right = np.zeros((n, n), np.int64)
    solution = Solution(
        weight_indices=round_to_scale(shift, scale, absent=np.flatnonzero(absent).tolist()),
        scale=scale,
        objective={"name": _BATCH},
        value=math.nan,
        terms={},
        confusion=none_right,
        status=Status.FINISHED,
        lower_bound=None,
        gap=None,
        evaluations=0,
        seconds=time.perf_counter() - began,
        solver=_BATCH,
        seed=settings.seed,
        trace=(),
    )
    record = FitRecord(
        package_version=__version__,
        data=_data_record(
            table,
            sha256=table.data_hash,
            rows=opt.sample.n_rows,
            labelled_rows=0,
            sums_to_one=table.sums_to_one,
        ),
        class_shares=shares,
        calibration=Calibration(shift - shift.mean(), 1.0, np.zeros(n)),
        target_prior=None if target is None else target.to_dict(table.classes),
        solver=_BATCH,
        seconds=solution.seconds,
        seed=settings.seed,
        sketch=_sketched(table, opt.more).sketch(solution.multipliers),
    )
    return Fit(
        Coefficients(table.classes, solution.weight_indices, scale, solution.objective, record),
        solution,
        Evaluation(table.classes, 0, n_rows, none_right, captured_mass=table.captured_mass),
        target=target,
    )


def _batch_calibration(
    settings: FitSettings, p: Probabilities, shares: Floats
) -> tuple[WeightScale, Floats]:
    """Return the scale, and the log-weights (N,) that make classes equally likely on average."""
    settings, exponent = _on_common_scale(settings, p, np.empty(0, np.int64), None, p[:0], None)
    assert settings.scale is not None
    counted = (len(p) * shares + 0.5) / (len(p) + len(shares) / 2)
    shift = batch_shift(to_power(p, exponent), counted, np.ones(len(p))) / exponent
    return settings.scale, shift
