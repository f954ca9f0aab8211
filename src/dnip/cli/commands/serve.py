"""``dnip serve``: a sidecar that corrects answers on their way."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from dnip.cli import options
from dnip.cli.console import Verbosity, complain, say


@options.command(
    "serve",
    """
    Correct decisions and chat answers on their way.

    A small server between your application and the model's server: point the application to its
    address. It corrects answers of /v1/systemone, /v1/decisions and /v1/chat/completions, and marks
    them. A file that was fitted on chats corrects chats, any other decisions; the first lines say
    which corrects what. Everything else passes unchanged, and the log says so once. Keys are passed
    on and not kept. A file of coefficients may be replaced while it runs. /healthz says that it
    runs, /readyz whether the model's server does, /metrics what it has done.
    """,
    examples=[
        "dnip serve --upstream URL --coefficients topic=topic.json --record recorded",
        "dnip serve --upstream https://api.openai.com --chat topic=topic.json",
    ],
)
@options.option(
    "--upstream",
    required=True,
    metavar="URL",
    help="The address of the model's server, with or without /v1 at its end, such as "
    "http://127.0.0.1:8000.",
)
@options.option(
    "--coefficients",
    type=options.pair("QUESTION=FILE"),
    multiple=True,
    metavar="QUESTION=FILE",
    help="Coefficients, and the question that they are for. Chats have this name in records and "
    "/metrics. May be given several times.",
)
@options.option(
    "--chat",
    type=options.pair("NAME=FILE"),
    multiple=True,
    metavar="NAME=FILE",
    help="The same for chats, where the file does not say what it was fitted on.",
)
@options.option("--host", default="127.0.0.1", help="The address to listen at.")
@options.option(
    "--port", type=int, metavar="N", default=8001, help="The port to listen at; 0 takes a free one."
)
@options.option(
    "--on-mismatch",
    type=options.Words(["refuse", "pass"]),
    help="Refuse a request for another question or model than that of the coefficients, or pass "
    "its answer on as it is, with a line in the log. [default: refuse decisions, pass chats]",
)
@options.option(
    "--record",
    type=options.path,
    metavar="FOLDER",
    help="Append the model's own probabilities to a table for each question, here.",
)
@options.option(
    "--log", type=options.Words(["text", "json"]), default="text", help="How the log is written."
)
@options.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    default=60.0,
    heading="Details",
    help="Seconds until the model's server answers, and for a client to send or to read on.",
)
@options.option(
    "--grace",
    type=float,
    metavar="SECONDS",
    heading="Details",
    help="Seconds for what is under way when the server is stopped. [default: the timeout]",
)
@options.option(
    "--max-body",
    type=options.size,
    metavar="SIZE",
    default="16MB",
    heading="Details",
    help="The longest request.",
)
@options.option(
    "--record-size",
    type=options.size,
    metavar="SIZE",
    default="1GB",
    heading="Details",
    help="The most that the folder of records holds; the oldest rows go.",
)
@options.flag("--record-texts", heading="Details", help="Record the inputs of requests, too.")
def serve(
    upstream: str,
    coefficients: tuple[tuple[str, str], ...],
    chat: tuple[tuple[str, str], ...],
    host: str,
    port: int,
    timeout: float,
    grace: float | None,
    on_mismatch: Literal["refuse", "pass"] | None,
    max_body: int,
    record: Path | None,
    record_size: int,
    record_texts: bool,
    log: str,
) -> None:
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
