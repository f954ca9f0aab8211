"""Coefficients within transformers, on a tiny model of random weights."""

import json
import shutil

import pytest

from dnip import Coefficients
from dnip.llm.serving.transformers import Reweighted

pytest.importorskip("torch", reason="a tiny model needs torch")
transformers = pytest.importorskip("transformers", reason="a tiny model needs transformers")
pytest.importorskip("transformers.pipelines.decision", reason="transformers is too old")

TOPICS = ("World", "Sports", "Business", "Technology")
WEIGHTS = [1, 254, 643, 1000]
ARTICLES = [
    "The striker scored twice in the final.",
    "Shares of the bank fell after its report.",
    "The minister met the president in the capital.",
    "The new phone has a faster chip.",
]
TEMPLATE = "Article: {{ state }}\nTopic:<|mark|>"


@pytest.fixture(scope="module")
def pipeline(tiny_model, tmp_path_factory):
    """The tiny model as a decision model: option n is scored by the n-th label."""
    folder = tmp_path_factory.mktemp("model")
    shutil.copytree(tiny_model("llama"), folder, dirs_exist_ok=True)
    labels = {"choice": [f" {topic}" for topic in TOPICS], "noul": [" World", " Sports"]}
    (folder / "decision.json").write_text(json.dumps({"labels": labels}))
    (folder / "decision_template.jinja").write_text(TEMPLATE)
    return transformers.pipeline("decision", model=str(folder))


def request(article, options=TOPICS):
    topic = {"type": "choice", "criteria": dict.fromkeys(options)}
    return {"state": article, "questions": {"topic": topic}}


@pytest.mark.parametrize(
    "options", [TOPICS, TOPICS[::-1], ("Sports", "World", "Technology", "Business")]
)
def test_options_are_matched_by_name(pipeline, options):
    """The options may stand in another order than the classes; positions do not count."""
    coefficients = Coefficients(TOPICS, WEIGHTS, "log:1000")
    decide = Reweighted(pipeline, {"topic": coefficients})
    changed = 0
    for article in ARTICLES:
        raw = pipeline(request(article, options))
        answers = decide(request(article, options))
        p = [raw["topic"]["probabilities"][topic] for topic in TOPICS]
        expected = coefficients.apply([p])[0]
        assert answers["topic"]["choice"] == coefficients.predict([p])[0]
        assert list(answers["topic"]["probabilities"]) == list(options)
        for topic, value in zip(TOPICS, expected, strict=True):
            assert answers["topic"]["probabilities"][topic] == pytest.approx(value, abs=1e-12)
        changed += answers["topic"]["choice"] != raw["topic"]["choice"]
    assert changed


def test_many_requests_are_answered_at_once(pipeline):
    decide = Reweighted(pipeline, {"topic": Coefficients(TOPICS, WEIGHTS, "log:1000")})
    requests = [request(article) for article in ARTICLES[:2]]
    one_by_one = [decide(one) for one in requests]
    assert decide(requests) == one_by_one
    assert list(decide(one for one in requests)) == one_by_one


def test_generate_says_the_label_that_the_coefficients_choose(pipeline, tiny_model):
    from dnip.llm.prompting.label_bias import SequenceBias

    coefficients = Coefficients(TOPICS, WEIGHTS, "log:1000")
    tokens = [pipeline.tokenizer.encode(f" {t}", add_special_tokens=False)[0] for t in TOPICS]
    bias = SequenceBias(str(tiny_model("llama")), only_labels=True)
    exported = json.loads(bias.render(coefficients))
    for article in ARTICLES:
        inputs = pipeline.tokenizer(f"Article: {article}\nTopic:", return_tensors="pt")
        p = pipeline.model(**inputs).logits[0, -1, tokens].double().softmax(-1).detach().numpy()
        said = pipeline.model.generate(**inputs, **exported, max_new_tokens=1, do_sample=False)
        assert TOPICS[tokens.index(said[0, -1].item())] == coefficients.predict([p])[0]
