"""Coefficients with the decision pipeline of transformers, on a tiny model of random weights."""

import json
import shutil

import pytest

from dnip import Coefficients
from dnip.llm.decisions import correct

pytest.importorskip("torch", reason="a tiny model needs torch")
transformers = pytest.importorskip("transformers", reason="a tiny model needs transformers")
pytest.importorskip("transformers.pipelines.decision", reason="transformers is too old")

TOPICS = ("World", "Sports", "Business", "Technology")
FITTED = Coefficients(TOPICS, [1, 254, 643, 1000], "log:1000")
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


@pytest.mark.parametrize(
    "options", [TOPICS, TOPICS[::-1], ("Sports", "World", "Technology", "Business")]
)
def test_options_are_matched_by_name(pipeline, options):
    """The options may stand in another order than the classes; positions do not count."""
    topic = {"type": "choice", "criteria": dict.fromkeys(options)}
    changed = 0
    for article in ARTICLES:
        raw = pipeline({"state": article, "questions": {"topic": topic}})
        found = correct({"answers": raw}, {"topic": FITTED})[0]["answers"]["topic"]
        p = [raw["topic"]["probabilities"][topic] for topic in TOPICS]
        assert found["choice"] == FITTED.predict([p])[0]
        assert list(found["probabilities"]) == list(options)
        expected = dict(zip(TOPICS, FITTED.apply([p])[0], strict=True))
        assert found["probabilities"] == pytest.approx(expected, abs=1e-12)
        changed += found["choice"] != raw["topic"]["choice"]
    assert changed


def test_generate_says_the_label_that_the_coefficients_choose(pipeline, tiny_model):
    from dnip.llm.prompting.label_bias import SequenceBias

    tokens = [pipeline.tokenizer.encode(f" {t}", add_special_tokens=False)[0] for t in TOPICS]
    bias = SequenceBias(str(tiny_model("llama")), only_labels=True)
    exported = json.loads(bias.render(FITTED))
    for article in ARTICLES:
        inputs = pipeline.tokenizer(f"Article: {article}\nTopic:", return_tensors="pt")
        p = pipeline.model(**inputs).logits[0, -1, tokens].double().softmax(-1).detach().numpy()
        said = pipeline.model.generate(**inputs, **exported, max_new_tokens=1, do_sample=False)
        assert TOPICS[tokens.index(said[0, -1].item())] == FITTED.predict([p])[0]
