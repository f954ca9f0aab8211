"""How services write answers: chats, each in the shape of chat completions, and decisions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from dnip.base.errors import CoefficientsFormatError, InvalidInputError
from dnip.llm.answers.answer import ID_PREFIX, choices_of, no_logprobs, read_choice
from dnip.llm.decisions import answers_of, by_question, read_decisions
from dnip.llm.sources.source import Answer, LeftOutError, Row, Source, Wanted, other_options

#: One of the answers to a prompt, in the shape of chat completions.
Choice: TypeAlias = dict[str, Any]


class _Service(NamedTuple):
    """A service.

    Attributes
    ----------
    key : str
        What marks its answers: a key, behind points those within.
    kind : type
        What stands there.
    choices : callable
        Returns the answers to one prompt.
    beside : str, optional
        Another key that its answers have.
    """

    key: str
    kind: type
    choices: Callable[[dict[str, Any]], list[Choice]]
    beside: str = ""

    def wrote(self, content: dict[str, Any]) -> bool:
        """Return whether it wrote an answer."""
        value: Any = content
        for key in self.key.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return isinstance(value, self.kind) and (not self.beside or self.beside in content)


def _choices_in(content: object) -> list[Choice]:
    """Return the answers to a prompt, none for what no known service wrote.

    Examples
    --------
    >>> _choices_in({"response": "spam", "done": True})[0]["message"]["content"]
    'spam'
    """
    if not isinstance(content, dict):
        return []
    service = next((service for service in _SERVICES if service.wrote(content)), None)
    return [] if service is None else service.choices(content)


def _is_answer(content: Answer) -> bool:
    return isinstance(content, dict) and any(service.wrote(content) for service in _SERVICES)


def _read(content: Answer, wanted: Wanted) -> Row:
    return read_choices(_choices_in(content), wanted)


def read_choices(choices: list[Choice], wanted: Wanted) -> Row:
    """Read the only answer to a prompt, in the shape of chat completions.

    Raises
    ------
    LeftOutError
        If it is a refusal, or states several labels or none.
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
        raise LeftOutError("refused")
    if not answer.positions:
        raise no_logprobs()
    reader = wanted.reader
    reading = reader.locate(answer)
    if not reading.tells:
        raise LeftOutError.unread(reading.reason, answer.content or "", wanted.key)
    match = reader.weigh_label(answer, reading)
    return Row(
        match.captured,
        match.captured if match.ceiling is None else match.ceiling,  # filled as on the way
        mass=min(float(match.captured.sum()), 1.0),
        names_none=not reading.mentions and not reading.is_cut,
    )


def _texts(content: Answer) -> dict[str, list[str | None]]:
    """Return the answers to one prompt; an empty text for one that was cut."""
    answers = [read_choice(choice) for choice in _choices_in(content)]
    texts = ["" if answer.cut else answer.content or "" for answer in answers]
    return {
        "": [None if answer.refused else text for answer, text in zip(answers, texts, strict=True)]
    }


_TITLE = "answers of language models, with log-probabilities of tokens"
TOKEN_LOGPROBS = Source("logprobs", _TITLE, _is_answer, _read, texts=_texts)


def _choice(text: object, logprobs: object, reason: object, refusal: object = None) -> Choice:
    """Return an answer as one of chat completions."""
    message = {"content": _text_of(text), "refusal": refusal}
    content = logprobs if isinstance(logprobs, dict) else {"content": logprobs or None}
    reason = "length" if reason in _CUT else "content_filter" if reason in _BLOCKED else reason
    return {"message": message, "logprobs": content, "finish_reason": reason}


# Why services end an answer.
_CUT = ("length", "limit", "max_tokens", "max_output_tokens", "MAX_TOKENS")
_BLOCKED = (
    *("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"),
    *("RECITATION", "guardrail_intervened", "content_filtered"),
)


def _positions(chosen: Sequence[Any] | None, tops: Sequence[Any] | None) -> list[dict[str, Any]]:
    """Return the positions of an answer, each with its chosen token and the likeliest ones."""
    pairs = zip_longest(chosen or (), tops or ())
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
        choices.append({**choice, "finish_reason": "length" if reason in _CUT else reason})
        if (message := choice.get("message")) is not None:
            text = _text_of(message.get("content"))
            choices[-1]["message"] = {**message, "content": text}
    return choices


def _responses(content: dict[str, Any]) -> list[Choice]:
    """Responses: the text is the last part of the last message; reasoning comes before."""
    parts = [
        content_part
        for item in content["output"]
        if isinstance(item, dict) and item.get("type") == "message"
        for content_part in item.get("content") or ()
    ]
    last = parts[-1] if parts else {}
    reason = (content.get("incomplete_details") or {}).get("reason")
    return [_choice(last.get("text"), last.get("logprobs"), reason, last.get("refusal"))]


# --- LangChain, Anthropic and Bedrock ---
def _message(content: dict[str, Any]) -> list[Choice]:
    metadata = content.get("response_metadata") or content
    logprobs = metadata.get("logprobs")
    if (result := metadata.get("logprobs_result")) is not None:  # of Gemini
        logprobs = _gemini_positions(_camel_case(result)) if isinstance(result, dict) else result
    refusal = (content.get("additional_kwargs") or {}).get("refusal")
    reason = metadata.get("stop_reason") or metadata.get("finish_reason")
    return [_choice(content["content"], logprobs, reason, refusal)]


def _converse(content: dict[str, Any]) -> list[Choice]:
    return [_choice(content["output"]["message"].get("content"), None, content.get("stopReason"))]


# --- Gemini ---
def _gemini(content: dict[str, Any]) -> list[Choice]:
    choices = [
        _gemini_choice(_camel_case(candidate)) for candidate in content.get("candidates") or ()
    ]
    return choices or [_choice(None, None, "SAFETY")]


def _gemini_choice(candidate: dict[str, Any]) -> Choice:
    parts = (candidate.get("content") or {}).get("parts") or ()
    text = "".join(block.get("text") or "" for block in parts if not block.get("thought"))
    positions = _gemini_positions(candidate.get("logprobsResult") or {})
    return _choice(text, positions, candidate.get("finishReason"))


def _gemini_positions(result: dict[str, Any]) -> list[dict[str, Any]]:
    chosen = [*map(_gemini_token, result.get("chosenCandidates") or ())]
    tops = result.get("topCandidates") or ()
    return _positions(chosen, [[*map(_gemini_token, top.get("candidates") or ())] for top in tops])


def _gemini_token(token: dict[str, Any]) -> dict[str, Any]:
    # A zero and an empty text are left out of the JSON; the service's own client writes null.
    return {"token": token.get("token") or "", "logprob": token.get("logProbability") or 0.0} | {
        "id": token.get("tokenId")
    }


def _camel_case(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return an answer with its keys as the service writes them; its own client has underscores."""
    if isinstance(value, list):
        return [_camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("_([a-z])", lambda match: match[1].upper(), key): _camel_case(item)
        for key, item in value.items()
    }


# --- servers and engines that users run ---
def _ollama(content: dict[str, Any]) -> list[Choice]:
    message = content.get("message") or {"content": content.get("response")}
    reason = content.get("done_reason") or content.get("finish_reason")
    return [
        _choice(message.get("content"), content.get("logprobs"), reason, message.get("refusal"))
    ]


def _vllm(content: dict[str, Any]) -> list[Choice]:
    """Return outputs of vLLM: tokens by their numbers at each position."""
    choices = []
    for output in content["outputs"]:
        if isinstance(output, str):
            raise InvalidInputError(
                "the outputs were saved as texts, which nothing can be read of",
                hint="Save each of them with dataclasses.asdict(output)",
            )
        pairs = zip(output["token_ids"], output.get("logprobs") or (), strict=False)
        positions = [_vllm_position(str(chosen), top) for chosen, top in pairs]
        choices.append(_choice(output["text"], positions, output.get("finish_reason")))
    return choices


def _vllm_position(chosen: str, top: dict[object, dict[str, Any]]) -> dict[str, Any]:
    tokens = {
        str(number): {**token, "token": token.get("decoded_token") or f"{ID_PREFIX}{number}"}
        for number, token in top.items()
    }
    return {**tokens.get(chosen, {}), "top_logprobs": [*tokens.values()]}


def _sglang(content: dict[str, Any]) -> list[Choice]:
    info = content["meta_info"]
    tops = info.get("output_top_logprobs") or info.get("output_token_ids_logprobs") or ()
    chosen = [*map(_sglang_token, info.get("output_token_logprobs") or ())]
    positions = _positions(chosen, [[*map(_sglang_token, top or ())] for top in tops])
    reason = info.get("finish_reason")
    reason = reason.get("type") if isinstance(reason, dict) else reason
    return [_choice(content.get("text"), positions, reason)]


def _sglang_token(token: list[Any]) -> dict[str, Any]:
    logprob, number, text = token
    return {"token": f"{ID_PREFIX}{number}" if text is None else text, "logprob": logprob}


def _tgi(content: dict[str, Any]) -> list[Choice]:
    details = content.get("details") or {}
    positions = _positions(details.get("tokens"), details.get("top_tokens"))
    return [_choice(content["generated_text"], positions, details.get("finish_reason"))]


def _llm(content: dict[str, Any]) -> list[Choice]:
    """Return what the tool llm logs: chunks of a stream put together, or the whole answer."""
    saved = content["response_json"]
    if "choices" in saved:
        return _completion(saved)
    chunks = saved.get("logprobs") or ()
    tops = [top for chunk in chunks for top in chunk["top_logprobs"] or (None,)]
    texts = [chunk.get("text") for chunk in chunks]
    logprobs = {"tokens": texts if len(texts) == len(tops) else [], "top_logprobs": tops}
    text = content.get("response", saved.get("content"))
    return [{"text": text, "logprobs": logprobs, "finish_reason": saved.get("finish_reason")}]


_SERVICES = (
    _Service("response_json", dict, _llm),
    _Service("choices", list, _completion),
    _Service("output", list, _responses),
    _Service("output.message", dict, _converse),
    _Service("candidates", list, _gemini),
    _Service("promptFeedback", dict, _gemini),  # blocked before there is a candidate
    _Service("completion_probabilities", list, choices_of),
    _Service("response_metadata", dict, _message),
    _Service("message", dict, _ollama),
    _Service("outputs", list, _vllm),
    _Service("meta_info", dict, _sglang),
    _Service("details", dict, _tgi, "generated_text"),
    _Service("content", list, _message, "type"),  # of Anthropic
    _Service("done", bool, _ollama, "response"),
)


# --- decision servers ---
def _is_decision(content: Answer) -> bool:
    answers = content.get("answers") if isinstance(content, dict) else None
    if isinstance(answers, dict):
        return all(isinstance(answer, dict) for answer in answers.values())
    return any(isinstance(answer, dict) and "type" in answer for _, answer in by_question(answers))


def _read_decision(content: Answer, wanted: Wanted) -> Row:
    decision = read_decisions(content, [wanted.question])[0]
    if decision.refused:
        raise LeftOutError("refused")
    try:
        order = decision.ordered(wanted.called(decision.options))
    except CoefficientsFormatError as error:
        raise other_options(decision.options, wanted) from error
    # As the server gave them: whether it rounded is lost when they are normalised.
    scores = decision.probabilities[order] * decision.total
    return Row(scores, mass=decision.mass)


DECISIONS = Source(
    "decisions",
    "System One, OpenAI decisions, LangChain",
    _is_decision,
    _read_decision,
    questions=lambda content: [name for name, _ in answers_of(content)],
    texts=lambda content: {name: [answer.get("choice")] for name, answer in answers_of(content)},
)
