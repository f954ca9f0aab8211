"""``dnip serve``: a sidecar that corrects decisions on their way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import click

from dnip.base.option import Option
from dnip.cli import options
from dnip.cli.console import say

# Text, for the parser of the option reads defaults, too.
_MAX_BODY: Any = "16MB"


def serve(
    upstream: Annotated[
        str, Option("The decision server's URL, such as http://127.0.0.1:8000.", metavar="URL")
    ],
    coefficients: Annotated[
        list[str],
        Option(
            "The coefficients of a question: a file that `dnip fit` wrote. Repeat it for more.",
            metavar="QUESTION=FILE",
        ),
    ],
    host: Annotated[str, Option("The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, Option("The port to listen at; 0 takes a free one.")] = 8001,
    timeout: Annotated[float, Option("Seconds until the upstream answers.")] = 60.0,
    max_body: Annotated[
        int, Option("The longest request.", metavar="SIZE", parser=options.parse_memory)
    ] = _MAX_BODY,
    logit_bias: Annotated[
        Path | None,
        Option(
            "Add this to chat completions that ask for one token: a file that `dnip export --to "
            "logit-bias` wrote.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Correct the answers of a decision server on their way.

    Answers of /v1/systemone and /v1/decisions are corrected; everything else passes unchanged.
    Point your application to this address instead of the server's. Keys are passed on and not
    kept. A file of coefficients may be replaced while the sidecar runs. /healthz tells that it
    runs, /metrics what it has done.

    Examples
    --------
    dnip serve --upstream http://127.0.0.1:8000 --coefficients topic=topic.json
    dnip serve --upstream URL --coefficients a=a.json --coefficients b=b.json
    """
    import socket

    from dnip.base.errors import InvalidInputError
    from dnip.base.optional import load_optional

    uvicorn = load_optional("uvicorn", purpose="serve", extra="serve")
    for library in ("starlette", "aiohttp"):
        load_optional(library, purpose="serve", extra="serve")
    from dnip.deploying.sidecar.application import make_app

    app = make_app(
        upstream, _files(coefficients), max_body=max_body, timeout=timeout, logit_bias=logit_bias
    )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(
            f"cannot listen at {host}, port {port}: {error}", hint="Give another --port or --host"
        ) from error
    with listening:
        place = f"[{host}]" if family == socket.AF_INET6 else host
        say(f"http://{place}:{listening.getsockname()[1]} passes requests on to {upstream}")
        settings = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=10,
        )
        uvicorn.Server(settings).run(sockets=[listening])


def _files(pairs: list[str]) -> dict[str, Path]:
    """Return the paths by question."""
    files = {}
    for pair in pairs:
        question, found, path = pair.partition("=")
        if not (question and found and path):
            raise click.BadParameter(f"--coefficients {pair!r} is not QUESTION=FILE")
        if question in files:
            raise click.BadParameter(f"--coefficients names the question {question!r} twice")
        files[question] = Path(path)
    return files
