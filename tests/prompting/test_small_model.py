"""The project's own language model: small, whole, and fit for first-token scoring."""

from pathlib import Path

import pytest

from dnip.prompting.prompt import PromptBuilder
from dnip.prompting.task_files import built_in_tasks, load_task

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
def model():
    """The model and its tokenizer."""
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        FOLDER, local_files_only=True, dtype=torch.float32
    )
    return loaded.eval(), transformers.AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)


def test_the_folder_is_small_and_has_its_card_and_licence():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= 16_000_000
    card, licence = ((FOLDER / name).read_text("utf-8") for name in ("MODEL_CARD.md", "LICENSE"))
    assert "`LICENSE` says" in card
    assert "not commercially" in licence


@pytest.mark.parametrize("name", built_in_tasks())
@pytest.mark.parametrize("shots", [0, 2])
def test_answers_are_label_words_of_which_each_is_one_token_of_its_own(name, shots, model):
    language_model, tokenizer = model
    task = load_task(name)
    shown = [(ROWS[name], label % task.n_classes) for label in range(shots)]
    text = PromptBuilder(task, shown).prompt(ROWS[name]).text
    before = tokenizer(text)["input_ids"]
    labels = []
    for label in range(task.n_classes):
        *given, token = tokenizer(text + task.answer(label))["input_ids"]
        assert given == before
        labels.append(token)
    assert len(set(labels)) == task.n_classes
    with torch.inference_mode():
        logits = language_model(torch.tensor([before])).logits[0, -1]
    probabilities = torch.softmax(logits, -1)
    if shots == 0:
        assert int(probabilities.argmax()) in labels
        # Rows of the data have 0.98 and more; invented rows are unlike them.
        assert probabilities[labels].sum() > 0.5
