"""Answers as real writers write them: clients, pipelines and a harness."""

import json
from pathlib import Path

import numpy as np
import pytest

from dnip.prompting.answers import read_answers

CLASSES = ["ham", "spam"]
#: Written by lm-evaluation-harness 0.4.13 with models/small: the prompts of the task agnews.
SAMPLES = Path(__file__).parent / "data" / "samples_news.jsonl"
NEWS = ["World", "Sports", "Business", "Technology"]


def test_types_of_the_openai_client():
    pytest.importorskip("openai.types.decision")
    from openai.types import Completion, Decision
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    probabilities = [{"value": "ham", "probability": 0.25}, {"value": "spam", "probability": 0.75}]
    answer = {"type": "choice", "choice": "spam", "confidence": 0.5, "name": "q"}
    usage = {
        "input_tokens": 9, "output_tokens": 0, "total_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    decision = {
        "model": "m",
        "usage": usage,
        "answers": [answer | {"probabilities": probabilities}],
    }
    refusal = decision | {"answers": [{"type": "refusal", "name": "q"}]}
    tokens = [
        {"token": t, "logprob": np.log(p), "bytes": []} for t, p in (("spam", 0.6), ("ham", 0.2))
    ]
    position = tokens[0] | {"top_logprobs": tokens}
    message = {"role": "assistant", "content": "spam"}
    chat = {
        "id": "1", "created": 0, "model": "m", "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop",
                     "logprobs": {"content": [position], "refusal": None}}],
    }  # fmt: skip
    logprobs = {"tokens": ["spam"], "top_logprobs": [{t["token"]: t["logprob"] for t in tokens}]}
    completion = chat | {
        "object": "text_completion",
        "choices": [{"index": 0, "text": "spam", "finish_reason": "stop", "logprobs": logprobs}],
    }
    part = {"type": "output_text", "text": "spam", "annotations": [], "logprobs": [position]}
    output = message | {"id": "2", "type": "message", "status": "completed", "content": [part]}
    response = {
        "id": "1", "created_at": 0, "model": "m", "object": "response", "output": [output],
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    for type_, body in (
        (Decision, decision),
        (ChatCompletion, chat),
        (Completion, completion),
        (Response, response),
    ):
        written = type_.model_validate(body).model_dump(mode="json")
        table, summary = read_answers([written], CLASSES)
        np.testing.assert_allclose(table.probabilities, [[0.25, 0.75]])
        assert summary.model == "m"
    written = [Decision.model_validate(one).model_dump(mode="json") for one in (decision, refusal)]
    assert read_answers(written, CLASSES)[1].refused == ("answer 2",)


def test_pipelines_of_transformers(tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tiny_models import save_tokenizer

    save_tokenizer(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    names = ["ham", "entailment", "spam"]
    torch.manual_seed(0)
    model = transformers.GPT2ForSequenceClassification(
        transformers.GPT2Config(
            vocab_size=400, n_embd=32, n_layer=1, n_head=2, pad_token_id=1,
            id2label=dict(enumerate(names)), label2id={name: i for i, name in enumerate(names)},
        )
    ).eval()  # fmt: skip
    texts = ["the market fell", "a team won the cup"]
    parts = {"model": model, "tokenizer": tokenizer, "device": "cpu"}
    found = transformers.pipeline("text-classification", **parts)(texts, top_k=None)
    table, summary = read_answers([found], names)
    with torch.inference_mode():
        logits = [model(**tokenizer(text, return_tensors="pt")).logits[0] for text in texts]
    expected = torch.stack(logits).softmax(dim=1).numpy()
    np.testing.assert_allclose(table.probabilities, expected, rtol=1e-5)
    assert summary.source == "hugging-face"
    found = transformers.pipeline("zero-shot-classification", **parts)(texts, NEWS)
    table, _ = read_answers([found], NEWS)
    assert [NEWS[row.argmax()] for row in table.probabilities] == [f["labels"][0] for f in found]


def test_samples_of_lm_evaluation_harness_are_as_our_own_scores():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from dnip.prompting.engines.transformers_engine import TransformersEngine
    from dnip.prompting.prompt import PromptBuilder
    from dnip.prompting.task import load_task

    task = load_task("agnews")
    folder = Path(__file__).parents[3] / "models" / "small"
    samples = [json.loads(line) for line in SAMPLES.read_text().splitlines()]
    texts = [sample["doc"]["prompt"].split("Article: ")[1] for sample in samples]
    texts = [text.removesuffix("\nTopic:") for text in texts]
    prompts = [PromptBuilder(task).prompt({"text": text}) for text in texts]
    assert [prompt.text for prompt in prompts] == [sample["doc"]["prompt"] for sample in samples]
    engine = TransformersEngine(folder, device="cpu")
    scored = sorted(engine.score(prompts, task), key=lambda one: one.row)
    own = np.array([one.captured for one in scored])
    table, _ = read_answers([SAMPLES], NEWS, on="id")
    np.testing.assert_allclose(table.probabilities, own / own.sum(axis=1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(table.mass, own.sum(axis=1), atol=1e-4)
    assert table.ids.tolist() == ["a", "b", "c", "d"]
    assert [NEWS[label] for label in table.labels] == [sample["target"] for sample in samples]
