"""Answers of decision servers: System One, OpenAI decisions, and LangChain's responses."""

from __future__ import annotations

from typing import Any

from dnip.base.errors import CoefficientsFormatError
from dnip.deploying.decisions import read_decisions
from dnip.deploying.decisions.answers import answers_of
from dnip.prompting.answers.source import Row, Source, Unanswered, Wanted, other_options


def _recognises(content: Any) -> bool:  # noqa: ANN401
    return isinstance(content, dict) and isinstance(content.get("answers"), dict | list)


def _read(content: Any, wanted: Wanted) -> Row | Unanswered:  # noqa: ANN401
    decision = read_decisions(content, [wanted.question])[0]
    if decision.refused:
        return Unanswered()
    try:
        order = decision.ordered(wanted.names)
    except CoefficientsFormatError as error:
        raise other_options(decision.options, wanted) from error
    # As the server gave them: whether it rounded is lost when they are normalised.
    scores = decision.probabilities[order] * decision.total
    return Row(scores, mass=decision.mass, own_id=content.get("request_id"))


def _questions(content: Any) -> list[str]:  # noqa: ANN401
    return [name for name, _ in answers_of(content)]


DECISIONS = Source("System One, OpenAI decisions, LangChain", _recognises, _read, _questions)
