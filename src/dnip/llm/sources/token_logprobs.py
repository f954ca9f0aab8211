"""Answers of language models: log-probabilities of their likeliest tokens, and their texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.answers.label_matching import matcher_of
from dnip.llm.answers.tokens import read_answer, read_reported, read_text
from dnip.llm.sources.source import Answer, Row, Source, Wanted

#: One of the answers to a prompt, in the shape of chat completions.
_Choice: TypeAlias = dict[str, Any]


def _recognises(content: Answer) -> bool:
    return isinstance(content, dict) and _service(content) is not None


def _service(content: dict[str, Any]) -> tuple[str, Callable[..., list[_Choice]]] | None:
    """Return what messages call an answer, and how its choices are found."""
    found = (one for key, one in _SERVICES.items() if isinstance(content.get(key), list | dict))
    return next(found, _OLLAMA if {"response", "done"} <= content.keys() else None)


def _read(content: Answer, wanted: Wanted) -> Row | None:
    name, choices_of = _service(content) or _OLLAMA
    return read_choices(name, choices_of(content), wanted)


def read_choices(name: str, choices: list[_Choice], wanted: Wanted) -> Row | None:
    """Read the only answer to a prompt, in the shape of chat completions; None for a refusal."""
    if len(choices) > 1:
        raise InvalidInputError(
            f"it holds {len(choices)} answers to one prompt, but a row is made of one",
            hint="Count them with --votes, or ask for one (n=1, candidateCount=1)",
        )
    answer = {"choices": choices}
    if _is_refusal(answer):
        return None
    try:  # Where the text is trimmed, a label may look like a token that only ends the answer.
        positions = read_answer(answer).positions or (read_reported(answer),)
    except BackendError as error:
        if not error.retryable:  # it is understood
            error.message = f"{name} has no log-probabilities"
        raise
    matcher = matcher_of(wanted.names)
    chosen = [reported.chosen for reported in positions]
    named = matcher.find_all(chosen)
    matches = [matcher.match(positions[place]) for place in named or (0,)]
    match = matches[0]
    match.check_clear()
    text = "".join(token.text for token in chosen)
    cut = any(word.startswith(text) for words in matcher.answers for word in words)
    return Row(
        match.captured,
        match.ceiling,
        mass=min(float(match.captured.sum()), 1.0),
        names_none=not named and not cut,
        names_several=len({int(one.captured.argmax()) for one in matches}) > 1,
    )


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the answers to one prompt; an empty text for one that was cut."""
    _, choices_of = _service(content) or _OLLAMA
    answers = [{"choices": [one]} for one in choices_of(content)]
    return {"": [None if _is_refusal(one) else read_text(one) or "" for one in answers]}


def _choice(text: object, logprobs: object, reason: object, refusal: object = None) -> _Choice:
    """Return an answer as one of chat completions."""
    message, content = {"content": text, "refusal": refusal}, {"content": logprobs}
    reason = "length" if reason in _CUT else "content_filter" if reason in _BLOCKED else reason
    return {"message": message, "logprobs": content, "finish_reason": reason}


# Why services end an answer.
_CUT = ("limit", "max_tokens", "max_output_tokens", "MAX_TOKENS")
_BLOCKED = ("refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION")


def _llama_cpp(content: dict[str, Any]) -> list[_Choice]:
    text, reason = content.get("content"), content.get("stop_type")
    return [_choice(text, content["completion_probabilities"], reason)]


def _ollama(content: dict[str, Any]) -> list[_Choice]:
    message = content.get("message") or {"content": content.get("response")}
    text, reason = message.get("content"), content.get("done_reason")
    return [_choice(text, content.get("logprobs"), reason)]


def _message(content: dict[str, Any]) -> list[_Choice]:
    """Return a message of Anthropic or LangChain: a text, or blocks of which some hold thoughts."""
    told = content.get("response_metadata") or content
    text = content["content"]
    if isinstance(text, list):
        text = "".join(block.get("text") or "" for block in text)
    logprobs = (told.get("logprobs") or {}).get("content")
    refusal = (content.get("additional_kwargs") or {}).get("refusal")
    return [_choice(text, logprobs, told.get("stop_reason") or told.get("finish_reason"), refusal)]


def _vllm(content: dict[str, Any]) -> list[_Choice]:
    """Return outputs of vLLM: tokens by their numbers at each place."""
    choices = []
    for one in content["outputs"]:
        if isinstance(one, str):
            raise InvalidInputError(
                "the outputs were saved as texts, which nothing can be read of",
                hint="Save each of them with dataclasses.asdict(output)",
            )
        places = zip(one["token_ids"], one.get("logprobs") or (), strict=False)
        positions = [_vllm_position(str(chosen), top) for chosen, top in places]
        choices.append(_choice(one["text"], positions, one.get("finish_reason")))
    return choices


def _vllm_position(chosen: str, top: dict[object, dict[str, Any]]) -> dict[str, Any]:
    tokens = {str(number): {**one, "token": one["decoded_token"]} for number, one in top.items()}
    return {**tokens.get(chosen, {}), "top_logprobs": list(tokens.values())}


def _responses(content: dict[str, Any]) -> list[_Choice]:
    """Responses: the text is the last part of the last message; reasoning comes before."""
    parts = [
        part
        for item in content["output"]
        if isinstance(item, dict) and item.get("type") == "message"
        for part in item.get("content") or ()
    ]
    part = parts[-1] if parts else {}
    reason = (content.get("incomplete_details") or {}).get("reason")
    return [_choice(part.get("text"), part.get("logprobs"), reason, part.get("refusal"))]


def _gemini(content: dict[str, Any]) -> list[_Choice]:
    found = [_gemini_choice(_camel_case(one)) for one in content["candidates"]]
    return found or [_choice(None, None, "SAFETY")]


def _gemini_choice(candidate: dict[str, Any]) -> _Choice:
    parts = (candidate.get("content") or {}).get("parts") or ()
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    result = candidate.get("logprobsResult") or {}
    chosen = result.get("chosenCandidates") or []
    listed = [top["candidates"] for top in result.get("topCandidates") or ()]
    logprobs = [
        {**(_gemini_token(chosen[i]) if i < len(chosen) else {}), "top_logprobs": top}
        for i, top in enumerate([[_gemini_token(one) for one in top] for top in listed])
    ]
    return _choice(text, logprobs, candidate.get("finishReason"))


def _gemini_token(token: dict[str, Any]) -> dict[str, Any]:
    # A zero is left out of the JSON; the service's own client writes null.
    logprob = token.get("logProbability") or 0.0
    return {"token": token.get("token") or "", "logprob": logprob, "id": token.get("tokenId")}


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
    choice: _Choice = next(iter(answer["choices"]), {})
    refusal = (choice.get("message") or {}).get("refusal")
    return refusal is not None or choice.get("finish_reason") == "content_filter"


_OLLAMA = ("an answer of Ollama", _ollama)
#: By the key that marks an answer.
_SERVICES = {
    "choices": ("a completion of OpenAI's API", lambda content: content["choices"]),
    "output": ("an answer of Responses", _responses),
    "candidates": ("an answer of Gemini", _gemini),
    "completion_probabilities": ("an answer of llama.cpp", _llama_cpp),
    "response_metadata": ("a message of LangChain", _message),
    "message": _OLLAMA,
    "outputs": ("an output of vLLM", _vllm),
    "content": ("a message of Anthropic", _message),
}
_TITLE = "answers of language models, with log-probabilities of tokens"
TOKEN_LOGPROBS = Source("logprobs", _TITLE, _recognises, _read, texts=_texts)
