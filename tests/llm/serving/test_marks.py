"""Corrected answers say so wherever they are saved, and nothing takes them for raw ones."""

import json
import logging

import pytest

from dnip.base.errors import CorrectedError, InvalidInputError
from dnip.llm.decisions import correct
from dnip.llm.sources import read_answers
from sidecars import FITTED, OPENAI, SYSTEM_ONE, ask, numbers, reply

OPTIONS = ["a", "b"]


@pytest.mark.parametrize("body", [SYSTEM_ONE, OPENAI], ids=["system one", "openai"])
@pytest.mark.parametrize("model", [{}, {"model": "m"}], ids=["no model", "model"])
def test_a_saved_answer_of_the_sidecar_is_not_imported(start, upstream, body, model):
    upstream.answer = reply({**body, **model})
    _, content, headers = ask(start())
    assert headers["DNIP-Corrected-By"] == f"topic={FITTED.digest}"
    saved = json.loads(content)
    assert saved["dnip_corrected_by"] == {"topic": FITTED.digest}
    lines = [saved, {"custom_id": "7", "response": {"status_code": 200, "body": saved}}]
    lines += [{key: saved[key] for key in ("answers", "model")}] if model else []
    for line in lines:  # the last as clients save it that drop what they do not know
        with pytest.raises(InvalidInputError, match=f"corrected already.*{FITTED.digest}"):
            read_answers([line], OPTIONS, question="topic")
    read_answers([{**body, **model}], OPTIONS, question="topic")
    if body is SYSTEM_ONE:
        assert read_answers([saved], ["no", "yes"], question="tone")


def test_the_client_of_openai_keeps_the_mark(start, upstream):
    openai = pytest.importorskip("openai")
    upstream.answer = reply({"model": "m", **OPENAI}, "200 OK", "Content-Type: application/json")
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{start()}/v1", api_key="k")
    saved = client.decisions.create(model="m", input="text", questions=[]).model_dump(mode="json")
    assert saved["dnip_corrected_by"] == {"topic": FITTED.digest}
    with pytest.raises(InvalidInputError, match="corrected already"):
        read_answers([saved], OPTIONS, question="topic")


def test_an_answer_is_corrected_once(start, upstream, caplog):
    once, _ = correct(SYSTEM_ONE, {"topic": FITTED})
    with pytest.raises(CorrectedError, match=FITTED.digest):
        correct(once, {"topic": FITTED})
    upstream.answer = reply({**SYSTEM_ONE, "model": "m"})
    first = start()
    second = start(f"http://127.0.0.1:{first}")
    expected = ask(first)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            status, content, headers = ask(second)
            assert (status, content) == expected[:2]
            assert headers["DNIP-Corrected-By"] == f"topic={FITTED.digest}"
    [line] = caplog.messages
    assert "corrected already" in line
    assert numbers(second)['dnip_missed_total{question="topic",reason="corrected"}'] == 3


def test_a_prompt_through_the_sidecar_is_refused(start, upstream, tmp_path):
    pytest.importorskip("openai")
    from dnip.base.errors import BackendError
    from dnip.llm.prompting.engines.servers import Server

    upstream.answer = reply(SYSTEM_ONE)
    server = Server(f"http://127.0.0.1:{start()}/v1", retries=3)
    with pytest.raises(BackendError, match="corrected already"):
        list(server.ask("systemone", iter([(0, {"state": "x"})]), dict))
    assert len(upstream.requests) == 1
