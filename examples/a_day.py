# Needs a checkout, and what `make day` installs and fetches; that runs it
"""
A day of chats
==============

SmolLM2-135M-Instruct, a small language model, answers chats behind a real llama.cpp server, and
``dnip serve`` stands before it. It collects answers while there are no coefficients. Labels come in
a file, ``dnip fit`` learns from both, and the sidecar corrects. Then three things change: the
prompt, the form of the answer, and the texts. The sidecar notices the first two, and lets those
answers pass as they are; ``dnip check`` notices the third.

``python examples/a_day.py URL`` asks another server of chats.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, chdir
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dnip.metrics.confusion import cobias_of

ROOT = Path(__file__).resolve().parents[1]
GGUF = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
NAMES = ["World", "Sports", "Business", "Technology"]
TASK = "Read the news article and name its topic: World, Sports, Business or Technology."
OTHER_TASK = "Which topic has this article: World, Sports, Business or Technology?"
EXAMPLE = "Article: Oil prices rose above fifty dollars a barrel on fears of short supply.\nTopic:"
SCHEMA = {"properties": {"topic": {"enum": NAMES}}, "required": ["topic"]}
JSON = {"type": "json_schema", "json_schema": {"name": "topic", "schema": SCHEMA}}


def dnip(*words: str) -> int:
    """Run a command, print it and the lines that matter, and return its exit status."""
    command = [sys.executable, "-m", "dnip", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    told = [row for row in done.stdout.splitlines() if row.startswith(("verdict", "captured"))]
    print(f"$ dnip {' '.join(words)}", *told, sep="\n    ", flush=True)
    return done.returncode


class Sidecar:
    """A running `dnip serve`, and its log."""

    def __init__(self, programs: ExitStack, upstream: str, *options: str) -> None:
        words = ["serve", "--upstream", upstream, "--port", "0", "--drain", "0", *options]
        print(f"$ dnip {' '.join(words)}", flush=True)
        self.log = Path(f"log-{time.monotonic_ns()}")
        with self.log.open("w") as log:
            command = [sys.executable, "-m", "dnip", *words]
            program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        programs.enter_context(program)
        programs.callback(program.terminate)
        self.url = program.stdout.readline().split()[0]

    def chat(self, name: str, text: str, *, task: str = TASK, **more: object) -> str:
        """Ask for the topic of a text under a request id, and return what is answered."""
        words = (("system", task), ("user", EXAMPLE), ("assistant", "Business"), ("user", text))
        messages = [{"role": role, "content": content} for role, content in words]
        body = {"messages": messages, "temperature": 0, "max_tokens": 12, **more}
        answer = send(f"{self.url}/v1/chat/completions", name, body)
        return answer["choices"][0]["message"]["content"]

    def noticed(self, words: str) -> None:
        """Print the line of the log in which the words stand; end where there is none."""
        lines = [line for line in self.log.read_text().splitlines() if words in line]
        if not lines:
            sys.exit(f"not noticed: {words}")
        print(f"    the log: {lines[0].partition(': ')[2][:150]} …", flush=True)


def send(url: str, name: str, body: dict[str, object]) -> dict:
    """Send a request under an id, and return the answer."""
    head = {"Content-Type": "application/json", "X-Request-Id": name}
    asked = urllib.request.Request(url, json.dumps(body).encode(), head)
    with urllib.request.urlopen(asked, timeout=600) as answer:
        return json.load(answer)


def llama(programs: ExitStack) -> str:
    """Start llama.cpp's server, and return its URL when the model is there."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = "import time, xllamacpp; asked = xllamacpp.CommonParams(); "
    program += f"asked.port = {port}; asked.model.path = {str(GGUF)!r}; "
    program += "server = xllamacpp.Server(asked); time.sleep(1e6)"
    with Path("llama.log").open("w") as log:
        own = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        model = subprocess.Popen([sys.executable, "-c", program], env=own, stdout=log, stderr=log)
    programs.enter_context(model)
    programs.callback(model.kill)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/health", timeout=60).close()
        except OSError:
            time.sleep(0.5)
        else:
            return url
    sys.exit(Path("llama.log").read_text())


def articles() -> list[tuple[str, int]]:
    """Return 1,848 articles in some order: two sentences on one topic, and the topic."""
    files = [ROOT / f"examples/news/{name}.jsonl" for name in ("train", "opt", "test")]
    rows = [json.loads(row) for file in files for row in file.read_text().splitlines()]
    pairs = [pair for pair in permutations(rows, 2) if pair[0]["label"] == pair[1]["label"]]
    order = np.random.default_rng(2).permutation(len(pairs)).tolist()
    return [(" ".join(half["text"] for half in pairs[i]), pairs[i][0]["label"]) for i in order]


def ask(sidecar: Sidecar, hour: str, news: list[tuple[str, int]], **more: object) -> None:
    """Ask for topics, print how good they are, and write their labels into a file."""
    form = more.pop("form", "Article: {}\nTopic:")
    said = [sidecar.chat(f"{hour}-{n}", form.format(t), **more) for n, (t, _) in enumerate(news)]
    truth = np.array([label for _, label in news])
    right = np.array([NAMES[k] in text for k, text in zip(truth, said, strict=True)])
    rates = np.array([right[truth == k].mean() for k in range(len(NAMES))])
    told = f"accuracy {right.mean():.3f}, COBias {cobias_of(rates):.3f}"
    print(f"    {hour}: {len(news)} chats, {told}, worst class {rates.min():.3f}", flush=True)
    labels = [f"{hour}-{n},{NAMES[label]}\n" for n, label in enumerate(truth)]
    Path(f"{hour}.labels.csv").write_text("id,label\n" + "".join(labels))
    time.sleep(2)  # the sidecar writes twice a second


def rows_of(hour: str) -> str:
    """Put the rows of an hour into a folder of their own, and return it."""
    files = Path("recorded/topic").glob("*.jsonl")
    rows = [row for file in files for row in file.open() if f'"{hour}-' in row]
    Path(hour).mkdir()
    Path(hour, "rows.jsonl").write_text("".join(rows))
    return hour


def day(programs: ExitStack, upstream: str) -> None:
    """Begin without coefficients, and fit; then change the prompt, the form and the texts."""
    news = articles()
    chat = ("--chat", "topic", "--classes", ",".join(NAMES))
    ask(Sidecar(programs, upstream, *chat, "--record", "collected"), "yesterday", news[:300])
    labels = ("--labels", "yesterday.labels.csv")
    dnip("import", "collected/topic", *labels, "--out", "yesterday.csv")
    dnip("fit", "yesterday.csv", "--out", "topic.json")

    sidecar = Sidecar(programs, upstream, "--chat", "topic=topic.json", "--record", "recorded")
    ask(sidecar, "morning", news[300:400])
    if dnip("check", rows_of("morning"), "--coefficients", "topic.json") != 0:
        sys.exit("a change was noticed where there was none")
    print("the prompt changes")
    ask(sidecar, "noon", news[400:420], task=OTHER_TASK)
    sidecar.noticed("wording of the question")
    print("the answers come in JSON")
    ask(sidecar, "afternoon", news[400:420], response_format=JSON)
    sidecar.noticed("form of the answer")
    print("the texts come without their last line")
    ask(sidecar, "evening", news[420:520], form="{}")
    if dnip("check", rows_of("evening"), "--coefficients", "topic.json") != 3:
        sys.exit("it was not noticed that the mass fell")


if len(sys.argv) < 2 and not GGUF.is_file():
    print(f"skipped: there is no {GGUF}; `make model` fetches it")
elif not all(map(find_spec, ("aiohttp", *([] if len(sys.argv) > 1 else ["xllamacpp"])))):
    print("skipped: `make day` installs aiohttp and xllamacpp")
else:
    with TemporaryDirectory() as folder, chdir(folder), ExitStack() as programs:
        day(programs, sys.argv[1] if len(sys.argv) > 1 else llama(programs))
