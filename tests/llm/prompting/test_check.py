"""A look before a long run, with a toy tokenizer and engine."""

from types import SimpleNamespace

import numpy as np
import pytest

from cases import cases
from dnip.llm.presenting import describe_check
from dnip.llm.prompting.check import check_prompts
from dnip.llm.prompting.engines import ScoredRow, prompted
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import make_plan
from dnip.llm.prompting.task import Task
from dnip.llm.prompting.texts import read_texts
from fakes import TASK as MOOD, FakeEngine, FakeTokenizer, plan_of, write_data


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

    def score(self, prompts, task):
        for row in range(len(prompts)):
            ceiling = self.captured + 0.1 if row < self.partial else None
            yield ScoredRow(row, self.captured / (row + 1), ceiling)


def look(words, tokenizer, scoring=Scoring.FIRST, *, says=(0.6, 0.3), partial=0, chat=False):
    task = Task("moods", "Say it.", ("text",), "Text: {{ text }}\nMood:", words, words)
    plan = make_plan(task, read_texts([{"text": text} for text in "abca"], task))
    engine = Fixed(scoring, says, partial)
    engine.tokenizer, engine.chat = tokenizer, chat
    return check_prompts(plan, engine)


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
    assert "'happy' and 'harsh' begin with the same token" in found.problems[0]
    assert "Score whole words with sum or per-token" in found.problems[0]
    assert found.mass is None  # the engine would refuse
    assert found.classes[0].scored == found.classes[0].ids[:1]
    whole = look(asked, words, Scoring.SUM, says=(0.5, 0.2, 0.1))
    assert whole.passed
    assert whole.classes[0].scored == whole.classes[0].ids


def test_split_words_are_problems_of_first_token_scoring_alone():
    found = look(MOODS, Words("happy"))
    assert len(found.problems) == 1
    assert "'happy' is 2 tokens, and its first one, ' ha'," in found.problems[0]
    assert look(MOODS, Words("happy"), Scoring.MEAN).passed


def test_in_the_chat_template_its_own_tokens_are_scored():
    words = Words(template=lambda prompt: f"<user> {prompt} <bot>")
    assert "has a chat template" in look(MOODS, words).notes[0]
    found = look(MOODS, words, Scoring.SUM, chat=True)
    assert (found.passed, found.notes) == (True, [])
    assert [c.texts for c in found.classes] == [(" so", " happy"), (" so", " sad")]
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


def test_a_server_that_continues_prompts_is_told_from_one_that_is_asked_by_chats():
    plan = make_plan(MOOD, read_texts([{"text": "a"}], MOOD))
    engine = Fixed(Scoring.FIRST, (0.6, 0.3), 0)
    for endpoint, told in ("completions", True), ("chat", False):
        engine.endpoint = endpoint
        notes = check_prompts(plan, engine).notes
        assert any("give --endpoint chat" in note for note in notes) == told


def test_answers_without_a_label_are_counted_and_have_no_mass():
    class Vague(FakeEngine):
        def score(self, prompts, task):
            for row in range(len(prompts)):
                details = {} if row < self.stop_after else {"unread": "no label"}
                yield ScoredRow(row, np.array([0.5, 0.25]), details=details)

    plan = make_plan(MOOD, read_texts([{"text": text} for text in "abcde"], MOOD))
    found = check_prompts(plan, Vague(stop_after=3))
    assert (found.passed, found.n_without, found.mass) == (True, 2, 0.75)
    assert "answers without a label: 2 of 5" in describe_check(found)
    found = check_prompts(plan, Vague(stop_after=0))
    assert (found.passed, found.n_without, found.mass) == (False, 5, None)
    assert "5 of 5 answers state no label" in found.problems[0]


def test_ten_prompts_are_asked_and_the_whole_table_is_counted(tmp_path):
    class Served(FakeEngine):
        requests_each = 3

    engine = Served()
    found = check_prompts(plan_of(write_data(tmp_path, n_test=40), shots=1), engine)
    assert len(engine.asked) == found.n_measured == len(found.answers) == 10
    assert engine.asked[-1] == found.prompt
    assert (found.n_prompts, found.n_requests) == (40, 120)
    assert "the whole table: 40 prompts, 120 requests" in describe_check(found)


def test_the_first_prompt_and_what_is_said_are_shown():
    class Says(Fixed):
        chat = True

        def says(self, prompts):
            return [f" {prompt.example[6]}!" for prompt in prompts]

    engine = Says(Scoring.FIRST, (0.6, 0.3), 0)
    found = check_prompts(make_plan(MOOD, read_texts([{"text": "Oh"}], MOOD)), engine)
    shown = describe_check(found)
    assert "user: Is the message happy or sad?\n\nMessage: Oh\nMood:" in shown
    assert found.answers == [" e!"]
    assert "answers: ' e!'" in shown
    assert "captured mass 0.900 on average over 1 prompt, 0.9 at least" in shown
