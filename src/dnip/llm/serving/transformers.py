"""Coefficients within transformers: for its decision pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dnip.llm.decisions import correct
from dnip.llm.decisions.correction import load_coefficients
from dnip.method.coefficients import CoefficientsLike


class Reweighted:
    """A decision pipeline whose answers are corrected by coefficients.

    The answers have the names of their options, so these may come in any order. A logits processor
    of the pipeline's own config would see positions alone.

    Parameters
    ----------
    pipeline : callable
        ``transformers.pipeline("decision", ...)``.
    coefficients : mapping
        Coefficients, fits, or paths of files, by the name of the question.

    Raises
    ------
    CoefficientsFormatError
        For a damaged file; when called, if the options of a question are not the classes.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> answer = {"type": "choice", "choice": "b", "probabilities": {"b": 0.6, "a": 0.4}}
    >>> def pipeline(request):  # stands for transformers.pipeline("decision", model=...)
    ...     return {"topic": answer}
    >>> decide = Reweighted(pipeline, {"topic": Coefficients(["a", "b"], [2, 1], 2)})
    >>> decide({"state": "...", "questions": {}})["topic"]["choice"]
    'a'
    """

    def __init__(
        self, pipeline: Callable[..., Any], coefficients: Mapping[str, CoefficientsLike]
    ) -> None:
        self.pipeline = pipeline
        self.coefficients = load_coefficients(coefficients)

    def __call__(self, inputs: Any, **options: Any) -> Any:  # noqa: ANN401
        """Answer as the pipeline does: one request, a list, or an iterator over a data set."""
        answers = self.pipeline(inputs, **options)
        if isinstance(answers, Mapping):
            return self._corrected(answers)
        corrected = map(self._corrected, answers)
        return list(corrected) if isinstance(answers, list) else corrected

    def _corrected(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        body, _ = correct({"answers": answers}, self.coefficients)
        return dict(body["answers"])
