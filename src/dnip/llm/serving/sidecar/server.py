"""The server of the sidecar: uvicorn, and how it listens and logs."""

from __future__ import annotations

import json
import logging
import math
import socket
from datetime import UTC, datetime

import uvicorn
from starlette.types import ASGIApp

from dnip.base.errors import InvalidInputError
from dnip.base.escaping import one_line

# What an event may have beside its message.
_FIELDS = ("question", "reason", "status")


def listen(host: str, port: int, *, timeout: float) -> socket.socket:
    """Return a socket that listens.

    Parameters
    ----------
    host : str
        An address of this machine.
    port : int
        0 takes a free one.
    timeout : float
        Seconds after which a client that reads nothing of its answer is cut off, where the system
        can do that (Linux).

    Raises
    ------
    InvalidInputError
        If the address or the port cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(
            f"cannot listen at {host}, port {port}: {error}", hint="Give another --port or --host"
        ) from error
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = min(math.ceil(timeout * 1000), 2**31 - 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return listening


def make_server(app: ASGIApp, *, grace: float) -> uvicorn.Server:
    """Return a server that waits `grace` seconds for what is under way when it is stopped."""
    settings = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=math.ceil(grace),
    )
    return uvicorn.Server(settings)


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
