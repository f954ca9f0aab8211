"""``dnip serve``: a sidecar that corrects decisions on their way."""

from __future__ import annotations

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
    chat: list[Path] = [],  # noqa: B006
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

    Answers of /v1/systemone and /v1/decisions are corrected, and marked as such. With --chat, so is
    /v1/chat/completions where the whole answer is a label, or JSON with one. Everything else passes
    unchanged. Point your application to this address instead of the server's. Keys are
    passed on and not kept. A file of coefficients may be replaced while the sidecar runs. /healthz
    tells that it runs, /readyz whether the upstream does, /metrics what it has done.

    Parameters
    ----------
    upstream : URL
        The decision server's URL, such as http://127.0.0.1:8000.
    coefficients : QUESTION=FILE
        The coefficients of a question: a file that `dnip fit` wrote. Repeat it for more.
    chat : FILE
        Coefficients of chat completions. Repeat it for other questions.
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
    dnip serve --upstream https://api.openai.com --chat topic.json
    """
    from ipaddress import ip_address

    from dnip.base.optional import load_optional
    from dnip.base.validation import check_number

    for library in ("uvicorn", "httptools", "starlette", "aiohttp", "prometheus_client"):
        load_optional(library, purpose="serve", extra="serve")
    from dnip.base.errors import listed
    from dnip.llm.decisions.correction import load_coefficients
    from dnip.llm.serving.chat import name_of
    from dnip.llm.serving.sidecar.application import make_app
    from dnip.llm.serving.sidecar.recording import LOG, Recorder
    from dnip.llm.serving.sidecar.server import listen, log_to_standard_error, make_server
    from dnip.tables.provenance import question_of

    log_to_standard_error(as_json=log == "json")
    Verbosity.log = LOG.warning if log == "json" else None
    files = _files(coefficients)
    known = load_coefficients({**files, **{str(path): path for path in chat}})
    names = [*files, *(name_of(known[str(path)]) for path in chat)]
    recorder = Recorder(record, names, size=record_size, texts=record_texts) if record else None
    if not (files or chat):
        raise click.BadParameter("give --coefficients QUESTION=FILE, or --chat FILE")
    app = make_app(
        upstream,
        files,
        chat,
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
        if unknown := [name for name, one in known.items() if question_of(one.fit) is None]:
            told = f"no fingerprint of a question in the coefficients of {listed(unknown)}"
            complain("note", f"{told}: any question with their options is corrected")
        place = f"[{host}]" if ":" in host else host
        say(f"http://{place}:{port} passes requests on to {upstream}")
        make_server(app, grace=seconds).run(sockets=[listening])


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
