"""Chain of thought through an OpenAI-compatible server: the last label that an answer names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dnip.base.validation import check_integer
from dnip.prompting.engines.base import CUT_FALLBACK, FALLBACK
from dnip.prompting.engines.openai_engine import OpenAIEngine
from dnip.prompting.engines.openai_responses import read_answer

if TYPE_CHECKING:
    from dnip.prompting.engines.label_matching import LabelMatcher, Match


@dataclass(frozen=True)
class OpenAIReasoningEngine(OpenAIEngine):
    """Scores labels where the model names the last one, after it has reasoned.

    One request per prompt, for a whole answer at temperature 0. The probabilities of a row are
    those that the server reports at the place of the last label in its answer; where the answer
    holds no label, those at its last token, that which ends the answer not counted. An empty answer
    tells nothing: any label may then have any probability.

    Parameters
    ----------
    model, server, endpoint, top_logprobs, label_token_ids, label_tokens, extra_body
        As for `OpenAIEngine`; label tokens are those that follow the reasoning.
    max_new_tokens : int, default=256
        Most tokens of an answer.
    stop : str, optional
        Text that ends an answer, beside what the model itself ends it with.
    """

    max_new_tokens: int = 256
    stop: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("max_new_tokens", self.max_new_tokens, at_least=1)

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        return {**super().describe(), "decoding": "greedy"}

    def _read(self, payload: object, matcher: LabelMatcher) -> tuple[Match, dict[str, Any]]:
        answer = read_answer(payload, self.stop)
        place = matcher.find_last([reported.chosen for reported in answer.positions])
        details = {
            FALLBACK: int(place is None),
            CUT_FALLBACK: int(place is None and answer.cut),
            "cut": int(answer.cut),
            "new_tokens": len(answer.positions),
        }
        if not answer.positions:
            return matcher.nothing(), details
        return matcher.match(answer.positions[-1 if place is None else place]), details

    def _fields(self) -> dict[str, Any]:
        stop = None if self.stop is None else [self.stop]
        return {"max_tokens": self.max_new_tokens, "temperature": 0, "stop": stop}
