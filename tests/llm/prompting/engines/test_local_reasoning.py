"""Chain of thought against one prompt at a time: full forward, no cache, no batching, float32."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from cases import cases  # noqa: E402
from dnip.base.errors import InvalidInputError  # noqa: E402
from dnip.llm.prompting.engines.local import TransformersReasoningEngine  # noqa: E402
from dnip.llm.prompting.labels import Scoring  # noqa: E402
from dnip.llm.prompting.prompt import Prompt  # noqa: E402
from dnip.llm.prompting.task import ChainOfThought, Task  # noqa: E402
from plain_language_model import PlainLanguageModel  # noqa: E402
from tiny_models import add_chat_template, random_prompts  # noqa: E402

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


@pytest.fixture(scope="module")
def case(tiny_model):
    """A function from a kind to its folder, the oracle, and a task with labels it likes to say."""

    @cache
    def get(kind):
        oracle = PlainLanguageModel(tiny_model(kind))
        prompts = random_prompts(task_with(["a", "b"]), 1, 12, chain_of_thought=True)
        often = Counter(token for p in prompts for token in oracle.answer(p.text, MOST)[0])
        texts = (oracle.tokenizer.decode([token]) for token, _ in often.most_common())
        words = [text for text in texts if text.isascii() and text.isalpha()]
        return tiny_model(kind), oracle, task_with([*words[:4], "market:", "x"])

    return get


def engine_of(folder, **options):
    return TransformersReasoningEngine(folder, max_new_tokens=MOST, **options)


def score(engine, prompts, task, scoring=Scoring.FIRST, **options):
    engine.scoring = scoring
    rows = sorted(engine.score(prompts, task, **options), key=lambda row: row.row)
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


@cases(
    *((kind, 2) for kind in ("llama", "gpt2", "gemma2", "gemma3", "bloom", "mamba")),
    *(("llama", 0), ("mamba", 0)),
)
def test_equals_one_prompt_at_a_time(case, kind, shots):
    folder, oracle, task = case(kind)
    prompts = random_prompts(task, shots, 6, seed=shots, chain_of_thought=True)
    alone, together = (engine_of(folder, batch_tokens=tokens) for tokens in (1, 300))
    for scoring in Scoring:
        assert_equal(together, oracle, prompts, task, scoring)
    assert_equal(alone, oracle, prompts, task, Scoring.FIRST)


def test_a_window_that_closes_while_the_model_reasons(case, tmp_path):
    """Rows of different lengths outgrow the window token by token."""
    folder, _, task = case("gemma3")
    prompts = random_prompts(task, 1, 6, seed=4, chain_of_thought=True)
    longest = max(len(engine_of(folder).tokenizer.encode(prompt.text)) for prompt in prompts)
    folder = shutil.copytree(folder, tmp_path / "window")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "sliding_window": longest + 5}))
    assert_equal(engine_of(folder), PlainLanguageModel(folder), prompts, task, Scoring.FIRST)


def test_an_answer_ends_before_the_stop_text(case):
    """Which may begin in the middle of a token; a label behind it does not count."""
    folder, oracle, task = case("llama")
    prompts = random_prompts(task, 1, 10, seed=5, chain_of_thought=True)
    whole = [oracle.tokenizer.decode(oracle.answer(p.text, MOST)[0]) for p in prompts]
    within = [re.search("[ -~]{2}", text[8:])[0] for text in whole[:3]]
    at_the_start = next(text[:2] for text in whole if text[:2].isascii())
    for stop in [*within, at_the_start]:
        engine = engine_of(folder, stop=stop)
        expected = assert_equal(engine, oracle, prompts, task, Scoring.FIRST, stop)
        assert any(not answer.cut and len(answer.tokens) < MOST for answer in expected)
    assert any(not answer.tokens for answer in expected)  # scored where the answer would have begun


def test_an_answer_ends_with_the_tokens_that_end_a_sequence(case, tmp_path):
    folder, oracle, task = case("gpt2")
    prompts = random_prompts(task, 1, 8, seed=6, chain_of_thought=True)
    closing = oracle.answer(prompts[0].text, MOST)[0][4]
    folder = shutil.copytree(folder, tmp_path / "closing")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, closing]}))
    captured, details = score(engine_of(folder), prompts, task)
    for prompt, own, known in zip(prompts, captured, details, strict=True):
        tokens = oracle.answer(prompt.text, MOST)[0]
        end = tokens.index(closing) if closing in tokens else MOST
        assert (known["new_tokens"], known["cut"]) == (end, int(end == MOST))
        if known["fallback"]:
            before = [*oracle.tokenizer(prompt.text)["input_ids"], *tokens[: max(end - 1, 0)]]
            at = oracle.logprobs(tuple(before), ())[-1]
            labels = engine_of(folder)._forms(prompts, task)[0]
            np.testing.assert_allclose(own, at[list(labels.first)].exp(), atol=ATOL)
    assert any(known["fallback"] for known in details)
    assert any(not known["cut"] for known in details)


def test_the_checkpoints_own_way_to_sample_changes_nothing(case, tmp_path):
    folder, oracle, task = case("llama")
    folder = shutil.copytree(folder, tmp_path / "sampling")
    settings = {"do_sample": True, "temperature": 0.6, "repetition_penalty": 2.0, "max_length": 9}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    prompts = random_prompts(task, 1, 5, seed=9, chain_of_thought=True)
    assert_equal(engine_of(folder), oracle, prompts, task, Scoring.FIRST)


@pytest.mark.parametrize("scoring", [Scoring.FIRST, Scoring.SUM])
def test_the_same_numbers_and_answers_every_time(case, scoring):
    folder, _, task = case("llama")
    prompts = random_prompts(task, 1, 14, chain_of_thought=True)
    engine, again = (engine_of(folder, batch_tokens=200, scoring=scoring) for _ in range(2))
    whole = {r.row: r for r in engine.score(prompts, task)}
    for row in again.score(prompts, task):
        assert (row.captured == whole[row.row].captured).all()
        assert (row.details, row.answer) == (whole[row.row].details, whole[row.row].answer)
        assert row.answer
    assert not list(again.score([], task))


def test_in_a_chat_labels_count_as_replies_begin_and_as_they_follow_the_reasoning(case, tmp_path):
    folder, _, task = case("gpt2")
    folder = shutil.copytree(folder, tmp_path / "chat")
    add_chat_template(folder, "{% for m in messages %}{{ m.content }}|{% endfor %}")
    spaced = replace(task, answer_prefix=" ")
    prompts = random_prompts(spaced, 0, 6, chain_of_thought=True)
    engine = engine_of(folder, chat=True)
    after, begun = engine._forms(prompts, spaced)
    for label, word in enumerate(task.label_words):
        assert engine.tokenizer.decode(begun.ids[label]) == word
        assert engine.tokenizer.decode(after.ids[label]) == f" {word}"
    # Here the model says labels without a space: the same rows as if the task had none.
    chats = [Prompt("", f"{prompt.text}|", prompt.lead) for prompt in prompts]
    found, details = score(engine, prompts, spaced, Scoring.SUM)
    expected, plain = score(engine_of(folder), chats, task, Scoring.SUM)
    told = [place for place, known in enumerate(details) if not known["fallback"]]
    assert told
    assert details == plain
    np.testing.assert_allclose(found[told], expected[told], atol=ATOL)


def test_refuses_prompts_that_leave_no_room_to_reason(case):
    folder, _, task = case("gpt2")
    prompts = random_prompts(task, 0, 3, chain_of_thought=True)
    tokens = [len(engine_of(folder).tokenizer.encode(prompt.text)) for prompt in prompts]
    fits = TransformersReasoningEngine(folder, max_new_tokens=1025 - max(tokens))
    assert fits.too_long(prompts, task) == []
    assert np.isfinite(score(fits, prompts, task)[0]).all()
    over = TransformersReasoningEngine(folder, max_new_tokens=1026 - max(tokens))
    rows = [row for row, number in enumerate(tokens) if number == max(tokens)]
    assert over.too_long(prompts, task) == rows
    with pytest.raises(InvalidInputError, match=r"no room for answers of \d+ tokens"):
        over.score(prompts, task)
    fits.scoring = Scoring.SUM
    with pytest.raises(InvalidInputError, match="no room"):
        fits.score(prompts, task)  # another label may be longer than the one named
