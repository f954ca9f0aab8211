"""The log of the sidecar: a line for each event, and a number for those that are repeated."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime
from functools import partial

from dnip.base.escaping import one_line

LOG = logging.getLogger("dnip.sidecar")

# Seconds in which events of one kind are counted, and kinds that are told apart.
_SECONDS, _MOST_KINDS = 60, 20

# What an event may have beside its message.
_FIELDS = ("question", "reason", "status", "count")


class Repeats:
    """The first event of a kind is a line at once; how many came within a minute is another one."""

    def __init__(self) -> None:
        self._more: dict[str, int] = {}

    def warn(self, kind: str, text: str, **fields: object) -> None:
        """Write an event, or count it; it is called within an event loop."""
        if kind not in self._more and len(self._more) >= _MOST_KINDS:
            kind = "of other kinds"
        if kind in self._more:
            self._more[kind] += 1
            return
        self._more[kind] = 0
        LOG.warning("%s", text, extra=fields)
        asyncio.get_running_loop().call_later(_SECONDS, partial(self._sum_up, kind, fields))

    def end(self) -> None:
        """Write what is counted so far."""
        for kind in [*self._more]:
            self._sum_up(kind, {})

    def _sum_up(self, kind: str, fields: dict[str, object]) -> None:
        if more := self._more.pop(kind, 0):
            text = f"{more:,} more within {_SECONDS} s: {kind}"
            LOG.warning("%s", text, extra={**fields, "count": more})


def log_to_standard_error(*, as_json: bool = False) -> None:
    """Write a line for each warning of the sidecar, and for each error of its libraries."""
    logging.basicConfig(level=logging.WARNING)
    formatter = _AsJson() if as_json else _AsText("%(asctime)s %(levelname)s: %(message)s")
    logging.getLogger().handlers[0].setFormatter(formatter)


class _AsText(logging.Formatter):
    """An event as a line; what others wrote in it ends no line, and moves no cursor."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(super().formatMessage(record))


class _AsJson(logging.Formatter):
    """An event as one line: time, level, message, and what else is known of it."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        event |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event)
