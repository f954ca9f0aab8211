"""The engine against one prompt at a time: full forward, no cache, no batching, float32."""

import json
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cases import cases

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

from dnip import Coefficients  # noqa: E402
from dnip.base.errors import BackendError, InvalidInputError  # noqa: E402
from dnip.llm.prompting.engines.hub import HubTokenizer  # noqa: E402
from dnip.llm.prompting.engines.local import TransformersEngine  # noqa: E402
from dnip.llm.prompting.label_bias import SequenceBias  # noqa: E402
from dnip.llm.prompting.labels import Scoring  # noqa: E402
from dnip.llm.prompting.prompt import Prompt  # noqa: E402
from dnip.llm.prompting.task import Task  # noqa: E402
from plain_language_model import PlainLanguageModel  # noqa: E402
from tiny_models import TURNS, add_chat_template, captured, random_prompts, save_tokenizer  # noqa: E402

ATOL = 1e-5

#: The first letters differ, and no word is one token.
TASK = Task(
    name="topics",
    instruction="Read the news article and name its topic.",
    fields=("text",),
    template="Article: {{ text }}\nTopic:",
    classes=("a", "b", "c", "d"),
    label_words=("World talks", "cup", "Business", "new phones on"),
)


@pytest.fixture(scope="module")
def reference(tiny_model):
    return cache(lambda kind: PlainLanguageModel(tiny_model(kind)))


KINDS = ["llama", "gpt2", "gemma2", "gemma3", "bloom", "mamba"]


@cases(*((kind, 2) for kind in KINDS), ("llama", 0), ("mamba", 0))
def test_equals_one_prompt_at_a_time(tiny_model, reference, kind, shots):
    prompts = random_prompts(TASK, shots, 8, seed=shots)
    engines = [TransformersEngine(tiny_model(kind), batch_tokens=tokens) for tokens in (1, 120)]
    for scoring in Scoring:
        expected = reference(kind).score(prompts, TASK, scoring)
        assert (expected.std(axis=0) > 0.05 * expected.mean(axis=0)).all()  # rows differ
        for engine in engines:
            found = captured(engine, prompts, TASK, scoring)
            np.testing.assert_allclose(found, expected, atol=ATOL, rtol=0)
            np.testing.assert_allclose(np.log(found), np.log(expected), atol=1e-3, rtol=0)


@pytest.mark.parametrize("scoring", list(Scoring))
def test_the_same_numbers_every_time_and_nearly_so_next_to_others(tiny_model, scoring):
    prompts = random_prompts(TASK, 2, 20)
    engine, again = (
        TransformersEngine(tiny_model("llama"), batch_tokens=80, scoring=scoring) for _ in range(2)
    )
    whole = {row.row: row.captured for row in engine.score(prompts, TASK)}
    repeated = {row.row: row.captured for row in again.score(prompts, TASK)}
    assert all((whole[row] == repeated[row]).all() for row in range(20))
    for row in again.score(prompts[3:9], TASK):
        np.testing.assert_allclose(row.captured, whole[3 + row.row], rtol=1e-4)
    assert not list(again.score([], TASK))


def test_it_says_the_token_that_the_model_would_write(tiny_model, reference):
    prompts = random_prompts(TASK, 1, 3)
    engine, plain = TransformersEngine(tiny_model("llama")), reference("llama")
    for prompt, said in zip(prompts, engine.says(prompts), strict=True):
        tokens, _ = plain.answer(prompt.text, 1)
        assert said == engine.tokenizer.decode(tokens)


def test_prefixes_may_differ_between_prompts(tiny_model, reference):
    prompts = [*random_prompts(TASK, 1, 3, seed=1), *random_prompts(TASK, 3, 3, seed=2)]
    found = captured(TransformersEngine(tiny_model("llama")), prompts, TASK, Scoring.FIRST)
    expected = reference("llama").score(prompts, TASK, Scoring.FIRST)
    np.testing.assert_allclose(found, expected, atol=ATOL)


@pytest.mark.parametrize("scoring", [Scoring.FIRST, Scoring.SUM])
def test_a_prompt_that_ends_in_the_answers_space(tiny_model, scoring):
    """The space then merges into the answer's first token: the very same question."""
    engine = TransformersEngine(tiny_model("llama"))
    prompts = random_prompts(TASK, 1, 5)
    spaced = [Prompt(p.prefix, p.example + " ") for p in prompts]
    bare = replace(TASK, answer_prefix="")
    plain = captured(engine, prompts, TASK, scoring)
    np.testing.assert_allclose(captured(engine, spaced, bare, scoring), plain, atol=1e-7)


def test_no_name_is_used_that_transformers_has_replaced(tiny_model, monkeypatch):
    told = []
    logger = transformers.utils.generic.logger
    monkeypatch.setattr(logger, "warning_once", lambda text, *_: told.append(text), raising=False)
    engine = TransformersEngine(tiny_model("llama"))
    captured(engine, random_prompts(TASK, 2, 6), TASK, Scoring.SUM)
    assert [text for text in told if "deprecated" in text] == []


def test_special_tokens_at_the_end_of_a_prompt_are_left_out(copy):
    prompts = random_prompts(TASK, 1, 5)
    plain = captured(TransformersEngine(copy), prompts, TASK, Scoring.SUM)
    save_tokenizer(copy, end=True)
    closing = captured(TransformersEngine(copy), prompts, TASK, Scoring.SUM)
    save_tokenizer(copy, begin=True)
    begun = TransformersEngine(copy)
    assert begun.tokenizer.encode("a")[0] == 0
    np.testing.assert_array_equal(plain, closing)
    assert abs(captured(begun, prompts, TASK, Scoring.SUM) - plain).max() > 1e-4


def test_the_context_is_used_to_its_last_token(tiny_model):
    engine = TransformersEngine(tiny_model("gpt2"))
    tokens = len(engine.tokenizer.encode("x\nTopic:"))
    prompts = [Prompt("", "x" * (1025 - tokens) + "\nTopic:")] * 2
    longest = len(engine.tokenizer.encode(prompts[0].text))
    assert longest == 1024
    assert engine.too_long(prompts, TASK) == []
    assert np.isfinite(captured(engine, prompts, TASK, Scoring.FIRST)).all()
    engine.scoring = Scoring.SUM
    assert engine.too_long(prompts, TASK) == [0, 1]
    with pytest.raises(InvalidInputError, match="rows 0, 1"):
        engine.score(prompts, TASK)


def test_refuses_labels_that_begin_alike_under_first_token_scoring(tiny_model):
    task = replace(TASK, label_words=("new phones", "cup", "Business", "new chips"))
    engine = TransformersEngine(tiny_model("llama"))
    prompts = random_prompts(task, 0, 2)
    with pytest.raises(InvalidInputError, match=r"'new phones' and 'new chips' .* token \d+ \("):
        engine.score(prompts, task)
    assert np.isfinite(captured(engine, prompts, task, Scoring.SUM)).all()


def test_halves_batches_that_do_not_fit_into_memory(tiny_model, monkeypatch):
    prompts = random_prompts(TASK, 1, 9)
    engine = TransformersEngine(tiny_model("llama"), batch_tokens=10_000)
    expected = captured(engine, prompts, TASK, Scoring.FIRST)
    forward, sizes = engine._model.model.forward, []

    def small(*, input_ids, **options):
        sizes.append(len(input_ids))
        if len(input_ids) > most:
            raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB.")
        return forward(input_ids=input_ids, **options)

    monkeypatch.setattr(engine._model.model, "forward", small)
    most = 3
    np.testing.assert_allclose(captured(engine, prompts, TASK, Scoring.FIRST), expected, atol=ATOL)
    assert max(sizes) == 9
    most = 0
    with pytest.raises(BackendError, match="no memory for this batch"):
        list(engine.score(prompts, TASK))


def test_refuses_a_model_that_gives_no_numbers(tiny_model, monkeypatch):
    engine = TransformersEngine(tiny_model("llama"))
    with torch.no_grad():
        engine._model.model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(BackendError, match="no probabilities for rows"):
        list(engine.score(random_prompts(TASK, 0, 3), TASK))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "auto"])
def test_precisions(tiny_model, reference, dtype):
    prompts = random_prompts(TASK, 1, 5)
    engine = TransformersEngine(tiny_model("llama"), dtype=dtype)
    found = captured(engine, prompts, TASK, Scoring.FIRST)
    expected = reference("llama").score(prompts, TASK, Scoring.FIRST)
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert engine.describe()["dtype"] == ("float32" if dtype == "auto" else dtype)


@pytest.fixture
def copy(tiny_model, tmp_path):
    """A tiny model that may be damaged."""
    return shutil.copytree(tiny_model("llama"), tmp_path / "model")


def cut_off(weights):
    weights.write_bytes(weights.read_bytes()[:1000])


def pickle_them(weights):
    torch.save(safetensors.load_file(weights), weights.with_name("pytorch_model.bin"))
    weights.unlink()


def leave_one_out(weights):
    known = safetensors.load_file(weights)
    del known["model.layers.1.mlp.up_proj.weight"]
    safetensors.save_file(known, weights, metadata={"format": "pt"})


@cases(
    (cut_off, "cannot be loaded"),
    (pickle_them, r"cannot be loaded: .*weights as \.safetensors"),  # a pickle can run code
    (leave_one_out, r"lacks weights: model\.layers\.1"),
)
def test_refuses_weights_that_are_not_whole_or_not_safe(copy, damage, told):
    damage(copy / "model.safetensors")
    with pytest.raises(InvalidInputError, match=told):
        TransformersEngine(copy).describe()


@cases(
    ("config.json", {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}),
    ("config.json", {"attn_implementation": "owner/own"}),
    ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "own.Own"]}}),
)
def test_runs_no_code_of_a_model(copy, monkeypatch, file, settings):
    (copy / "own.py").write_text("raise SystemExit('ran')")
    content = json.loads((copy / file).read_text()) | settings
    content.pop("tokenizer_class", None)
    (copy / file).write_text(json.dumps(content))
    monkeypatch.setattr("builtins.input", lambda _: "y")
    with pytest.raises(InvalidInputError, match="needs code of its own, which is never run"):
        TransformersEngine(copy).describe()


def test_reads_no_device_of_a_model(copy):
    (copy / "merges.txt").symlink_to("/dev/zero")
    with pytest.raises(InvalidInputError, match=r"merges\.txt is a device or a pipe"):
        HubTokenizer(copy)


# --- biases on labels ---
def test_generate_says_the_label_that_the_coefficients_choose(tiny_model):
    topics = ("World", "Sports", "Business", "Technology")
    fitted = Coefficients(topics, [1, 254, 643, 1000], "log:1000")
    exported = json.loads(SequenceBias(str(tiny_model("llama")), only_labels=True).render(fitted))
    engine = TransformersEngine(tiny_model("llama"))
    tokens = [engine.tokenizer.encode(f"x {topic}")[-1] for topic in topics]
    for text in ("The striker scored twice.", "Shares fell.", "The ministers met."):
        inputs = engine.tokenizer.backend(f"Article: {text}\nAnswer:", return_tensors="pt")
        model = engine._model.model
        p = model(**inputs).logits[0, -1, tokens].double().softmax(-1).detach().numpy()
        said = model.generate(**inputs, **exported, max_new_tokens=1, do_sample=False)
        assert topics[tokens.index(said[0, -1].item())] == fitted.predict([p])[0]


# --- in a chat template ---
SPACED = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ '<s>[INST] ' + m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content + ' </s>' }}{% endif %}{% endfor %}"
)
THOUGHTFUL = (
    "{% for m in messages %}{{ '<s>' + m.role + '\\n' }}"
    "{% if m.role == 'assistant' %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
    "{{ m.content + '</s>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}"
)
#: It takes no conversation that ends in a reply.
STRICT = TURNS.replace(
    "{% for", "{% if messages|length > 1 %}{{ raise_exception('no') }}{% endif %}{% for", 1
)
#: Its turns of the assistant do not begin as it opens one.
ODD = TURNS.replace("'<s>assistant\\n'", "'<s>assistant\\n<think>'")


@cases(
    (TURNS, "<s>user\nMood?</s>\n<s>assistant\n", "cup"),
    (SPACED, "<s>[INST] Mood? [/INST]", " cup"),
    (THOUGHTFUL, "<s>user\nMood?</s>\n<s>assistant\n<think>\n\n</think>\n\n", "cup"),
    (STRICT, "<s>user\nMood?</s>\n<s>assistant\n", "cup"),
    (ODD, "<s>user\nMood?</s>\n<s>assistant\n<think>", "cup"),
)
def test_an_answer_begins_as_the_template_writes_a_reply(copy, template, opening, answer):
    add_chat_template(copy, template)
    tokenizer = HubTokenizer(copy)
    assert tokenizer.chat(Prompt("", "Mood?").messages) == opening
    assert tokenizer.in_chat(TASK).answer(1) == answer
    assert tokenizer.encode_chat(opening)[0] == 0  # the template's own special token, once
    assert tokenizer.encode_chat(opening)[1] != 0


@pytest.mark.parametrize("template", [TURNS, SPACED])
def test_equals_one_chat_at_a_time(copy, template):
    add_chat_template(copy, template)
    engine = TransformersEngine(copy, batch_tokens=200, chat=True)
    prompts = random_prompts(TASK, 1, 6)
    in_chat = engine.tokenizer.in_chat(TASK)
    chats = [Prompt("", engine.tokenizer.chat(prompt.messages)) for prompt in prompts]
    for scoring in Scoring:
        expected = PlainLanguageModel(copy).score(chats, in_chat, scoring)
        np.testing.assert_allclose(captured(engine, prompts, TASK, scoring), expected, atol=ATOL)


@cases("{{ cycler.__init__.__globals__.os.mkdir('PWNED') }}", "{{ messages.append(1) }}")
def test_a_template_reads_and_runs_nothing(copy, monkeypatch, template):
    add_chat_template(copy, template)
    before = sorted(copy.iterdir())
    monkeypatch.chdir(copy)  # where there is a file to read
    with pytest.raises(InvalidInputError, match=r"chat template of .* fails"):
        HubTokenizer(copy).chat(Prompt("", "Mood?").messages)
    assert sorted(copy.iterdir()) == before
