"""Coefficients within LangChain: around any decision model."""

from __future__ import annotations

from typing import Any

from dnip.base.columns import DEFERRED
from dnip.base.errors import MissingDependencyError
from dnip.llm.decisions import correct
from dnip.llm.decisions.correction import load_coefficients

try:
    from langchain_core.decisions import BaseDecisionModel, ClassifierResponse, Question, State
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "langchain-core 1.8 or newer", purpose="correct LangChain's decisions", extra="langchain"
    ) from error


class _ReweightedResponse(ClassifierResponse):  # type: ignore[misc]
    """The corrected answers, in `raw` what the model answered, and the mark by question.

    `deferred` says by question whether its answer is deferred, of those questions
    whose coefficients have thresholds.
    """

    raw: ClassifierResponse
    dnip_corrected_by: dict[str, str] | None = None
    deferred: dict[str, bool] | None = None


class Reweighted(BaseDecisionModel):  # type: ignore[misc]
    """A decision model whose answers are corrected by coefficients.

    It is called as the model itself is: with ``invoke``, ``ainvoke``, ``batch`` and ``abatch``. A
    trace has one run, under the name and the provider of the model. Probabilities are reweighted
    and the choice is made by them; ``raw`` of the response holds the answers as they were.
    Questions without coefficients stay as they are. Models prefer options at some places: ask in
    the order of the fit; another one is warned of, where it is known.

    Parameters
    ----------
    model : BaseDecisionModel
    coefficients : mapping
        Coefficients, fits, or paths of files, by the name of the question.

    Raises
    ------
    CoefficientsFormatError
        For a damaged file; when called, if the options of a question are not the classes.

    Examples
    --------
    ::

        model = Reweighted(model, coefficients={"topic": "coefficients.json"})
        response = model.invoke({"state": text, "questions": {"topic": topic}})
        response.choices["topic"].choice, response.raw.choices["topic"].choice
    """

    decider: BaseDecisionModel
    coefficients: dict[str, Any]

    def __init__(self, decider: BaseDecisionModel | None = None, /, **fields: Any) -> None:  # noqa: ANN401
        if decider is not None:
            fields = {"model": decider.model, "decider": decider, **fields}
        super().__init__(
            **{**fields, "coefficients": load_coefficients(fields.get("coefficients", {}))}
        )

    @property
    def _provider(self) -> str:
        return str(self.decider._provider)

    def _classify(self, state: State, questions: dict[str, Question]) -> _ReweightedResponse:
        return self._corrected(self.decider._classify(state, questions))

    async def _aclassify(self, state: State, questions: dict[str, Question]) -> _ReweightedResponse:
        return self._corrected(await self.decider._aclassify(state, questions))

    def _corrected(self, response: ClassifierResponse) -> _ReweightedResponse:
        # as JSON, in which the numbers of levels are texts
        body, corrections = correct(response.model_dump(mode="json"), self.coefficients)
        deferred = {
            correction.before.question: correction.deferred
            for correction in corrections
            if correction.deferred is not None
        }
        fields = {**body, "model": response.model, "raw": response, DEFERRED: deferred or None}
        return _ReweightedResponse(**fields)
