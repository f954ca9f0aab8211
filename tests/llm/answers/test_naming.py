"""Which label a text names: an oracle of cases."""

import json

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.answers.naming import LabelNames, without_thoughts

MOODS = ("good", "bad", "not good")
SPAM = ("spam", "not_spam")
RELEVANT = ("Relevant", "Not relevant")
TENTHS = tuple(map(str, range(1, 11)))


def names_of(words):
    return LabelNames(tuple((word,) for word in words))


def named(words, text):
    """The labels that may be meant, the last one first."""
    return [words[mention.label] for mention in names_of(words).mentions(text)]


@cases(
    (MOODS, "good", ["good"]),
    (MOODS, "**Good**", ["good"]),
    (MOODS, "BAD", ["bad"]),
    (MOODS, "it is not good", ["not good"]),
    (MOODS, "goodness", []),
    (MOODS, "good_bad", []),
    (MOODS, "", []),
    (MOODS, "I thought it was good. But it is bad.", ["bad"]),
    (MOODS, "Is it good? No: bad", ["bad"]),
    (MOODS, "good or bad\n\nAnswer: bad", ["bad"]),
    # two in the last sentence
    (MOODS, "good at first, then bad", ["bad", "good"]),
    (MOODS, "not good, but good", ["good", "not good"]),
    (MOODS, "Hm. Is it good or bad? I cannot say.", ["bad", "good"]),
    # what is not meant: any of the others may be
    (MOODS, "It is not bad.", ["bad", "bad"]),
    (MOODS, "It isn’t a **bad** one", ["bad", "bad"]),
    (MOODS, "Good. It is not bad", ["bad", "good"]),
    (MOODS, "It is not bad. It is good.", ["good"]),
    (MOODS, "No, bad", ["bad"]),
    (MOODS, "Nobody is no bad loser: non-bad", ["bad", "bad"]),
    (SPAM, "It is not not_spam", ["not_spam", "not_spam"]),
    # what begins with a statement is read there, unless the end differs
    (MOODS, "Bad.\nSuch is the bad weather.", ["bad"]),
    (MOODS, "Answer: good\nIt is not bad.", ["bad", "good"]),
    # a label within a label
    (RELEVANT, "Not relevant", ["Not relevant"]),
    (RELEVANT, "not Relevant.", ["Not relevant"]),
    (RELEVANT, "Relevant", ["Relevant"]),
    (SPAM, "It is not spam", ["not_spam"]),
    (SPAM, "NOT_SPAM", ["not_spam"]),
    (("Agree", "Strongly agree"), "I strongly agree", ["Strongly agree"]),
    (("Home", "Home & Kitchen"), "Home & Kitchen", ["Home & Kitchen"]),
    (("entailment", "not_entailment"), "(entailment)", ["entailment"]),
    (("a.b", "a"), "a.b", ["a.b"]),
    (("a.b", "a"), "axb", []),
    (("-1", "0", "1"), "-1", ["-1"]),
    (("-1", "0", "1"), "Score: -1", ["-1"]),
    (("C", "C++"), "Answer: C++.", ["C++"]),
    # case, where it matters
    (("us", "US"), "US", ["US"]),
    (("us", "US"), "Us", []),
    (("A", "B"), "B is a letter", ["B"]),
    (("A", "B"), "(A)", ["A"]),
    (("+", "-"), "so: -", ["-"]),
    (("straße", "weg"), "STRASSE oder Straße", ["straße"]),
    (TENTHS, "10", ["10"]),
    (TENTHS, "Score: 1.", ["1"]),
)
def test_the_label_that_a_text_names(words, text, expected):
    assert named(words, text) == expected


@cases(
    ({"reason": "It is not bad.", "label": "good"}, ["good"]),
    ({"label": "Good", "reason": "It is not bad."}, ["good"]),
    ({"a": {"b": ["not good"]}}, ["not good"]),
    ({"label": "good", "other": "bad"}, ["bad", "good"]),
    ({"reason": "bad, or good", "label": "neither"}, []),
    ({"good": 1}, []),
)
def test_in_json_the_one_value_is_meant(content, expected):
    for text in (json.dumps(content), f"```json\n{json.dumps(content, indent=1)}\n```"):
        assert named(MOODS, text) == expected


@cases(
    ('{"score": 7, "why": "not 8"}', "7", int),
    ('{"is": true}', "true", bool),
    ('{"city": "caf\\u00e9"}', "caf\\u00e9", str),
)
def test_a_value_is_found_where_it_is_written(text, written, kind):
    [mention] = names_of(("7", "8", "true", "café")).mentions(text)
    assert (text[mention.start : mention.end], mention.in_json) == (written, kind)


@pytest.mark.parametrize("text", ['{"a": "good", "a": "good"}', '{"a": "good", "a": "bad"}'])
def test_a_key_twice_names_nothing(text):
    assert named(MOODS, text) == []


@cases(
    ("<think>no, no</think>\nyes", "\nyes"),
    ("<think>no, no", ""),
    ("no</think>yes <think>", "yes <think>"),
    ("[THINK]no[/THINK]yes", "yes"),
    ("yes", "yes"),
)
def test_thoughts_are_left_out(text, answer):
    assert without_thoughts(text) == answer


@pytest.mark.parametrize("words", [(), ("a", ""), ("a", "a")])
def test_odd_label_words_are_refused(words):
    with pytest.raises(InvalidInputError, match="label words must differ"):
        names_of(words)


def test_the_thoughts_of_gpt_oss_are_left_out():
    text = "<|channel|>analysis<|message|>bad?<|end|><|channel|>final<|message|>good"
    assert without_thoughts(text) == "good"
    assert without_thoughts("<|channel|>analysis<|message|>bad") == ""
