"""What a failed request means, and when it is asked again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from dnip.base.errors import BackendError
from dnip.base.validation import check_integer, check_number

if TYPE_CHECKING:
    import random

#: Statuses below 500 that may pass: request timeout, too early, too many requests.
_PASSING = frozenset({408, 425, 429})
_LONGEST_REASON = 300


@dataclass(frozen=True)
class RetryPolicy:
    """How failed requests are asked again.

    The wait before the k-th retry is uniform between 0 and ``base_delay * 2**(k-1)``, at most
    `max_delay`: exponential back-off with full jitter, so that requests that failed together do
    not return together. Where the server says how long to wait, that is the least.

    Parameters
    ----------
    per_request : int, default=6
        Retries of one request.
    total : int, optional
        Retries of the whole run; by default as many as there are requests, and at least 100.
    base_delay, max_delay : float, default=0.5 and 30
        Seconds.
    max_wait : float, default=300
        Seconds; a server that asks for a longer wait is taken at its word, and the run ends.
    """

    per_request: int = 6
    total: int | None = None
    base_delay: float = 0.5
    max_delay: float = 30.0
    max_wait: float = 300.0

    def __post_init__(self) -> None:
        check_integer("per_request", self.per_request, at_least=0)
        if self.total is not None:
            check_integer("total", self.total, at_least=0)
        for name in ("base_delay", "max_delay", "max_wait"):
            check_number(name, getattr(self, name), at_least=0)

    def total_for(self, requests: int) -> int:
        """Return the most retries of a run of so many requests.

        Examples
        --------
        >>> RetryPolicy().total_for(2_000), RetryPolicy(total=7).total_for(2_000)
        (2000, 7)
        """
        return max(100, requests) if self.total is None else self.total

    def delay(self, retry: int, asked: float | None, rng: random.Random) -> float:
        """Return the seconds to wait before the `retry`-th retry, counted from 1.

        Parameters
        ----------
        retry : int
        asked : float or None
            The wait that the server asked for.
        rng : random.Random
            Of the jitter, which no result depends on.
        """
        longest = min(self.max_delay, self.base_delay * 2.0 ** min(retry - 1, 60))
        return (asked or 0.0) + rng.uniform(0.0, longest)


class RequestFailedError(BackendError):
    """One failed try; the message does not name the request.

    Parameters
    ----------
    message, hint, retryable
        As for `BackendError`, but that most failures are worth another try.
    retry_after : float, optional
        Seconds that the server asks to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None,
        retryable: bool = True,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint, retryable=retryable)
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
    >>> print(failure)
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
    >>> unreachable("refused").retryable, unreachable("CERTIFICATE_VERIFY").retryable
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


def is_passing(status: int) -> bool:
    """Tell whether the same request may succeed later.

    Examples
    --------
    >>> [is_passing(status) for status in (429, 503, 400, 401, 501)]
    [True, True, False, False, False]
    """
    return status in _PASSING or (status >= 500 and status not in (501, 505))


def parse_retry_after(value: str | None, *, now: datetime | None = None) -> float | None:
    """Read the header ``Retry-After``: seconds, or an HTTP date.

    Parameters
    ----------
    value : str or None
        As the server sent it.
    now : datetime, optional
        What an HTTP date is compared with; by default this moment.

    Returns
    -------
    float or None
        Seconds from now, 0 for a date that has passed; None if there is no such header or it
        cannot be read.

    Examples
    --------
    >>> parse_retry_after("2"), parse_retry_after("soon")
    (2.0, None)
    >>> noon = datetime(2015, 10, 21, 12, tzinfo=UTC)
    >>> parse_retry_after("Wed, 21 Oct 2015 12:00:30 GMT", now=noon)
    30.0
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
