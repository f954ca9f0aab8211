"""One coefficient per class: what is deployed, the record of its fit, and the file of both."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base import COEFFICIENTS
from dnip.base.errors import CoefficientsFormatError, InvalidInputError, listed, shown
from dnip.base.escaping import html_table
from dnip.base.files import check_suffix, read_named, write_text
from dnip.base.records import REFIT, as_plain, complete, from_plain, reading
from dnip.base.typing import Booleans, Counts, Floats, Probabilities, WeightIndices
from dnip.base.validation import check_number, once
from dnip.method.kept import ClassScores, Sketch
from dnip.method.prediction import decide, reweight
from dnip.method.scales import FREE, WeightScale, check_scaled
from dnip.method.solution import Solution
from dnip.metrics import HEADLINE, METRICS
from dnip.priors import Calibration, PriorEstimate, PriorLike, adjust, check_prior, estimate_prior
from dnip.tables.cells import check_probabilities
from dnip.tables.formats import FORMATS
from dnip.tables.frames import take_columns
from dnip.tables.groups import FittedRows
from dnip.tables.labels import check_classes, names_of


@dataclass(frozen=True, kw_only=True)
class DataRecord:
    """Where rows came from.

    Attributes
    ----------
    source : str or None
        Name of the table.
    sha256 : str or None
        Hash of its classes, probabilities and labels.
    rows, labelled_rows : int or None
    sums_to_one : bool or None
        Whether the probabilities of every row summed to 1 as they came.
    sample : dict or None
        How many rows were drawn to fit on, and the seed; None for all.
    origin : dict or None
        The model, the prompt and the question, where they are known.
    """

    source: str | None = None
    sha256: str | None = None
    rows: int | None = None
    labelled_rows: int | None = None
    sums_to_one: bool | None = None
    sample: Mapping[str, Any] | None = None
    origin: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FitRecord:
    """How coefficients came about; every part may be missing, as in coefficients made by hand.

    Attributes
    ----------
    package_version : str or None
    data, unlabelled : DataRecord or None
        The opt table; and the table of more rows without a label, if they were used.
    class_shares : ndarray of shape (N,) or None
        The class mix that the fit is for.
    calibration : Calibration or None
        How to make calibrated log-odds of probabilities.
    target_prior, robust, adjusted : dict or None
        What was decided on the class mix, by a robust fit, and at a move to another mix.
    evidence : dict or None
        ``verdict`` and ``reason``.
    solver, status, lower_bound, gap, evaluations, seconds, seed, unfitted, constraints
        How the search went, as `Solution` has it; classes that were not fitted by name.
    scores : ClassScores or None
        Rows of each class and those that are right, with what is expected of other rows.
    sketch : Sketch or None
        How the probabilities are distributed.
    fitted : FittedRows or None
        Which rows were fitted, as hashes.
    deferring : tuple of dict
        What is expected by the share of rows that is deferred.
    notes : dict
        Entries of any other name.

    Examples
    --------
    >>> record = FitRecord.from_dict({"seed": 0, "data": {"source": "opt.csv"}}, 2)
    >>> record.data.source, record.to_dict()
    ('opt.csv', {'data': {'source': 'opt.csv'}, 'seed': 0})
    """

    package_version: str | None = None
    data: DataRecord | None = None
    class_shares: Floats | None = None
    calibration: Calibration | None = None
    target_prior: Mapping[str, Any] | None = None
    robust: Mapping[str, Any] | None = None
    unlabelled: DataRecord | None = None
    evidence: Mapping[str, Any] | None = None
    solver: str | None = None
    status: str | None = None
    lower_bound: float | None = None
    gap: float | None = None
    evaluations: int | None = None
    seconds: float | None = None
    seed: int | None = None
    unfitted: tuple[str, ...] = ()
    constraints: Mapping[str, Any] | None = None
    scores: ClassScores | None = None
    sketch: Sketch | None = None
    fitted: FittedRows | None = None
    deferring: tuple[Mapping[str, Any], ...] = ()
    adjusted: Mapping[str, Any] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a coefficients file holds it."""
        content = as_plain(self)
        notes = content.pop("notes", {})
        return {**content, **notes}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], n_classes: int) -> Self:
        """Read what `to_dict` wrote.

        Raises
        ------
        CoefficientsFormatError
            For a part that is damaged.
        """
        names = {column.name for column in fields(cls)} - {"notes"}
        record = cls(notes={name: content[name] for name in content if name not in names})
        for name in content.keys() & names:
            with reading(name):
                part = from_plain(cls, {name: content[name]})
                part._check(n_classes)
            record = replace(record, **{name: getattr(part, name)})
        return record

    def _check(self, n_classes: int) -> None:
        """Refuse what is not of so many classes."""
        of_classes = {
            "shares": self.class_shares,
            "numbers": None if self.calibration is None else self.calibration.labels,
            "scores": None if self.scores is None else self.scores.rows,
            "columns": None if self.sketch is None else self.sketch.classes,
        }
        for name, values in of_classes.items():
            if values is not None and len(values) != n_classes:
                raise ValueError(f"{len(values)} {name} for {n_classes} classes")
        shares = self.class_shares
        if shares is not None and ((shares < 0).any() or not 0 < shares.sum() < np.inf):
            raise ValueError(f"{shares} are no class shares")

    def needed(self, name: str, purpose: str) -> Any:  # noqa: ANN401 - the kind of the part
        """Return a part of the record.

        Raises
        ------
        CoefficientsFormatError
            If it is missing; `purpose` says what coefficients without it cannot be.
        """
        value = getattr(self, name)
        if value is None:
            raise CoefficientsFormatError(
                f"coefficients: fit.{name} is missing, so they cannot be {purpose}: they were not "
                "made by a fit",
                hint=REFIT,
            )
        return value


@dataclass(frozen=True, eq=False)
class Deferral:
    """Thresholds of deferring.

    With q the corrected probabilities of a row and c its decision, the row is deferred if
    q_c < t_c. A row at the threshold stays, so 0 defers nothing.

    Parameters
    ----------
    thresholds : array-like of shape (N,)
        t, one for each predicted class, 0..2; above 1 it defers all rows of a class.
    share : float
        The share of rows that they were learned to defer, 0..1.
    helper_accuracy : float, optional
        How often the helper was taken to be right, 0..1; None where the rows that remain were to
        be served best.

    Raises
    ------
    InvalidInputError
        For numbers outside their ranges.

    Examples
    --------
    >>> defer = Deferral([0.9, 0.6], share=0.3, helper_accuracy=0.9)
    >>> defer.deferred(np.array([[0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]))
    array([ True, False, False])
    """

    thresholds: Floats
    share: float
    helper_accuracy: float | None = None

    def __post_init__(self) -> None:
        check_number("share", self.share, at_least=0, at_most=1)
        if self.helper_accuracy is not None:
            check_number("helper_accuracy", self.helper_accuracy, at_least=0, at_most=1)
        t = np.asarray(self.thresholds)
        if t.ndim != 1 or t.dtype.kind not in "iuf" or not ((t >= 0) & (t <= 2)).all():
            must = "thresholds of deferring must be one number from 0 to 2 for each class"
            raise InvalidInputError(f"{must}; got {shown(self.thresholds)}")
        t = t.astype(np.float64)
        t.setflags(write=False)
        complete(self, thresholds=t, share=float(self.share))

    def deferred(
        self, corrected: Probabilities, decided: NDArray[np.integer] | None = None
    ) -> Booleans:
        """Return whether each row is deferred, shape (M,).

        Parameters
        ----------
        corrected : ndarray of shape (M, N)
            What `Coefficients.apply` returns.
        decided : ndarray of shape (M,), optional
            The classes that were decided for; those of `corrected` by default.
        """
        c = decide(corrected) if decided is None else decided
        return np.asarray(corrected[np.arange(len(c)), c] < self.thresholds[c])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a coefficients file holds it: the arguments that make it."""
        return {**vars(self), "thresholds": self.thresholds.tolist()}


def refuse_defer(defer: Deferral | None, where: str) -> None:
    """Refuse thresholds where nothing can say which rows are deferred."""
    if defer is not None:
        raise InvalidInputError(
            f"{where} cannot hold the thresholds of deferring that these coefficients have",
            hint="Use dnip apply, dnip serve, or dnip export --to python, javascript or sql; "
            "or fit without thresholds",
        )


def served(defer: Deferral, routed: Counts) -> dict[str, Any]:
    """Return the share that is deferred, and the scores of what remains and of the system.

    Parameters
    ----------
    defer : Deferral
    routed : ndarray of shape (N, 2·N)
        Confusion counts of the rows that remain, and beside them of those that are deferred.

    Returns
    -------
    dict
        ``share``, ``asked`` and ``helper_accuracy``. Under ``remaining``, and under ``system`` for
        a helper, accuracy, COBias and the worst class; None where nothing remains.

    Examples
    --------
    >>> routed = np.array([[8, 0, 2, 0], [0, 4, 4, 2]])
    >>> scores = served(Deferral([0.9, 0.6], 0.3, helper_accuracy=0.5), routed)
    >>> scores["share"], scores["remaining"]["accuracy"], scores["system"]["accuracy"]
    (0.4, 1.0, 0.8)
    """
    remaining, deferred = np.hsplit(routed.astype(np.float64), 2)
    sides, right = {"remaining": remaining}, defer.helper_accuracy
    if right is not None:
        # which error a helper makes is not scored
        answers = np.full(remaining.shape, (1 - right) / (len(routed) - 1))
        np.fill_diagonal(answers, right)
        sides["system"] = remaining + deferred.sum(axis=1, keepdims=True) * answers
    scores: dict[str, Any] = {"share": float(deferred.sum() / routed.sum()), "asked": defer.share}
    for name, counts in sides.items():
        several = np.count_nonzero(counts.sum(axis=1)) > 1
        scores[name] = {n: METRICS[n].of(counts) if several else None for n in HEADLINE}
    return {**scores, "helper_accuracy": right}


# What coefficients cannot be without what a fit has learned.
_MOVED = "moved to another class mix"


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients:
    """The weights of the classes, and a record of the fit that made them.

    Parameters
    ----------
    classes : sequence of str
        Class names, in the order of the probability columns.
    weight_indices : array-like of shape (N,)
        ξ, whole numbers 1..K; empty for free weights.
    scale : int, str or WeightScale
        K, ``"log:K"``, ``"span:S"``, or ``"continuous"`` for free weights. The attribute holds a
        `WeightScale`.
    objective : dict, optional
        Settings of the objective and its value on the opt set.
    fit : FitRecord or dict, optional
        How they came about; a dictionary as in a file. The attribute holds a `FitRecord`.
    weights : array-like of shape (N,), optional
        ω, above 0 and at most 1: free weights; on a scale the indices give them.
    defer : Deferral, optional
        Which rows to defer.

    Attributes
    ----------
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by before the argmax: ξ on a linear scale, because the
        factor 1/K cancels, and ω on others.
    path : str
        The file that they were read from, for messages; empty where there is none.

    Raises
    ------
    InvalidInputError
        For indices outside 1..K, bad weights, thresholds of other classes, or bad class names.
        And wherever probabilities break their contract, or are of other classes.

    Examples
    --------
    >>> coefficients = Coefficients(["cat", "dog"], [30, 15], scale=30)
    >>> coefficients
    Coefficients(cat: 1.000, dog: 0.500)
    >>> coefficients.predict([[0.4, 0.6], [0.3, 0.7]]).tolist()
    ['cat', 'dog']
    >>> coefficients.apply([[0.4, 0.6]]).round(3)
    array([[0.571, 0.429]])
    """

    classes: tuple[str, ...]
    weight_indices: WeightIndices
    scale: WeightScale
    objective: dict[str, Any] = field(default_factory=dict)
    fit: FitRecord = field(default_factory=FitRecord)
    weights: Floats = field(default_factory=lambda: np.empty(0))
    defer: Deferral | None = None
    path: ClassVar[str] = ""

    def __init__(
        self,
        classes: Sequence[str],
        weight_indices: ArrayLike,
        scale: int | str | WeightScale,
        objective: dict[str, Any] | None = None,
        fit: FitRecord | Mapping[str, Any] | None = None,
        weights: ArrayLike | None = None,
        defer: Deferral | None = None,
    ) -> None:
        names = check_classes(classes)
        k, indices, omega = check_scaled(scale, weight_indices, weights, len(names))
        for array in (indices, omega):
            array.setflags(write=False)
        if not isinstance(fit, FitRecord):
            fit = FitRecord.from_dict(fit, len(names)) if fit else FitRecord()
        if defer is not None and len(defer.thresholds) != len(names):
            raise InvalidInputError(
                f"{len(defer.thresholds)} thresholds of deferring, but {len(names)} classes"
            )
        complete(self, classes=names, weight_indices=indices, scale=k, weights=omega)
        complete(self, objective=dict(objective or {}), fit=fit, defer=defer)

    def __reduce__(self) -> tuple[type[Coefficients], tuple[Any, ...]]:
        """Let the constructor make copies too: their arrays are read-only."""
        return type(self), tuple(getattr(self, column.name) for column in fields(self))

    def __repr__(self) -> str:
        return f"Coefficients({listed([f'{name}: {weight:.3f}' for name, weight in self._rows])})"

    def _repr_html_(self) -> str:
        return html_table("Coefficients", ["class", "weight"], self._rows)

    @property
    def _rows(self) -> list[tuple[str, float]]:
        return [*zip(self.classes, self.weights.tolist(), strict=True)]

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        classes: Sequence[str],
        record: FitRecord | None = None,
        defer: Deferral | None = None,
    ) -> Coefficients:
        """Make coefficients of a solution; the record is of the search alone by default.

        Examples
        --------
        >>> from dnip import solve
        >>> solution = solve([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> Coefficients.from_solution(solution, ["no", "yes"]).fit.solver
        'coordinate'
        """
        return cls(
            classes,
            solution.weight_indices,
            solution.scale,
            {**solution.objective, "value": solution.value, "term_values": solution.terms},
            record or FitRecord(**solution.search_record(classes)),
            defer=defer,
        )

    @cached_property
    def digest(self) -> str:
        """A hash of the classes and the weights: the mark of what they corrected.

        It is the same on every scale that gives these weights.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).digest
        '202fe88dd43e4192'
        """
        return hashlib.sha256(
            json.dumps([self.classes, self.weights.tolist()]).encode()
        ).hexdigest()[:16]

    @cached_property
    def multipliers(self) -> Floats:
        """What probabilities are multiplied by before the argmax."""
        if self.scale == FREE:
            return self.weights
        return self.scale.multipliers(self.weight_indices)

    def apply(self, probabilities: ArrayLike) -> Probabilities:
        """Reweight class probabilities (equation 6): ω_n·p_mn, normalised to sum 1 per row.

        The result is not calibrated. It ranks the classes as `predict` does, save where two
        products differ by a rounding: quotients may be equal there, so decide by `predict`.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Columns of a data frame are taken by the names of the classes, if it has them all.

        Returns
        -------
        ndarray of shape (M, N)
        """
        return reweight(_of_classes(probabilities, self.classes), self.multipliers)

    def predict(self, probabilities: ArrayLike) -> NDArray[np.object_]:
        """Predict argmax_n ω_n·p_mn (equation 7); a tie goes to the lowest class.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            As for `apply`.

        Returns
        -------
        ndarray of shape (M,)
            Class names, as Python strings.
        """
        chosen = decide(_of_classes(probabilities, self.classes), self.multipliers)
        return np.asarray(np.array(self.classes, np.object_)[chosen])

    def deferred(self, probabilities: ArrayLike) -> Booleans:
        """Return which rows to defer, shape (M,), of probabilities as for `apply`.

        Without thresholds no row is deferred.

        Examples
        --------
        >>> some = Coefficients(["cat", "dog"], [30, 15], 30, defer=Deferral([0.9, 0.6], 0.3))
        >>> some.deferred([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]])
        array([False,  True, False])
        """
        p = _of_classes(probabilities, self.classes)
        if self.defer is None:
            return np.zeros(len(p), np.bool_)
        return self.defer.deferred(reweight(p, self.multipliers), decide(p, self.multipliers))

    def adjusted(self, target_prior: PriorLike | PriorEstimate) -> Coefficients:
        """Return coefficients for rows with another class mix.

        The log-weights move from those of the fit toward those of highest accuracy under the target
        mix; how far depends on how much the mix has changed. See "Other class mixes" in the
        documentation. A new fit with this target prior serves the objective better.

        Parameters
        ----------
        target_prior : mapping, sequence, "uniform" or PriorEstimate
            Shares by class name, or in class order. With an estimate, a class whose share in the
            fit is within the interval counts as unchanged.

        Returns
        -------
        Coefficients
            With free weights; the same ones if their mix is the target.

        Raises
        ------
        InvalidInputError
            For shares that are not a class mix, or thresholds: they hold for the mix of the fit.
        CoefficientsFormatError
            For coefficients without class shares or calibration.

        Examples
        --------
        >>> import dnip
        >>> P = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 50
        >>> fitted = dnip.fit(P, ["ham", "spam"] * 100).coefficients
        >>> new = [[0.65, 0.35], [0.85, 0.15]]
        >>> fitted.predict(new).tolist()
        ['spam', 'ham']
        >>> fitted.adjusted({"ham": 0.01, "spam": 0.99}).predict(new).tolist()
        ['spam', 'spam']
        """
        shares, changed = self.class_shares, None
        if isinstance(target_prior, PriorEstimate):
            changed = target_prior.differs_from(shares)
            target_prior = target_prior.shares
        target = check_prior(target_prior, self.classes)
        moved = adjust(self.weights, self.calibration, shares, target, changed)
        if moved.way == 0 and (target > 0).all():
            return self
        if self.defer is not None:
            raise InvalidInputError(
                "thresholds of deferring hold for the class mix of the fit alone",
                hint="Fit for the other mix: dnip fit TABLE --target-prior MIX --defer SHARE",
            )
        # the value, scores and sketch belong to other weights, or to rows of another mix
        objective = {k: v for k, v in self.objective.items() if k not in ("value", "term_values")}
        before = {"weights": self.weights.tolist(), "class_shares": shares.tolist()}
        adjusted = {"part": moved.way, "from": before}
        fit = replace(self.fit, class_shares=target, adjusted=adjusted, scores=None, sketch=None)
        return Coefficients(self.classes, [], FREE, objective, fit, moved.weights)

    def estimate_prior(self, probabilities: ArrayLike) -> PriorEstimate:
        """Estimate the class mix of rows without labels, by the calibration of the fit.

        Raises
        ------
        CoefficientsFormatError
            For coefficients without calibration.
        """
        return estimate_prior(_of_classes(probabilities, self.classes), self.calibration)

    @property
    def class_shares(self) -> Floats:
        """Class shares of the rows that the fit is for, shape (N,)."""
        return np.asarray(self.fit.needed("class_shares", _MOVED))

    @property
    def calibration(self) -> Calibration:
        """How to make calibrated log-odds of probabilities, as learned at the fit."""
        calibration: Calibration = self.fit.needed("calibration", _MOVED)
        return calibration

    def logit_bias(self) -> dict[str, float]:
        """Return ln ω by class: as a bias on a single-token label, it has the effect of the weight.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).logit_bias()
        {'no': 0.0, 'yes': -0.6931471805599453}
        """
        return {name: math.log(weight) for name, weight in self._rows}

    def to_json(self) -> str:
        """Return the coefficients as JSON text.

        Examples
        --------
        >>> coefficients = Coefficients(["no", "yes"], [30, 15], scale=30)
        >>> Coefficients.from_json(coefficients.to_json()).weight_indices
        array([30, 15])
        """
        content = {
            "format": COEFFICIENTS,
            "version": VERSION,
            "classes": list(self.classes),
            "weight_indices": self.weight_indices.tolist() or None,
            **self.scale.to_dict(),
            "weights": self.weights.tolist(),
            "objective": self.objective,
            "fit": self.fit.to_dict(),
            "defer": self.defer and self.defer.to_dict(),
        }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, source: str = "coefficients") -> Coefficients:
        """Read coefficients from JSON text.

        Parameters
        ----------
        text : str
        source : str, default="coefficients"
            Where the text came from, for messages.

        Raises
        ------
        CoefficientsFormatError
            If the text is damaged, of another format, or of an unknown version.
        """
        return _from_text(text, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file whole, or raise `OutputError` and leave what was there as it was."""
        check_suffix(path, ".json")
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Coefficients:
        """Read coefficients from a JSON file.

        Raises
        ------
        CoefficientsFormatError
            If the file cannot be read, is damaged, or is of an unknown version.
        """
        if Path(path).is_file() and Path(path).name.lower().endswith(tuple(FORMATS)):
            raise CoefficientsFormatError(
                f"{path} is a table, but a file of coefficients is needed",
                hint="Give the coefficients.json that `dnip fit` wrote",
            )
        text = read_named(path, CoefficientsFormatError)
        coefficients = cls.from_json(text, source=str(path))
        complete(coefficients, path=str(path))
        return coefficients


def _of_classes(probabilities: ArrayLike, classes: Sequence[str]) -> Probabilities:
    """Return checked probabilities whose columns are these classes.

    Raises
    ------
    InvalidInputError
        For probabilities that break their contract, or columns of other classes.
    """
    p = check_probabilities(take_columns(probabilities, classes)[0])
    names_of(p.shape[1], classes)
    return p


class Fitted(Protocol):
    """What a fit returns, among other things."""

    @property
    def coefficients(self) -> Coefficients:
        """What to use on other rows."""
        ...


#: What stands for coefficients: themselves, a fit, or the path of their file.
CoefficientsLike: TypeAlias = Coefficients | Fitted | str | os.PathLike[str]


def as_coefficients(source: CoefficientsLike) -> Coefficients:
    """Return coefficients, read from their file if a path is given, or those of a fit.

    Raises
    ------
    CoefficientsFormatError
        For a file that `Coefficients.load` refuses.
    InvalidInputError
        For anything else.
    """
    if isinstance(source, str | os.PathLike):
        return Coefficients.load(source)
    coefficients = getattr(source, "coefficients", source)
    if not isinstance(coefficients, Coefficients):
        raise InvalidInputError(
            "coefficients must be Coefficients, a fit, or the path of their file; got a "
            f"{type(source).__name__}"
        )
    return coefficients


# --- The file ---
#: Of the content of a file; a reader refuses a version that it does not know.
VERSION = 1

#: What to do about a file that cannot be used.
GIVE_ANOTHER = "Give the coefficients.json that `dnip fit` wrote, or fit again"


@dataclass(frozen=True)
class _Content:
    """What a file holds: the arguments of coefficients."""

    classes: tuple[str, ...]
    weight_indices: tuple[int, ...] | None
    scale: int | None
    weights: tuple[float, ...] | None = None
    objective: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    defer: Deferral | None = None


def _from_text(text: str, source: str) -> Coefficients:
    """Read the JSON text of a file."""
    try:
        content = json.loads(
            text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=once
        )
    except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
        raise _broken(source, f"not valid JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != COEFFICIENTS:
        raise _broken(source, f'"format" is not "{COEFFICIENTS}"')
    version = content.get("version")
    if version != VERSION:
        raise CoefficientsFormatError(
            f"{source}: version {version!r} is unknown; this package reads version {VERSION}",
            hint="Install the newer package that wrote the file",
        )
    try:
        given = from_plain(_Content, content)
        return Coefficients(
            given.classes,
            given.weight_indices or [],
            WeightScale.from_dict(content),
            dict(given.objective),
            given.fit,
            given.weights,
            given.defer,
        )
    except (ValueError, TypeError) as error:
        raise _broken(source, str(error)) from error


def _broken(source: str, what: str) -> CoefficientsFormatError:
    return CoefficientsFormatError(f"{source}: {what}", hint=GIVE_ANOTHER)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.60} is not a finite number")
    return number
