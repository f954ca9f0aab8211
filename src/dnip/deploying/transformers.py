"""Coefficients within transformers: for its decision pipeline, and for `generate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.deploying.decisions import correct
from dnip.deploying.decisions.correction import load_coefficients
from dnip.method.coefficients import Coefficients
from dnip.method.defer import refuse_defer
from dnip.method.prediction import decide, reweight


class Reweighted:
    """A decision pipeline whose answers are corrected by coefficients.

    The answers have the names of their options, so these may come in any order. A logits processor
    of the pipeline's own config would see positions alone.

    Parameters
    ----------
    pipeline : callable
        ``transformers.pipeline("decision", ...)``.
    coefficients : mapping
        Coefficients, or their files, by the name of the question.

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
        self,
        pipeline: Callable[..., Any],
        coefficients: Mapping[str, Coefficients | str | os.PathLike[str]],
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


class ReweightedLabels:
    """A logits processor that lets `generate` say labels alone, reweighted by coefficients.

    The greedy token is the label that `Coefficients.predict` chooses, ties included; sampled ones
    have the reweighted probabilities. It is meant for one new token: every token that is generated
    would be a label.

    Parameters
    ----------
    coefficients : Coefficients
    tokens : sequence of int
        The token of each label, in the order of the classes.

    Raises
    ------
    InvalidInputError
        For another number of tokens than classes, two labels with one token, or coefficients that
        defer rows: a token cannot say so.

    Examples
    --------
    Greedy decisions of a causal language model::

        labels = ReweightedLabels(coefficients, [tokenizer.encode(f" {c}")[0] for c in classes])
        model.generate(
            **inputs, max_new_tokens=1, do_sample=False,
            logits_processor=LogitsProcessorList([labels]),
        )
    """

    supports_continuous_batching = False

    def __init__(self, coefficients: Coefficients, tokens: Sequence[int]) -> None:
        self.tokens = [int(token) for token in tokens]
        if not len(self.tokens) == len(set(self.tokens)) == len(coefficients.classes):
            raise InvalidInputError(
                f"tokens must be {len(coefficients.classes)} different ids, one per class; got "
                f"{self.tokens!r:.200}",
                hint="Give labels that are tokens of their own",
            )
        refuse_defer(coefficients.defer, "a logits processor")
        self._multipliers = coefficients.multipliers

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ANN401
        """Return scores of shape (rows, vocabulary) with those of the labels reweighted."""
        logits = scores[:, self.tokens].double().cpu().numpy()
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):  # a label may have no probability left
            weighted = np.log(reweight(p, self._multipliers)).astype(np.float32)
        # rounding must not make a tie, or an order, that the products do not have
        chosen = decide(p, self._multipliers)[:, None]
        best = np.take_along_axis(weighted, chosen, axis=1)
        weighted = np.minimum(weighted, np.nextafter(best, np.float32(-np.inf)))
        np.put_along_axis(weighted, chosen, best, axis=1)
        only_labels = scores.new_full(scores.shape, -np.inf)
        only_labels[:, self.tokens] = scores.new_tensor(weighted)
        return only_labels
