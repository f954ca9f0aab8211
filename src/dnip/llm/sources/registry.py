"""The sources of answers, by the name that ``--from`` takes; those of one page stand here."""

from __future__ import annotations

from dnip.base.errors import CoefficientsFormatError
from dnip.llm.decisions import read_decisions
from dnip.llm.decisions.answers import answers_of, by_question
from dnip.llm.sources.columns import COLUMNS, PIPELINES, ROWS
from dnip.llm.sources.harness import HARNESS
from dnip.llm.sources.services import TOKEN_LOGPROBS
from dnip.llm.sources.source import Answer, Row, Source, Wanted, other_options


def _is_decision(content: Answer) -> bool:
    answers = content.get("answers") if isinstance(content, dict) else None
    if isinstance(answers, dict):
        return all(isinstance(answer, dict) for answer in answers.values())
    return any(isinstance(answer, dict) and "type" in answer for _, answer in by_question(answers))


def _read_decision(content: Answer, wanted: Wanted) -> Row | None:
    decision = read_decisions(content, [wanted.question])[0]
    if decision.refused:
        return None
    try:
        order = decision.ordered(wanted.called(decision.options))
    except CoefficientsFormatError as error:
        raise other_options(decision.options, wanted) from error
    # As the server gave them: whether it rounded is lost when they are normalised.
    scores = decision.probabilities[order] * decision.total
    return Row(scores, mass=decision.mass)


def _questions_of(content: Answer) -> list[str]:
    return [name for name, _ in answers_of(content)]


def _decided(content: Answer) -> dict[str, list[str | None]]:
    return {name: [answer.get("choice")] for name, answer in answers_of(content)}


_SERVERS = "System One, OpenAI decisions, LangChain"
_IN_ORDER = (
    Source("decisions", _SERVERS, _is_decision, _read_decision, _questions_of, _decided),
    HARNESS,
    PIPELINES,
    TOKEN_LOGPROBS,
    ROWS,
    COLUMNS,
)
#: By name, in the order in which they are tried on an answer.
SOURCES = {source.name: source for source in _IN_ORDER}


def recognise(content: object) -> Source | None:
    """Return the source that a value is an answer of, None if there is none.

    Examples
    --------
    >>> recognise([{"label": "ham", "score": 0.9}, {"label": "spam", "score": 0.1}]).name
    'hugging-face'
    >>> recognise({"a": [1]}) is None
    True
    """
    return next((source for source in SOURCES.values() if source.recognises(content)), None)
