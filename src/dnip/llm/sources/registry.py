"""The sources of answers, by the name that ``--from`` takes; those of one page stand here."""

from __future__ import annotations

from dnip.base.errors import CoefficientsFormatError, InvalidInputError, listed
from dnip.llm.decisions import read_decisions
from dnip.llm.decisions.answers import answers_of
from dnip.llm.sources.cells import PIPELINES, has_numbers, in_cell, in_class_order
from dnip.llm.sources.harness import HARNESS
from dnip.llm.sources.rows import ANSWERS, ROWS, by_class
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number, other_options
from dnip.llm.sources.token_logprobs import TOKEN_LOGPROBS
from dnip.tables.columns import ID, MASS


def _is_decision(content: Answer) -> bool:
    answers = content.get("answers") if isinstance(content, dict) else None
    return isinstance(answers, dict | list) and not _is_flat({"": answers or {}})


def _read_decision(content: Answer, wanted: Wanted) -> Row | None:
    decision = read_decisions(content, [wanted.question])[0]
    if decision.refused:
        return None
    try:
        order = decision.ordered(wanted.names)
    except CoefficientsFormatError as error:
        raise other_options(decision.options, wanted) from error
    # As the server gave them: whether it rounded is lost when they are normalised.
    scores = decision.probabilities[order] * decision.total
    return Row(scores, mass=decision.mass)


def _questions_of(content: Answer) -> list[str]:
    return [name for name, _ in answers_of(content)]


def _decided(content: Answer) -> dict[str, list[str | None]]:
    return {name: [answer.get("choice")] for name, answer in answers_of(content)}


def _is_flat(content: Answer) -> bool:
    cells = content.values() if isinstance(content, dict) else [{}]
    return all(
        has_numbers(one)
        or (_are_texts(one) if isinstance(one, list) else not isinstance(one, dict))
        for one in cells
    )


def _are_texts(cells: object) -> bool:
    return isinstance(cells, list) and all(isinstance(one, str | None) for one in cells)


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the columns of texts, of one in each row or of several."""
    columns = {name: cell if isinstance(cell, list) else [cell] for name, cell in content.items()}
    return {name: cells for name, cells in columns.items() if name != ID and _are_texts(cells)}


def _read_columns(content: Answer, wanted: Wanted) -> Row:
    if (row := by_class(content, wanted)) is not None:
        return row
    missing = [name for name in wanted.names if name not in content]
    if len(missing) == len(wanted.names) and (row := in_cell(content, wanted)) is not None:
        return row
    told = [name for name in ANSWERS if isinstance(content.get(name), str)]
    if told and len(missing) == len(wanted.names):
        raise InvalidInputError(
            f"column {told[0]} holds answers, but no column holds probabilities",
            hint="Ask the model for log-probabilities (logprobs=True, top_logprobs=20) and save "
            "them beside each answer; or ask several times for each row, and give --votes",
        )
    if missing:
        raise InvalidInputError(
            f"there is no column {missing[0]}; the columns are {listed(tuple(content))}",
            hint="Name the column of a class with --map CLASS=COLUMN; count texts with --votes",
        )
    scores = in_class_order({name: content[name] for name in wanted.names}, wanted)
    mass = content.get(MASS)
    return Row(scores, mass=None if mass in (None, "") else as_number(mass, MASS))


_SERVERS = "System One, OpenAI decisions, LangChain"
_IN_ORDER = (
    Source("decisions", _SERVERS, _is_decision, _read_decision, _questions_of, _decided),
    HARNESS,
    PIPELINES,
    TOKEN_LOGPROBS,
    ROWS,
    Source(
        "columns",
        "a column for each class, or a cell with all",
        _is_flat,
        _read_columns,
        texts=_texts,
    ),
)
#: By name, in the order in which they are tried on an answer.
SOURCES = {one.name: one for one in _IN_ORDER}


def recognise(content: object) -> Source | None:
    """Return the source that a value is an answer of, None if there is none.

    Examples
    --------
    >>> recognise([{"label": "ham", "score": 0.9}, {"label": "spam", "score": 0.1}]).name
    'hugging-face'
    >>> recognise({"a": [1]}) is None
    True
    """
    return next((one for one in SOURCES.values() if one.recognises(content)), None)
