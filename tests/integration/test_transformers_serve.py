"""Decisions of `transformers serve` with a tiny model of random weights.

``pip install '.[integration]'`` installs the server. The template below asks the model with the
very prompt, so that its probabilities are those of the engine on this machine.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.llm.decisions import correct
from dnip.llm.prompting.engines.servers import DecisionEngine, Server
from dnip.llm.prompting.run import run_plan
from dnip.llm.prompting.task import load_task
from fakes import plan_of
from processes import free_port, running

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
TASK = load_task("agnews")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model with what makes it answer decisions."""
    installed = "httpx2", "torch", "transformers", "fastapi", "uvicorn", "openai", "accelerate"
    for library in installed:
        pytest.importorskip(library, reason="transformers[serving] is not installed")
    from tiny_models import save_model

    folder = save_model(tmp_path_factory.mktemp("model") / "tiny", "llama", begin=True)
    labels = [TASK.answer(label) for label in range(TASK.n_classes)]
    (folder / "decision.json").write_text(json.dumps({"labels": {"choice": labels}}))
    template = "{{ bos_token }}{{ state }}<|mark|>"
    (folder / "decision_template.jinja").write_text(template)
    return folder


@contextmanager
def serving(folder, log):
    """A server of the model; yields its process and its port."""
    port = free_port()
    options = ["--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1", "--port", str(port)]
    program = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", program, "serve", str(folder), *options]
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    with running(command, f"http://127.0.0.1:{port}/health", log, env=offline) as process:
        yield process, port


@pytest.fixture(scope="module")
def server(folder):
    """Base URL of a running server."""
    with serving(folder, folder.parent / "log") as (_, port):
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture(scope="module")
def plan():
    return plan_of(ROOT / "examples" / "news", shots=1, limit=8, task=TASK)


@pytest.mark.filterwarnings("ignore:.*the labels capture less")  # the weights are random
def test_the_table_is_that_of_the_model_on_this_machine(server, folder, plan, tmp_path):
    from dnip.llm.prompting.engines.local import TransformersEngine

    def table(name, engine):
        run_plan(plan, engine, out=tmp_path / name)
        return ProbabilityTable.read(tmp_path / name, TASK.classes)

    asked = table("asked.csv", DecisionEngine(str(folder), Server(server, concurrency=2)))
    here = table("here.csv", TransformersEngine(str(folder), device="cpu"))
    assert asked.labels.tolist() == here.labels.tolist()
    np.testing.assert_allclose(asked.probabilities, here.probabilities, atol=1e-5)


def test_the_sidecar_corrects_the_server(server, folder, tmp_path):
    import httpx2

    fitted = Coefficients(TASK.classes, [30, 2, 12, 5], 30)
    fitted.save(tmp_path / "c.json")

    def body(order):  # the sidecar writes options in the order of the classes
        criteria = dict.fromkeys(order)
        question = {"type": "choice", "instructions": "Which topic?", "criteria": criteria}
        return {"model": str(folder), "state": "Topic:", "questions": {"topic": question}}

    command = [sys.executable, "-m", "dnip", "serve", "--port", "0", "--upstream", server]
    command += ["--coefficients", f"topic={tmp_path / 'c.json'}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sidecar:
        try:
            beside = sidecar.stdout.readline().split()[0]
            asked = {server: TASK.classes, f"{beside}/v1": TASK.classes[::-1]}
            direct, through = (
                httpx2.post(f"{url}/systemone", json=body(order), timeout=200).json()
                for url, order in asked.items()
            )
        finally:
            sidecar.terminate()
    expected, _ = correct(direct, {"topic": fitted})
    assert through["answers"]["topic"]["choice"] == expected["answers"]["topic"]["choice"]
    for key in ("probabilities", "confidence"):
        found = through["answers"]["topic"][key]
        assert found == pytest.approx(expected["answers"]["topic"][key], abs=1e-5)


@pytest.fixture
def fleet(folder, tmp_path):
    """A fleet of two servers, behind the nginx that docs/deploy.md sets up.

    Yields its base URL and the process of one of the servers.
    """
    program = shutil.which("nginx") or pytest.skip("nginx is not installed")
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    port = free_port()
    with serving(folder, tmp_path / "1") as one, serving(folder, tmp_path / "2") as other:
        for address, own in {
            "10.0.0.1:8000": f"127.0.0.1:{one[1]}",
            "10.0.0.2:8000": f"127.0.0.1:{other[1]}",
            "listen 8000": f"listen {port}",
        }.items():
            assert address in printed
            printed = printed.replace(address, own)
        (tmp_path / "nginx.conf").write_text(
            f"pid {tmp_path}/pid; error_log stderr; events {{}}\n"
            f"http {{ access_log off; client_body_temp_path {tmp_path}/body; {printed} }}"
        )
        command = [program, "-c", tmp_path / "nginx.conf", "-g", "daemon off;"]
        url = f"http://127.0.0.1:{port}"
        with running(command, f"{url}/health", tmp_path / "log"):
            yield f"{url}/v1", one[0]


def test_a_fleet_is_one_server_even_when_a_part_of_it_dies(server, fleet, folder, tmp_path):
    plan = plan_of(ROOT / "examples" / "news", shots=1, task=TASK)

    def table(name, url, progress=None):
        engine = DecisionEngine(str(folder), Server(url, concurrency=4))
        run_plan(plan, engine, out=tmp_path / name, progress=progress)
        return (tmp_path / name).read_bytes()

    def kill(done, _):
        if done == len(plan.prompts) // 2:
            process.kill()

    url, process = fleet
    expected = table("one.csv", server)
    assert table("fleet.csv", url) == expected
    assert table("half.csv", url, kill) == expected
    assert process.wait(200) == -9
