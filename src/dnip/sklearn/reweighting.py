"""The part of the scikit-learn classifier that predicts, with fitted coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dnip.base.arrays import ArrayLocation, check_probabilities
from dnip.base.frames import check_column_names
from dnip.base.optional import load_optional
from dnip.base.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from dnip.base.typing import Probabilities
    from dnip.method.coefficients import Coefficients


class ReweightingMixin(ClassifierMixin):  # type: ignore[misc]
    """Predict with `coefficients_` on the probabilities of `estimator_`, or on X where it is None.

    The class that uses this mixin sets these two and `classes_` in its ``fit``.
    """

    estimator_: Any
    coefficients_: Coefficients
    classes_: NDArray[Any]

    def predict(self, X: Any) -> Any:
        """Predict argmax_n ξ_n·p_mn, the first class on a tie.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of shape (M,), or the Series that `set_output` asked for
            Class labels.
        """
        check_is_fitted(self)
        labels = self.classes_[self.coefficients_.predict(self._probabilities(X))]
        frame = self._framed("predict", {"prediction": labels}, X)
        return labels if frame is None else frame["prediction"]

    def predict_proba(self, X: Any) -> Any:
        """Return the scores that `predict` compares: ω_n·p_mn, normalised to sum 1 per row.

        They are no calibrated probabilities; ask `estimator_` for these.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (M, n_features)

        Returns
        -------
        ndarray of shape (M, N), or the DataFrame that `set_output` asked for
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        scores = self.coefficients_.apply(self._probabilities(X))
        columns = dict(zip(self.coefficients_.classes, scores.T, strict=True))
        frame = self._framed("predict_proba", columns, X)
        return scores if frame is None else frame

    def set_output(self, *, predict: str | None = None, predict_proba: str | None = None) -> Self:
        """Choose what `predict` and `predict_proba` return; clones keep the choice.

        Parameters
        ----------
        predict : {"default", "pandas", "polars"}, default=None
            An array, or a Series named "prediction". None leaves the choice as it is.
        predict_proba : {"default", "pandas", "polars"}, default=None
            An array, or a DataFrame with the class names as columns. Scikit-learn's own scorers
            need the array.

        Returns
        -------
        self : object

        Examples
        --------
        >>> from dnip import DNIPClassifier
        >>> classifier = DNIPClassifier().set_output(predict_proba="polars")
        >>> p = [[0.9, 0.1], [0.6, 0.4]]
        >>> classifier.fit(p, ["ham", "spam"]).predict_proba(p).columns
        ['ham', 'spam']
        """
        config = dict(getattr(self, "_sklearn_output_config", {}))
        for method, container in (("predict", predict), ("predict_proba", predict_proba)):
            if container is not None:
                config[method] = check_choice(method, container, ["default", "pandas", "polars"])
        self._sklearn_output_config = config  # clone() copies the attribute of this name
        return self

    def _probabilities(self, X: Any, *, reset: bool = False) -> Probabilities:
        """Return the class probabilities that the coefficients weigh."""
        if self.estimator_ is None:
            p = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_features=2)
            if not reset:
                check_column_names(X, [str(c) for c in self.classes_.tolist()], name="X")
            return check_probabilities(p, location=ArrayLocation("X"))
        return check_estimated(self.estimator_.predict_proba(X))

    def _framed(self, method: str, columns: Mapping[str, NDArray[Any]], X: Any) -> Any:
        """Return the frame that `set_output` asked for, with the index of X; None for an array."""
        library = getattr(self, "_sklearn_output_config", {}).get(method, "default")
        if library == "default":
            return None
        frames = load_optional(library, purpose=f"return {library} objects", extra=library)
        frame = frames.DataFrame(columns)
        if library == "pandas" and isinstance(X, frames.DataFrame):
            frame.index = X.index
        return frame


def check_estimated(probabilities: ArrayLike) -> Probabilities:
    """Return what an estimator's ``predict_proba`` gave, checked.

    Examples
    --------
    >>> check_estimated([[1.0, 3.0]])
    array([[0.25, 0.75]])
    """
    location = ArrayLocation("estimator.predict_proba(X)")
    return check_probabilities(probabilities, location=location, warn=False)
