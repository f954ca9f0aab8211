"""The bias on label tokens, which corrects chat completions."""

from __future__ import annotations

import json
import math
import os
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.base.files import read_text

# The largest bias that servers take, and the smallest below 0.
_MOST = 100


def read_bias(path: str | os.PathLike[str]) -> dict[str, float]:
    """Return the bias of each token id, from a file of ``dnip export --to logit-bias``.

    Raises
    ------
    InvalidInputError
        If the file cannot be read or is none of these.
    """
    try:
        content: Any = json.loads(read_text(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        content = None
    bias = content.get("logit_bias") if isinstance(content, dict) else None
    if not isinstance(bias, dict) or not all(map(_is_bias, bias, bias.values())):
        raise InvalidInputError(
            f"{path} holds no bias of token ids, from -{_MOST} to {_MOST}",
            hint="Give a file that `dnip export --to logit-bias` wrote",
        )
    return bias


def _is_bias(token: str, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return token.isdecimal() and number and math.fabs(value) <= _MOST  # type: ignore[arg-type]


def add_bias(body: bytes, bias: dict[str, float], model: str | None = None) -> bytes:
    """Return a request with the bias, if it asks for one token and has no bias of its own.

    With a model, only requests for this model get it.

    Examples
    --------
    >>> add_bias(b'{"max_tokens": 1}', {"7": -1.5})
    b'{"max_tokens": 1, "logit_bias": {"7": -1.5}}'
    >>> add_bias(b'{"max_tokens": 50}', {"7": -1.5})
    b'{"max_tokens": 50}'
    """
    try:
        request: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body  # the upstream says what is wrong with it
    if not isinstance(request, dict) or request.get("logit_bias"):
        return body
    if model not in (None, request.get("model")):
        return body
    if 1 not in (request.get("max_tokens"), request.get("max_completion_tokens")):
        return body
    return json.dumps({**request, "logit_bias": bias}).encode()
