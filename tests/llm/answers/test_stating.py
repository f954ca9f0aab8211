"""Which label a text states: the table of the rule, level by level, and where a label ends."""

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.answers import stating
from dnip.llm.answers.stating import NO_KEY, NONE, SEVERAL, Rule, without_thoughts
from generated import make_answers
from statements import ABC, BILLS, CASES, MOODS


def rule_of(words, **options):
    return Rule(tuple((word,) for word in words), **options)


def stated(words, text, **options):
    """The label that is stated, or why none is; its span holds it, whatever the marks."""
    statement = rule_of(words, **options).state(text)
    if not statement.mentions:
        return statement.reason
    [label] = {mention.label for mention in statement.mentions}
    assert not statement.reason
    return words[label]


@cases(*CASES)
def test_the_label_that_a_text_states(words, text, expected):
    assert stated(words, text) == expected


@cases(*CASES)
def test_a_label_that_takes_its_place_is_read_there_and_nothing_else_is_touched(
    words, text, expected
):
    mentions = rule_of(words).state(text).mentions
    for other in words if mentions else ():
        new = text
        for mention in reversed(mentions):
            assert mention.start < mention.end <= len(text)
            new = new[: mention.start] + json.dumps(other)[1:-1] + new[mention.end :]
        assert stated(words, new) in (other.strip(), other, NONE, SEVERAL)


def test_the_page_shows_what_the_rule_reads():
    page = Path(__file__, "../../../../docs/import-answers.md").resolve().read_text("utf-8")
    rows = re.findall(
        r"^\| `([^`]+)` \| ([^|]+) \| (?:`([^`]+)`|–|several) \|$", page, re.MULTILINE
    )
    assert len(rows) > 15
    for text, classes, label in rows:
        words = tuple(classes.strip().split(", "))
        found = stated(words, text.replace("⏎", "\n"))
        assert found == label if label else found in (NONE, SEVERAL), text


@cases(
    ("c", '{"a": "bug", "b": {"c": "billing"}}', "billing"),
    ("b.c", '{"c": "bug", "b": {"c": "billing"}}', "billing"),
    ("label", '{"label": ["billing", "bug"]}', SEVERAL),
    ("label", '{"label": "neither"}', NO_KEY),
    ("label", '{"category": "billing"}', NO_KEY),
    ("label", "billing", NO_KEY),
)
def test_a_key_is_the_only_one_that_counts(key, text, expected):
    assert stated(BILLS, text, key=key) == expected


@cases(
    ("It was cold. All in all I felt negative about it.", "Negative"),
    ("Negative at first. In the end it was positive, rather positive", "Positive"),
    ("It was neither positive nor negative.", SEVERAL),
    ("Positive.\nThen nothing", NONE),
    ("Sentiment: Positive. It is not negative", "Positive"),
)
def test_the_last_sentence_is_read_where_that_is_asked_for(text, expected):
    assert stated(MOODS, text, last=True) == expected


@cases(
    ('{"score": 7, "why": "not 8"}', "7", float),
    ('{"is": true}', "true", bool),
    ('{"city": "caf\\u00e9"}', "caf\\u00e9", str),
    ('{"city": "**Café**."}', "Café", str),
)
def test_a_value_is_found_where_it_is_written(text, written, kind):
    [mention] = rule_of(("7", "8", "true", "café")).state(text).mentions
    assert (text[mention.start : mention.end], mention.in_json) == (written, kind)


def test_all_places_that_state_the_label_are_found():
    text = "**B**\n\nA is small, and so B is not.\n\nFinal answer: B"
    mentions = rule_of(ABC).state(text).mentions
    assert [(m.start, text[m.start : m.end]) for m in mentions] == [(2, "B"), (len(text) - 1, "B")]


@cases(
    ("<think>no, no</think>\nyes", "\nyes"),
    ("<think>no, no", ""),
    ("no</think>yes <think>", "yes <think>"),
    ("[THINK]no[/THINK]yes", "yes"),
    ("<|channel|>analysis<|message|>bad?<|end|><|channel|>final<|message|>good", "good"),
    ("<|channel|>analysis<|message|>bad", ""),
    ("yes", "yes"),
)
def test_thoughts_are_left_out(text, answer):
    assert without_thoughts(text) == answer


@pytest.mark.parametrize("words", [(), ("a", ""), ("a", " "), ("a", "a")])
def test_odd_label_words_are_refused(words):
    with pytest.raises(InvalidInputError, match="label words must differ"):
        rule_of(words)


@pytest.mark.parametrize(
    "piece",
    ["x ", "A ", "B, ", "Answer: B\n", '{"a": ', '{"a": {', "[[", "[", "**B**\n", "B or ", "1/5 ",
     "so the answer is ", "(B) ", "'", "_", "\n", "wait, ", "x\n\n\n",
     '{"label": "C", ', "1,000,"],
)  # fmt: skip
def test_a_long_answer_is_read_in_time(piece):
    text = piece * (100_000 // len(piece))
    rule, begin = rule_of((*ABC, "1", "5")), time.process_time()
    rule.state(text)
    assert time.process_time() - begin < 3


def test_many_objects_without_a_label_are_read_in_linear_time():
    """A megabyte of them once took 30 s."""
    rule, took = rule_of(ABC), []
    for n in (20_000, 200_000):
        text, tries = "B\n" + '{"a": "b"} ' * (n // 11), []
        for _ in range(3):  # the machine may be held up in one
            begin = time.process_time()
            assert len(rule.state(text).mentions) == 1
            tries.append(time.process_time() - begin)
        took.append(min(tries))
    assert took[1] < 30 * took[0]


@cases(
    ("0.5", "0.5", "0.5"),
    ("0.5", "Score: 10.5", NONE),
    ("10%", "Answer: 10 %", "10%"),
    ("10%", "10", NONE),
    ("-2", "Score: −2.", "-2"),
    ("-2", "2", NONE),
    ("1.0", "1", "1.0"),
)
def test_labels_that_are_numbers_are_compared_by_value(label, text, expected):
    assert stated((label, "7", "9"), text) == expected


# --- what others wrote: a generator, and people ---
def read(classes, text):
    """The label that is read, or None."""
    found = stated(classes, without_thoughts(text))
    return found if found in classes else None


def test_what_is_stated_is_read_and_nothing_else():
    count = Counter()
    for answer in make_answers(2000, seed=7):
        label = read(answer.classes, answer.text)
        count[answer.kind, "read"] += label is not None
        count[answer.kind, "wrong"] += label is not None and label not in answer.allowed
    assert count["plain", "read"] >= 0.95 * 1400
    assert count["plain", "wrong"] == count["odd", "wrong"] == count["prose", "read"] == 0


def test_odd_answers_are_read_as_a_careful_person_reads_them_or_left_out():
    """They were written by hand before the reader was read."""
    lines = Path(__file__).with_name("data").joinpath("odd.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pairs = [(row["reading"], read(tuple(row["classes"]), row["text"])) for row in rows]
    assert sum(label not in (None, reading) for reading, label in pairs) <= 0.01 * len(pairs)
    assert sum(label == reading for reading, label in pairs) >= 0.85 * len(pairs)


def test_labels_are_read_by_one_rule_alone():
    """Only the reader makes a rule, and every other room asks the reader."""
    root = Path(stating.__file__).parents[2]
    texts = {
        file.relative_to(root).as_posix(): file.read_text("utf-8") for file in root.rglob("*.py")
    }
    makers = {name for name, text in texts.items() if re.search(r"(?<!`)\bRule\(", text)}
    assert makers == {"llm/answers/stating.py", "llm/answers/reader.py"}
