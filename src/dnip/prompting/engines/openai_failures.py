"""What a failed request means: from what a server or network says to an error with a remedy."""

from __future__ import annotations

import json

from dnip.base.errors import BackendError
from dnip.prompting.engines.retrying import is_passing, parse_retry_after

_LONGEST_REASON = 300


class RequestFailedError(Exception):
    """One failed try.

    Attributes
    ----------
    error : BackendError
        What failed; its message does not name the request.
    retry_after : float or None
        Seconds that the server asks to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        retryable: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.error = BackendError(message, hint=hint, retryable=retryable)
        self.retry_after = retry_after


def refusal(
    status: int, content: str, *, retry_after: str | None, key_variable: str, key: str | None
) -> RequestFailedError:
    """Say what an answer's status other than 200 means.

    Parameters
    ----------
    status : int
    content : str
        The answer itself, whose own words are told where they are safe to tell.
    retry_after : str or None
        The header of that name.
    key_variable : str
        Environment variable of the key.
    key : str or None
        The key, so that it is left out.

    Examples
    --------
    >>> failure = refusal(404, "", retry_after=None, key_variable="K", key=None)
    >>> print(failure.error)
    unknown model or address (status 404). Check the base URL and the model's name; GET /models \
lists the names
    """
    if status in (401, 403):
        # The server's own words are left out: some repeat parts of the key.
        found = "is not set" if key is None else "was sent"
        return RequestFailedError(
            f"the server refuses access (status {status}); the key of {key_variable} {found}",
            hint=f"Set {key_variable} to a key that this server and model accept",
            retryable=False,
        )
    reason = clean(_reason(content), key)
    message = f"status {status}" + (f": {reason}" if reason else "")
    if status == 429 and "insufficient_quota" in content:
        message, hint = f"the quota is used up ({message})", "Add credit, or use another key"
    elif is_passing(status):
        return RequestFailedError(
            message,
            hint="Lower the concurrency, or start again later",
            retry_after=parse_retry_after(retry_after),
        )
    elif status == 404:
        message = f"unknown model or address ({message})"
        hint = "Check the base URL and the model's name; GET /models lists the names"
    elif 300 <= status < 400:
        message = f"redirected ({message})"
        hint = "Give the address that it redirects to as the base URL"
    else:
        message = f"the server refuses the request ({message})"
        hint = "Change what the server refuses"
        if "logprob" in reason.lower():
            hint = "Lower top_logprobs, or count votes of repeated samples"
        elif "context" in reason.lower():
            hint = "Cut the texts, show fewer demonstrations, or serve a longer context"
    return RequestFailedError(message, hint=hint, retryable=False)


def unreachable(reason: str) -> RequestFailedError:
    """Say why there is no connection.

    Examples
    --------
    >>> unreachable("refused").error.retryable, unreachable("CERTIFICATE_VERIFY").error.retryable
    (True, False)
    """
    if "CERTIFICATE" in reason.upper():
        hint = "Have the server's certificate trusted, or use its right name"
        return RequestFailedError(f"not trusted: {reason}", hint=hint, retryable=False)
    hint = "Is the server running at this address, and is there a network?"
    return RequestFailedError(f"no connection: {reason}", hint=hint)


def clean(text: str, key: str | None) -> str:
    """Return words of others fit to be shown: one line, not too long, without the key.

    Examples
    --------
    >>> clean("bad   key sk-1", "sk-1")
    'bad key ***'
    """
    if key is not None:
        text = text.replace(key, "***")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…"


def _reason(content: str) -> str:
    """Return the server's own words, from the several places where servers put them."""
    try:
        words = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    for key in ("error", "detail", "message"):
        if isinstance(words, dict) and words.get(key):
            words = words[key]
    return words if isinstance(words, str) else str(words)
