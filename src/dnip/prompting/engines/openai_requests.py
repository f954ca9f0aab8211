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


def request_body(
    endpoint: Endpoint,
    prompt: str,
    fields: Mapping[str, Any],
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the request for an answer to a prompt.

    Parameters
    ----------
    endpoint : Endpoint
    prompt : str
        The whole prompt, up to where the answer begins.
    fields : mapping
        The model and what else is asked; None leaves a field out.
    extra : mapping, optional
        Fields of the user, which replace those of the same name.

    Examples
    --------
    >>> request_body(Endpoint.COMPLETIONS, "Mood:", {"model": "m", "stop": None})
    {'prompt': 'Mood:', 'model': 'm'}
    """
    content: dict[str, Any] = {"prompt": prompt}
    if endpoint is Endpoint.CHAT:
        content = {"messages": [{"role": "user", "content": prompt}]}
    body = content | dict(fields) | dict(extra or {})
    return {key: value for key, value in body.items() if value is not None}


def logprob_fields(
    endpoint: Endpoint, top_logprobs: int, label_token_ids: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return the fields that ask for the log-probabilities of an answer's tokens.

    Parameters
    ----------
    endpoint : Endpoint
    top_logprobs : int
        How many of the likeliest tokens to report.
    label_token_ids : sequence of int, optional
        Report these tokens exactly (vLLM). Other servers ignore it and report the likeliest.

    Examples
    --------
    >>> logprob_fields(Endpoint.COMPLETIONS, 5)
    {'logprobs': 5}
    """
    found: dict[str, Any] = {"logprobs": top_logprobs}
    if endpoint is Endpoint.CHAT:
        found = {"logprobs": True, "top_logprobs": top_logprobs}
    if label_token_ids is not None:
        if not 0 < len(label_token_ids) <= MAX_LABEL_TOKEN_IDS:
            raise InvalidInputError(
                f"label_token_ids must be 1 to {MAX_LABEL_TOKEN_IDS} token ids; "
                f"got {len(label_token_ids)}"
            )
        found["logprob_token_ids"] = [int(token) for token in label_token_ids]
        found["return_tokens_as_token_ids"] = True
    return found


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
