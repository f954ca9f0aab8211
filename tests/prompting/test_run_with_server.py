"""A whole run against a server that fails: every row once, in order, and the key in no file."""

import math

import numpy as np
import pytest

from dnip.base.errors import BackendError
from dnip.prompting.engines.base import Scoring
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_engine import OpenAIEngine
from dnip.prompting.engines.openai_failures import RetryPolicy
from dnip.prompting.fill import Fill
from dnip.prompting.plan import make_plan
from dnip.prompting.run import run_plan
from dnip.tables import ProbabilityTable
from failing_server import FAULTS, FailingServer
from fakes import TASK, scores, write_data

pytest.importorskip("httpx2")

KEY = "sk-SECRET-0123456789"
N_ROWS = 400


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def answer(body):
    """The scores of `fakes`; where they are small, the second label is not reported."""
    p = scores(body["prompt"], 2)
    top = {" happy": math.log(p[0]), " the": math.log(0.005)}
    if p[1] > 0.005:
        top[" sad"] = math.log(p[1])
    return {"choices": [{"logprobs": {"tokens": [" happy"], "top_logprobs": [top]}}]}


def fault(number):
    return FAULTS[number // 5 % len(FAULTS)] if number % 5 == 4 else None


def run(plan, server, out):
    policy = RetryPolicy(per_request=20, base_delay=0.005, max_delay=0.05)
    place = Server(server.url, concurrency=32, timeout=1, retries=policy)
    return run_plan(plan, OpenAIEngine("m", place), scoring=Scoring.FIRST, out=out, fill=Fill.ZERO)


def test_a_failing_server_costs_no_row(tmp_path):
    plan = make_plan(TASK, write_data(tmp_path, n_test=N_ROWS), shots=1)
    out = tmp_path / "table.csv"
    broken = {"at": 200}

    def dies(number):
        return "denied" if number > broken["at"] else fault(number)

    with FailingServer(answer, dies) as server:
        whole = server.fail
        server.fail = lambda handler, kind, body: (
            server.reply(handler, (401, {}, f"no {KEY}"))
            if kind == "denied"
            else whole(handler, kind, body)
        )
        with pytest.raises(BackendError, match="refuses access"):
            run(plan, server, out)
        assert not out.exists()
        broken["at"] = math.inf
        summary = run(plan, server, out)

    assert summary.n == N_ROWS
    assert 80 < summary.n_resumed < 200
    table = ProbabilityTable.read(out, TASK.classes)
    assert table.ids.tolist() == [f"test-{i}" for i in range(N_ROWS)]
    p = np.array([scores(prompt.text, 2) for prompt in plan.prompts])
    unreported = p[:, 1] <= 0.005
    p[unreported, 1] = 0
    np.testing.assert_allclose(table.probabilities, p / p.sum(axis=1, keepdims=True), rtol=1e-9)
    # at most 0.005 for a label that was not reported: only lower reports can be overtaken
    assert summary.n_open == int((unreported & (p[:, 0] < 0.005)).sum())
    files = [file for file in tmp_path.iterdir() if file.is_file()]
    assert not any(b"SECRET" in file.read_bytes() for file in files)
