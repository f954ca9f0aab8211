"""The sidecar beside the same upstream without it: time per request, throughput, and no loss.

Upstream, sidecar and client are three processes on this machine and share its cores, so that wall
times are upper bounds. The sidecar's processor time says what one core can do.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

REQUESTS = 10_000
CONNECTIONS = 16
#: One request in so many fails at the upstream, in these ways in turn.
FAILING = 50
FAULTS = ("503", "no answer", "half an answer")
#: Pairs of requests, one to the upstream and one through the sidecar.
PAIRS = 1000

FITTED = Coefficients(["world", "sports", "business", "technology"], [30, 7, 12, 21], 30)


class _Answer(NamedTuple):
    status: int
    content: bytes


def run(_tables: list[Table]) -> None:
    """Print both tables."""
    if any(find_spec(library) is None for library in ("starlette", "uvicorn", "aiohttp")):
        print("sidecar: left out; install it with: pip install '.[serve]'")
        return
    with _upstream() as direct, _sidecar(direct) as (through, process):
        asyncio.run(_latency(direct, through, process))
        asyncio.run(_throughput(through, process))


async def _latency(direct: int, through: int, process: int) -> None:
    straight, beside = await _Client.to(direct), await _Client.to(through)
    seconds: list[tuple[float, float]] = []
    before = _processor_seconds(process)
    for number in range(PAIRS):
        began = time.perf_counter()
        await straight.ask(number)
        between = time.perf_counter()
        await beside.ask(number)
        seconds.append((between - began, time.perf_counter() - between))
    busy = (_processor_seconds(process) - before) / PAIRS
    alone, both = (statistics.median(way) for way in zip(*seconds, strict=True))
    print_markdown(
        f"Sidecar, milliseconds per request (medians of {PAIRS:,} pairs, one after the other)",
        ["", "upstream alone", "with the sidecar", "added", "its processor time"],
        [["dnip serve", *(f"{1e3 * value:.2f}" for value in (alone, both, both - alone, busy))]],
    )


async def _throughput(through: int, process: int) -> None:
    clients = [await _Client.to(through) for _ in range(CONNECTIONS)]
    numbers = iter(range(REQUESTS))
    answers: dict[int, _Answer] = {}

    async def ask_on(client: _Client) -> None:
        for number in numbers:
            answers[number] = await client.ask(number, faults=True)

    before, began = _processor_seconds(process), time.perf_counter()
    await asyncio.gather(*map(ask_on, clients))
    wall, busy = time.perf_counter() - began, _processor_seconds(process) - before
    told = [_is_right(number, answers.get(number)) for number in range(REQUESTS)]
    failing = sum(_fault(number) is not None for number in range(REQUESTS))
    print_markdown(
        f"Sidecar, {REQUESTS:,} requests over {CONNECTIONS} connections, one in {FAILING} failing "
        "at the upstream",
        ["", "requests/s", "requests/s of a core", "right", "failing upstream", "wrong or lost"],
        [
            [
                "dnip serve",
                f"{REQUESTS / wall:,.0f}",
                f"{REQUESTS / busy:,.0f}",
                f"{sum(told) - failing:,}",
                f"{failing:,}",
                f"{told.count(False):,}",
            ]
        ],
    )


def _probabilities(number: int) -> list[float]:
    """Return what the upstream answers to a request; neighbours differ."""
    weights = [number * step % 101 + 1 for step in (37, 53, 71, 89)]
    return [weight / sum(weights) for weight in weights]


def _fault(number: int) -> str | None:
    return FAULTS[number // FAILING % len(FAULTS)] if number % FAILING == FAILING - 1 else None


def _is_right(number: int, answer: _Answer | None) -> bool:
    """Tell whether an answer is the corrected one, or the error that the upstream's fault makes."""
    if answer is None:
        return False
    fault = _fault(number)
    if fault is not None:
        return answer.status == (503 if fault == "503" else 502)
    if answer.status != 200:
        return False
    found: dict[str, Any] = json.loads(answer.content)["answers"]["topic"]
    p = np.array([_probabilities(number)])
    names, values = zip(*found["probabilities"].items(), strict=True)
    return (
        names == FITTED.classes
        and np.allclose(values, FITTED.apply(p)[0], rtol=1e-12)
        and found["choice"] == FITTED.predict(p)[0]
    )


class _Client:
    """One connection; it is opened again when the other side closes it."""

    def __init__(self, port: int) -> None:
        self._port = port

    @classmethod
    async def to(cls, port: int) -> _Client:
        client = cls(port)
        await client._connect()
        return client

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def ask(self, number: int, *, faults: bool = False) -> _Answer:
        body = json.dumps({"state": number, "faults": faults}).encode()
        head = f"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        content = await self._reader.readexactly(_length(answer))
        return _Answer(int(answer.split(b" ", 2)[1]), content)


def _length(head: bytes) -> int:
    return int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    while not reader.at_eof():
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
        except asyncio.IncompleteReadError:
            break
        request = json.loads(await reader.readexactly(_length(head)))
        number = request["state"]
        fault = _fault(number) if request["faults"] else None
        if fault == "no answer":
            break
        status, content = "200 OK", json.dumps({"answers": {"topic": _topic(number)}})
        if fault == "503":
            status, content = "503 Overloaded", '{"error": "overloaded"}'
        elif fault is not None:
            content = content[: len(content) // 2]
        start = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
        writer.write(f"{start}Content-Length: {len(content)}\r\n\r\n{content}".encode())
    writer.close()


def _topic(number: int) -> dict[str, Any]:
    p = dict(zip(FITTED.classes, _probabilities(number), strict=True))
    best = max(p, key=p.__getitem__)
    return {"type": "choice", "choice": best, "probabilities": p, "confidence": p[best]}


def _serve(port: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def _upstream() -> Iterator[int]:
    """Run the upstream as a process of its own; the port."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


@contextmanager
def _sidecar(upstream: int) -> Iterator[tuple[int, int]]:
    """Run the sidecar as a process of its own; its port and process id."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "topic.json")
        FITTED.save(file)
        command = [sys.executable, "-m", "dnip", "serve", "--port", "0"]
        command += ["--upstream", f"http://127.0.0.1:{upstream}", "--coefficients", f"topic={file}"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            address = process.stdout.readline().split()[0]
            try:
                yield int(address.rpartition(":")[2]), process.pid
            finally:
                process.terminate()


def _processor_seconds(process: int) -> float:
    """Return the processor time of a process so far, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
