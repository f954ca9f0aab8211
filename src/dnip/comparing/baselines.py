"""Methods to compare with: calibrations and DNIP, and the list of all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dnip.base.errors import InvalidInputError, unwarned
from dnip.base.typing import Floats, Probabilities
from dnip.base.validation import check_choice
from dnip.comparing.material import OptSet
from dnip.comparing.methods import ClassWeights, Method
from dnip.comparing.scaling import BalancedMatrixScaling, MatrixScaling, VectorScaling
from dnip.fitting.robust import fit_robustly
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.metrics import confusion_matrix
from dnip.solvers import Settings
from dnip.solvers.settings import PAPER

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
                hint="Make them with `dnip prompt --split content-free`, and give them with "
                "--content-free TABLE, or as rows whose id begins with content-free",
            )
        return _inverse_means(opt.content_free)


@dataclass(frozen=True)
class CWPlugin(Method):
    """One line search per class, each against one and the same class, for any metric.

    Between class i and the reference class, i is chosen where α·p_i > (1 − α)·p_reference. The best
    α for the rows of these two gives the weight α/(1 − α). The metric is our objective.

    Parameters
    ----------
    objective : Objective

    References
    ----------
    Devic et al., "An Efficient Plugin Method for Metric Optimization of Black-Box Models", 2025,
    arXiv:2503.02119.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> CWPlugin().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    objective: Objective = field(default_factory=Objective)

    name = "cw-plugin"
    summary = "one line search per class against a reference class"

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Search class by class."""
        *others, reference = np.flatnonzero(opt.present)
        weights = np.ones(opt.n_classes)
        for c in others:
            mine = np.isin(opt.labels, (c, reference))
            p, true = opt.probabilities[mine], opt.labels[mine]
            values = [
                self.objective(
                    confusion_matrix(
                        true,
                        np.where(a * p[:, c] > (1 - a) * p[:, reference], c, reference),
                        n_classes=opt.n_classes,
                    )
                )
                for a in _ALPHAS
            ]
            best = _ALPHAS[np.argmin(values)]
            weights[c] = best / (1 - best)
        return _largest_is_1(weights)


# Where the line search of CWPlugin looks.
_ALPHAS = np.arange(1, 1000) / 1000


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
        return _fitted(opt, replace(PAPER, seed=seed))


@dataclass(frozen=True)
class OurDNIP(Method):
    """What ``dnip fit`` does: robust where labels are few.

    Parameters
    ----------
    objective : Objective
    scale : int or str, optional

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> PlainDNIP().fit(opt).to_dict()["terms"]["error"]
    0.0
    """

    objective: Objective = field(default_factory=Objective)
    scale: int | str | None = None

    name = "dnip"
    summary = "dnip fit, robust where labels are few"
    reads: ClassVar[tuple[str, ...]] = ("labels", "unlabelled")
    seeded = True
    robust: ClassVar[str] = "auto"

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Fit as ``dnip fit`` does."""
        settings = Settings(self.objective, robust=self.robust, scale=self.scale, seed=seed)
        return _fitted(opt, settings)


@dataclass(frozen=True)
class PlainDNIP(OurDNIP):
    """The plain optimum: what ``dnip fit --robust off`` does."""

    name = "dnip-plain"
    summary = "dnip fit, the plain optimum"
    reads = ("labels",)
    robust = "off"


def _fitted(opt: OptSet, settings: Settings) -> ClassWeights:
    with unwarned():  # of classes without labels: the comparison warns once for all methods
        problem = Problem.of(opt.probabilities, opt.labels, classes=opt.classes)
        found, decision, _ = fit_robustly(problem, settings, opt.unlabelled)
    told = {"weight_indices": found.weight_indices.tolist(), "scale": found.scale.size}
    told |= {"objective": found.value, "terms": found.terms}
    told |= {} if decision is None else {"robust": decision.to_dict()}
    return ClassWeights(found.multipliers, told)


def _inverse_means(rows: Probabilities) -> ClassWeights:
    return _largest_is_1(1 / np.maximum(rows.mean(axis=0), _LEAST_MEAN))


def _largest_is_1(weights: Floats) -> ClassWeights:
    return ClassWeights(weights / weights.max())


#: The method that all others are compared with.
RAW = RawArgmax.name


def choose(
    names: str | None = None, objective: Objective | None = None, scale: int | str | None = None
) -> list[Method]:
    """Return the methods that comma-separated names ask for, the raw argmax always first.

    Parameters
    ----------
    names : str, optional
        All where it is left out, in the order in which they are shown.
    objective : Objective, optional
        Of the methods that minimise one, but for the paper's, whose settings are its own;
        ``Objective()`` by default.
    scale : int or str, optional
        Of this package's own fits.

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
matrix-scaling-balanced cw-plugin dnip-paper dnip-plain dnip'
    """
    goal = Objective() if objective is None else objective
    methods: tuple[Method, ...] = (
        *(RawArgmax(), BatchCalibration(), ContextualCalibration()),
        *(VectorScaling(), MatrixScaling(), BalancedMatrixScaling(), CWPlugin(goal)),
        *(PaperDNIP(), PlainDNIP(goal, scale), OurDNIP(goal, scale)),
    )
    known = {method.name: method for method in methods}
    wanted = known if names is None else [RAW, *(name.strip() for name in names.split(","))]
    return [known[check_choice("methods", name, list(known))] for name in dict.fromkeys(wanted)]
