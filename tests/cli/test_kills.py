"""kill -9 at random moments: no input changed, no part under a final name, nothing left behind.

DNIP_KILLS says at how many moments each command is killed, DNIP_KILL_ROWS how many rows the
tables of `fit` and `apply` have.
"""

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from failing_server import FailingServer
from fakes import scores

KILLS = int(os.environ.get("DNIP_KILLS", "1"))
ROWS = int(os.environ.get("DNIP_KILL_ROWS", "20000"))

_ROOT = Path(__file__).parents[2]
_CLASSES = 5
# One thread, so that sums end in the same bits whoever else computes.
_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}


JOBS = {
    "fit": "fit in/large.parquet --robust off --no-evidence --scale 30 --out out/c.json",
    "apply": "apply in/large.parquet --coefficients in/c.json --out out/p.parquet",
    "prompt": f"prompt {_ROOT}/examples/news/test.jsonl --task agnews --model {{url}} "
    "--served-model m --concurrency 1 --limit 60 --out out/t.csv",
}
GO_ON = {"prompt"}  # from where a killed run was
TOPICS = (" World", " Sports", " Business", " Technology")
#: What another run of the same command may have otherwise in its JSON.
TIMES = re.compile(rb'("(?:seconds|n_asked|n_kept)"):[^,}]+')


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Inputs of all commands, made once."""
    folder = tmp_path_factory.mktemp("kills")
    (folder / "in").mkdir()
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(_CLASSES, 0.3), ROWS)
    labels = (p + rng.normal(0, 0.3, p.shape)).argmax(axis=1)
    ProbabilityTable(p, labels).write(folder / "in/large.parquet")
    names = [str(n) for n in range(_CLASSES)]
    Coefficients(names, [10, 20, 30, 25, 15], 30).save(folder / "in/c.json")
    return folder


@pytest.fixture(scope="module")
def url():
    """A language model's server, which lives on."""

    def answer(body):
        top = dict(zip(TOPICS, np.log(scores(body["prompt"], 4)).tolist(), strict=True))
        logprobs = {"tokens": [" World"], "top_logprobs": [top]}
        return {"choices": [{"text": " World", "logprobs": logprobs}]}

    with FailingServer(answer) as server:
        yield server.url


def start(place, job):
    (place / "out").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "dnip", *job.split()],
        cwd=place,
        env=_ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(process):
    err = process.communicate()[1].decode()
    assert process.returncode == 0, err


def digests(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def results(folder):
    """All that stands under a final name: what tells the time it took, without that."""
    # The answers are kept as they come.
    paths = {p for p in folder.rglob("[!.]*") if p.is_file() and ".answers" not in p.name}
    return {str(path): TIMES.sub(rb"\1 0", path.read_bytes()) for path in paths}


@pytest.mark.parametrize("name", JOBS)
def test_a_command_that_is_killed_at_any_moment(place, url, name):
    if name == "prompt":
        pytest.importorskip("openai")
    job, out, moments = JOBS[name].format(url=url), place / "out", random.Random(name)
    shutil.rmtree(out, ignore_errors=True)
    inputs = digests(place / "in")
    began = time.monotonic()
    finish(start(place, job))
    seconds = time.monotonic() - began
    whole = results(out)
    shutil.rmtree(out)

    n_killed = 0
    while n_killed < KILLS:
        process = start(place, job)
        time.sleep(moments.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        n_killed += process.returncode == -signal.SIGKILL
        for path, content in results(out).items():
            assert content == whole[path], path
        assert digests(place / "in") == inputs
        if name not in GO_ON:
            for path in out.glob("[!.]*"):
                path.unlink()
        elif process.returncode == 0:
            shutil.rmtree(out)
    finish(start(place, job))
    assert results(out) == whole
    assert not [*out.rglob(".dnip-*"), *out.rglob("*.answers-*")]
    assert digests(place / "in") == inputs
