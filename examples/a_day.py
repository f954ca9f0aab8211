# Needs a checkout, and what `make day` installs and fetches; that runs it
"""
A day of decisions
==================

Requests go through ``dnip serve`` to a real ``transformers serve`` with SmolLM2-135M-Instruct, a
small language model. The sidecar records what the model says. At noon somebody changes the prompt.
``dnip check`` notices, ``dnip fit`` learns from the records and from the labels that have come by
then, and the sidecar takes the new coefficients while it runs.
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

from dnip import Coefficients
from dnip.metrics.cobias import cobias_of

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "models" / "smollm2"
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
    told = [row for row in done.stdout.splitlines() if row.startswith(("verdict", "look "))]
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
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    model = ["-c", "from transformers.cli.transformers import main; main()", "serve", "decider"]
    model += ["--device", "cpu", "--port", port]
    sidecar = ["-m", "dnip", "serve", "--upstream", f"http://127.0.0.1:{port}", "--port", "0"]
    sidecar += ["--coefficients", "topic=c.json", "--record", "recorded"]
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


def decide(url: str, hour: str, news: list[tuple[str, int]], example: str) -> None:
    """Ask for decisions, and print how good they are; keep the records, and half of the labels."""
    found, truth = [], np.array([label for _, label in news])
    for number, (text, _) in enumerate(news):
        state = f"{TASK}\n\nArticle: {example}\n\nArticle: {text}\nTopic:"
        topic = {"type": "choice", "instructions": "Topic?", "criteria": dict.fromkeys(NAMES)}
        body = {"model": "decider", "state": state, "questions": {"topic": topic}}
        head = {"Content-Type": "application/json", "X-Request-Id": f"{hour}-{number}"}
        asked = urllib.request.Request(f"{url}/v1/systemone", json.dumps(body).encode(), head)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            found.append(NAMES.index(json.load(answer)["answers"]["topic"]["choice"]))
    right = np.array([np.mean(np.array(found)[truth == c] == c) for c in range(len(NAMES))])
    told = f"accuracy {np.mean(found == truth):.3f}, COBias {cobias_of(right):.3f}"
    print(f"{hour}: {len(news)} decisions, {told}, worst class {right.min():.3f}", flush=True)
    labels = [f"{hour}-{n},{NAMES[truth[n]]}\n" for n in range(0, len(news), 2)]
    Path(f"{hour}.labels.csv").write_text("id,label\n" + "".join(labels))
    time.sleep(2)  # the sidecar writes twice a second
    rows = [row for file in Path("recorded/topic").iterdir() for row in file.open()]
    Path(hour).mkdir()
    Path(hour, "rows.jsonl").write_text("".join(row for row in rows if f'"{hour}-' in row))


def day(url: str) -> None:
    """Begin without coefficients, and fit; then come 380 requests, and a new prompt among them."""
    news = articles()
    decide(url, "yesterday", news[:160], OIL)
    dnip("import", "yesterday", "--labels", "yesterday.labels.csv", "--out", "yesterday.csv")
    dnip("fit", "yesterday.csv", "--out", "c.json")
    decide(url, "morning", news[160:280], OIL)
    dnip("check", "morning", "--coefficients", "c.json", "--looks", "looks.json")
    decide(url, "noon", news[280:440], WEB)
    if dnip("check", "noon", "--coefficients", "c.json", "--looks", "looks.json") == 0:
        sys.exit("the new prompt was not noticed")
    dnip("import", "noon", "--labels", "noon.labels.csv", "--out", "noon.csv")
    dnip("fit", "noon.csv", "--out", "c.json")
    decide(url, "evening", news[440:540], WEB)


if not MODEL.is_dir():
    print(f"skipped: there is no {MODEL}; `make model-folder` makes it")
elif not all(map(find_spec, ("torch", "transformers", "fastapi", "aiohttp"))):
    print("skipped: torch, transformers[serving] or aiohttp is not installed; `make day` does it")
else:
    with TemporaryDirectory() as folder, chdir(folder), ExitStack() as programs:
        day(serve(programs))
