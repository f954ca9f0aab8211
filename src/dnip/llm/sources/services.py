"""How services write answers: from the JSON of each to the shape of chat completions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from dnip.base.errors import InvalidInputError
from dnip.llm.answers.completions import ID_PREFIX, choices_of

#: One of the answers to a prompt, in the shape of chat completions.
Choice: TypeAlias = dict[str, Any]


class Service(NamedTuple):
    """A service.

    Attributes
    ----------
    key : str
        What marks its answers: a key, behind points those within.
    kind : type
        What stands there.
    title : str
        What messages call an answer.
    choices : callable
        Returns the answers to one prompt.
    beside : str, optional
        Another key that its answers have.
    """

    key: str
    kind: type
    title: str
    choices: Callable[[dict[str, Any]], list[Choice]]
    beside: str = ""

    def wrote(self, content: dict[str, Any]) -> bool:
        """Return whether it wrote an answer."""
        value: Any = content
        for key in self.key.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return isinstance(value, self.kind) and (not self.beside or self.beside in content)


def service_of(content: object) -> Service | None:
    """Return the service that wrote an answer, None if it is not known.

    Examples
    --------
    >>> service_of({"response": "spam", "done": True}).title
    'an answer of Ollama'
    """
    if not isinstance(content, dict):
        return None
    return next((service for service in _SERVICES if service.wrote(content)), None)


def _choice(text: object, logprobs: object, reason: object, refusal: object = None) -> Choice:
    """Return an answer as one of chat completions."""
    message, content = {"content": text, "refusal": refusal}, {"content": logprobs or None}
    reason = "length" if reason in _CUT else "content_filter" if reason in _BLOCKED else reason
    return {"message": message, "logprobs": content, "finish_reason": reason}


# Why services end an answer.
_CUT = ("length", "limit", "max_tokens", "max_output_tokens", "MAX_TOKENS")
_BLOCKED = (
    *("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"),
    "RECITATION",
)


def _places(
    read: Callable[[Any], dict[str, Any]], chosen: Sequence[Any] | None, tops: Sequence[Any] | None
) -> list[dict[str, Any]]:
    """Return the places of an answer, each with its chosen token and the likeliest ones there."""
    tokens = map(read, chosen or ())
    likeliest = ([*map(read, top or ())] for top in tops or ())
    pairs = zip_longest(tokens, likeliest)
    return [{**(token or {}), "top_logprobs": top or []} for token, top in pairs]


def _text_of(content: object) -> object:
    """Return a text, which may be in blocks of which some hold thoughts."""
    if not isinstance(content, list):
        return content
    return "".join(
        block if isinstance(block, str) else block.get("text") or "" for block in content
    )


# --- OpenAI, and what speaks as it does ---
def _completion(content: dict[str, Any]) -> list[Choice]:
    choices = []
    for choice in content["choices"]:
        reason = choice.get("finish_reason") or choice.get("stop_reason")  # of inspect_ai
        message = choice.get("message")
        if message is not None:
            message = {**message, "content": _text_of(message.get("content"))}
            choice = {**choice, "message": message}  # noqa: PLW2901
        choices.append({**choice, "finish_reason": "length" if reason in _CUT else reason})
    return choices


def _responses(content: dict[str, Any]) -> list[Choice]:
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


# --- LangChain and Anthropic ---
def _message(content: dict[str, Any]) -> list[Choice]:
    told = content.get("response_metadata") or content
    logprobs = told.get("logprobs")
    places = logprobs.get("content") if isinstance(logprobs, dict) else logprobs
    if (result := told.get("logprobs_result")) is not None:  # of Gemini
        places = _gemini_places(_camel_case(result)) if isinstance(result, dict) else result
    refusal = (content.get("additional_kwargs") or {}).get("refusal")
    reason = told.get("stop_reason") or told.get("finish_reason")
    return [_choice(_text_of(content["content"]), places, reason, refusal)]


# --- Gemini ---
def _gemini(content: dict[str, Any]) -> list[Choice]:
    found = [_gemini_choice(_camel_case(one)) for one in content["candidates"]]
    return found or [_choice(None, None, "SAFETY")]


def _gemini_choice(candidate: dict[str, Any]) -> Choice:
    parts = (candidate.get("content") or {}).get("parts") or ()
    text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
    places = _gemini_places(candidate.get("logprobsResult") or {})
    return _choice(text, places, candidate.get("finishReason"))


def _gemini_places(result: dict[str, Any]) -> list[dict[str, Any]]:
    tops = [top.get("candidates") for top in result.get("topCandidates") or ()]
    return _places(_gemini_token, result.get("chosenCandidates"), tops)


def _gemini_token(token: dict[str, Any]) -> dict[str, Any]:
    # A zero is left out of the JSON; the service's own client writes null.
    logprob = token.get("logProbability", token.get("logprob")) or 0.0
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


# --- servers and engines of one's own ---
def _ollama(content: dict[str, Any]) -> list[Choice]:
    message = content.get("message") or {"content": content.get("response")}
    text, reason = message.get("content"), content.get("done_reason")
    return [_choice(text, content.get("logprobs"), reason)]


def _vllm(content: dict[str, Any]) -> list[Choice]:
    """Return outputs of vLLM: tokens by their numbers at each place."""
    choices = []
    for one in content["outputs"]:
        if isinstance(one, str):
            raise InvalidInputError(
                "the outputs were saved as texts, which nothing can be read of",
                hint="Save each of them with dataclasses.asdict(output)",
            )
        pairs = zip(one["token_ids"], one.get("logprobs") or (), strict=False)
        places = [_vllm_place(str(chosen), top) for chosen, top in pairs]
        choices.append(_choice(one["text"], places, one.get("finish_reason")))
    return choices


def _vllm_place(chosen: str, top: dict[object, dict[str, Any]]) -> dict[str, Any]:
    tokens = {
        str(number): {**one, "token": one.get("decoded_token") or f"{ID_PREFIX}{number}"}
        for number, one in top.items()
    }
    return {**tokens.get(chosen, {}), "top_logprobs": [*tokens.values()]}


def _sglang(content: dict[str, Any]) -> list[Choice]:
    told = content["meta_info"]
    chosen, tops = told.get("output_token_logprobs"), told.get("output_top_logprobs")
    places = _places(_sglang_token, chosen, tops)
    reason = told.get("finish_reason")
    reason = reason.get("type") if isinstance(reason, dict) else reason
    return [_choice(content.get("text"), places, reason)]


def _sglang_token(token: list[Any]) -> dict[str, Any]:
    logprob, number, text = token
    return {"token": f"{ID_PREFIX}{number}" if text is None else text, "logprob": logprob}


def _tgi(content: dict[str, Any]) -> list[Choice]:
    told = content.get("details") or {}
    places = _places(_tgi_token, told.get("tokens"), told.get("top_tokens"))
    return [_choice(content["generated_text"], places, told.get("finish_reason"))]


def _tgi_token(token: dict[str, Any]) -> dict[str, Any]:
    return {"token": token["text"], "logprob": token["logprob"], "id": token.get("id")}


# --- harnesses and tools ---
def _helm(content: dict[str, Any]) -> list[Choice]:
    choices = []
    for completion in content["result"]["completions"]:
        tokens = completion["tokens"]
        logprobs = {
            "tokens": [token["text"] for token in tokens],
            "token_logprobs": [token["logprob"] for token in tokens],
            "top_logprobs": [token.get("top_logprobs") for token in tokens],
        }
        reason = (completion.get("finish_reason") or {}).get("reason")
        choices.append({"text": completion["text"], "logprobs": logprobs, "finish_reason": reason})
    return choices


def _llm(content: dict[str, Any]) -> list[Choice]:
    """Return what the tool llm logs: chunks of a stream put together, or the whole answer."""
    told = content["response_json"]
    if "choices" in told:
        return _completion(told)
    listed = told.get("logprobs")
    if isinstance(listed, dict):
        return _completion({"choices": [{"message": told, "logprobs": listed}]})
    tops = [one["top_logprobs"] for one in listed or ()]
    tops = [top[0] if isinstance(top, list) else top for top in tops]
    logprobs = {"tokens": [one.get("text") for one in listed or ()], "top_logprobs": tops}
    text, reason = content.get("response", told.get("content")), told.get("finish_reason")
    return [{"text": text, "logprobs": logprobs, "finish_reason": reason}]


_SERVICES = (
    Service("response_json", dict, "an answer that llm logged", _llm),
    Service("result.completions", list, "an answer in HELM", _helm),
    Service("choices", list, "a completion of OpenAI's API", _completion),
    Service("output", list, "an answer of Responses", _responses),
    Service("candidates", list, "an answer of Gemini", _gemini),
    Service("completion_probabilities", list, "an answer of llama.cpp", choices_of),
    Service("response_metadata", dict, "a message of LangChain", _message),
    Service("message", dict, "an answer of Ollama", _ollama),
    Service("outputs", list, "an output of vLLM", _vllm),
    Service("meta_info", dict, "an answer of SGLang", _sglang),
    Service("details", dict, "an answer of TGI", _tgi, "generated_text"),
    Service("content", list, "a message of Anthropic", _message),
    Service("done", bool, "an answer of Ollama", _ollama, "response"),
)
