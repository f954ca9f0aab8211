"""The sources of answers, by the name that ``--from`` takes."""

from __future__ import annotations

from dnip.base.errors import InvalidInputError
from dnip.prompting.answers.columns import COLUMNS
from dnip.prompting.answers.decisions import DECISIONS
from dnip.prompting.answers.hugging_face import HUGGING_FACE
from dnip.prompting.answers.lighteval import LIGHTEVAL
from dnip.prompting.answers.lm_eval import LM_EVAL, LM_EVAL_MUTUAL_INFORMATION
from dnip.prompting.answers.source import Source
from dnip.prompting.answers.token_logprobs import TOKEN_LOGPROBS

#: In the order in which they are tried on an answer.
SOURCES: dict[str, Source] = {
    "decisions": DECISIONS,
    "lm-eval": LM_EVAL,
    "lm-eval-mutual-info": LM_EVAL_MUTUAL_INFORMATION,
    "lighteval": LIGHTEVAL,
    "hugging-face": HUGGING_FACE,
    "logprobs": TOKEN_LOGPROBS,
    "columns": COLUMNS,
}


def recognise(content: object) -> str | None:
    """Return the name of the source that a value is an answer of, None if there is none.

    Examples
    --------
    >>> recognise([{"label": "ham", "score": 0.9}, {"label": "spam", "score": 0.1}])
    'hugging-face'
    >>> recognise({"a": [1]}) is None
    True
    """
    return next((name for name, one in SOURCES.items() if one.recognises(content)), None)


def source_named(name: str) -> Source:
    """Return the source of a name.

    Raises
    ------
    InvalidInputError
        For an unknown name.
    """
    if name not in SOURCES:
        raise InvalidInputError(
            f"--from is {name!r}, which is no source", hint=f"The sources are {', '.join(SOURCES)}"
        )
    return SOURCES[name]
