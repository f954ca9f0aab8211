"""The project's own language model: small, whole, and fit for first-token scoring."""

import json
from pathlib import Path

import pytest

from dnip.prompting.prompt import PromptBuilder
from dnip.prompting.task import built_in_tasks, load_task

torch = pytest.importorskip("torch", reason="the small language model needs torch")
transformers = pytest.importorskip(
    "transformers", reason="the small language model needs transformers"
)
pytest.importorskip("jinja2", reason="prompts need jinja2")

FOLDER = Path(__file__).parents[2] / "models" / "small"
ROWS = {
    "agnews": {
        "text": "Rates Go Up Again. The central bank raised interest rates by a quarter point on "
        "Tuesday, its third increase this year."
    },
    "dbpedia": {"text": "A species of beetle in the family Cerambycidae, found in Peru."},
    "ddi": {"text": "@DRUG$ may increase the plasma concentration of @DRUG$."},
    "pubmedqa": {"context": "Forty patients were followed up.", "question": "Does it help?"},
    "rte": {"premise": "The cat sat on the mat.", "hypothesis": "A cat sat."},
    "sst5": {"text": "a slow , dull and lifeless film ."},
    "trec": {"text": "How many legs does a spider have ?"},
}

if not FOLDER.exists():
    pytest.skip("models/small is not part of this copy", allow_module_level=True)


@pytest.fixture(scope="module")
def tokenizer():
    return transformers.AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)


@pytest.fixture(scope="module")
def model():
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        FOLDER, local_files_only=True, dtype=torch.float32
    )
    return loaded.eval()


def prompt_text(name, shots=0):
    task = load_task(name)
    demonstrations = [(ROWS[name], label % task.n_classes) for label in range(shots)]
    return PromptBuilder(task, demonstrations).prompt(ROWS[name]).text


def last_logits(model, tokenizer, text):
    with torch.inference_mode():
        return model(**tokenizer(text, return_tensors="pt")).logits[0, -1]


def test_the_folder_is_small_and_has_its_card():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= 16_000_000
    card = (FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "non-commercial" in card


def test_it_is_a_llama_with_tied_embeddings_and_room_for_1024_tokens(model, tokenizer):
    assert model.config.model_type == "llama"
    assert model.config.tie_word_embeddings
    assert model.config.max_position_embeddings == tokenizer.model_max_length == 1024
    assert model.config.vocab_size == len(tokenizer)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_weights_are_stored_in_half_precision():
    config = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))
    assert config["dtype"] == "float16"


def test_all_1024_positions_can_be_used(model, tokenizer):
    ids = tokenizer(prompt_text("agnews", shots=60))["input_ids"][:1024]
    assert len(ids) == 1024
    with torch.inference_mode():
        assert torch.isfinite(model(torch.tensor([ids])).logits).all()


@pytest.mark.parametrize("name", built_in_tasks())
@pytest.mark.parametrize("shots", [0, 2])
def test_every_label_word_is_one_token_of_its_own(tokenizer, name, shots):
    task = load_task(name)
    text = prompt_text(name, shots)
    before = tokenizer(text)["input_ids"]
    tokens = []
    for label in range(task.n_classes):
        after = tokenizer(text + task.answer(label))["input_ids"]
        assert after[: len(before)] == before
        assert len(after) == len(before) + 1
        tokens.append(after[-1])
    assert len(set(tokens)) == task.n_classes


@pytest.mark.parametrize("text", ["@DRUG$ and  5% of “naïve” β-blockers\n\t– 100 µg", "日本語 🙂"])
def test_any_text_comes_back_from_its_tokens(tokenizer, text):
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_a_text_begins_with_the_token_that_opens_every_training_text(tokenizer):
    ids = tokenizer("a text")["input_ids"]
    assert ids[0] == tokenizer.bos_token_id
    assert ids.count(tokenizer.bos_token_id) == 1
    assert len({tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}) == 3


def test_logits_are_the_same_every_time(model, tokenizer):
    text = prompt_text("trec", shots=2)
    assert torch.equal(last_logits(model, tokenizer, text), last_logits(model, tokenizer, text))


@pytest.mark.parametrize("name", built_in_tasks())
def test_answers_are_label_words_of_the_task(model, tokenizer, name):
    task = load_task(name)
    text = prompt_text(name)
    probabilities = torch.softmax(last_logits(model, tokenizer, text), -1)
    labels = [tokenizer(text + task.answer(c))["input_ids"][-1] for c in range(task.n_classes)]
    assert int(probabilities.argmax()) in labels
    # Rows of the data have 0.98 and more; invented rows are unlike them.
    assert probabilities[labels].sum() > 0.5


@pytest.mark.parametrize(
    ("name", "word"), [("agnews", "Business"), ("dbpedia", "Animal"), ("trec", "Number")]
)
def test_plain_rows_are_answered_rightly(model, tokenizer, name, word):
    best = int(last_logits(model, tokenizer, prompt_text(name)).argmax())
    assert tokenizer.decode([best]) == f" {word}"
