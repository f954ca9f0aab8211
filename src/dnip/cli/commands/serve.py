"""``dnip serve``: a sidecar that corrects answers on their way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dnip.cli import options
from dnip.cli.console import Verbosity, complain, say

if TYPE_CHECKING:
    from dnip.method.coefficients import Coefficients


def _chat(text: str) -> tuple[str, str | None]:
    """Return the name of a chat, and its file where one is given: a name never ends in .json."""
    if "=" in text:
        return options.pair("NAME=FILE")(text)
    name = text.strip()
    return (Path(name).stem, name) if name.endswith(".json") else (name, None)


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

    Every option may be set by the environment, too, such as DNIP_SERVE_UPSTREAM; several values
    have spaces between them. What is typed wins.
    """,
    examples=[
        "dnip serve --upstream URL --coefficients topic=topic.json --record recorded",
        "dnip serve --upstream https://api.openai.com --chat topic=topic.json",
        "dnip serve --upstream URL --chat topic --classes A,B --record recorded",
    ],
    environment="DNIP_SERVE",
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
    type=_chat,
    multiple=True,
    metavar="NAME|[NAME=]FILE",
    help="The same for chats, where the file does not say what it was fitted on; the name is that "
    "of FILE.json by default. Without a file, answers are recorded and stay as they are.",
)
@options.option(
    "--classes", type=options.names, metavar="A,B,C", help="The classes of a chat without a file."
)
@options.option("--host", default="127.0.0.1", help="The address to listen at.")
@options.option(
    "--port", type=int, metavar="N", default=8001, help="The port to listen at; 0 takes a free one."
)
@options.option(
    "--on-mismatch",
    type=options.Words(["refuse", "pass"]),
    help="Refuse a request that cannot be read, or is for another question or model than that of "
    "the coefficients, or pass its answer on as it is, with a line in the log. "
    "[default: refuse decisions, pass chats]",
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
    "--drain",
    type=float,
    metavar="SECONDS",
    default=2.0,
    heading="Details",
    help="Seconds for which /readyz says 503 when the server is told to stop, before the port is "
    "closed: longer than a load balancer takes to notice. Ctrl-C does not wait.",
)
@options.option(
    "--max-body",
    type=options.size,
    metavar="SIZE",
    default="16MB",
    heading="Details",
    help="The longest request.",
)
@options.flag("--record-texts", heading="Details", help="Record the inputs of requests, too.")
def serve(
    upstream: str,
    coefficients: tuple[tuple[str, str], ...],
    chat: tuple[tuple[str, str | None], ...],
    classes: Sequence[str] | None,
    host: str,
    port: int,
    timeout: float,
    grace: float | None,
    drain: float,
    on_mismatch: Literal["refuse", "pass"] | None,
    max_body: int,
    record: Path | None,
    record_texts: bool,
    log: str,
) -> None:
    from ipaddress import ip_address

    from dnip.base.errors import load_optional
    from dnip.base.validation import check_number

    for library in ("uvicorn", "httptools", "starlette", "aiohttp", "prometheus_client"):
        load_optional(library, purpose="serve", extra="serve")
    from dnip.llm.decisions import load_coefficients
    from dnip.llm.serving.application import CHATS, DECISIONS, make_app
    from dnip.llm.serving.exchanges import by_api
    from dnip.llm.serving.recording import Recorder
    from dnip.llm.serving.reports import as_json, log_to_standard_error, report_event
    from dnip.llm.serving.server import listen, make_server

    def report(line: str) -> None:
        say(as_json("info", line) if log == "json" else line)

    log_to_standard_error(as_json=log == "json")
    Verbosity.log = report_event if log == "json" else None
    with_files = [(name, file) for name, file in chat if file is not None]
    bare = [name for name, file in chat if file is None]
    if not (coefficients or chat):
        raise click.BadParameter("give --coefficients QUESTION=FILE, or --chat NAME=FILE")
    if bare and not (classes and record):
        raise click.BadParameter(
            f"--chat {bare[0]} has no file. To collect answers, give --classes and --record; to "
            f"correct them, --chat {bare[0]}=FILE"
        )
    if classes and not bare:
        raise click.BadParameter("--classes is for a --chat NAME without a file")
    if len(bare) > 1:
        raise click.BadParameter(f"--chat {bare[0]} and --chat {bare[1]} cannot be distinguished")
    decisions, chats = by_api(
        options.by_name("--coefficients", coefficients), options.by_name("--chat", with_files)
    )
    files = {**decisions, **chats}
    collect = (bare[0], classes) if bare and classes else None
    recorder = None
    if record:
        recorder = Recorder(record, [*files, *bare], texts=record_texts)
    app = make_app(
        upstream,
        decisions,
        chats,
        max_body=max_body,
        timeout=timeout,
        on_mismatch=on_mismatch,
        recorder=recorder,
        collect=collect,
    )
    drain = check_number("drain", drain, at_least=0)
    grace = check_number("grace", timeout if grace is None else grace, at_least=0)
    with listen(host, port, timeout=timeout) as listening:
        address, port = listening.getsockname()[:2]
        if not ip_address(address.partition("%")[0]).is_loopback:
            complain("warning", "everybody who reaches this address can use it; it asks for no key")
        for level, text in _notes(load_coefficients(files)):
            complain(level, text)
        shown = f"[{host}]" if ":" in host else host
        report(f"http://{shown}:{port} passes requests on to {upstream}")
        for paths, corrected in ((DECISIONS, decisions), (CHATS, chats)):
            where = " and ".join(f"/v1{end}" for end in paths)
            for name, path in corrected.items():
                report(f"{name}: {path} corrects {where}")
        if collect is not None:
            report(f"{bare[0]}: answers of /v1{CHATS[0]} are recorded, and stay as they are")
        make_server(app, grace=grace, timeout=timeout, drain=drain).run(sockets=[listening])


def _notes(known: Mapping[str, Coefficients]) -> Iterator[tuple[str, str]]:
    """Yield what an operator should know of coefficients, by name, before they are used."""
    from dnip.base.errors import listed
    from dnip.llm.questions import question_of

    for name, fitted in known.items():
        if (fitted.fit.evidence or {}).get("verdict") == "no signal":
            yield "warning", f"{name}: the fit found no signal, so that the weights mean nothing"
    if unknown := [name for name, fitted in known.items() if question_of(fitted.fit) is None]:
        yield (
            "note",
            f"the coefficients of {listed(unknown)} do not say which question they were fitted on: "
            "any question with their options is corrected, of chats any that is answered in plain "
            "text",
        )
