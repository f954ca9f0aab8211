"""Chain of thought against one prompt at a time: full forward, no cache, no batching, float32."""

from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from dnip.prompting.chain_of_thought import ChainOfThought  # noqa: E402
from dnip.prompting.engines.base import Scoring  # noqa: E402
from dnip.prompting.engines.transformers_reasoning import (  # noqa: E402
    TransformersReasoningEngine,
)
from dnip.prompting.task import Task  # noqa: E402
from plain_language_model import PlainLanguageModel  # noqa: E402
from tiny_models import random_prompts  # noqa: E402

ATOL = 1e-5
MOST = 16


def task_with(words):
    """Its labels follow a colon, after which letters stand as tokens of their own."""
    return Task(
        name="topics",
        instruction="Read the news article and name its topic.",
        fields=("text",),
        template="Article: {{ text }}\nTopic:",
        classes=tuple(f"c{number}" for number in range(len(words))),
        label_words=tuple(words),
        answer_prefix="",
        chain_of_thought=ChainOfThought(
            template="Article: {{ text }}\nWhy:",
            demonstration="{{ prompt }} {{ rationale }}\nTopic:{{ answer }}",
            rationales=("The market fell.",) * len(words),
        ),
    )


def tokens_of(oracle, task, shots, number):
    """What the model goes on with after some prompts."""
    prompts = random_prompts(task, shots, number, chain_of_thought=True)
    return [oracle.answer(prompt.text, MOST)[0] for prompt in prompts]


@pytest.fixture(scope="module")
def case(tiny_model):
    """A function from a kind to its folder, the oracle, and a task with labels it likes to say."""
    made = {}

    def get(kind):
        if kind not in made:
            oracle = PlainLanguageModel(tiny_model(kind))
            told = tokens_of(oracle, task_with(["a", "b"]), 1, 12)
            often = Counter(token for answer in told for token in answer)
            texts = {token: oracle.tokenizer.decode([token]) for token, _ in often.most_common()}
            words = [text for text in texts.values() if text.isascii() and text.isalpha()]
            made[kind] = oracle, task_with([*words[:4], "market:", "x"])
        return tiny_model(kind), *made[kind]

    return get


def engine_of(folder, **options):
    return TransformersReasoningEngine(folder, max_new_tokens=MOST, **options)


def score(engine, prompts, task, scoring=Scoring.FIRST, **options):
    rows = sorted(engine.score(prompts, task, scoring, **options), key=lambda row: row.row)
    assert [row.row for row in rows] == list(range(len(prompts)))
    return np.array([row.captured for row in rows]), [row.details for row in rows]


def assert_equal(engine, oracle, prompts, task, scoring, stop=None):
    captured, details = score(engine, prompts, task, scoring)
    expected = [oracle.reason(prompt, task, scoring, MOST, stop) for prompt in prompts]
    assert [(d["fallback"], d["cut"], d["new_tokens"]) for d in details] == [
        (e.fallback, e.cut, len(e.tokens)) for e in expected
    ]
    np.testing.assert_allclose(captured, [e.captured for e in expected], atol=ATOL, rtol=0)
    return expected


KINDS = ["llama", "gpt2", "gemma2", "gemma3", "bloom"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shots", [0, 1, 5])
def test_equals_one_prompt_at_a_time(case, kind, shots):
    folder, oracle, task = case(kind)
    prompts = random_prompts(task, shots, 6, seed=shots, chain_of_thought=True)
    alone, together, left = (
        engine_of(folder, padding=padding, batch_tokens=tokens)
        for padding, tokens in [("right", 1), ("right", 300), ("left", 10_000)]
    )
    for scoring in Scoring:
        expected = assert_equal(together, oracle, prompts, task, scoring)
    assert_equal(left, oracle, prompts, task, Scoring.PER_TOKEN)
    assert_equal(left, oracle, prompts, task, Scoring.FIRST)
    assert_equal(alone, oracle, prompts, task, Scoring.FIRST)
