"""Answers of language models with the log-probabilities of their likeliest tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.prompting.answers.source import Answer, Row, Source, Wanted
from dnip.prompting.engines.label_matching import LabelMatcher
from dnip.prompting.engines.openai_responses import Token, read_answer, read_reported


def _recognises(content: Answer) -> bool:
    return isinstance(content, dict) and any(
        (
            isinstance(content.get("choices"), list),  # chats and completions
            isinstance(content.get("output"), list),  # Responses
            isinstance(content.get("candidates"), list),  # Gemini
            isinstance(content.get("completion_probabilities"), list),  # llama.cpp
            isinstance(content.get("message"), dict),  # Ollama's chat
            "response" in content and "done" in content,  # Ollama's generate
        )
    )


def _read(content: Answer, wanted: Wanted) -> Row | None:
    answer = _as_choices(content)
    if _is_refusal(answer):
        return None
    # Where the text is trimmed, a label may look like a token that only ends the answer.
    positions = read_answer(answer).positions or (read_reported(answer),)
    matcher = _matcher(wanted.names)
    chosen = [reported.chosen for reported in positions]
    named = _places_of_labels(matcher, chosen)
    matches = [matcher.match(positions[place]) for place in named or (0,)]
    match = matches[0]
    if match.ambiguous > match.captured.sum():
        raise InvalidInputError(
            "the likeliest token of a label begins several labels and so tells none of them",
            hint="Ask again with label words whose first tokens differ, such as letters",
        )
    text = "".join(token.text for token in chosen)
    cut = any(word.startswith(text) for words in matcher.answers for word in words)
    return Row(
        match.captured,
        match.ceiling,
        mass=min(float(match.captured.sum()), 1.0),
        names_none=not named and not cut,
        names_several=len({int(one.captured.argmax()) for one in matches}) > 1,
    )


def _places_of_labels(matcher: LabelMatcher, chosen: Sequence[Token]) -> list[int]:
    """Return the places at which an answer names a label, the last one first."""
    places = []
    place = matcher.find_last(chosen)
    while place is not None:
        places.append(place)
        place = matcher.find_last(chosen[:place])
    return places


@cache
def _matcher(names: tuple[str, ...]) -> LabelMatcher:
    return LabelMatcher(tuple(map(variants, names)))


def variants(word: str) -> tuple[str, ...]:
    """Return the ways in which a model may write a label: with a space, in another case.

    A lone letter has one case: "a" is an article before it is the label "A".

    Examples
    --------
    >>> variants("Spam"), variants("A")
    (('Spam', 'spam', 'SPAM', ' Spam', ' spam', ' SPAM'), ('A', ' A'))
    """
    cases = {word: None}
    if len(word) > 1:
        cases |= dict.fromkeys((word.lower(), word.upper(), word.capitalize()))
    return tuple(space + text for space in ("", " ") for text in cases)


def _as_choices(content: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of any service in the shape of chat completions."""
    drawn = content.get("choices") or content.get("candidates") or ()
    if len(drawn) > 1:
        raise InvalidInputError(
            f"it holds {len(drawn)} answers to one prompt, but a row is made of one",
            hint="Ask for one answer (n=1, candidateCount=1), or save each with the whole response",
        )
    if "choices" in content or "completion_probabilities" in content:
        return content
    if "candidates" in content:
        return _gemini(content)
    if "output" in content:
        return _responses(content)
    message = content.get("message") or {"content": content.get("response")}
    return _chat(message.get("content"), content.get("logprobs"), content.get("done_reason"))


def _chat(text: object, logprobs: object, reason: object) -> dict[str, Any]:
    message, content = {"content": text}, {"content": logprobs}
    return {"choices": [{"message": message, "logprobs": content, "finish_reason": reason}]}


def _responses(content: dict[str, Any]) -> dict[str, Any]:
    """Responses: the text is the last part of the last message; reasoning comes before."""
    parts = [
        part
        for item in content["output"]
        if isinstance(item, dict) and item.get("type") == "message"
        for part in item.get("content") or ()
    ]
    part = parts[-1] if parts else {}
    answer = _chat(part.get("text"), part.get("logprobs"), None)
    if part.get("refusal") is not None:
        answer["choices"][0]["message"]["refusal"] = part["refusal"]
    return answer


def _gemini(content: dict[str, Any]) -> dict[str, Any]:
    if not content["candidates"]:
        return _chat(None, None, "content_filter")
    candidate = _camel_case(content["candidates"][0])
    parts = (candidate.get("content") or {}).get("parts") or ()
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    result = candidate.get("logprobsResult") or {}
    chosen = result.get("chosenCandidates") or []
    listed = [top["candidates"] for top in result.get("topCandidates") or ()]
    logprobs = [
        {**(_gemini_token(chosen[i]) if i < len(chosen) else {}), "top_logprobs": top}
        for i, top in enumerate([[_gemini_token(one) for one in top] for top in listed])
    ]
    reason = candidate.get("finishReason")
    return _chat(text, logprobs, "content_filter" if reason in _BLOCKED else reason)


#: Why Gemini may give no answer.
_BLOCKED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})


def _gemini_token(token: dict[str, Any]) -> dict[str, Any]:
    # A zero is left out of the JSON; the service's own client writes null.
    number = token.get("logProbability")
    found = {"token": token.get("token") or "", "logprob": 0.0 if number is None else number}
    return found if token.get("tokenId") is None else found | {"id": token["tokenId"]}


def _camel_case(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return an answer with its keys as the service writes them; its own client has underscores."""
    if isinstance(value, list):
        return [_camel_case(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("_([a-z])", lambda found: found[1].upper(), key): _camel_case(one)
        for key, one in value.items()
    }


def _is_refusal(answer: dict[str, Any]) -> bool:
    choice = next(iter(answer.get("choices") or ()), None)
    if not isinstance(choice, dict):
        return False
    message = choice.get("message")
    refusal = message.get("refusal") if isinstance(message, dict) else None
    return refusal is not None or choice.get("finish_reason") == "content_filter"


TOKEN_LOGPROBS = Source("logprobs", "log-probabilities of tokens", _recognises, _read)
