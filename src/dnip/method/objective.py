"""The objective: a function of the confusion matrix, with named terms; and what errors cost."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import zip_longest
from typing import Any, ClassVar, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from dnip.base import MetricName, Pairs
from dnip.base.errors import InvalidInputError, listed
from dnip.base.files import read_named
from dnip.base.records import complete
from dnip.base.typing import Floats
from dnip.base.validation import check_choice, check_number
from dnip.metrics import (
    accuracy,
    balanced_accuracy,
    cobias,
    cobias_single,
    macro_f1,
    pmi,
    smoothing_over,
)
from dnip.metrics.confusion import as_counts
from dnip.tables.cells import is_number
from dnip.tables.columns import check_names
from dnip.tables.labels import check_classes

#: τ of the paper, and μ of the authors' public code.
PUBLISHED_TAU, PUBLISHED_MU = 0.2, 4000.0

#: Any function of a confusion matrix (N, N), rows true, that is to be minimised.
ConfusionFunction = Callable[[Any], float]


def _term_values(confusion: ArrayLike, smoothing: float | None = None) -> dict[str, float]:
    """Return every term by name, in rates and without its weight.

    ``pmi`` is the sum over classes. `smoothing` is as in :func:`dnip.metrics.pmi`.

    Examples
    --------
    >>> terms = _term_values([[8, 2], [4, 6]], smoothing=1.0)
    >>> sorted(terms), round(terms["error"], 6)
    (['cobias', 'cobias_single', 'error', 'pmi'], 0.3)
    """
    counts = as_counts(confusion)
    return {
        "error": 1 - accuracy(counts),
        "cobias": cobias(counts),
        "cobias_single": cobias_single(counts),
        "pmi": float(pmi(counts, smoothing).sum()),
    }


@runtime_checkable
class ObjectiveLike(Protocol):
    """What a solver minimises."""

    def __call__(self, confusion: ArrayLike) -> float:
        """Return the value of a confusion matrix."""
        ...

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return the terms of a confusion matrix by name."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a coefficients file records them."""
        ...


@dataclass(frozen=True)
class Objective:
    """Z = error + β·COBias - τ·Σ_j PMI_j (equation 2), in rates, to be minimised.

    The error is 1 minus the accuracy, COBias is equation 1, and PMI is equation 4. The default
    leaves the PMI term out, because it rewards silence: with add-μ smoothing, a class that is never
    predicted has the largest PMI that it can have. ``Objective.published()`` includes it.

    Parameters
    ----------
    beta : float, default=0.5
        β, the weight of COBias, at least 0: at 0.5, two points of COBias count as one of accuracy.
        The published setting is 2.7.
    tau : float, default=0.0
        τ, the weight of the PMI term, at least 0. The published setting is 0.2.
    smoothing : float, optional
        μ, added to the counts inside PMI, above 0. The authors' code has 4000. By default it is
        0.4·M: that is 4000 at the paper's 10,000 examples, and smooths alike at any M.
    terms : tuple of str, default=("error", "cobias", "pmi")
        The terms that Z keeps.
    gap : {"pairwise", "single"}, default="pairwise"
        COBias over all pairs of classes, or COBias_single, over odd classes only (appendix A.2).
    costs : array-like of shape (N, N) or Costs, optional
        What each prediction costs, rows true classes, columns predicted ones. The mean cost then
        replaces the error. With ``1 - eye(N)`` it is the error itself.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, an unknown term, or no term at all; for costs that are not
        a square matrix of numbers of at least 0, or costs if the error is left out.

    Examples
    --------
    >>> objective = Objective(beta=1.0, tau=0.0)
    >>> round(objective([[8, 2], [4, 6]]), 6)  # error 0.3 + COBias 0.2
    0.5
    >>> Objective(tau=0.0, beta=0.0, costs=[[0, 1], [5, 0]])([[8, 2], [4, 6]])  # (2·1 + 4·5) / 20
    1.1
    """

    beta: float = 0.5
    tau: float = 0.0
    smoothing: float | None = None
    terms: tuple[str, ...] = ("error", "cobias", "pmi")
    gap: str = "pairwise"
    costs: ArrayLike | Costs | None = None

    TERMS: ClassVar[tuple[str, ...]] = ("error", "cobias", "pmi")
    GAPS: ClassVar[tuple[str, ...]] = get_args(Pairs)

    def __post_init__(self) -> None:
        check_number("beta", self.beta, at_least=0)
        check_number("tau", self.tau, at_least=0)
        if self.smoothing is not None:
            check_number("smoothing", self.smoothing, above=0)
        check_choice("gap", self.gap, self.GAPS)
        for term in self.terms:
            check_choice("terms", term, self.TERMS)
        if not self.terms:
            raise InvalidInputError(f"terms must keep at least one of {', '.join(self.TERMS)}")
        if self.costs is None:
            return
        if "error" not in self.terms:
            raise InvalidInputError(
                "costs replace the error, but terms leaves the error out",
                hint="Keep error among the terms, or leave costs out",
            )
        complete(self, costs=Costs.of(self.costs))

    @classmethod
    def published(cls) -> Objective:
        """Return β = 2.7 and τ = 0.2 of the paper, and μ = 4000 of the authors' code.

        The paper prints β and τ, and chooses μ on a dev set. 4000 is that of the authors' public
        code.

        Examples
        --------
        >>> Objective.published().smoothing
        4000.0
        """
        return cls(beta=2.7, tau=PUBLISHED_TAU, smoothing=PUBLISHED_MU)

    def smoothing_over(self, n_examples: float) -> float:
        """Return μ for M examples.

        Examples
        --------
        >>> Objective().smoothing_over(10_000), Objective(smoothing=1.0).smoothing_over(10_000)
        (4000.0, 1.0)
        """
        return smoothing_over(n_examples) if self.smoothing is None else float(self.smoothing)

    @property
    def needs_cells(self) -> bool:
        """Whether any cell of the confusion matrix counts, not only its diagonal and sums."""
        return self.costs is not None or self.gap == "single"

    @property
    def is_by_class(self) -> bool:
        """Whether the accuracies of the classes decide it, however rows are confused."""
        return not self.needs_cells and ("pmi" not in self.terms or self.tau == 0)

    @property
    def cost_matrix(self) -> Floats:
        """The costs as an array of shape (N, N), or (0, 0) if there are none."""
        if self.costs is None:
            return np.zeros((0, 0))
        return np.array(Costs.of(self.costs).values)

    def __call__(self, confusion: ArrayLike) -> float:
        """Return Z (equation 2) of a confusion matrix of shape (N, N)."""
        values = self.terms_of(confusion)
        gap = values["cobias" if self.gap == "pairwise" else "cobias_single"]
        z = 0.0
        if self.costs is not None:
            z += values["cost"]
        elif "error" in self.terms:
            z += values["error"]
        if "cobias" in self.terms:
            z += self.beta * gap
        if "pmi" in self.terms:
            z -= self.tau * values["pmi"]
        return z

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return all terms of a confusion matrix, without their weights.

        Terms that Z leaves out are included, and so is the mean ``cost`` if there are costs.
        """
        values = _term_values(confusion, self.smoothing)
        if self.costs is not None:
            counts = np.asarray(confusion)
            values["cost"] = float((self.cost_matrix * counts).sum() / counts.sum())
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a coefficients file records them."""
        return {
            "beta": self.beta,
            "tau": self.tau,
            "smoothing": self.smoothing,
            "terms": list(self.terms),
            "gap": self.gap,
            **({} if self.costs is None else {"costs": self.cost_matrix.tolist()}),
        }


@dataclass(frozen=True)
class MetricObjective:
    """1 less a metric, to be minimised: what ``objective="macro-f1"`` stands for.

    Parameters
    ----------
    metric : {"balanced-accuracy", "macro-f1"}
        The mean of the class accuracies (recalls), or the mean of the classes' F1.

    Examples
    --------
    >>> objective = MetricObjective("balanced-accuracy")
    >>> round(objective([[8, 2], [4, 6]]), 6)  # 1 - (0.8 + 0.6) / 2
    0.3
    """

    metric: MetricName

    METRICS: ClassVar[dict[str, ConfusionFunction]] = {
        "balanced-accuracy": balanced_accuracy,
        "macro-f1": macro_f1,
    }

    def __post_init__(self) -> None:
        check_choice("objective", self.metric, list(self.METRICS))

    @property
    def function(self) -> ConfusionFunction:
        """The metric itself."""
        return self.METRICS[self.metric]

    @property
    def is_by_class(self) -> bool:
        """Whether the accuracies of the classes decide it, however rows are confused."""
        return self.function is balanced_accuracy

    def __call__(self, confusion: ArrayLike) -> float:
        """Return 1 less the metric of a confusion matrix."""
        return 1 - self.function(confusion)

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return the terms of the paper's objective, for information only."""
        return _term_values(confusion)

    def to_dict(self) -> dict[str, Any]:
        """Return the name as a coefficients file records it."""
        return {"metric": self.metric}


@dataclass(frozen=True)
class CustomObjective:
    """Any function of the confusion matrix, to be minimised.

    Parameters
    ----------
    function : callable
        Takes an array of counts of shape (N, N), rows true, and returns a float. It must not change
        the array.
    name : str, optional
        Recorded in the coefficients file; the function's own name by default.

    Examples
    --------
    >>> from dnip.metrics import macro_f1
    >>> CustomObjective(lambda confusion: -macro_f1(confusion), name="macro-F1")([[8, 2], [2, 8]])
    -0.8
    """

    function: ConfusionFunction
    name: str = ""

    def __call__(self, confusion: ArrayLike) -> float:
        """Return the function's value."""
        return float(self.function(confusion))

    def terms_of(self, confusion: ArrayLike) -> dict[str, float]:
        """Return the terms of the paper's objective, for information only."""
        return _term_values(confusion)

    def to_dict(self) -> dict[str, Any]:
        """Return the function's name as a coefficients file records it."""
        return {"function": self.name or getattr(self.function, "__name__", "function")}


#: The objectives that compiled code knows.
Compiled: TypeAlias = Objective | MetricObjective

#: The name of the default goal, error + β·COBias, for which None stands, too.
USUAL = "cobias"
#: What stands for an objective: its name, a function to be minimised, or None for the default.
Goal: TypeAlias = ObjectiveLike | ConfusionFunction | str | None


def as_objective(objective: Goal) -> ObjectiveLike:
    """Return an objective: the default one for None, that of a name, a wrapper for a function.

    Examples
    --------
    >>> as_objective(None) == as_objective("cobias") == Objective()
    True
    >>> round(as_objective("macro-f1")([[8, 2], [2, 8]]), 3)
    0.2
    """
    if objective is None:
        return Objective()
    if isinstance(objective, str):
        name = check_choice("objective", objective, [USUAL, *MetricObjective.METRICS])
        return Objective() if name == USUAL else MetricObjective(name)  # type: ignore[arg-type]
    if isinstance(objective, ObjectiveLike):
        return objective
    if not callable(objective):
        raise InvalidInputError(
            f"objective must be a name, an Objective or a function; got {objective!r}",
            hint="Give a function of a confusion matrix (N, N), rows true, that is to be low",
        )
    return CustomObjective(objective)


def on_classes(objective: ObjectiveLike, classes: Sequence[str]) -> ObjectiveLike:
    """Return an objective for these classes: costs by class name are put in their order.

    Raises
    ------
    InvalidInputError
        If the costs are of other classes.
    """
    if not isinstance(objective, Objective) or objective.costs is None:
        return objective
    return replace(objective, costs=Costs.of(objective.costs).in_order(classes))


def name_of(objective: ObjectiveLike) -> str:
    """Name what is minimised.

    Examples
    --------
    >>> name_of(Objective()), name_of(Objective(beta=1.0)), name_of(Objective(beta=0.0))
    ('error + COBias/2', 'error + COBias', 'error')
    >>> name_of(Objective(beta=0.25, tau=0.2, costs=[[0, 1], [5, 0]]))
    'mean cost + 0.25·COBias - 0.2·PMI'
    """
    if isinstance(objective, MetricObjective):
        return f"1 - {objective.metric}"
    if not isinstance(objective, Objective):
        return str(objective.to_dict().get("function", "objective"))
    parts = []
    if "error" in objective.terms:
        parts.append("error" if objective.costs is None else "mean cost")
    if "cobias" in objective.terms and objective.beta > 0:
        gap = "COBias" if objective.gap == "pairwise" else "COBias_single"
        factor = {0.5: f"{gap}/2", 1.0: gap}.get(objective.beta, f"{objective.beta:g}·{gap}")
        parts.append(factor)
    named = " + ".join(parts)
    if "pmi" in objective.terms and objective.tau > 0:
        named += f" - {objective.tau:g}·PMI"
    return named


def beta_of(objective: ObjectiveLike) -> float:
    """Return the weight of COBias by which a fit is judged: the default, if it has none itself."""
    return objective.beta if isinstance(objective, Objective) else Objective().beta


_FORMS = (
    "Give one row per true class and one number per predicted class, as CSV or JSON, with or "
    "without class names in the first row and column"
)


@dataclass(frozen=True)
class Costs:
    """Costs of predictions, rows true classes, columns predicted ones.

    Attributes
    ----------
    values : tuple of tuple of float
        N × N, each at least 0. Right predictions may have costs, too.
    classes : tuple of str or None
        The class of each row and column; None if they are in the order of the task.

    Examples
    --------
    >>> Costs.of([[0, 5], [1, 0]]).values
    ((0.0, 5.0), (1.0, 0.0))
    """

    values: tuple[tuple[float, ...], ...]
    classes: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        costs: ArrayLike | Costs,
        classes: Sequence[str] | None = None,
        *,
        source: str = "costs",
    ) -> Costs:
        """Check a matrix of costs.

        Parameters
        ----------
        costs : array-like of shape (N, N)
        classes : sequence of str, optional
            The class of each row and column.
        source : str, default="costs"
            Where the numbers came from, for messages.

        Raises
        ------
        InvalidInputError
            For anything but a square matrix of finite numbers of at least 0, with a name for each
            class if there are names.
        """
        if isinstance(costs, Costs):
            return costs
        try:
            matrix = np.asarray(costs, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise _no_costs(f"{source} is not a matrix of numbers: {error}") from error
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise _no_costs(
                f"{source} has shape {matrix.shape}, but it needs as many rows as columns, one of "
                "each per class"
            )
        bad = ~np.isfinite(matrix) | (matrix < 0)
        if bad.any():
            i, j = (int(n) for n in np.argwhere(bad)[0])
            raise InvalidInputError(
                f"{source}: the cost in row {i + 1}, column {j + 1} is {matrix[i, j]}, but costs "
                "are finite and at least 0",
                hint="Give 0 where a prediction costs nothing",
            )
        names = None if classes is None else check_classes(classes)
        if names is not None and len(names) != len(matrix):
            raise _no_costs(
                f"{source} has {len(matrix)} rows, but {len(names)} class names: {listed(names)}"
            )
        return cls(tuple(tuple(row) for row in matrix.tolist()), names)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Costs:
        r"""Read costs from a CSV or JSON file.

        CSV: the plain matrix, or with the predicted classes in the first row and the true class at
        the start of every other. JSON: the plain matrix, or an object of objects by class name.

        Parameters
        ----------
        path : path-like
            ``.json``, or CSV under any other suffix.

        Raises
        ------
        InvalidInputError
            For a file that cannot be read, or that holds something else.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "costs.csv")
        ...     _ = file.write_text("true,ham,spam\nspam,1,0\nham,0,5\n")
        ...     Costs.read(file).in_order(["ham", "spam"]).values
        ((0.0, 5.0), (1.0, 0.0))
        """
        source, text = str(path), read_named(path)
        if source.lower().endswith(".json"):
            return _from_json(text, source)
        return _from_csv(text, source)

    def in_order(self, classes: Sequence[str]) -> Costs:
        """Return the costs in the class order of a task.

        Raises
        ------
        InvalidInputError
            If the costs are of other classes, or of another number of them.
        """
        if self.classes is None:
            if len(self.values) != len(classes):
                raise InvalidInputError(
                    f"costs has {len(self.values)} rows and columns, but there are {len(classes)} "
                    f"classes: {listed(classes)}",
                    hint="Give the cost of every class taken for every class",
                )
            return self
        if set(self.classes) != set(classes):
            raise InvalidInputError(
                f"costs is of the classes {listed(self.classes)}, but the classes are "
                f"{listed(classes)}",
                hint="Name the classes in the costs as in the table",
            )
        order = [self.classes.index(name) for name in classes]
        return Costs(tuple(tuple(self.values[i][j] for j in order) for i in order))


def _no_costs(why: str) -> InvalidInputError:
    return InvalidInputError(why, hint=_FORMS)


def _from_csv(text: str, source: str) -> Costs:
    rows = [row for row in csv.reader(StringIO(text)) if any(cell.strip() for cell in row)]
    if not rows:
        raise _no_costs(f"{source} is empty")
    if all(is_number(cell) for cell in rows[0]):
        return Costs.of(rows, source=source)
    columns = [cell.strip() for cell in rows[0][1:]]
    check_names(columns, source)
    named = {row[0].strip(): dict(zip_longest(columns, row[1:])) for row in rows[1:]}
    if len(named) < len(rows) - 1:
        raise _no_costs(f"{source}: a true class appears twice")
    return _by_name(named, source)


def _from_json(text: str, source: str) -> Costs:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_costs(f"{source} is not valid JSON: {error}") from error
    if isinstance(content, list):
        return Costs.of(content, source=source)
    if not isinstance(content, dict) or not all(isinstance(row, dict) for row in content.values()):
        raise _no_costs(f"{source} holds neither rows of numbers nor an object of objects")
    return _by_name(content, source)


def _by_name(rows: Mapping[str, Mapping[Any, Any]], source: str) -> Costs:
    """Return costs by true and by predicted class."""
    names = list(rows)
    for name, row in rows.items():
        if set(row) != set(names):
            raise _no_costs(
                f"{source}: {name!r} has costs for {', '.join(map(str, row)) or 'no class'}, but "
                f"the true classes are {listed(names)}"
            )
    return Costs.of([[rows[i][j] for j in names] for i in names], names or None, source=source)
