"""Coefficients within transformers, on a tiny model of random weights."""

import json
import shutil

import numpy as np
import pytest

from dnip import Coefficients, InvalidInputError
from dnip.deploying.transformers import Reweighted, ReweightedLabels

torch = pytest.importorskip("torch", reason="a tiny model needs torch")
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


@pytest.fixture(scope="module")
def tokens(pipeline):
    return [pipeline.tokenizer.encode(f" {t}", add_special_tokens=False)[0] for t in TOPICS]


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


def label_probabilities(pipeline, tokens, article):
    inputs = pipeline.tokenizer(f"Article: {article}\nTopic:", return_tensors="pt")
    logits = pipeline.model(**inputs).logits[0, -1, tokens].double()
    return inputs, logits.softmax(-1).detach().numpy()


def test_generate_says_the_label_that_the_coefficients_choose(pipeline, tokens, tiny_model):
    from dnip.prompting.label_bias import SequenceBias

    coefficients = Coefficients(TOPICS, WEIGHTS, "log:1000")
    processors = transformers.LogitsProcessorList([ReweightedLabels(coefficients, tokens)])
    exported = json.loads(SequenceBias(str(tiny_model("llama"))).render(coefficients))
    once = {"max_new_tokens": 1, "do_sample": False}
    told = {"output_scores": True, "return_dict_in_generate": True}
    for article in ARTICLES:
        inputs, p = label_probabilities(pipeline, tokens, article)
        [chosen] = coefficients.predict([p])
        found = pipeline.model.generate(**inputs, **once, logits_processor=processors)
        assert found[0, -1].item() == tokens[TOPICS.index(chosen)]
        biased = pipeline.model.generate(**inputs, **once, **exported, **told).scores[0][0, tokens]
        assert TOPICS[biased.argmax().item()] == chosen


def test_ties_go_to_the_lowest_class_though_logarithms_round():
    rng = np.random.default_rng(0)
    coefficients = Coefficients(TOPICS, [30, 15, 10, 6], 30)
    tokens = [7, 2, 5, 0]  # in no order
    exact = np.log([[1, 2, 3, 5]]) + rng.normal(size=(200, 1)) + np.zeros((200, 4))
    exact[rng.integers(0, 2, 200) == 1, 0] -= 1e-9
    scores = torch.zeros((200, 9), dtype=torch.float64)
    scores[:, tokens] = torch.tensor(exact)
    new = ReweightedLabels(coefficients, tokens)(None, scores.float()).numpy()
    seen = scores.float()[:, tokens].double().numpy()
    p = np.exp(seen - seen.max(axis=1, keepdims=True))
    winners = coefficients.predict(p / p.sum(axis=1, keepdims=True))
    assert [TOPICS[tokens.index(n)] for n in new.argmax(axis=1)] == winners.tolist()
    assert ((new == new.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()
    assert np.isneginf(new[:, [1, 3, 4, 6, 8]]).all()


def test_scores_are_the_reweighted_probabilities(tokens):
    coefficients = Coefficients(TOPICS, WEIGHTS, "log:1000")
    scores = torch.randn((5, 4096), generator=torch.Generator().manual_seed(0))
    new = ReweightedLabels(coefficients, tokens)(None, scores).softmax(-1)[:, tokens]
    expected = coefficients.apply(scores[:, tokens].double().softmax(-1).numpy())
    np.testing.assert_allclose(new.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("tokens", [[1, 2, 3], [1, 2, 3, 3], [1, 2, 3, 4, 5]])
def test_tokens_that_do_not_tell_classes_apart_are_refused(tokens):
    with pytest.raises(InvalidInputError, match="4 different ids"):
        ReweightedLabels(Coefficients(TOPICS, [1, 2, 3, 4], 30), tokens)
