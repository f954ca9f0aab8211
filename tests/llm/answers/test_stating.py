"""Which label a text states: the table of the rule, level by level, and where a label ends."""

import json
import re
import time
from pathlib import Path

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.answers.stating import NO_KEY, NONE, SEVERAL, Rule, without_thoughts

MOODS = ("Positive", "Neutral", "Negative")
LETTERS = tuple("ABCDEFGHIJ")
ABC = ("A", "B", "C")
STARS = tuple("12345")
YES = ("Yes", "No")
LOW = ("low", "medium", "high")
SIGNS = ("-1", "0", "1")
BILLS = ("billing", "bug", "other")
RELEVANT = ("Relevant", "Not relevant")


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


JSON = [
    (ABC, '{"label": "B"}', "B"),
    (ABC, '```json\n{"reason": "A, or C?", "label": "B"}\n```', "B"),
    (ABC, 'The answer is A.\n{"reason": "The answer is A?", "label": "B"}', "B"),
    (ABC, '{"label": "B", "reason": "The answer is A."', "B"),
    (ABC, '{"reason": "C", "final_answer": "B", "lab', "B"),
    (ABC, '{"reason": "C", "final_answer": "B', NONE),
    (ABC, '{"finalAnswer": "(B)."}', "B"),
    (ABC, '{"answer": {"choice": "B", "why": "A"}}', "B"),
    (ABC, '{"answer": ["B"]}', "B"),
    (ABC, '{"answer": ["B", "C"]}', SEVERAL),
    (ABC, '{"answer": "B or C"}', NONE),
    (ABC, '{"options": ["A", "B", "C"], "is": "B"}', "B"),
    (ABC, '[{"label": "B"}]', "B"),
    (ABC, '[{"label": "B"}, {"label": "C"}]', SEVERAL),
    (ABC, '{"label": "B", "label": "C"}', SEVERAL),
    (ABC, '{"label": "B", "answer": "B"}', "B"),
    (ABC, '{"A": 1, "B": 0}', NONE),
    (ABC, 'Answer: B {"confidence": "A lot"}', "B"),
    (BILLS, '{"category": "billing", "second_best": "bug"}', "billing"),
    (BILLS, '{"primary": "billing", "second_best": "bug"}', SEVERAL),
    (BILLS, '{"reason": "bug, or other", "result": "neither"}', NONE),
    (STARS, '{"score": 4.0, "why": "not 5"}', "4"),
    (STARS, '{"score": "4/5"}', "4"),
    (STARS, '{"score": 4.5}', NONE),
    (("café", "bar"), '{"place": "caf\\u00e9"}', "café"),
    (("true", "false"), '{"is": true, "why": "it is false that"}', "true"),
]
TAGS = [
    (ABC, "B is smaller. <answer>C</answer>", "C"),
    (ABC, "<answer>\n  C", "C"),
    (ABC, "<answer>C or B</answer>", NONE),
    (ABC, "<reason>B</reason>", NONE),
    (ABC, "I prefer it: [[B]]", "B"),
    (ABC, "[[B]] is worse than [[A]]", SEVERAL),
    (STARS, "Feedback: late. [RESULT] 4", "4"),
    (ABC, "so it is $\\boxed{B}$", "B"),
    (ABC, "so it is \\boxed{\\text{B}}.", "B"),
    (MOODS, "A warm text.\n\n**Positive**\n", "Positive"),
    (MOODS, "**Positive**\n- warm\n\n**Negative**\n- long", SEVERAL),
]
CUES = [
    (MOODS, "The sentiment is Positive. Only one word sounds negative.", "Positive"),
    (MOODS, "Sentiment: Positive\nExplanation: there is nothing negative in it.", "Positive"),
    (MOODS, "It is long.\n**Sentiment:** *negative*", "Negative"),
    (MOODS, "Sentiment → “Neutral”", "Neutral"),
    (MOODS, "## Sentiment\n\nNeutral", "Neutral"),
    (LOW, "Risk: low. The debt is high.", "low"),
    (ABC, "The correct answer is B. Option A is smaller.", "B"),
    (ABC, "B is bigger, so the answer is B.", "B"),
    (ABC, "A is small. Therefore, the best choice is: option (B)", "B"),
    (ABC, "The answer is A because B is small.", "A"),
    (LETTERS, "The answer is C. I used the second law.", "C"),
    (LETTERS, "The answer is I.", "I"),
    (LETTERS, "I think the answer is B.", NONE),
    (ABC, "A is wrong because it is too small. B is correct.", NONE),
    (ABC, "My final answer is B", "B"),
    (ABC, "Die richtige Antwort lautet: **B**.", "B"),
    (ABC, "La bonne réponse est B, car A est faux.", "B"),
    (ABC, "La réponse est : B", "B"),
    (ABC, "La respuesta correcta es la opción B.", "B"),
    (ABC, "La risposta è B.", "B"),
    (ABC, "A resposta é B.", "B"),
    (YES, "The prediction is no better than chance.", NONE),
    (("other", "own"), "The category is other people's money.", NONE),
    (ABC, "Answer: C. Final answer: B", "B"),
    (ABC, "Final answer: B. The answer is C.", SEVERAL),
    (ABC, "Answer: B. No, the answer is C.", SEVERAL),
    (MOODS, "Positive. Well, all in all the sentiment is negative.", SEVERAL),
    (STARS, "1. Late. 2. Rude. Score: 4", "4"),
    (STARS, "Score:\n1. Late.\n2. Rude.", NONE),
    (MOODS, "I do not think it is positive.", NONE),
    (MOODS, "Is the sentiment: Positive?", NONE),
]
BEGINNINGS = [
    (YES, "Yes, there is no doubt about it.", "Yes"),
    (YES, "No, the text does not say yes to that.", "No"),
    (MOODS, "Positive\n\nThere is nothing negative in it.", "Positive"),
    (MOODS, '"positive" - warm', "Positive"),
    (MOODS, "Positive—it is warm", "Positive"),
    (MOODS, "Positive would be an exaggeration.", NONE),
    (MOODS, '"Positive" is too strong a word.', NONE),
    (ABC, "B) Paris. Option A is smaller.", "B"),
    (ABC, "(B) because A is small", "B"),
    (ABC, "(A) is wrong", NONE),
    (ABC, "A) is wrong", NONE),
    (ABC, "B, not C.", "B"),
    (ABC, "B?", NONE),
    (ABC, "B?!", NONE),
    (ABC, "B/C", NONE),
    (ABC, "B-", NONE),
    (ABC, "B...", NONE),
    (ABC, "B's", NONE),
    (ABC, "B: yes", NONE),
    (ABC, "B: the second one", "B"),
    (LETTERS, "I, as a model, cannot say.", NONE),
    (LETTERS, "I: well", NONE),
    (LETTERS, "Answer: I, since nothing is C.", "I"),
    (LETTERS, "A man walks in.", NONE),
    (RELEVANT, "not  relevant.", "Not relevant"),
    (RELEVANT, "Relevant.", "Relevant"),
    (STARS, "4. The food was late.", NONE),
    (STARS, "4, as the food was late.", "4"),
]
BARE = [
    (MOODS, "I would say it is **positive**.", "Positive"),
    (MOODS, "I would not say it is positive.", NONE),
    (MOODS, "This is a positive", "Positive"),
    (MOODS, "Is this positive?", NONE),
    (MOODS, "The sentiment of this review is positive.", NONE),
    (LETTERS, "I'd go with B.", NONE),
    (LETTERS, "I say B.", "B"),
    (ABC, "Option B", "B"),
    (STARS, "I give it 4 out of 5.", "4"),
    (STARS, "No. 4", "4"),
    (("spam", "not_spam"), "NOT-SPAM", "not_spam"),
    (("us", "US"), "Us", NONE),
    (("us", "US"), "US", "US"),
    (("C", "C++"), "Answer: C++.", "C++"),
    (("+", "-"), "Answer: -", "-"),
    (("straße", "weg"), "STRASSE", NONE),
    (("straße", "weg"), "Straße", "straße"),
    ((" a b ", "c"), "a b", " a b "),
    (MOODS, "", NONE),
    (MOODS, "positively", NONE),
]
LISTS = [
    (ABC, "The answer is A or B.", SEVERAL),
    (ABC, "B, C", SEVERAL),
    (ABC, "B; maybe C", SEVERAL),
    (ABC, "B. No, C.", SEVERAL),
    (ABC, "B. Wait, the text says C.", SEVERAL),
    (ABC, "B\nC", SEVERAL),
    (ABC, "A) One\nB) Two", SEVERAL),
    (ABC, "A) 1 B) 2 C) 3", SEVERAL),
    (ABC, "B (or C)", "B"),
    (ABC, "B, because A, C and the others are small", "B"),
    (MOODS, "Negative: 0.2, Positive: 0.7", SEVERAL),
    (MOODS, "Positive (0.7), Negative (0.2)", SEVERAL),
    (MOODS, "Positive, 70 %; Negative, 30 %", SEVERAL),
    (MOODS, "Sentiment: Positive at first, then Negative", NONE),
    (MOODS, "Sentiment: Positive to Negative", SEVERAL),
    (MOODS, "Sentiment: Positive, Neutral, or Negative", SEVERAL),
    (YES, "Yes, no", SEVERAL),
    (MOODS, "The sentiment is Positive. Just kidding, it's negative.", SEVERAL),
    (MOODS, '"The sentiment is Positive." That is wrong.', SEVERAL),
    (YES, "No answer.", NONE),
    (STARS, "Score: <4", NONE),
    (STARS, "Rating 4", "4"),
]
NUMBERS = [
    (SIGNS, "−1", "-1"),
    (SIGNS, "Score: −1. It is bad", "-1"),
    (SIGNS, "+1", "1"),
    (("0", "1"), "0.95", NONE),
    (("0", "1"), "Probability: 0.95", NONE),
    (("0", "1"), "P=0.8", NONE),
    (("0", "1"), "-1", NONE),
    (STARS, "4.0", "4"),
    (STARS, "10.5", NONE),
    (STARS, "Score 0.3", NONE),
    (STARS, "1,000", NONE),
    (("5", "1000"), "1,000", "1000"),
    (STARS, "3:0", NONE),
    (STARS, "4%", NONE),
    (STARS, "4 %", NONE),
    (STARS, "3-4", NONE),
    (STARS, "3 – 4", NONE),
    (STARS, "4th", NONE),
    (STARS, "$4", NONE),
    (STARS, "4/5", "4"),
    (STARS, "Rating: 4 / 5 stars. Not 3.", "4"),
    (STARS, "4/10", NONE),
    (STARS, "4/5/2024", NONE),
    (STARS, "4 stars", "4"),
    (STARS, "4-star", NONE),
    (("0.5", "1.0"), "Score: 1", "1.0"),
    (("10%", "50%"), "Answer: 50 %", "50%"),
    (("10%", "50%"), "Answer: 50", NONE),
    (("18-24", "25-34"), "Label: 18-24", "18-24"),
    (("1 star", "11 stars"), "11 stars", "11 stars"),
]
CASES = [*JSON, *TAGS, *CUES, *BEGINNINGS, *BARE, *LISTS, *NUMBERS]


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
     "so the answer is ", "(B) ", "'", "_", "\n", "wait, ", '{"label": "C", ', "1,000,"],
)  # fmt: skip
def test_a_long_answer_is_read_in_time(piece):
    text = piece * (100_000 // len(piece))
    rule, begin = rule_of((*ABC, "1", "5")), time.process_time()
    rule.state(text)
    assert time.process_time() - begin < 3
