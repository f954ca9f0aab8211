"""Corrections to compare: what they learn from, calibrations, scalings, DNIP; and all of them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, load_optional, unwarned
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.base.validation import check_choice
from dnip.fitting.fit import fit
from dnip.method.objective import Goal
from dnip.tables.cells import Location, check_probabilities
from dnip.tables.labels import check_several_classes, names_of, read_indices, read_labels


@dataclass(frozen=True, eq=False)
class OptSet:
    """What methods may learn from; each takes what it needs.

    Attributes
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    unlabelled : ndarray of shape (U, N)
        Rows without a label that are at hand before any test row.
    batch : ndarray of shape (B, N)
        The rows that the correction will decide, without their labels. Only a method whose
        ``reads`` names the batch reads them.
    content_free : ndarray of shape (C, N)
        What the model answers to texts without content.
    classes : tuple of str

    Examples
    --------
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> opt.n_classes, len(opt.batch)
    (2, 0)
    """

    probabilities: Probabilities
    labels: Labels
    unlabelled: Probabilities
    batch: Probabilities
    content_free: Probabilities
    classes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        probabilities: ArrayLike,
        labels: ArrayLike,
        *,
        classes: Sequence[str] | None = None,
        **others: ArrayLike,
    ) -> OptSet:
        """Check arrays and make an opt set of them; what is left out has no rows.

        Raises
        ------
        InvalidInputError
            For input that breaks its contract, or labels of fewer than two classes.
        """
        p = check_probabilities(probabilities)
        n_classes = p.shape[1]
        y = read_indices(labels, len(p), n_classes, "labels")
        names = names_of(n_classes, classes)
        check_several_classes(np.bincount(y, minlength=n_classes) > 0, names)
        parts = dict.fromkeys(("unlabelled", "batch", "content_free"), np.empty((0, n_classes)))
        return cls(p, y, classes=names, **parts | {k: np.asarray(v) for k, v in others.items()})

    @property
    def n_classes(self) -> int:
        """N."""
        return int(self.probabilities.shape[1])

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return np.bincount(self.labels, minlength=self.n_classes) > 0


class Correction(ABC):
    """What a method has learned, frozen."""

    @abstractmethod
    def scores(self, probabilities: Probabilities) -> Floats:
        """Return the corrected score of each class, shape (M, N); the highest wins."""

    def predict(self, probabilities: Probabilities) -> Labels:
        """Return the class of each row, shape (M,); the lowest on a tie."""
        return np.asarray(np.argmax(self.scores(probabilities), axis=1))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the learned numbers, ready for JSON."""


class Method(ABC):
    """A way to learn a correction from an opt set.

    A new method is a subclass and a line in :func:`~dnip.comparing.methods.choose`.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        What it does, in a few words.
    reads : tuple of str
        What it reads of an opt set: labels, unlabelled, batch, content-free.
    seeded : bool
        Whether the seed of a fit changes what it learns.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ("labels",)
    seeded: ClassVar[bool] = False

    @abstractmethod
    def fit(self, opt: OptSet, seed: int = 0) -> Correction:
        """Learn a correction.

        Raises
        ------
        InvalidInputError
            If the opt set lacks what the method reads.
        MissingDependencyError
            If an optional library is missing.
        """


@dataclass(frozen=True, eq=False)
class ClassWeights(Correction):
    """One weight per class: the argmax of ω·p, the lowest class on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> ClassWeights(np.array([1.0, 2.0])).predict(np.array([[0.7, 0.3], [0.6, 0.4]]))
    array([0, 1])
    """

    weights: Floats
    notes: dict[str, Any] = field(default_factory=dict)

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ω·p, shape (M, N)."""
        return np.asarray(self.weights * probabilities)

    def to_dict(self) -> dict[str, Any]:
        """Return the weights, and the notes of the method."""
        return {"weights": self.weights.tolist(), **self.notes}


@dataclass(frozen=True, eq=False)
class LogLinear(Correction):
    """Scores that are linear in log-probabilities: ln p·A + b.

    Attributes
    ----------
    matrix : ndarray of shape (N, N)
        A; column n makes the score of class n.
    bias : ndarray of shape (N,)
        b.
    notes : dict
        Further numbers of the method.

    Examples
    --------
    >>> import numpy as np
    >>> shift = LogLinear(np.eye(2), np.array([0.0, 1.0]))
    >>> shift.predict(np.array([[0.7, 0.3], [0.8, 0.2]]))
    array([1, 0])
    """

    matrix: Floats
    bias: Floats
    notes: dict[str, Any] = field(default_factory=dict)

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ln p·A + b, shape (M, N)."""
        return np.asarray(log(probabilities) @ self.matrix + self.bias)

    def to_dict(self) -> dict[str, Any]:
        """Return the notes of the method, or else the bare numbers."""
        return self.notes or {"matrix": self.matrix.tolist(), "bias": self.bias.tolist()}


# No calibration tells probabilities below this apart.
_LEAST_PROBABILITY = 1e-12


def log(probabilities: Probabilities) -> Floats:
    """Return log-probabilities; zeros count as a tiny number."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))


# The steepness of separable labels has no limit but this; it never turns an order around.
_LEAST_SLOPE, _MOST_SLOPE = 1e-2, 1e2
# Of scikit-learn's regression.
_MAX_STEPS = 1000


@dataclass(frozen=True)
class VectorScaling(Method):
    """A factor and a shift for each class's log-probability, by log-loss.

    Factors stay between 0.01 and 100, also where labels can be separated without error.
    A class without labels keeps its log-probability as it is.

    References
    ----------
    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017, section 4.2.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> VectorScaling().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "vector-scaling"
    summary = "a factor and a shift of each log-probability, by log-loss"

    def fit(self, opt: OptSet, seed: int = 0) -> LogLinear:
        """Fit factors and shifts by L-BFGS-B from the raw log-probabilities."""
        optimize = load_optional("scipy.optimize", purpose="scale vectors", extra="sklearn")
        z, n = log(opt.probabilities), opt.n_classes

        def loss(x: Floats) -> tuple[float, Floats]:
            value, residual = _log_loss(x[:n] * z + x[n:], opt.labels)
            return value, np.concatenate([(residual * z).sum(axis=0), residual.sum(axis=0)])

        limits = [(_LEAST_SLOPE, _MOST_SLOPE) if p else (1.0, 1.0) for p in opt.present]
        limits += [(-np.inf, np.inf) if p else (0.0, 0.0) for p in opt.present]
        start = np.concatenate([np.ones(n), np.zeros(n)])
        best = optimize.minimize(loss, start, jac=True, bounds=limits, method="L-BFGS-B")
        slopes, shifts = best.x[:n], best.x[n:]
        notes = {"slopes": slopes.tolist(), "shifts": shifts.tolist()}
        return LogLinear(np.diag(slopes), shifts, notes)


@dataclass(frozen=True)
class MatrixScaling(Method):
    """What a user of scikit-learn would take: ``LogisticRegression`` with its defaults on ln p.

    Guo et al. (2017) call it matrix scaling, Kull et al. (2019) Dirichlet calibration. Every
    class's score reads every log-probability: N² + N numbers, drawn to 0 by scikit-learn's L2
    penalty.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> MatrixScaling().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "matrix-scaling"
    summary = "logistic regression on ln p"
    class_weight: ClassVar[str | None] = None

    def fit(self, opt: OptSet, seed: int = 0) -> LogLinear:
        """Fit the regression; a class without labels is never predicted."""
        linear_model = load_optional(
            "sklearn.linear_model", purpose="scale matrices", extra="sklearn"
        )
        threads = load_optional("threadpoolctl", purpose="scale matrices", extra="sklearn")
        model = linear_model.LogisticRegression(class_weight=self.class_weight, max_iter=_MAX_STEPS)
        with threads.threadpool_limits(1):  # more wait for each other on matrices so small
            model.fit(log(opt.probabilities), opt.labels)
        matrix = np.zeros((opt.n_classes, opt.n_classes))
        bias = np.full(opt.n_classes, -np.inf)
        coefficients, intercept = model.coef_, model.intercept_
        if len(model.classes_) == 2:  # one score for the second class, against 0
            coefficients = np.vstack([np.zeros_like(coefficients), coefficients])
            intercept = np.concatenate([[0.0], intercept])
        matrix[:, model.classes_] = coefficients.T
        bias[model.classes_] = intercept
        notes = {"matrix": coefficients.tolist(), "bias": intercept.tolist()}
        return LogLinear(matrix, bias, notes)


@dataclass(frozen=True)
class BalancedMatrixScaling(MatrixScaling):
    """The same, and every class counts alike, whatever its number of labels."""

    name = "matrix-scaling-balanced"
    summary = "class-balanced logistic regression on ln p"
    class_weight = "balanced"


def _log_loss(scores: Floats, labels: Labels) -> tuple[float, Floats]:
    """Return the mean of -ln softmax(scores) at the labels, and its gradient in the scores.

    Examples
    --------
    >>> import numpy as np
    >>> loss, gradient = _log_loss(np.zeros((1, 2)), np.array([0]))
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    rows = np.arange(len(labels))
    shifted = scores - scores.max(axis=1, keepdims=True)
    q = np.exp(shifted)
    total = q.sum(axis=1)
    loss = float((np.log(total) - shifted[rows, labels]).mean())
    q /= total[:, None]
    q[rows, labels] -= 1
    return loss, q / len(labels)


# Stands for a mean probability of 0: the least number of half precision above 0.
_LEAST_MEAN = 2.0**-24


@dataclass(frozen=True)
class RawArgmax(Method):
    """No correction.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> RawArgmax().fit(OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])).weights
    array([1., 1.])
    """

    name = "raw"
    summary = "the argmax of the probabilities as they are"
    reads = ()

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights of 1."""
        return ClassWeights(np.ones(opt.n_classes))


@dataclass(frozen=True)
class BatchCalibration(Method):
    """Divide the probabilities by their mean over the rows to be decided; labels are not read.

    The mean estimates what the prompt makes the model expect of a text that it has not seen;
    dividing by it makes the classes equally likely on average, which is right where they are
    equally frequent. The correction belongs to that batch and changes with it.

    References
    ----------
    Zhou et al., "Batch Calibration: Rethinking Calibration for In-Context Learning and Prompt
    Engineering", ICLR 2024, equation 3.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1], batch=[[0.8, 0.2]] * 1000)
    >>> BatchCalibration().fit(opt).weights.round(2)
    array([0.25, 1.  ])
    """

    name = "batch-calibration"
    summary = "divide by the mean probabilities of the test rows"
    reads = ("batch",)

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights inverse to the mean probabilities.

        Raises
        ------
        InvalidInputError
            If there is no batch.
        """
        if not len(opt.batch):
            raise InvalidInputError(
                "batch-calibration needs the batch of rows that it will decide, and there is none",
                hint="Give batch=...",
            )
        return _inverse_means(opt.batch)


@dataclass(frozen=True)
class ContextualCalibration(Method):
    """Divide by the mean of the model's class probabilities for content-free texts.

    The authors' W = diag(p_cf)⁻¹, b = 0; their texts are "N/A", "[MASK]" and the empty one.

    References
    ----------
    Zhao et al., "Calibrate Before Use: Improving Few-Shot Performance of Language Models", ICML
    2021, section 5.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1], content_free=[[0.8, 0.2], [0.7, 0.3]])
    >>> ContextualCalibration().fit(opt).weights.round(3)
    array([0.333, 1.   ])
    """

    name = "contextual-calibration"
    summary = "divide by the mean probabilities of content-free texts"
    reads = ("content-free",)

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights inverse to the mean content-free probabilities.

        Raises
        ------
        InvalidInputError
            If there are no content-free rows.
        """
        if not len(opt.content_free):
            raise InvalidInputError(
                "contextual-calibration needs content-free rows, and there are none",
                hint="Make them with `dnip prompt content-free`, and give them with "
                "--content-free TABLE, or as rows whose id begins with content-free",
            )
        return _inverse_means(opt.content_free)


@dataclass(frozen=True)
class PaperDNIP(Method):
    """The published settings: the paper's annealing, β = 2.7, τ = 0.2, K = 30, μ = 4000.

    The paper tunes β, τ, K and μ on a dev set; nothing is tuned here.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> PaperDNIP().fit(opt, seed=1).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "dnip-paper"
    summary = "the published settings, untuned: annealing, β = 2.7, τ = 0.2, K = 30, μ = 4000"
    seeded = True

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Anneal with the published settings."""
        return _fitted(opt, preset="paper", seed=seed, evidence=False)


@dataclass(frozen=True)
class OurDNIP(Method):
    """What :func:`dnip.fit` does.

    Parameters
    ----------
    objective : Objective, optional
        The fit chooses where it is left out.
    scale : int or str, optional

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> OurDNIP().fit(opt).to_dict()["terms"]["error"]
    0.0
    """

    objective: Goal = None
    scale: int | str | None = None

    name = "dnip"
    summary = "dnip fit, robust where labels are few"
    reads: ClassVar[tuple[str, ...]] = ("labels", "unlabelled")
    seeded = True

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Fit as ``dnip fit`` does, and judge the fit."""
        more = opt.unlabelled if len(opt.unlabelled) else None
        asked = {"objective": self.objective, "scale": self.scale, "seed": seed}
        return _fitted(opt, **asked, unlabelled=more)


@dataclass(frozen=True)
class OwnMethod(Method):
    """A method that a user brings: an estimator of scikit-learn, or a function.

    Parameters
    ----------
    name : str
    what : estimator or callable
        As for :func:`dnip.compare`.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20, classes=["ham", "spam"])
    >>> mine = OwnMethod("mine", lambda p, y, new: ["spam"] * len(new))
    >>> mine.fit(opt).predict(opt.probabilities[:2])
    array([1, 1])
    """

    name: str  # type: ignore[misc]
    what: Any

    summary = "a method of one's own"

    @property
    def seeded(self) -> bool:  # type: ignore[override]
        """Whether it has a seed."""
        return hasattr(self.what, "get_params") and "random_state" in self.what.get_params()

    def fit(self, opt: OptSet, seed: int = 0) -> Correction:
        """Return what fits and predicts once the rows are there, so that errors have one place."""
        return _Own(self, opt, seed)


@dataclass(frozen=True, eq=False)
class _Own(Correction):
    """A user's method and what it learns from."""

    method: OwnMethod
    opt: OptSet
    seed: int

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return 1 for the class that is predicted."""
        return np.eye(self.opt.n_classes)[self.predict(probabilities)]

    def predict(self, probabilities: Probabilities) -> Labels:
        """Fit and predict.

        Raises
        ------
        InvalidInputError
            If it fails, or returns no class for each row.
        """
        name, opt, what = self.method.name, self.opt, self.method.what
        rows, labels, new = opt.probabilities.copy(), opt.labels.copy(), probabilities.copy()
        try:
            if hasattr(what, "fit"):
                estimator = copy.deepcopy(what)
                if self.method.seeded:
                    estimator.set_params(random_state=self.seed)
                answer = estimator.fit(rows, labels).predict(new)
            else:
                answer = what(rows, labels, new)
            answer = np.asarray(answer)
            if answer.ndim == 2:
                if answer.shape != probabilities.shape:
                    raise ValueError(f"scores have shape {answer.shape}, not {probabilities.shape}")
                if np.isnan(answer.astype(np.float64)).any():
                    raise ValueError("a score is NaN")
                answer = answer.argmax(axis=1)
            if len(answer) != len(probabilities):
                raise ValueError(f"{len(answer)} answers for {len(probabilities)} rows")
            if answer.dtype.kind in "iuf":
                return read_indices(answer, len(answer), opt.n_classes, name)
            return read_labels(answer, opt.classes, Location(name), unlabelled=False)
        except Exception as error:  # whatever a user's code may raise
            said = f"{type(error).__name__}: {error}"
            raise InvalidInputError(f"the method {name} failed: {said}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return nothing: what a user's method learns is its own."""
        return {}


def _fitted(opt: OptSet, **asked: Any) -> ClassWeights:  # noqa: ANN401 - as for `dnip.fit`
    """Fit, and note what the results tell of the fit."""
    labels = np.array(opt.classes, np.object_)[opt.labels]  # the name of a class may be a number
    with unwarned():  # of classes without labels: the comparison warns once for all methods
        result = fit(opt.probabilities, labels, classes=opt.classes, **asked)
    solution = result.solution
    notes = {"weight_indices": solution.weight_indices.tolist(), "scale": solution.scale.size}
    notes |= {"objective": solution.value, "terms": solution.terms, "verdict": result.verdict}
    return ClassWeights(result.coefficients.multipliers, notes)


def _inverse_means(rows: Probabilities) -> ClassWeights:
    weights = 1 / np.maximum(rows.mean(axis=0), _LEAST_MEAN)
    return ClassWeights(weights / weights.max())


#: The method that all others are compared with.
RAW = RawArgmax.name


def choose(
    names: str | None = None, objective: Goal = None, scale: int | str | None = None
) -> list[Method]:
    """Return the methods that comma-separated names ask for, the raw argmax always first.

    Parameters
    ----------
    names : str, optional
        All where it is left out, in the order in which they are shown.
    objective : Objective, optional
        Of this package's own fits, but for the paper's, whose settings are its own; by default
        they choose as ``dnip fit`` does.
    scale : int or str, optional
        Of this package's own fits; that of ``dnip fit`` by default.

    Raises
    ------
    InvalidInputError
        For a name that is not known.

    Examples
    --------
    >>> [method.name for method in choose("dnip, batch-calibration")]
    ['raw', 'dnip', 'batch-calibration']
    >>> " ".join(method.name for method in choose())
    'raw batch-calibration contextual-calibration vector-scaling matrix-scaling \
matrix-scaling-balanced dnip-paper dnip'
    """
    methods: tuple[Method, ...] = (
        *(RawArgmax(), BatchCalibration(), ContextualCalibration()),
        *(VectorScaling(), MatrixScaling(), BalancedMatrixScaling()),
        *(PaperDNIP(), OurDNIP(objective, scale)),
    )
    known = {method.name: method for method in methods}
    wanted = known if names is None else [RAW, *(name.strip() for name in names.split(","))]
    return [known[check_choice("methods", name, list(known))] for name in dict.fromkeys(wanted)]
