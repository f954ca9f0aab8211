import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.label_matching import LabelMatcher
from dnip.prompting.engines.openai_responses import Reported, Token
from dnip.prompting.fill import open_decisions
from dnip.prompting.task import Task, built_in_tasks, load_task

TASK = Task(
    name="mood",
    instruction="",
    fields=("text",),
    template="{{ text }}",
    classes=("good", "great", "bad"),
    label_words=("good", "great", "bad"),
)


def report(*tokens):
    return Reported(tuple(Token(text, math.log(p), *rest) for text, p, *rest in tokens))


@pytest.mark.parametrize(
    ("chat", "tokens", "captured", "ceiling", "ambiguous"),
    [
        # one token each, space and case as written
        (0, [(" good", 0.5), ("bad", 0.2), (" Great", 0.1)], [0.5, 0, 0], [0.5, 0.1, 0.1], 0),
        # the beginning of one label's answer is its first token
        (0, [(" go", 0.5), (" gr", 0.25), (" ba", 0.125)], [0.5, 0.25, 0.125], None, 0),
        # the longest is the answer's token; the others begin other words
        (0, [(" good", 0.5), (" go", 0.25)], [0.5, 0, 0], [0.5, 0.25, 0.25], 0),
        # the beginning of two answers is none's
        (0, [(" g", 0.5), (" bad", 0.25), (" ", 0.1)], [0, 0, 0.25], [0.1, 0.1, 0.25], 0.6),
        # a longer word is another word
        (0, [(" goodness", 0.5), (" badly", 0.3)], [0, 0, 0], [0.2, 0.2, 0.2], 0),
        # distinct tokens that are written alike add up
        (0, [(" good", 0.5, 1), (" good", 0.125, 2)], [0.625, 0, 0], [0.625, 0.125, 0.125], 0),
        # a reply begins afresh: with the space and without it are two tokens
        (1, [("good", 0.5), (" good", 0.25)], [0.75, 0, 0], [0.75, 0.25, 0.25], 0),
        (1, [("g", 0.5), ("gr", 0.25)], [0, 0.25, 0], [0.25, 0.25, 0.25], 0.5),
        # a lone letter may be the first token, but hardly is: it only raises the ceiling
        (0, [(" b", 0.5), (" good", 0.25)], [0.25, 0, 0], [0.25, 0.25, 0.5], 0),
        (0, [(" b", 0.5), (" bad", 0.25)], [0, 0, 0.25], [0.25, 0.25, 0.25], 0),
        (1, [("b", 0.25), (" b", 0.25)], [0, 0, 0], [0.25, 0.25, 0.5], 0),
        # tokens without text are no one's
        (0, [("", 0.5), (" good", 0.25)], [0.25, 0, 0], [0.25, 0.25, 0.25], 0),
    ],
)
def test_labels_are_found(chat, tokens, captured, ceiling, ambiguous):
    match = LabelMatcher.for_task(TASK, chat=bool(chat)).match(report(*tokens))
    assert match.captured == pytest.approx(captured)
    assert match.ceiling == (None if ceiling is None else pytest.approx(ceiling))
    assert match.ambiguous == pytest.approx(ambiguous)


def test_ids_decide_where_they_are_told():
    matcher = LabelMatcher.for_task(TASK, token_ids=(11, 12, 13))
    by_id = matcher.match(report(("", 0.5, 12), ("", 0.25, 11), ("", 0.01, 13), (" bad", 0.1, 7)))
    assert by_id.captured == pytest.approx([0.25, 0.5, 0.01])
    assert by_id.ceiling is None
    partly = matcher.match(report(("", 0.5, 12), ("", 0.25, 99)))
    assert partly.captured == pytest.approx([0, 0.5, 0])
    assert partly.ceiling == pytest.approx([0.25, 0.5, 0.25])
    by_text = matcher.match(report((" good", 0.5), (" bad", 0.25), (" great", 0.125)))
    assert by_text.captured == pytest.approx([0.5, 0.125, 0.25])


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("name", built_in_tasks())
def test_built_in_tasks_can_be_told_apart(name, chat):
    LabelMatcher.for_task(load_task(name), chat=chat)


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (("good", "goodness", "bad"), {}, "' good' of one label begins another label's"),
        (("good", "great", "bad"), {"token_ids": (1, 2)}, "3 different token ids"),
        (("good", "great", "bad"), {"token_ids": (1, 2, 2)}, "3 different token ids"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(words, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        LabelMatcher.for_task(replace(TASK, label_words=words), **settings)


def test_a_letter_that_is_the_answer_counts():
    task = replace(TASK, label_words=("A", "B", "C"))
    match = LabelMatcher.for_task(task, chat=True).match(report(("A", 0.5), (" B", 0.25)))
    assert match.captured == pytest.approx([0.5, 0.25, 0])


@given(st.lists(st.integers(1, 1000), min_size=5, max_size=12), st.integers(1, 8))
def test_the_truth_is_within_the_bounds(counts, k):
    """Whatever the model's distribution and however few of its tokens are reported."""
    words = [TASK.answer(label) for label in range(TASK.n_classes)]
    vocabulary = [*words, *(f" other{i}" for i in range(len(counts) - 3))]
    p = np.array(counts) / sum(counts)
    top = sorted(zip(p, vocabulary, strict=True), reverse=True)[:k]
    reported = Reported(tuple(Token(text, math.log(x)) for x, text in top))
    match = LabelMatcher.for_task(TASK).match(reported)
    ceiling = match.captured if match.ceiling is None else match.ceiling
    assert (match.captured <= p[:3] + 1e-12).all()
    assert (p[:3] <= ceiling + 1e-12).all()
    ties = len(set(counts)) < len(counts)
    if not ties and not open_decisions([match.captured], [ceiling])[0]:
        assert match.captured.argmax() == p[:3].argmax()
