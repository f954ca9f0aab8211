"""Coefficients within LangChain, around a small decision model."""

import asyncio
import json
from dataclasses import replace

import pytest

from dnip import Coefficients, CoefficientsFormatError
from dnip.base.errors import CorrectedError, InvalidInputError
from dnip.llm.decisions import correct
from dnip.llm.sources import read_answers
from dnip.method.defer import Deferral

try:
    from langchain_core.decisions import BaseDecisionModel, Choice, ClassifierResponse, Noul, Score
except ModuleNotFoundError:
    pytest.skip("langchain-core 1.8 is not installed", allow_module_level=True)

from langchain_core.callbacks import BaseCallbackHandler

from dnip.llm.serving.langchain import Reweighted

TOPIC = Choice(instructions="Which topic?", criteria={"sport": None, "world": None})
QUESTIONS = {
    "topic": TOPIC,
    "other": TOPIC,
    "urgent": Noul(instructions="Is it urgent?"),
    "anger": Score(instructions="How angry?", criteria=["calm", "angry"]),
}


class Fake(BaseDecisionModel):
    """Says sport with the probability that the state is."""

    model: str = "fake-1"
    asynchronous: bool = False

    @property
    def _provider(self):
        return "fakes"

    def _classify(self, state, questions):
        p = float(state)
        both = {"sport": p, "world": 1 - p}
        topic = {"type": "choice", "choice": max(both, key=both.get), "probabilities": both}
        topic["confidence"] = abs(2 * p - 1)
        levels = {"type": "score", "score": 1 - p, "legend": {0: "calm", 1: "angry"}}
        levels |= {"probabilities": {0: p, 1: 1 - p}, "confidence": 0.5}
        answers = {"topic": topic, "other": topic, "urgent": {"type": "noul", "noul": p}}
        return ClassifierResponse(
            model=self.model,
            answers={name: {**answers, "anger": levels}[name] for name in questions},
            usage={"input_tokens": 7, "output_tokens": 1},
            request_id="r-1",
        )

    async def _aclassify(self, state, questions):
        self.asynchronous = True
        return self._classify(state, questions)


class Runs(BaseCallbackHandler):
    """Keeps the metadata of every run."""

    def __init__(self):
        self.metadata = []

    def on_chain_start(self, serialized, inputs, *, metadata=None, **_):
        self.metadata.append(metadata)

    on_llm_start = on_chain_start


def ask(state, *names):
    return {"state": state, "questions": {name: QUESTIONS[name] for name in names or ["topic"]}}


@pytest.fixture
def model():
    coefficients = Coefficients(["world", "sport"], [30, 15], 30)  # not in the order of the options
    return Reweighted(Fake(), coefficients={"topic": coefficients})


def test_probabilities_and_choice_follow_the_weights_and_the_raw_answer_stays(model):
    response = model.invoke(ask("0.6", "topic", "other"))
    topic, raw = response.choices["topic"], response.raw.choices["topic"]
    assert (raw.choice, raw.probabilities) == ("sport", {"sport": 0.6, "world": 0.4})
    assert topic.choice == "world"
    assert topic.probabilities == pytest.approx({"sport": 3 / 7, "world": 4 / 7})
    assert topic.confidence == pytest.approx(1 / 7)
    assert response.choices["other"] == response.raw.choices["other"]
    assert isinstance(response, ClassifierResponse)
    assert (response.model, response.request_id) == ("fake-1", "r-1")
    assert response.usage["total_tokens"] == 8


def test_corrected_answers_are_marked_and_raw_ones_imported(model):
    response = model.invoke(ask("0.6"))
    mark = {"topic": model.coefficients["topic"].digest}
    assert response.dnip_corrected_by == mark
    saved = json.loads(response.model_dump_json())
    table, _ = read_answers([saved], ["sport", "world"])
    assert table.probabilities.tolist() == [[0.6, 0.4]]
    with pytest.raises(CorrectedError):  # behind a sidecar, say
        Reweighted(model, coefficients=model.coefficients).invoke(ask("0.6"))


def test_the_response_says_by_question_what_is_deferred(model):
    assert model.invoke(ask("0.6")).deferred is None
    model.coefficients["topic"] = replace(
        model.coefficients["topic"], defer=Deferral([0.6, 0.5], 0.3)
    )
    for state, deferred in (("0.6", True), ("0.5", False)):  # world at 4/7 and at 2/3
        assert model.invoke(ask(state, "topic", "other")).deferred == {"topic": deferred}


def test_the_mark_of_a_sidecar_survives_though_unknown_fields_do_not():
    raw = Fake().invoke(ask("0.6")).model_dump(mode="json")
    body, _ = correct(raw, {"topic": Coefficients(["world", "sport"], [30, 15], 30)})
    kept = ClassifierResponse.model_validate(body).model_dump(mode="json")
    assert "dnip_corrected_by" not in kept
    with pytest.raises(InvalidInputError, match="corrected already"):
        read_answers([kept], ["sport", "world"])


def test_every_way_to_call_gives_the_same(model):
    requests = [ask(state) for state in ("0.6", "0.7", "0.2")]
    expected = [model.invoke(one) for one in requests]
    assert [one.choices["topic"].choice for one in expected] == ["world", "sport", "world"]
    assert model.batch(requests) == expected
    assert asyncio.run(model.abatch(requests)) == expected
    assert asyncio.run(model.ainvoke(requests[0])) == expected[0]
    assert model.decider.asynchronous
    chain = model | (lambda response: response.choices["topic"].choice)
    assert chain.invoke(requests[0]) == "world"


def test_yes_no_and_levels_are_reweighted():
    coefficients = {
        "urgent": Coefficients(["yes", "no"], [15, 30], 30),
        "anger": Coefficients(["angry", "calm"], [30, 15], 30),
    }
    response = Reweighted(Fake(), coefficients=coefficients).invoke(ask("0.6", "urgent", "anger"))
    assert response.nouls["urgent"].noul == pytest.approx(3 / 7)
    anger = response.scores["anger"]
    assert anger.probabilities == pytest.approx({0: 3 / 7, 1: 4 / 7})
    assert anger.score == pytest.approx(4 / 7)
    assert anger.legend == {0: "calm", 1: "angry"}


def test_a_trace_has_one_run_with_the_provider_of_the_model(model):
    runs = Runs()
    model.invoke(ask("0.6"), config={"callbacks": [runs], "metadata": {"mine": 1}})
    [metadata] = runs.metadata
    assert metadata["ls_provider"] == "fakes"
    assert metadata["ls_model_name"] == "fake-1"
    assert metadata["mine"] == 1


def test_coefficients_may_be_files(tmp_path):
    Coefficients(["sport", "world"], [15, 30], 30).save(tmp_path / "c.json")
    model = Reweighted(Fake(), coefficients={"topic": tmp_path / "c.json"})
    assert model.invoke(ask("0.6")).choices["topic"].choice == "world"
    with pytest.raises(CoefficientsFormatError, match=r"none\.json: cannot be read"):
        Reweighted(Fake(), coefficients={"topic": tmp_path / "none.json"})
