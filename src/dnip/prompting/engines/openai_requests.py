"""What is asked of an OpenAI-compatible server: request bodies, and nothing else."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The most tokens that OpenAI's own service reports per position; vLLM's default limit as well.
MAX_TOP_LOGPROBS = 20
#: The most token ids that vLLM takes in ``logprob_token_ids``.
MAX_LABEL_TOKEN_IDS = 128


class Endpoint(StrEnum):
    """Where a request goes. COMPLETIONS continues the prompt itself; CHAT wraps it in a template.

    A model's own chat template stands between prompt and answer in CHAT, so that its probabilities
    are those of a reply that begins afresh, without the answer's leading space.
    """

    COMPLETIONS = "completions"
    CHAT = "chat"

    @property
    def path(self) -> str:
        """The path after the base URL."""
        return "completions" if self is Endpoint.COMPLETIONS else "chat/completions"


def scoring_body(
    endpoint: Endpoint,
    prompt: str,
    *,
    model: str,
    top_logprobs: int = MAX_TOP_LOGPROBS,
    label_token_ids: Sequence[int] | None = None,
    max_tokens: int = 1,
    stop: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the request for the log-probabilities of the likeliest answer's tokens.

    Parameters
    ----------
    endpoint : Endpoint
    prompt : str
        The whole prompt, up to where the answer begins.
    model : str
        The server's name of the model.
    top_logprobs : int
        How many of the likeliest tokens to report.
    label_token_ids : sequence of int, optional
        Report these tokens exactly (vLLM). Other servers pass over the wish and report the
        likeliest.
    max_tokens : int, default=1
        The longest answer.
    stop : str, optional
        What ends an answer.
    extra : mapping, optional
        Further fields, which replace those of the same name; None takes a field out.

    Examples
    --------
    >>> scoring_body(Endpoint.COMPLETIONS, "Mood:", model="m", top_logprobs=5)
    {'model': 'm', 'prompt': 'Mood:', 'max_tokens': 1, 'temperature': 0, 'logprobs': 5}
    """
    body: dict[str, Any] = {
        "model": model,
        **_content(endpoint, prompt),
        "max_tokens": max_tokens,
        "temperature": 0,
    }
    if stop is not None:
        body["stop"] = [stop]
    if endpoint is Endpoint.CHAT:
        body |= {"logprobs": True, "top_logprobs": top_logprobs}
    else:
        body["logprobs"] = top_logprobs
    if label_token_ids is not None:
        if not 0 < len(label_token_ids) <= MAX_LABEL_TOKEN_IDS:
            raise InvalidInputError(
                f"label_token_ids must be 1 to {MAX_LABEL_TOKEN_IDS} token ids; "
                f"got {len(label_token_ids)}"
            )
        body["logprob_token_ids"] = [int(token) for token in label_token_ids]
        body["return_tokens_as_token_ids"] = True
    return _with(body, extra)


def sampling_body(
    endpoint: Endpoint,
    prompt: str,
    *,
    model: str,
    temperature: float,
    max_tokens: int,
    seed: int,
    stop: Sequence[str] = (),
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    r"""Return the request for one sampled answer.

    Parameters
    ----------
    endpoint, prompt, model, extra
        As for `scoring_body`.
    temperature : float
        Of the sampling.
    max_tokens : int
        The longest answer.
    seed : int
        Of this sample, for servers that can repeat one.
    stop : sequence of str
        What ends an answer.

    Examples
    --------
    >>> body = sampling_body(
    ...     Endpoint.CHAT, "Mood?", model="m", temperature=1.0, max_tokens=9, seed=3
    ... )
    >>> body["messages"], body["seed"]
    ([{'role': 'user', 'content': 'Mood?'}], 3)
    """
    body: dict[str, Any] = {
        "model": model,
        **_content(endpoint, prompt),
        "max_tokens": max_tokens,
        "temperature": temperature,
        "seed": seed,
    }
    if stop:
        body["stop"] = list(stop)
    return _with(body, extra)


def check_extra(extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return further fields of a request, or refuse what JSON cannot hold.

    Examples
    --------
    >>> check_extra({"max_tokens": None, "max_completion_tokens": 1})
    {'max_tokens': None, 'max_completion_tokens': 1}
    """
    try:
        fields = dict(extra or {})
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"extra_body must be a JSON object: {error}") from error
    return fields


def _content(endpoint: Endpoint, prompt: str) -> dict[str, Any]:
    if endpoint is Endpoint.CHAT:
        return {"messages": [{"role": "user", "content": prompt}]}
    return {"prompt": prompt}


def _with(body: dict[str, Any], extra: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (body | dict(extra or {})).items() if value is not None}
