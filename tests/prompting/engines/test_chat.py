"""Prompts in a chat template: where a reply begins, and the numbers of one chat at a time."""

import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from dnip.base.errors import InvalidInputError
from dnip.prompting.data import Examples
from dnip.prompting.engines.base import Scoring
from dnip.prompting.engines.hub import HubTokenizer
from dnip.prompting.engines.transformers_engine import TransformersEngine
from dnip.prompting.plan import Plan
from dnip.prompting.prompt import Prompt, PromptBuilder
from dnip.prompting.task import Task
from plain_language_model import PlainLanguageModel
from tiny_models import add_chat_template, random_prompts

TASK = Task(
    name="topics",
    instruction="Read the news article and name its topic.",
    fields=("text",),
    template="Article: {{ text }}\nTopic:",
    classes=("a", "b", "c"),
    label_words=("World talks", "Sports", "Business"),
)

TURNS = (
    "{% for m in messages %}{{ '<s>' + m.role + '\\n' + m.content + '</s>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}"
)
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


@pytest.fixture(scope="module")
def chat_model(tiny_model, tmp_path_factory):
    """A function from a template to the folder of a tiny model that has it."""

    def folder(template):
        made = tmp_path_factory.mktemp("chat") / "model"
        shutil.copytree(tiny_model("llama"), made)
        if template is not None:
            add_chat_template(made, template)
        return made

    return folder


@pytest.mark.parametrize(
    ("template", "opening", "answer"),
    [
        (TURNS, "<s>user\nMood?</s>\n<s>assistant\n", "Sports"),
        (SPACED, "<s>[INST] Mood? [/INST]", " Sports"),
        (THOUGHTFUL, "<s>user\nMood?</s>\n<s>assistant\n<think>\n\n</think>\n\n", "Sports"),
        (STRICT, "<s>user\nMood?</s>\n<s>assistant\n", "Sports"),
        (ODD, "<s>user\nMood?</s>\n<s>assistant\n<think>", "Sports"),
    ],
)
def test_an_answer_begins_as_the_template_writes_a_reply(chat_model, template, opening, answer):
    tokenizer = HubTokenizer(chat_model(template))
    assert tokenizer.chat("Mood?") == opening
    assert tokenizer.in_chat(TASK).answer(1) == answer
    assert tokenizer.encode_chat(opening)[0] == 0  # the template's own special token, once
    assert tokenizer.encode_chat(opening)[1] != 0


@pytest.mark.parametrize("template", [TURNS, SPACED])
def test_equals_one_chat_at_a_time(chat_model, template):
    folder = chat_model(template)
    engine = TransformersEngine(folder, batch_tokens=200, chat=True)
    prompts = random_prompts(TASK, 1, 6)
    in_chat = engine.tokenizer.in_chat(TASK)
    chats = [Prompt("", engine.tokenizer.chat(prompt.text)) for prompt in prompts]
    for scoring in Scoring:
        expected = PlainLanguageModel(folder).score(chats, in_chat, scoring)
        found = np.empty_like(expected)
        engine.scoring = scoring
        for row in engine.score(prompts, TASK):
            found[row.row] = row.captured
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_refuses_a_template_that_fails(chat_model):
    with pytest.raises(InvalidInputError, match=r"chat template of .* fails: .*no chats"):
        TransformersEngine(chat_model("{{ raise_exception('no chats') }}"), chat=True)


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("scoring", list(Scoring))
def test_what_is_shortened_leaves_room_for_the_answer(chat_model, chat, scoring):
    engine = TransformersEngine(chat_model(TURNS), chat=chat, scoring=scoring)
    builder = PromptBuilder(replace(TASK, label_words=("World talks on and on", "Sports", "cup")))

    def plan(*n_words):
        rows = tuple({"text": " ".join(["é"] * n)} for n in n_words)
        return Plan(
            builder.task, Examples(rows, np.zeros(len(rows), int), ("r",) * len(rows)), builder, {}
        )

    # Every length around the limit, so that one lies between the context and the room of an answer.
    longest = plan(*range(300, 345))
    with pytest.raises(InvalidInputError, match="longer than the model's context"):
        list(engine.score(longest.prompts, longest.task))
    fitting = longest.shortened(partial(engine.too_long, task=longest.task))
    assert len(list(engine.score(fitting.prompts, longest.task))) == 45


@pytest.mark.parametrize(
    "template",
    [
        "{{ cycler.__init__.__globals__.os.mkdir('PWNED') }}",
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{% include 'config.json' %}",
    ],
)
def test_a_template_reads_and_runs_nothing(chat_model, template, monkeypatch):
    folder = chat_model(template)
    before = sorted(path.name for path in folder.iterdir())
    monkeypatch.chdir(folder)  # where there is a file to read
    with pytest.raises(InvalidInputError, match=r"chat template of .* fails"):
        HubTokenizer(folder).chat("Mood?")
    assert sorted(path.name for path in folder.iterdir()) == before
