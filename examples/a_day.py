# Needs a checkout, and what `make day` installs and fetches; that runs it
"""
A day of decisions
==================

Requests go through ``dnip serve`` to a real ``transformers serve`` with SmolLM2-135M-Instruct, a
small language model. The sidecar records what the model says. At noon somebody changes the prompt.
``dnip check`` notices, ``dnip fit`` learns from the records and from the labels that have come by
then, and the sidecar takes the new coefficients while it runs.

Then the same articles go as chats to a real llama.cpp server, for `transformers serve` gives no
log-probabilities of chats. The model answers in JSON.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, chdir
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dnip import Coefficients
from dnip.metrics.confusion import cobias_of

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "models" / "smollm2"
GGUF = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
NAMES = ["World", "Sports", "Business", "Technology"]
TASK = "Read the news article and name its topic: World, Sports, Business or Technology."
# The demonstration of the morning, and the one that replaces it at noon.
OIL = "Oil prices rose above fifty dollars a barrel on fears of short supply.\nTopic: Business"
WEB = "A flaw in the web browser lets attackers read files, security researchers warn.\n"
WEB += "Topic: Technology"


def dnip(*words: str) -> int:
    """Run a command, print it and the lines that matter, and return its exit status."""
    command = [sys.executable, "-m", "dnip", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    told = [row for row in done.stdout.splitlines() if row.startswith("verdict")]
    print(f"  $ dnip {' '.join(words)}", *told, sep="\n    ", flush=True)
    return done.returncode


def serve(programs: ExitStack) -> str:
    """Start the model and the sidecar, which end with the day; return the sidecar's URL."""
    Path("decider").mkdir()
    for file in MODEL.iterdir():
        Path("decider", file.name).symlink_to(file)
    options = {"labels": {"choice": [f" {name}" for name in NAMES]}}
    Path("decider/decision.json").write_text(json.dumps(options))
    Path("decider/decision_template.jinja").write_text("{{ state }}<|mark|>")
    Coefficients(NAMES, [1, 1, 1, 1], 1).save("c.json")  # which correct nothing yet
    port = free_port()
    model = ["-c", "from transformers.cli.transformers import main; main()", "serve", "decider"]
    model += ["--device", "cpu", "--port", port]
    given = ("--coefficients", "topic=c.json", "--record", "recorded")
    return behind(port, model, given, programs)


def serve_chats(programs: ExitStack) -> str:
    """Start llama.cpp's server and a sidecar for chats; return the sidecar's URL."""
    Coefficients(NAMES, [1, 1, 1, 1], 1).save("chat.json")
    port = free_port()
    program = "import time, xllamacpp; asked = xllamacpp.CommonParams(); asked.port = int({!r}); "
    program += "asked.model.path = {!r}; server = xllamacpp.Server(asked); time.sleep(1e6)"
    model = ["-c", program.format(port, str(GGUF))]
    return behind(port, model, ("--chat", "topic=chat.json", "--record", "recorded"), programs)


def free_port() -> str:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def behind(port: str, model: list[str], given: tuple[str, ...], programs: ExitStack) -> str:
    """Start a model and a sidecar before it; return the sidecar's URL."""
    sidecar = ["-m", "dnip", "serve", "--upstream", f"http://127.0.0.1:{port}", "--port", "0"]
    sidecar += given
    own = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    with Path("log").open("w") as log:
        for words, out in ((model, log), (sidecar, subprocess.PIPE)):
            command = [sys.executable, *words]
            program = subprocess.Popen(command, env=own, stdout=out, stderr=log, text=True)
            programs.enter_context(program)
            programs.callback(program.terminate)
    url = program.stdout.readline().split()[0]
    for _ in range(1200):
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=60).close()
        except OSError:
            time.sleep(0.5)
        else:
            return url
    sys.exit(Path("log").read_text())


def articles() -> list[tuple[str, int]]:
    """Return 1,848 articles in some order: two sentences on one topic, and the topic."""
    files = [ROOT / f"examples/news/{name}.jsonl" for name in ("train", "opt", "test")]
    rows = [json.loads(row) for file in files for row in file.read_text().splitlines()]
    pairs = [pair for pair in permutations(rows, 2) if pair[0]["label"] == pair[1]["label"]]
    order = np.random.default_rng(2).permutation(len(pairs)).tolist()
    return [(" ".join(half["text"] for half in pairs[i]), pairs[i][0]["label"]) for i in order]


def decision(url: str, name: str, text: str, example: str) -> str:
    """Ask for a decision, and return the topic."""
    state = f"{TASK}\n\nArticle: {example}\n\nArticle: {text}\nTopic:"
    topic = {"type": "choice", "instructions": "Topic?", "criteria": dict.fromkeys(NAMES)}
    body = {"model": "decider", "state": state, "questions": {"topic": topic}}
    return send(f"{url}/v1/systemone", name, body)["answers"]["topic"]["choice"]


def chat(url: str, name: str, text: str, example: str) -> str:
    """Ask in a chat for JSON, and return the topic."""
    shown, topic = example.split("\nTopic: ")
    words = {"system": TASK, "user": shown, "assistant": json.dumps({"topic": topic})}
    messages = [{"role": role, "content": content} for role, content in words.items()]
    schema = {"properties": {"topic": {"enum": NAMES}}, "required": ["topic"]}
    form = {"type": "json_schema", "json_schema": {"name": "topic", "schema": schema}}
    body = {"messages": [*messages, {"role": "user", "content": text}], "response_format": form}
    answer = send(f"{url}/v1/chat/completions", name, {**body, "temperature": 0})
    return json.loads(answer["choices"][0]["message"]["content"])["topic"]


def send(url: str, name: str, body: dict[str, object]) -> dict:
    """Send a request under an id, and return the answer."""
    head = {"Content-Type": "application/json", "X-Request-Id": name}
    asked = urllib.request.Request(url, json.dumps(body).encode(), head)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def decide(
    url: str, hour: str, news: list[tuple[str, int]], example: str, ask: Callable = decision
) -> None:
    """Ask for topics, and print how good they are; keep the records, and half of the labels."""
    truth = np.array([label for _, label in news])
    topics = [ask(url, f"{hour}-{n}", text, example) for n, (text, _) in enumerate(news)]
    found = np.array([NAMES.index(topic) for topic in topics])
    right = np.array([np.mean(found[truth == c] == c) for c in range(len(NAMES))])
    told = f"accuracy {np.mean(found == truth):.3f}, COBias {cobias_of(right):.3f}"
    print(f"{hour}: {len(news)} decisions, {told}, worst class {right.min():.3f}", flush=True)
    labels = [f"{hour}-{n},{NAMES[truth[n]]}\n" for n in range(0, len(news), 2)]
    Path(f"{hour}.labels.csv").write_text("id,label\n" + "".join(labels))
    time.sleep(2)  # the sidecar writes twice a second
    rows = [row for file in Path("recorded").rglob("*.jsonl") for row in file.open()]
    Path(hour).mkdir()
    Path(hour, "rows.jsonl").write_text("".join(row for row in rows if f'"{hour}-' in row))


def day(url: str) -> None:
    """Begin without coefficients, and fit; then come 380 requests, and a new prompt among them."""
    news = articles()
    decide(url, "yesterday", news[:160], OIL)
    dnip("import", "yesterday", "--labels", "yesterday.labels.csv", "--out", "yesterday.csv")
    dnip("fit", "yesterday.csv", "--out", "c.json")
    decide(url, "morning", news[160:280], OIL)
    dnip("check", "morning", "--coefficients", "c.json")
    decide(url, "noon", news[280:440], WEB)
    if dnip("check", "noon", "--coefficients", "c.json") == 0:
        sys.exit("the new prompt was not noticed")
    dnip("import", "noon", "--labels", "noon.labels.csv", "--out", "noon.csv")
    dnip("fit", "noon.csv", "--out", "c.json")
    decide(url, "evening", news[440:540], WEB)


def day_of_chats(url: str) -> None:
    """Begin without coefficients, and fit."""
    news = articles()
    decide(url, "before", news[:160], OIL, chat)
    dnip("import", "before", "--labels", "before.labels.csv", "--out", "before.csv")
    dnip("fit", "before.csv", "--out", "chat.json")
    decide(url, "after", news[160:240], OIL, chat)


if not MODEL.is_dir():
    print(f"skipped: there is no {MODEL}; `make model-folder` makes it")
elif not all(map(find_spec, ("torch", "transformers", "fastapi", "aiohttp", "xllamacpp"))):
    print("skipped: `make day` installs torch, transformers[serving], aiohttp and xllamacpp")
else:
    with TemporaryDirectory() as folder, chdir(folder), ExitStack() as programs:
        day(serve(programs))
    with TemporaryDirectory() as folder, chdir(folder), ExitStack() as programs:
        day_of_chats(serve_chats(programs))
