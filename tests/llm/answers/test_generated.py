"""What the rule reads of answers that others wrote: by a generator, and by hand."""

from collections import Counter

from dnip.llm.answers.stating import Rule, without_thoughts
from generated import Answer, make_answers
from odd_answers import Odd, odd_answers


def read(answer: Answer | Odd) -> str | None:
    """The label that is read, or None."""
    rule = Rule(tuple((word,) for word in answer.classes))
    mentions = rule.state(without_thoughts(answer.text)).mentions
    return answer.classes[mentions[0].label] if mentions else None


def test_what_is_stated_is_read_and_nothing_else():
    count: Counter[tuple[str, str]] = Counter()
    for answer in make_answers(2000, seed=7):
        label = read(answer)
        count[answer.kind, "all"] += 1
        count[answer.kind, "read"] += label is not None
        count[answer.kind, "wrong"] += label is not None and label not in answer.allowed
    assert count["plain", "all"] == 1400
    assert count["plain", "wrong"] == count["prose", "read"] == 0
    assert count["plain", "read"] >= 0.95 * count["plain", "all"]
    assert count["odd", "wrong"] <= 0.005 * count["odd", "all"]


def test_odd_answers_are_read_as_a_careful_person_reads_them_or_left_out():
    pairs = [(answer.reading, read(answer)) for answer in odd_answers()]
    assert len(pairs) > 500
    right = sum(label == reading for reading, label in pairs)
    wrong = sum(label not in (None, reading) for reading, label in pairs)
    assert wrong <= 0.01 * len(pairs)
    assert right >= 0.85 * len(pairs)
