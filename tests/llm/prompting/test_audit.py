"""The audit, with a toy tokenizer and engine, and with a real tokenizer."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError
from dnip.llm.presenting import describe_audit
from dnip.llm.prompting.audit import audit, count_flips
from dnip.llm.prompting.data import Examples
from dnip.llm.prompting.engines.base import ScoredRow, prompted
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import Plan, make_plan
from dnip.llm.prompting.prompt import PromptBuilder
from dnip.llm.prompting.task import Task
from fakes import TASK as MOOD, FakeTokenizer, write_data


class Words(FakeTokenizer):
    """One token per word, spaces before it included; a word in `split` is cut in two."""

    def __init__(self, *split, template=None):
        own = {"backend": SimpleNamespace(chat_template=template)}
        if template is not None:
            own["chat"] = lambda messages: template(messages[-1]["content"])
        super().__init__(self._encode, reply=" so ", **own)
        self.split, self.pieces = split, []

    def _encode(self, text):
        ids = []
        for number, word in enumerate(text.split(" ")):
            piece = " " * (number > 0) + word
            cut = 3 if word in self.split else len(piece)
            for part in filter(None, (piece[:cut], piece[cut:])):
                if part not in self.pieces:
                    self.pieces.append(part)
                ids.append(self.pieces.index(part))
        return ids

    def decode(self, tokens):
        return "".join(self.pieces[token] for token in tokens)


class Fixed:
    """An engine that always says the same, and not all of it on the first `partial` prompts."""

    def __init__(self, scoring, captured, partial):
        self.scoring, self.captured, self.partial = scoring, np.array(captured), partial

    def question(self, prompts, task):
        return prompted("m", prompts, task, chat=False)

    def score(self, prompts, task, *, done=frozenset()):
        for row in range(len(prompts)):
            ceiling = self.captured + 0.1 if row < self.partial else None
            yield ScoredRow(row, self.captured / (row + 1), ceiling)


def look(words, tokenizer, scoring=Scoring.FIRST, *, says=(0.6, 0.3), partial=0, chat=False):
    task = Task("moods", "Say it.", ("text",), "Text: {{ text }}\nMood:", words, words)
    examples = Examples(tuple({"text": text} for text in "abc"), np.full(3, -1), tuple("abc"))
    plan = Plan(task, examples, PromptBuilder(task), {})
    engine = Fixed(scoring, says, partial)
    engine.tokenizer, engine.chat = tokenizer, chat
    return audit(plan, engine)


MOODS = ("happy", "sad")


def test_all_is_well():
    found = look(MOODS, Words())
    assert found.passed
    assert found.notes == []
    assert [c.texts for c in found.classes] == [(" happy",), (" sad",)]
    assert found.mass == pytest.approx(0.9 * (1 + 1 / 2 + 1 / 3) / 3)
    assert found.lowest_mass == pytest.approx(0.3)
    assert found.n_measured == 3
    assert found.classes[1].mass == pytest.approx(0.3 * (1 + 1 / 2 + 1 / 3) / 3)


def test_collisions_are_problems_of_first_token_scoring_alone():
    asked = ("happy", "harsh", "sad")
    words = Words("happy", "harsh")
    found = look(asked, words, says=(0.5, 0.2, 0.1))
    assert found.collisions == ((0, 1, found.classes[0].ids[0]),)
    assert "'happy' and 'harsh' begin with the same token" in found.problems[0]
    assert "Score whole words with sum or per-token" in found.problems[0]
    assert found.mass is None  # the engine would refuse
    assert found.classes[0].scored == found.classes[0].ids[:1]
    whole = look(asked, words, Scoring.SUM, says=(0.5, 0.2, 0.1))
    assert whole.passed
    assert whole.classes[0].scored == whole.classes[0].ids


def test_split_words_are_problems_of_first_token_scoring_alone():
    found = look(MOODS, Words("happy"))
    assert found.split == (0,)
    assert len(found.problems) == 1
    assert "'happy' is 2 tokens, and its first one, ' ha'," in found.problems[0]
    assert look(MOODS, Words("happy"), Scoring.MEAN).passed


def test_drift_through_the_chat_template():
    steady = Words(template=lambda prompt: f"<user> {prompt} <bot>")
    found = look(MOODS, steady)
    assert found.passed
    assert "has a chat template" in found.notes[0]
    steady.encode_chat = lambda text: [token + 50 for token in steady.encode(text)]
    found = look(MOODS, steady)
    assert found.drifted == (0, 1)
    assert "'happy' is the tokens" in found.problems[0]
    assert "in the chat template. Use the same form" in found.problems[0]


def test_in_the_chat_template_its_own_tokens_are_scored():
    words = Words(template=lambda prompt: f"<user> {prompt} <bot>")
    found = look(MOODS, words, Scoring.SUM, chat=True)
    assert found.passed
    assert [c.texts for c in found.classes] == [(" so", " happy"), (" so", " sad")]
    assert found.drifted == (0, 1)
    assert "other tokens than after the bare prompt" in found.notes[0]
    first = look(MOODS, words, chat=True)
    assert "begin with the same token" in first.problems[0]


@cases(
    ((0.01, 0.01), 0, "on 3 prompts the labels capture 1.2% of the probability", ""),
    ((0.6, 0.3), 2, "", "on 2 of 3 prompts the server did not report every label"),
)
def test_what_the_mass_says(says, partial, problem, note):
    found = look(MOODS, Words(), Scoring.SUM, says=says, partial=partial)
    assert [text for text in found.problems if problem not in text] == []
    assert (len(found.problems), len(found.notes)) == (problem != "", note != "")
    assert note in "".join(found.notes)


class Positional(Fixed):
    """Says the label that its prompt names first, and most of all in turns of a chat."""

    chat, tokenizer = True, None

    def __init__(self, chat=True):
        self.chat, self.scoring = chat, Scoring.FIRST

    def in_form(self, *, chat):
        return Positional(chat)

    def question(self, prompts, task):
        return prompted("m", prompts, task, chat=self.chat)

    def score(self, prompts, task, *, done=frozenset()):
        for row, prompt in enumerate(prompts):
            text = "".join(one["content"] for one in prompt.messages)
            places = np.array([text.index(word) for word in task.label_words])
            mass = 0.1 * len(prompt.messages) if self.chat else 0.2
            yield ScoredRow(row, np.where(places == places.min(), 0.9, 0.1) * mass)


def test_orders_that_decide_and_the_form_with_the_most_mass(tmp_path):
    plan = make_plan(MOOD, write_data(tmp_path), shots=1, limit=3)
    found = audit(plan, Positional(), orders=5)
    assert found.forms == pytest.approx({"plain": 0.2, "one message": 0.1, "turns": 0.3})
    assert [(one.order, one.flips) for one in found.orders] == [(("sad", "happy"), 3)]
    assert "3 of 3 answers flip with the labels in the order sad, happy" in describe_audit(found)
    assert "turns       0.300  most" in describe_audit(found)
    silent = plan.of(replace(MOOD, instruction="How is it?"))
    with pytest.raises(InvalidInputError, match="names no two labels"):
        count_flips(silent, Fixed(Scoring.FIRST, (0.6, 0.3), 0), 1, np.zeros(3))
