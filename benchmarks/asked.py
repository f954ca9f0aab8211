"""One model asked in three ways: what can be read of its answers, and how good that is.

SmolLM2-135M-Instruct behind llama.cpp's server, as ``make day`` installs it: for the label alone,
for the label with a reason after it, and for JSON. All rows of the three tables are the same texts.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.tables import Table, print_markdown
from dnip import evaluate
from dnip.base.errors import DNIPWarning
from dnip.llm.sources import read_answers
from dnip.metrics import accuracy, cobias

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
NEWS = ROOT / ".." / "shared" / "datasets" / "agnews"
ROWS, LONGEST = 80, 40

CLASSES = ["World", "Sports", "Business", "Technology"]
TASK = "Name the topic of the news article: World, Sports, Business or Technology."
EXAMPLE = "Oil prices rose above fifty dollars a barrel on fears of short supply."
SCHEMA = {"type": "object", "properties": {"topic": {"enum": CLASSES}}, "required": ["topic"]}
FORM = {"type": "json_schema", "json_schema": {"name": "topic", "schema": SCHEMA}}
#: What is asked for, how the example answers, and what else the request says.
WAYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "the label alone": ("Answer with the topic alone.", "Business", {}),
    "label, then reason": (
        "Name the topic first, then give a reason.",
        "Topic: Business. It is about the price of oil.",
        {},
    ),
    "JSON": ("Answer with JSON.", '{"topic": "Business"}', {"response_format": FORM}),
}


def run(_tables: list[Table]) -> None:
    """Print the table."""
    if find_spec("xllamacpp") is None or not MODEL.is_file() or not NEWS.is_dir():
        print(f"asked: left out; it needs pip install '.[day]', {MODEL} (make model) and {NEWS}")
        return
    lines = (NEWS / "test.jsonl").read_text("utf-8").splitlines()[:ROWS]
    with _server() as url:
        rows = [_row(url, way, [json.loads(line) for line in lines]) for way in WAYS]
    columns = ["asked for", "read", "several", "none", "accuracy", "COBias", "mass", "seconds"]
    print_markdown(f"SmolLM2-135M, {ROWS} articles of AG News", columns, rows)


def _row(url: str, way: str, texts: list[dict[str, Any]]) -> list[str]:
    task, example, more = WAYS[way]
    begin, answers = time.monotonic(), []
    for text in texts:
        said = [("user", EXAMPLE), ("assistant", example), ("user", text["text"])]
        turns = [{"role": role, "content": content} for role, content in said]
        turns.insert(0, {"role": "system", "content": f"{TASK} {task}"})
        body = {"messages": turns, "temperature": 0, "max_tokens": LONGEST, "logprobs": True}
        asked = json.dumps({**body, "top_logprobs": 20, **more}).encode()
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/v1/chat/completions", asked, head)
        with urllib.request.urlopen(request, timeout=600) as answer:
            answers.append({**json.load(answer), "label": CLASSES[text["label"]]})
    seconds = time.monotonic() - begin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # what is left out stands in the table
        table, summary = read_answers(answers, CLASSES)
        confusion = evaluate(table).raw
    counts = [len(summary.several), len(summary.unstated)]
    return [
        way,
        f"{len(table) / len(texts):.0%}",
        *map(str, counts),
        f"{accuracy(confusion):.3f}",
        f"{cobias(confusion):.3f}",
        f"{summary.mean_mass or 0:.2f}",
        f"{seconds:.0f}",
    ]


@contextmanager
def _server() -> Iterator[str]:
    """Run llama.cpp's server; its URL when the model is there."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = "import time, xllamacpp; asked = xllamacpp.CommonParams(); "
    program += f"asked.port = {port}; asked.model.path = {str(MODEL)!r}; "
    program += "asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1; "
    program += "server = xllamacpp.Server(asked); time.sleep(1e6)"
    command, quiet = [sys.executable, "-c", program], subprocess.DEVNULL
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as server:
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{url}/health", timeout=60).close()
                except OSError:
                    time.sleep(0.5)
                else:
                    yield url
                    return
            raise SystemExit("asked: the server does not start")
        finally:
            server.kill()
