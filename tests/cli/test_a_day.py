"""The day of examples/a_day.py before a stand-in for the model: every change is noticed."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from failing_server import FailingServer
from sidecars import completion

for library in ("uvicorn", "starlette", "aiohttp"):
    pytest.importorskip(library)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPT = EXAMPLES / "a_day.py"
FILES = [EXAMPLES / f"news/{name}.jsonl" for name in ("train", "opt", "test")]
ROWS = [json.loads(row) for file in FILES for row in file.read_text().splitlines()]
NAMES = ["World", "Sports", "Business", "Technology"]
#: What the stand-in prefers: it says Business to nearly everything.
BIAS = np.log([0.2, 0.3, 3.0, 0.5])


def answer(body):
    """A label of which the probability is known, alone or in JSON; less of it without 'Topic:'."""
    text = body["messages"][-1]["content"]
    label = next(row["label"] for row in ROWS if row["text"] in text)
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
    scores = np.random.default_rng(seed).gumbel(size=4) + 2.2 * np.eye(4)[label] + BIAS
    p = np.exp(scores) / np.exp(scores).sum() * (0.7 if text.endswith("Topic:") else 0.2)
    top = dict(zip(NAMES, p.tolist(), strict=True))
    said = NAMES[p.argmax()]
    if "response_format" not in body:
        return completion(said, (said, top))
    before = [(token, {token: 1.0}) for token in ('{"', "topic", '": "')]
    return completion(json.dumps({"topic": said}), *before, (said, top), ('"}', {'"}': 1.0}))


def test_a_day_notices_what_changes():
    with FailingServer(answer) as upstream:
        command = [sys.executable, str(SCRIPT), upstream.url.removesuffix("/v1")]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    hours = r"(\w+): \d+ chats, accuracy \S+, COBias \S+, worst class (\S+)"
    rates = dict(re.findall(hours, run.stdout))
    assert [*rates] == ["yesterday", "morning", "noon", "afternoon", "evening"]
    assert float(rates["yesterday"]) + 0.2 < float(rates["morning"])
    assert "the coefficients hold" in run.stdout
    assert "captured mass" in run.stdout
    assert "the coefficients do not hold" in run.stdout
