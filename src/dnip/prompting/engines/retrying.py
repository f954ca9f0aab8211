"""When a failed request is asked again, and after how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from dnip.base.validation import check_integer, check_number

if TYPE_CHECKING:
    import random

#: Statuses below 500 that may pass: request timeout, too early, too many requests.
_PASSING = frozenset({408, 425, 429})


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
