"""Corrections to compare: what they learn from, calibrations, scalings, DNIP; and all of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError, load_optional, unwarned
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.base.validation import check_choice
from dnip.fitting.fit import fit
from dnip.method.objective import Goal
from dnip.tables.cells import Location
from dnip.tables.labels import read_indices, read_labels


def _no_rows() -> Probabilities:
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class OptSet:
    """What methods may learn from; each takes what it needs.

    Attributes
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    classes : tuple of str
    unlabelled : ndarray of shape (U, N)
        Rows without a label that are at hand before any test row.
    batch : ndarray of shape (B, N)
        The rows that the correction will decide, without their labels. Only a method whose `reads`
        names the batch reads them.
    content_free : ndarray of shape (C, N)
        What the model answers to texts without content.

    Examples
    --------
    >>> opt = OptSet(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]), ("ham", "spam"))
    >>> opt.n_classes, len(opt.batch)
    (2, 0)
    """

    probabilities: Probabilities
    labels: Labels
    classes: tuple[str, ...]
    unlabelled: Probabilities = field(default_factory=_no_rows)
    batch: Probabilities = field(default_factory=_no_rows)
    content_free: Probabilities = field(default_factory=_no_rows)

    @property
    def n_classes(self) -> int:
        """N."""
        return len(self.classes)

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return np.bincount(self.labels, minlength=self.n_classes) > 0


class Correction(NamedTuple):
    """What a method has learned.

    Attributes
    ----------
    scores : callable
        From probabilities to the score of each class, shape (M, N).
    learned : dict
        The learned numbers, ready for JSON.
    """

    scores: Callable[[Probabilities], Floats]
    learned: dict[str, Any]

    def predict(self, probabilities: Probabilities) -> Labels:
        """Return the class with the highest score, shape (M,); the lowest class on a tie."""
        return np.asarray(np.argmax(self.scores(probabilities), axis=1))


class Method(NamedTuple):
    """A way to learn a correction. A new one is a function below and a line in `choose`.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        What it does, in a few words.
    fit : callable
        From an opt set and a seed to a correction.
    reads : tuple of str
        What it reads of an opt set: labels, unlabelled, batch, content-free.
    seeded : bool
        Whether the seed of a fit changes what it learns.
    """

    name: str
    summary: str
    fit: Callable[[OptSet, int], Correction]
    reads: tuple[str, ...] = ("labels",)
    seeded: bool = False


#: The method that all others are compared with, and those that a conclusion names.
RAW, BATCH, OURS = "raw", "batch-calibration", "dnip"


def choose(
    names: Sequence[str] | None = None, objective: Goal = None, scale: int | str | None = None
) -> list[Method]:
    """Return methods by their names, the raw argmax always first.

    Parameters
    ----------
    names : sequence of str, optional
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
    >>> [method.name for method in choose(["dnip", "batch-calibration"])]
    ['raw', 'dnip', 'batch-calibration']
    >>> " ".join(method.name for method in choose())
    'raw batch-calibration contextual-calibration vector-scaling matrix-scaling \
matrix-scaling-balanced dnip-paper dnip'
    """
    methods = (
        Method(RAW, "the argmax of the probabilities as they are", raw_argmax, ()),
        Method(
            BATCH,
            "divide by the mean probabilities of the test rows",
            batch_calibration,
            ("batch",),
        ),
        Method(
            "contextual-calibration",
            "divide by the mean probabilities of content-free texts",
            contextual_calibration,
            ("content-free",),
        ),
        Method(
            "vector-scaling",
            "a factor and a shift of each log-probability, by log-loss",
            vector_scaling,
        ),
        Method("matrix-scaling", "logistic regression on ln p", matrix_scaling),
        Method(
            "matrix-scaling-balanced",
            "class-balanced logistic regression on ln p",
            partial(matrix_scaling, class_weight="balanced"),
        ),
        Method(
            "dnip-paper",
            "the published settings, untuned: annealing, β = 2.7, τ = 0.2, K = 30, μ = 4000",
            paper_fit,
            seeded=True,
        ),
        Method(
            OURS,
            "dnip fit, robust where labels are few",
            partial(our_fit, objective=objective, scale=scale),
            ("labels", "unlabelled"),
            seeded=True,
        ),
    )
    known = {method.name: method for method in methods}
    wanted = known if names is None else [RAW, *names]
    return [known[check_choice("methods", name, list(known))] for name in dict.fromkeys(wanted)]


# --- one weight per class ---
def _weighted(weights: Floats, **more: Any) -> Correction:  # noqa: ANN401 - for JSON
    return Correction(lambda p: np.asarray(weights * p), {"weights": weights.tolist(), **more})


def raw_argmax(opt: OptSet, _seed: int = 0) -> Correction:
    """Correct nothing: weights of 1."""
    return _weighted(np.ones(opt.n_classes))


def batch_calibration(opt: OptSet, _seed: int = 0) -> Correction:
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
    >>> opt = OptSet(np.eye(2), np.array([0, 1]), ("a", "b"), batch=np.array([[0.8, 0.2]]))
    >>> batch_calibration(opt).learned["weights"]
    [0.25, 1.0]
    """
    return _inverse_means(opt.batch)


def contextual_calibration(opt: OptSet, _seed: int = 0) -> Correction:
    """Divide by the mean of the model's class probabilities for content-free texts.

    The authors' W = diag(p_cf)⁻¹, b = 0; their texts are "N/A", "[MASK]" and the empty one.

    References
    ----------
    Zhao et al., "Calibrate Before Use: Improving Few-Shot Performance of Language Models", ICML
    2021, section 5.

    Raises
    ------
    InvalidInputError
        If there are no content-free rows.

    Examples
    --------
    >>> free = np.array([[0.75, 0.25]] * 3)
    >>> opt = OptSet(np.eye(2), np.array([0, 1]), ("a", "b"), content_free=free)
    >>> contextual_calibration(opt).predict(np.array([[0.7, 0.3], [0.8, 0.2]]))
    array([1, 0])
    """
    if not len(opt.content_free):
        raise InvalidInputError(
            "contextual-calibration needs content-free rows, and there are none",
            hint="Make them with `dnip prompt content-free`, and give them with "
            "--content-free TABLE, or as rows whose id begins with content-free",
        )
    return _inverse_means(opt.content_free)


# Stands for a mean probability of 0: the least number of half precision above 0.
_LEAST_MEAN = 2.0**-24


def _inverse_means(rows: Probabilities) -> Correction:
    weights = 1 / np.maximum(rows.mean(axis=0), _LEAST_MEAN)
    return _weighted(weights / weights.max())


def paper_fit(opt: OptSet, seed: int = 0) -> Correction:
    """Anneal with the published settings: β = 2.7, τ = 0.2, K = 30, μ = 4000.

    The paper tunes β, τ, K and μ on a dev set; nothing is tuned here.
    """
    return _fitted(opt, preset="paper", seed=seed, evidence=False)


def our_fit(
    opt: OptSet, seed: int = 0, objective: Goal = None, scale: int | str | None = None
) -> Correction:
    """Fit as ``dnip fit`` does, and judge the fit.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> our_fit(OptSet(p, np.array([0, 1] * 20), ("a", "b"))).learned["terms"]["error"]
    0.0
    """
    more = opt.unlabelled if len(opt.unlabelled) else None
    return _fitted(opt, objective=objective, scale=scale, seed=seed, unlabelled=more)


def _fitted(opt: OptSet, **asked: Any) -> Correction:  # noqa: ANN401 - as for `dnip.fit`
    """Fit, and note what the results tell of the fit."""
    labels = np.array(opt.classes, np.object_)[opt.labels]  # the name of a class may be a number
    with unwarned():  # of classes without labels: the comparison warns once for all methods
        result = fit(opt.probabilities, labels, classes=opt.classes, **asked)
    solution = result.solution
    return _weighted(
        result.coefficients.multipliers,
        weight_indices=solution.weight_indices.tolist(),
        scale=solution.scale.size,
        objective=solution.value,
        terms=solution.terms,
        verdict=result.verdict,
    )


# --- scores that are linear in log-probabilities ---
# No calibration tells probabilities below this apart.
_LEAST_PROBABILITY = 1e-12


def log(probabilities: Probabilities) -> Floats:
    """Return log-probabilities; zeros count as a tiny number."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))


def _log_linear(matrix: Floats, bias: Floats, learned: dict[str, Any]) -> Correction:
    """Return scores ln p·A + b, shape (M, N); column n of A makes that of class n."""
    return Correction(lambda p: np.asarray(log(p) @ matrix + bias), learned)


# The steepness of separable labels has no limit but this; it never turns an order around.
_LEAST_SLOPE, _MOST_SLOPE = 1e-2, 1e2


def vector_scaling(opt: OptSet, _seed: int = 0) -> Correction:
    """Fit a factor and a shift for each class's log-probability, by log-loss.

    Factors stay between 0.01 and 100, also where labels can be separated without error.
    A class without labels keeps its log-probability as it is.

    References
    ----------
    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017, section 4.2.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> vector_scaling(OptSet(p, np.array([0, 1] * 20), ("a", "b"))).predict(p[:2])
    array([0, 1])
    """
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
    learned = {"slopes": slopes.tolist(), "shifts": shifts.tolist()}
    return _log_linear(np.diag(slopes), shifts, learned)


def _log_loss(scores: Floats, labels: Labels) -> tuple[float, Floats]:
    """Return the mean of -ln softmax(scores) at the labels, and its gradient in the scores.

    Examples
    --------
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


# Of scikit-learn's regression.
_MAX_STEPS = 1000


def matrix_scaling(opt: OptSet, _seed: int = 0, class_weight: str | None = None) -> Correction:
    """Fit what a user of scikit-learn would take: ``LogisticRegression`` with its defaults on ln p.

    Guo et al. (2017) call it matrix scaling, Kull et al. (2019) Dirichlet calibration. Every
    class's score reads every log-probability: N² + N numbers, drawn to 0 by scikit-learn's L2
    penalty. A class without labels is never predicted. With the class weight "balanced" every class
    counts alike, whatever its number of labels.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> matrix_scaling(OptSet(p, np.array([0, 1] * 20), ("a", "b"))).predict(p[:2])
    array([0, 1])
    """
    linear_model = load_optional("sklearn.linear_model", purpose="scale matrices", extra="sklearn")
    threads = load_optional("threadpoolctl", purpose="scale matrices", extra="sklearn")
    model = linear_model.LogisticRegression(class_weight=class_weight, max_iter=_MAX_STEPS)
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
    return _log_linear(matrix, bias, {"matrix": coefficients.tolist(), "bias": intercept.tolist()})


# --- a method of one's own ---
def own_method(name: str, what: Any) -> Method:  # noqa: ANN401 - anything that predicts
    """Return a method that a user brings: an estimator of scikit-learn, or a function.

    It fits and predicts once the test rows are there, so that errors have one place.

    Parameters
    ----------
    name : str
    what : estimator or callable
        As for :func:`dnip.compare`.

    Examples
    --------
    >>> opt = OptSet(np.eye(2), np.array([0, 1]), ("ham", "spam"))
    >>> mine = own_method("mine", lambda p, y, new: ["spam"] * len(new))
    >>> mine.fit(opt, 0).predict(opt.probabilities)
    array([1, 1])
    """
    seeded = hasattr(what, "get_params") and "random_state" in what.get_params()

    def fit_own(opt: OptSet, seed: int) -> Correction:
        asked = {"random_state": seed} if seeded else {}

        def scores(probabilities: Probabilities) -> Floats:
            return np.eye(opt.n_classes)[_predict_own(name, what, asked, opt, probabilities)]

        return Correction(scores, {})

    return Method(name, "a method of one's own", fit_own, seeded=seeded)


def _predict_own(
    name: str,
    what: Any,  # noqa: ANN401 - as there
    asked: dict[str, int],
    opt: OptSet,
    probabilities: Probabilities,
) -> Labels:
    """Fit a user's method and predict the class of each row.

    Raises
    ------
    InvalidInputError
        If it fails, or returns no class for each row.
    """
    rows, labels, new = opt.probabilities.copy(), opt.labels.copy(), probabilities.copy()
    try:
        if hasattr(what, "fit"):
            estimator = copy.deepcopy(what)
            if asked:
                estimator.set_params(**asked)
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
