"""``dnip serve``: a sidecar that corrects answers on their way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import click

from dnip.cli.console import Verbosity, complain, say
from dnip.cli.options import parse_memory

# Text, for the parser of the option reads defaults, too.
_MAX_BODY: Any = "16MB"
_RECORD_SIZE: Any = "1GB"


def serve(
    upstream: str,
    coefficients: list[str] = [],  # noqa: B006 - read only
    chat: list[str] = [],  # noqa: B006
    host: str = "127.0.0.1",
    port: int = 8001,
    timeout: float = 60.0,
    grace: float | None = None,
    on_mismatch: Literal["refuse", "pass"] | None = None,
    max_body: Annotated[int, parse_memory] = _MAX_BODY,
    record: Path | None = None,
    record_size: Annotated[int, parse_memory] = _RECORD_SIZE,
    record_texts: bool = False,
    log: Literal["text", "json"] = "text",
) -> None:
    """Correct decisions and chat answers on their way.

    It stands between your application and a server: point the application to its address instead of
    the server's. It corrects answers of /v1/systemone, /v1/decisions and /v1/chat/completions, and
    marks them as corrected. A file that was fitted on chats corrects chats, any other decisions;
    the first lines say which corrects what. Everything else passes unchanged, and the log says so
    once. Keys are passed on and not kept. A file of coefficients may be replaced while it runs.
    /healthz tells that it runs, /readyz whether the server does, /metrics what it has done.

    Parameters
    ----------
    upstream : URL
        The server's address, such as http://127.0.0.1:8000/v1; it may end before /v1.
    coefficients : QUESTION=FILE
        The coefficients of a question: a file that `dnip fit` wrote. Repeat it for more. Decisions
        are known by the name of the question; for chats it is the name in records and /metrics.
    chat : NAME=FILE
        Coefficients that correct chats, also where the file does not say what it was fitted on.
        Without a name they are called by the fingerprint of their question.
    host
        The address to listen at.
    port
        The port to listen at; 0 takes a free one.
    timeout
        Seconds until the upstream answers, and for a client to send or to read on.
    grace
        Seconds for what is under way when it is told to stop. [default: the timeout]
    on_mismatch
        What to do about another question or model than that of the coefficients: refuse the
        request, or pass the answer on as it is, with a line in the log. [default: refuse decisions,
        pass chats]
    max_body : SIZE
        The longest request.
    record : FOLDER
        Append raw probabilities to a table for each question, here.
    record_size : SIZE
        The most that it holds; the oldest rows go.
    record_texts
        Record the inputs of requests, too.
    log
        How the log is written.

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
    from dnip.llm.serving.sidecar.application import CHATS, DECISIONS, make_app
    from dnip.llm.serving.sidecar.exchanges import by_api
    from dnip.llm.serving.sidecar.log import LOG, log_to_standard_error
    from dnip.llm.serving.sidecar.recording import Recorder
    from dnip.llm.serving.sidecar.server import listen, make_server
    from dnip.tables.provenance import question_of

    log_to_standard_error(as_json=log == "json")
    Verbosity.log = LOG.warning if log == "json" else None
    if not (coefficients or chat):
        raise click.BadParameter("give --coefficients QUESTION=FILE, or --chat NAME=FILE")
    decisions, chats = by_api(
        _files("--coefficients", map(_named, coefficients)), _files("--chat", map(_chat, chat))
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
        if unknown := [name for name, one in known.items() if question_of(one.fit) is None]:
            told = f"no fingerprint of a question in the coefficients of {listed(unknown)}"
            complain("note", f"{told}: any question with their options is corrected")
        place = f"[{host}]" if ":" in host else host
        say(f"http://{place}:{port} passes requests on to {upstream}")
        for paths, corrected in ((DECISIONS, decisions), (CHATS, chats)):
            for name, path in corrected.items():
                say(f"{name}: {path} corrects {' and '.join(f'/v1{end}' for end in paths)}")
        make_server(app, grace=seconds, timeout=timeout).run(sockets=[listening])


def _files(option: str, pairs: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Return the paths by name."""
    files: dict[str, Path] = {}
    for name, path in pairs:
        if name in files:
            raise click.BadParameter(f"{option} gives the name {name!r} twice")
        files[name] = path
    return files


def _named(pair: str) -> tuple[str, Path]:
    """Return the name and the path of QUESTION=FILE."""
    name, _, path = pair.partition("=")
    if not (name and path):
        raise click.BadParameter(f"--coefficients {pair!r} is not QUESTION=FILE")
    return name, Path(path)


def _chat(pair: str) -> tuple[str, Path]:
    """Return the name and the path of NAME=FILE, or of FILE alone."""
    from dnip.llm.serving.chat import name_of
    from dnip.method.coefficients import Coefficients

    name, _, path = pair.partition("=")
    if name and path and not Path(pair).exists():
        return name, Path(path)
    return name_of(Coefficients.load(pair)), Path(pair)
