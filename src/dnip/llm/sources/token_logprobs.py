"""Answers of language models: log-probabilities of their likeliest tokens, and their texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.llm.answers.completions import no_logprobs, read_choice
from dnip.llm.answers.reader import reader_of
from dnip.llm.answers.tokens import SilentError
from dnip.llm.sources.services import Choice, service_of
from dnip.llm.sources.source import Answer, Row, Source, Wanted


def _read(content: Answer, wanted: Wanted) -> Row | None:
    service = service_of(content)
    if service is None:
        raise InvalidInputError(
            "its numbers are not log-probabilities",
            hint="The logarithm of a probability is a number of 0 at most",
        )
    letters = {str(name): letter for letter, name in (content.get("output_mapping") or {}).items()}
    if set(wanted.names) <= letters.keys():  # HELM offers the classes by letters
        wanted = replace(wanted, names=tuple(letters[name] for name in wanted.names))
    return read_choices(service.title, service.choices(content), wanted)


def read_choices(name: str, choices: list[Choice], wanted: Wanted) -> Row | None:
    """Read the only answer to a prompt, in the shape of chat completions; None for a refusal.

    Raises
    ------
    SilentError
        If the tokens do not tell how probable the labels are.
    """
    if len(choices) != 1:
        raise InvalidInputError(
            f"it holds {len(choices)} answers to one prompt, but a row is made of one",
            hint="Count them with --votes, or ask for one (n=1, candidateCount=1)",
        )
    answer = read_choice(choices[0])
    if answer.refused:
        return None
    if not answer.positions:
        raise SilentError(f"{name} has no log-probabilities", hint=no_logprobs().hint)
    reader = reader_of(wanted.names)
    reading = reader.locate(answer)
    if len(reading.mentions) > 1:
        return Row(np.empty(0), names_several=True)
    match = reader.weigh_label(answer, reading)
    return Row(
        match.captured,
        match.ceiling,
        mass=min(float(match.captured.sum()), 1.0),
        names_none=not reading.mentions and not reading.is_cut,
    )


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the answers to one prompt; an empty text for one that was cut."""
    service = service_of(content)
    answers = [] if service is None else map(read_choice, service.choices(content))
    return {"": [None if one.refused else "" if one.cut else one.content or "" for one in answers]}


_TITLE = "answers of language models, with log-probabilities of tokens"
TOKEN_LOGPROBS = Source(
    "logprobs", _TITLE, lambda content: service_of(content) is not None, _read, texts=_texts
)
