"""Label tokens with toy tokenizers, and with a real one."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnip.base.errors import InvalidInputError
from dnip.prompting.labels import (
    label_tokens,
    prompt_label_tokens,
)
from dnip.prompting.task import Task

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


def after_all(encode, prompts, task):
    return prompt_label_tokens(SimpleNamespace(encode=encode), prompts, task)


def letters(text):
    return [ord(letter) for letter in text]


def test_the_space_belongs_to_the_answer():
    assert label_tokens(greedy, "Topic:", task("World", "Bz")).ids == ((0,), (3, 222))
    bare = label_tokens(greedy, "Topic:", task("World", "Bz", prefix=""))
    assert bare.ids == ((2,), (166, 222))


def test_a_space_at_the_prompts_end_merges_into_the_answer():
    plain = label_tokens(greedy, "Topic:", task("World", "Bz"))
    merged = label_tokens(greedy, "Topic: ", task("World", "Bz", prefix=""))
    assert (plain.merged, merged.merged) == (0, 1)
    assert merged.ids == plain.ids


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


def test_refuses_answers_of_the_same_tokens():
    def unknown(text):
        return [0 if word in ("cat", "dog") else 1 for word in text.split()]

    with pytest.raises(InvalidInputError, match=r"'cat' and 'dog' apart: both .* \[0\]"):
        label_tokens(unknown, "x", task("cat", "dog"))


def test_refuses_labels_that_depend_on_the_prompt():
    with pytest.raises(InvalidInputError, match=r"'b' is .* after prompts 0 and 1. End the templ"):
        after_all(greedy, ["x:", "x:a"], task("b", "c", prefix=""))
    assert after_all(greedy, ["x:", "ya:"], task("b", "c", prefix="")).merged == 0
    with pytest.raises(InvalidInputError, match="at least one prompt"):
        after_all(greedy, [], task("b", "c"))
