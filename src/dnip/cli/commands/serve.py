"""``dnip serve``: a sidecar that corrects answers on their way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from dnip.cli import options
from dnip.cli.console import Verbosity, complain, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.llm.serving.exchanges import Files

# The name of a chat without a file, and its classes.
_Collected: TypeAlias = tuple[str, tuple[str, ...]]


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
    classes: tuple[str, ...] | None,
    host: str,
    port: int,
    timeout: float,
    grace: float | None,
    drain: float,
    record: Path | None,
    record_texts: bool,
    log: str,
    **settings: Any,  # noqa: ANN401 - as in Python
) -> None:
    from dnip.base.errors import load_optional
    from dnip.base.validation import check_number

    for library in ("uvicorn", "httptools", "starlette", "aiohttp", "prometheus_client"):
        load_optional(library, purpose="serve", extra="serve")
    from dnip.llm.serving.application import make_app
    from dnip.llm.serving.exchanges import by_api
    from dnip.llm.serving.recording import Recorder
    from dnip.llm.serving.reports import as_json, log_to_standard_error, report_event
    from dnip.llm.serving.server import listen, make_server

    log_to_standard_error(as_json=log == "json")
    Verbosity.log = report_event if log == "json" else None
    collect = _without_file(chat, classes, record)
    if not (coefficients or chat):
        raise click.BadParameter("give --coefficients QUESTION=FILE, or --chat NAME=FILE")
    with_files = [(name, file) for name, file in chat if file is not None]
    decisions, chats = by_api(
        options.by_name("--coefficients", coefficients), options.by_name("--chat", with_files)
    )
    names = [*decisions, *chats, *(() if collect is None else collect[:1])]
    app = make_app(
        upstream,
        decisions,
        chats,
        timeout=timeout,
        recorder=None if record is None else Recorder(record, names, texts=record_texts),
        collect=collect,
        **settings,
    )
    drain = check_number("drain", drain, at_least=0)
    grace = check_number("grace", timeout if grace is None else grace, at_least=0)
    with listen(host, port, timeout=timeout) as listening:
        address, port = listening.getsockname()[:2]
        _tell_of_doubts(address, {**decisions, **chats})
        shown = f"[{host}]" if ":" in host else host
        lines = [f"http://{shown}:{port} passes requests on to {upstream}"]
        lines += _corrected(decisions, chats, collect)
        for line in lines:
            say(as_json("info", line) if log == "json" else line)
        make_server(app, grace=grace, timeout=timeout, drain=drain).run(sockets=[listening])


def _without_file(
    chat: tuple[tuple[str, str | None], ...], classes: tuple[str, ...] | None, record: Path | None
) -> _Collected | None:
    """Return the chat without a file, whose answers are collected, and its classes."""
    names = [name for name, file in chat if file is None]
    if not names:
        if classes:
            raise click.BadParameter("--classes is for a --chat NAME without a file")
        return None
    if not (classes and record):
        raise click.BadParameter(
            f"--chat {names[0]} has no file. To collect answers, give --classes and --record; to "
            f"correct them, --chat {names[0]}=FILE"
        )
    if len(names) > 1:
        raise click.BadParameter(f"--chat {names[0]} and --chat {names[1]} cannot be distinguished")
    return names[0], classes


def _tell_of_doubts(address: str, files: Files) -> None:
    """Tell of an address that others reach, and of coefficients that say little or nothing."""
    from ipaddress import ip_address

    from dnip.base.errors import listed
    from dnip.llm.decisions import load_coefficients
    from dnip.llm.questions import question_of

    if not ip_address(address.partition("%")[0]).is_loopback:
        complain("warning", "everybody who reaches this address can use it; it asks for no key")
    known = load_coefficients(files)
    for name, fitted in known.items():
        if (fitted.fit.evidence or {}).get("verdict") == "no signal":
            what = "the fit found no signal, so that the weights mean nothing"
            complain("warning", f"{name}: {what}")
    if unknown := [name for name, fitted in known.items() if question_of(fitted.fit) is None]:
        complain(
            "note",
            f"the coefficients of {listed(unknown)} do not say which question they were fitted on: "
            "any question with their options is corrected, of chats any that is answered in plain "
            "text",
        )


def _corrected(decisions: Files, chats: Files, collect: _Collected | None) -> Iterator[str]:
    """Yield which file corrects which path, and which answers are only recorded."""
    from dnip.llm.serving.application import CHATS, DECISIONS

    for paths, corrected in ((DECISIONS, decisions), (CHATS, chats)):
        where = " and ".join(f"/v1{end}" for end in paths)
        for name, path in corrected.items():
            yield f"{name}: {path} corrects {where}"
    if collect is not None:
        yield f"{collect[0]}: answers of /v1{CHATS[0]} are recorded, and stay as they are"
