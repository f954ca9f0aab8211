"""Pictures for notebooks, in the manner of scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dnip.fitting.path import Path, trace_path
from dnip.method.coefficients import Coefficients, CoefficientsLike, as_coefficients
from dnip.presenting.drawing import draw_class_accuracies, load_matplotlib
from dnip.presenting.path import draw_path
from dnip.sklearn.predicting import probabilities_of
from dnip.tables import ProbabilityTable
from dnip.tables.table import as_table, check_same_classes, scored_rows
from dnip.using.evaluation import Evaluation, evaluate


class _Display:
    """What displays share: two ways to make one, of an evaluation, and where it is drawn."""

    _size: ClassVar[tuple[float, float]] = (6.4, 4.2)
    ax_: Any
    figure_: Any

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,  # noqa: ANN401 - anything like a classifier
        X: Any,  # noqa: ANN401 - whatever the estimator takes
        y: ArrayLike,
        *,
        ax: Any = None,  # noqa: ANN401 - matplotlib's
    ) -> Self:
        """Draw what a fitted classifier does on labelled examples.

        Parameters
        ----------
        estimator : classifier with ``predict_proba`` or ``decision_function``
            A :class:`~dnip.DNIPClassifier` shows its coefficients on the probabilities of the
            classifier inside.
        X : array-like of shape (M, n_features)
        y : array-like of shape (M,)
            True classes.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        coefficients = getattr(estimator, "coefficients_", None)
        inner = estimator if coefficients is None else estimator.estimator_
        probabilities = X if inner is None else probabilities_of(inner, X)
        names = [str(name) for name in np.asarray(estimator.classes_).tolist()]
        return cls.from_predictions(y, probabilities, coefficients, classes=names, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        probabilities: ArrayLike,
        coefficients: CoefficientsLike | None = None,
        *,
        classes: Sequence[str] | None = None,
        ax: Any = None,  # noqa: ANN401 - matplotlib's
    ) -> Self:
        """Draw class probabilities against true classes.

        Parameters
        ----------
        y_true : array-like of shape (M,)
            True classes.
        probabilities : array-like of shape (M, N)
        coefficients : Coefficients, Fit or path, optional
            Show them too.
        classes : sequence, optional
            The class of each column, as for :func:`dnip.evaluate`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Raises
        ------
        InvalidInputError
            For input that breaks its contract, or labels of fewer than two classes.
        CoefficientsFormatError
            For coefficients of other classes.
        """
        weights = None if coefficients is None else as_coefficients(coefficients)
        if classes is None and weights is not None:
            classes = weights.classes
        table = as_table(probabilities, y_true, classes)
        if weights is not None:
            check_same_classes(table, weights.classes)
        return cls._of(scored_rows(table), weights).plot(ax)

    @classmethod
    def _of(cls, table: ProbabilityTable, coefficients: Coefficients | None) -> Self:
        return cls(evaluate(table, coefficients=coefficients))

    def plot(self, ax: Any = None) -> Self:  # noqa: ANN401 - matplotlib's
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With the attributes `ax_` and `figure_`.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        if ax is None:
            pyplot = load_matplotlib("pyplot")
            _, ax = pyplot.subplots(figsize=self._size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _draw(self, axes: Any) -> None:  # noqa: ANN401 - matplotlib's
        raise NotImplementedError


class ClassAccuracyDisplay(_Display):
    """Bars: the accuracy of every class, before and after coefficients.

    Parameters
    ----------
    evaluation : Evaluation
        As :func:`dnip.evaluate` returns it.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from dnip import ClassAccuracyDisplay, Coefficients
    >>> p, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["ham", "spam", "spam"]
    >>> coefficients = Coefficients(["ham", "spam"], [1, 2], 2)
    >>> shown = ClassAccuracyDisplay.from_predictions(y, p, coefficients)
    >>> print(shown.ax_.get_title(loc="left"))
    before: accuracy 0.667, COBias 0.500
    after: accuracy 1.000, COBias 0.000
    """

    def _draw(self, axes: Any) -> None:  # noqa: ANN401 - matplotlib's
        draw_class_accuracies(axes, self.evaluation)


class PathDisplay(_Display):
    """Dots: accuracy against COBias of the fits at a dozen β.

    From predictions or an estimator, the examples given are fitted. Coefficients are not drawn.

    Parameters
    ----------
    path : Path
        As :func:`dnip.fitting.trace_path` returns it.
    chosen : int, optional
        The place of a point to mark, counted from 0.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from dnip import PathDisplay
    >>> p, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["ham", "spam", "spam"]
    >>> len(PathDisplay.from_predictions(y, p).path.points)
    12
    """

    def __init__(self, path: Path, chosen: int | None = None) -> None:
        self.path = path
        self.chosen = chosen

    @classmethod
    def _of(cls, table: ProbabilityTable, coefficients: Coefficients | None) -> Self:
        return cls(trace_path(table))

    def _draw(self, axes: Any) -> None:  # noqa: ANN401 - matplotlib's
        draw_path(axes, self.path, self.chosen)
