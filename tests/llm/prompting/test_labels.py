"""Label tokens, and biases on them, with toy tokenizers that bring out every refusal."""

import json

import pytest
from hypothesis import given, strategies as st

from cases import cases
from dnip import Coefficients, InvalidInputError
from dnip.llm.prompting.label_bias import LogitBias
from dnip.llm.prompting.labels import label_tokens, prompt_label_tokens
from dnip.llm.prompting.task import Task
from fakes import FakeTokenizer

#: Longest first; letters stand for themselves.
_PIECES = [" World", " Wo", "World", " B", "ab", " ", "x"]


def task(*words, prefix=" "):
    return Task("t", "", ("text",), "{{ text }}", words, words, answer_prefix=prefix)


def greedy(text):
    """A tokenizer that takes the longest piece at each place."""
    ids = []
    while text:
        piece = next((p for p in _PIECES if text.startswith(p)), text[0])
        ids.append(_PIECES.index(piece) if piece in _PIECES else 100 + ord(piece))
        text = text[len(piece) :]
    return ids


def letters(text):
    return [ord(letter) for letter in text]


def test_all_labels_are_scored_after_the_same_tokens():
    """Only one of two answers merges with the prompt's end; both begin before it."""
    found = label_tokens(greedy, "Topic:a", task("b", "c", prefix=""))
    assert found.merged == 1
    assert found.ids == ((4,), (100 + ord("a"), 100 + ord("c")))


words = st.text("abWorld x", min_size=1, max_size=8).filter(lambda word: word.strip())


@given(
    prompt=st.text("ab Wo:x\n", max_size=12),
    pair=st.lists(words, min_size=2, max_size=4, unique=True),
    prefix=st.sampled_from(["", " "]),
    encode=st.sampled_from([greedy, letters]),
)
def test_prompt_and_answer_tokens_make_up_the_whole(prompt, pair, prefix, encode):
    asked = task(*pair, prefix=prefix)
    found = label_tokens(encode, prompt, asked)
    given_tokens = encode(prompt)[: len(encode(prompt)) - found.merged]
    for label, ids in enumerate(found.ids):
        assert given_tokens + list(ids) == encode(prompt + asked.answer(label))
    if encode is letters:
        assert found.merged == 0
        assert found.ids == tuple(tuple(map(ord, prefix + word)) for word in pair)


def test_refuses_labels_that_depend_on_the_prompt():
    with pytest.raises(InvalidInputError, match=r"'b' is .* after prompts 0 and 1. End the templ"):
        prompt_label_tokens(greedy, ["x:", "x:a"], task("b", "c", prefix=""))
    assert prompt_label_tokens(greedy, ["x:", "ya:"], task("b", "c", prefix="")).merged == 0


# --- biases ---
COEFFICIENTS = Coefficients(["no", "yes"], [30, 15], 30)


KNOWN = ("?", "Answer:", " no", " yes", "no", "yes", " A", " B")


def words_and_spaces(text):
    """One token per word with the space before it; unknown words are token 0."""
    parts = text.replace(" ", "\0 ").split("\0") if text else ()
    return [KNOWN.index(one) if one in KNOWN else 0 for one in parts]


def merging(text):
    """Make one token of the colon and what follows it."""
    rest = text.removeprefix("Answer:")
    return [1, 100 + len(rest)] if rest else [1, 2]


TOKENIZERS = {"words": words_and_spaces, "letters": letters, "merging": merging}


@pytest.fixture
def bias(monkeypatch):
    """A function from the name of a tokenizer above, and options, to the bias on each token."""
    hub = "dnip.llm.prompting.label_bias.HubTokenizer"
    monkeypatch.setattr(hub, lambda name: FakeTokenizer(TOKENIZERS[name], chat=lambda _: ""))

    def made(tokenizer, **options):
        return json.loads(LogitBias(tokenizer, **options).render(COEFFICIENTS))["logit_bias"]

    return made


def test_a_bias_stands_on_the_words_as_they_are_said(bias):
    assert list(bias("words", chat=True)) == ["4", "5"]  # a reply begins without the space
    assert bias("words", labels="A,B") == {"6": 0.0, "7": pytest.approx(-0.6931471805599453)}


def test_no_other_token_can_win_where_only_labels_may(bias):
    held = bias("words", only_labels=True)
    assert held == {token: value + 100 for token, value in bias("words").items()}


@cases(
    ("letters", {}, "'no' is 3 tokens, 'yes' is 4 tokens"),
    ("words", {"labels": "maybe,perhaps"}, "cannot separate the label words 'maybe' and 'perhaps'"),
    ("merging", {}, "they take in the end of 'Answer:'"),
    (None, {}, "Give --tokenizer"),
)
def test_what_a_bias_cannot_do_is_refused(bias, tokenizer, options, told):
    with pytest.raises(InvalidInputError, match=told):
        bias(tokenizer, **options)
