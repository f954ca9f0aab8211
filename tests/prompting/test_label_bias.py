"""Biases on label tokens, with tokenizers that bring out every refusal."""

import json

import pytest

from dnip import Coefficients, InvalidInputError
from dnip.prompting.label_bias import LogitBias

COEFFICIENTS = Coefficients(["no", "yes"], [30, 15], 30)


class Words:
    """One token per word with the space before it; unknown words are token 0."""

    known = ("?", "Answer:", " no", " yes", "no", "yes", " A", " B")
    has_chat = True

    def __init__(self, name):
        self.name = name

    def encode(self, text):
        if not text:
            return []
        parts = text.replace(" ", "\0 ").split("\0")
        return [self.known.index(one) if one in self.known else 0 for one in parts]

    encode_chat = encode

    def chat(self, prompt):
        return ""

    def in_chat(self, task):
        return type(task)(**{**vars(task), "answer_prefix": ""})


class Letters(Words):
    def encode(self, text):
        return list(text.encode())


class Merging(Words):
    """Makes one token of the colon and what follows it."""

    def encode(self, text):
        rest = text.removeprefix("Answer:")
        return [1, 100 + len(rest)] if rest else [1, 2]


@pytest.fixture(autouse=True)
def tokenizers(monkeypatch):
    """Open the tokenizers above by their names."""
    monkeypatch.setattr(
        "dnip.prompting.label_bias.HubTokenizer", lambda name: globals()[name](name)
    )


def bias(tokenizer, **options):
    return json.loads(LogitBias(tokenizer, **options).render(COEFFICIENTS))["logit_bias"]


def test_a_reply_in_a_chat_begins_without_it():
    assert list(bias("Words", chat=True)) == ["4", "5"]


def test_labels_may_be_other_words():
    assert bias("Words", labels="A,B") == {"6": 0.0, "7": pytest.approx(-0.6931471805599453)}


def test_no_other_token_can_win_where_only_labels_may():
    held = bias("Words", only_labels=True)
    assert held == {token: value + 100 for token, value in bias("Words").items()}


@pytest.mark.parametrize(
    ("tokenizer", "options", "told"),
    [
        ("Letters", {}, "'no' is 3 tokens, 'yes' is 4 tokens"),
        ("Words", {"labels": "maybe,perhaps"}, "cannot tell the label words 'maybe' and 'perhaps'"),
        ("Merging", {}, "they take in the end of 'Answer:'"),
        (None, {}, "Give --tokenizer"),
    ],
)
def test_what_a_bias_cannot_do_is_refused(tokenizer, options, told):
    with pytest.raises(InvalidInputError, match=told):
        bias(tokenizer, **options)
