"""``dnip serve``: a sidecar that corrects answers on their way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import click

from dnip.cli import options
from dnip.cli.console import Verbosity, complain, say

# Text, for the parser of the option reads defaults, too.
_MAX_BODY: Any = "16MB"
_RECORD_SIZE: Any = "1GB"


def serve(
    upstream: str,
    coefficients: Annotated[list[tuple[str, str]], options.parse_pair("QUESTION=FILE")] = [],  # noqa: B006 - read only
    chat: Annotated[list[tuple[str, str]], options.parse_pair("NAME=FILE")] = [],  # noqa: B006
    host: str = "127.0.0.1",
    port: int = 8001,
    timeout: float = 60.0,
    grace: float | None = None,
    on_mismatch: Literal["refuse", "pass"] | None = None,
    max_body: Annotated[int, options.parse_size] = _MAX_BODY,
    record: Path | None = None,
    record_size: Annotated[int, options.parse_size] = _RECORD_SIZE,
    record_texts: bool = False,
    log: Literal["text", "json"] = "text",
) -> None:
    """Correct decisions and chat answers on their way.

    A small server between your application and the model's server: point the application to its
    address. It corrects answers of /v1/systemone, /v1/decisions and /v1/chat/completions, and marks
    them. A file that was fitted on chats corrects chats, any other decisions; the first lines say
    which corrects what. Everything else passes unchanged, and the log says so once. Keys are passed
    on and not kept. A file of coefficients may be replaced while it runs. /healthz tells that it
    runs, /readyz whether the model's server does, /metrics what it has done.

    Parameters
    ----------
    upstream : URL
        The address of the model's server, with or without /v1 at its end, such as
        http://127.0.0.1:8000.
    coefficients : QUESTION=FILE
        Coefficients, and the question that they are for. Chats have this name in records and
        /metrics. May be given several times.
    chat : NAME=FILE
        The same for chats, where the file does not say what it was fitted on.
    host
        The address to listen at.
    port
        The port to listen at; 0 takes a free one.
    record : FOLDER
        Append the model's own probabilities to a table for each question, here.
    on_mismatch
        Refuse a request for another question or model than that of the coefficients, or pass its
        answer on as it is, with a line in the log. [default: refuse decisions, pass chats]
    log
        How the log is written.

    Details
    -------
    timeout
        Seconds until the model's server answers, and for a client to send or to read on.
    grace
        Seconds for what is under way when it is told to stop. [default: the timeout]
    max_body : SIZE
        The longest request.
    record_size : SIZE
        The most that the folder of records holds; the oldest rows go.
    record_texts
        Record the inputs of requests, too.

    Examples
    --------
    dnip serve --upstream URL --coefficients topic=topic.json --record recorded
    dnip serve --upstream https://api.openai.com --chat topic=topic.json
    """
    from ipaddress import ip_address

    from dnip.base.errors import load_optional
    from dnip.base.validation import check_number

    for library in ("uvicorn", "httptools", "starlette", "aiohttp", "prometheus_client"):
        load_optional(library, purpose="serve", extra="serve")
    from dnip.base.errors import listed
    from dnip.llm.decisions.correction import load_coefficients
    from dnip.llm.questions import question_of
    from dnip.llm.serving.sidecar.application import CHATS, DECISIONS, make_app
    from dnip.llm.serving.sidecar.exchanges import by_api
    from dnip.llm.serving.sidecar.log import LOG, log_to_standard_error
    from dnip.llm.serving.sidecar.recording import Recorder
    from dnip.llm.serving.sidecar.server import listen, make_server

    log_to_standard_error(as_json=log == "json")
    Verbosity.log = LOG.warning if log == "json" else None
    if not (coefficients or chat):
        raise click.BadParameter("give --coefficients QUESTION=FILE, or --chat NAME=FILE")
    decisions, chats = by_api(
        options.by_name("--coefficients", coefficients), options.by_name("--chat", chat)
    )
    files = {**decisions, **chats}
    recorder = Recorder(record, files, size=record_size, texts=record_texts) if record else None
    app = make_app(
        upstream,
        decisions,
        chats,
        max_body=max_body,
        timeout=timeout,
        on_mismatch=on_mismatch,
        recorder=recorder,
    )
    seconds = check_number("grace", timeout if grace is None else grace, at_least=0)
    with listen(host, port, timeout=timeout) as listening:
        address, port = listening.getsockname()[:2]
        if not ip_address(address.partition("%")[0]).is_loopback:
            complain("warning", "everybody who reaches this address can use it; it asks for no key")
        known = load_coefficients(files)
        if unknown := [name for name, fitted in known.items() if question_of(fitted.fit) is None]:
            complain(
                "note",
                f"the coefficients of {listed(unknown)} do not say which question they were fitted "
                "on: any question with their options is corrected",
            )
        shown = f"[{host}]" if ":" in host else host
        say(f"http://{shown}:{port} passes requests on to {upstream}")
        for paths, corrected in ((DECISIONS, decisions), (CHATS, chats)):
            for name, path in corrected.items():
                say(f"{name}: {path} corrects {' and '.join(f'/v1{end}' for end in paths)}")
        make_server(app, grace=seconds, timeout=timeout).run(sockets=[listening])
