"""Probabilities of labels along an answer, against numbers worked out by hand."""

import math

import numpy as np
import pytest

import sidecars
from cases import cases
from dnip.llm.answers.answer import Reported, SilentError, Token, UnclearError, read_completion
from dnip.llm.answers.reader import reader_of

TENTHS = tuple(map(str, range(1, 11)))
VERY = ("very good", "very bad", "good", "bad")


def read(classes, text, *places, **changes):
    """What an answer says, if its tokens are these, each with the likeliest at its place."""
    answer = sidecars.completion(text, *places)
    answer["choices"][0]["message"] |= changes
    answer = read_completion(answer)
    reader = reader_of(tuple(classes))
    reading = reader.locate(answer)
    match = reader.weigh(answer, reading)
    return reading, match


def word(text):
    return text, {text: 1.0}


#: Tokens at the place of "Not" or "Relevant".
FIRST = {"Not": 0.6, "Relevant": 0.3, "The": 0.1}


@cases(
    # the label stands first, in its middle nothing begins
    (("Relevant", "Not relevant"), "Not relevant",
     [("Not", FIRST), (" relevant", {" relevant": 0.9, " related": 0.1})], [0.3, 0.54]),
    (("Relevant", "Not relevant"), "Relevant", [("Relevant", FIRST)], [0.3, 0.6]),
    # labels that begin alike are told apart where they part
    (VERY, "very good", [("very", {"very": 0.5, "good": 0.3, "bad": 0.1}),
                         (" good", {" good": 0.7, " bad": 0.2})], [0.35, 0.1, 0.3, 0.1]),
    # a token that ends the answer is the label
    (TENTHS, "1", [("1", {"1": 0.5, "10": 0.3, "5": 0.1})], [0.5, 0, 0, 0, 0.1, 0, 0, 0, 0, 0.3]),
    # where a tokenizer writes 10 as two, the next place tells
    (TENTHS, "10", [("1", {"1": 0.5, "5": 0.4}), ("0", {"0": 0.8, ".": 0.2})],
     [0.1, 0, 0, 0, 0.4, 0, 0, 0, 0, 0.4]),
    (TENTHS, "1", [("1", {"1": 0.5, "5": 0.4}), ("<end>", {"<end>": 0.6, "0": 0.4})],
     [0.3, 0, 0, 0, 0.4, 0, 0, 0, 0, 0.2]),
    # marks
    (("A", "B"), "(A)", [("(A", {"(A": 0.6, "(B": 0.3, "A": 0.1}), word(")")], [0.7, 0.3]),
    (("A", "B"), "A) it is", [("A)", {"A)": 0.6, "B)": 0.3, "a": 0.1}), word(" it is")],
     [0.6, 0.3]),
    (("ham", "spam"), '"ham"', [word('"'), ("ham", {"ham": 0.6, "spam": 0.3}), word('"')],
     [0.6, 0.3]),
    (("ham", "spam"), "**ham**", [("**ham", {"**ham": 0.6, "**spam": 0.3}), word("**")],
     [0.6, 0.3]),
    (("ham", "spam"), "ham", [("▁ham", {"▁ham": 0.6, "▁spam": 0.3})], [0.6, 0.3]),
    (("ham", "spam"), "ham", [("Ġham", {"Ġham": 0.6, "ĠSpam": 0.3})], [0.6, 0.3]),
    # thoughts
    (("ham", "spam"), "ham", [word("<think>"), ("ham", {"ham": 0.1, "spam": 0.9}), word("</think>"),
                              ("ham", {"ham": 0.6, "spam": 0.3})], [0.6, 0.3]),
    (("ham", "spam"), "<think>spam</think>ham",
     [word("<think>"), ("spam", {"ham": 0.1, "spam": 0.9}), word("</think>"),
      ("ham", {"ham": 0.6, "spam": 0.3})], [0.6, 0.3]),
    # JSON, with a reason before
    (("ham", "spam"), '{"why": "no spam", "is": "ham"}',
     [word('{"why": "no'), (" spam", {" spam": 0.9, " ham": 0.1}), word('", "is": "'),
      ("ham", {"ham": 0.6, "spam": 0.3}), word('"}')], [0.6, 0.3]),
    # a label that is cut, and one that is said last
    (("spam", "ham"), "sp", [("sp", {"sp": 0.6, "ha": 0.2})], [0.6, 0.2]),
    (("spam", "ham"), "spam? No. Label: ham.",
     [("spam", {"spam": 0.9, "ham": 0.1}), word("? No. Label:"),
      (" ham", {" ham": 0.6, " spam": 0.3}), word(".")], [0.3, 0.6]),
)  # fmt: skip
def test_the_probability_of_each_label(classes, text, places, expected):
    _, match = read(classes, text, *places)
    np.testing.assert_allclose(match.captured, expected)


def test_characters_in_pieces_are_read_by_their_bytes():
    answer = sidecars.completion("日本", ("\ufffd", {"\ufffd": 0.6, "x": 0.3}), word("\ufffd"))
    first, last = answer["choices"][0]["logprobs"]["content"]
    raw = "日本".encode()
    first["bytes"], last["bytes"] = list(raw[:2]), list(raw[2:])
    first["top_logprobs"][0]["bytes"] = list(raw[:2])
    first["top_logprobs"][1] |= {"token": "\ufffd", "bytes": list("月".encode()[:1])}
    last["top_logprobs"][0]["bytes"] = list(raw[2:])
    answer = read_completion(answer)
    reader = reader_of(("日本", "月"))
    match = reader.weigh(answer, reader.locate(answer))
    # the first byte of both characters is the same
    assert match.captured.tolist() == [pytest.approx(0.6), 0]


def test_ids_stand_for_labels_whose_texts_are_not_told():
    top = {"token_id:7": 0.6, "token_id:9": 0.3}
    reading, match = read(("token_id:9", "token_id:7"), "ham", ("token_id:7", top))
    assert (reading.mentions[0].label, match.captured.tolist()) == (1, pytest.approx([0.3, 0.6]))


@cases(None, -math.inf, -9999.0)
def test_a_token_that_is_not_reported_has_any_probability(number):
    answer = sidecars.completion("ham", ("ham", {"ham": 0.6, "egg": 0.3, "spam": 0.1}))
    answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"][2]["logprob"] = number
    answer = read_completion(answer)
    reader = reader_of(("ham", "spam"))
    match = reader.weigh(answer, reader.locate(answer))
    assert match.captured.tolist() == [pytest.approx(0.6), 0]
    assert match.ceiling[1] == pytest.approx(0.1)


def test_what_tells_too_little_is_refused_with_the_reason():
    top = {"very": 0.5, "good": 0.1}
    _, match = read(VERY, "very", ("very", top))
    with pytest.raises(UnclearError, match=r"begins several labels \(very good, very bad\)"):
        match.check_clear()
    assert match.ceiling[:2].tolist() == [pytest.approx(0.5)] * 2  # either may have all of it
    _, match = read(("ham", "spam"), "ham", word("ham"))
    with pytest.raises(SilentError, match="top_logprobs=20"):
        match.check_told()
    reader, answer = reader_of(("ham", "spam")), read_completion({"choices": [{"text": "ham"}]})
    with pytest.raises(SilentError, match="no log-probabilities"):
        reader.weigh(answer, reader.locate(answer))
    for number in (0.3, "x", float("nan")):
        answer = sidecars.completion("ham", ("ham", {"ham": 0.6, "spam": 0.1}))
        answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1]["logprob"] = number
        answer = read_completion(answer)
        with pytest.raises(Exception, match="not understood"):
            reader.weigh(answer, reader.locate(answer))


@cases(
    ("good at first, then bad", None),
    ("good? No. Mood: bad. Label: bad.", 3),
    ("<think>good</think>bad", 3),
    ("very good!", 0),
    ("goodness", None),
)
def test_votes(text, vote):
    answer = {"message": {"content": text}, "finish_reason": "stop"}
    assert reader_of(VERY).vote(read_completion({"choices": [answer]})) == vote
    cut = {**answer, "finish_reason": "length"}
    assert reader_of(VERY).vote(read_completion({"choices": [cut]})) is None


def test_a_chosen_token_that_is_added_whatever_its_rank_bounds_no_other():
    tokens = tuple(Token(text, math.log(p)) for text, p in (("a", 0.5), ("b", 0.2), ("c", 0.01)))
    assert Reported(tokens, sampled=tokens[2]).bound == pytest.approx(0.2)
    assert Reported(tokens, sampled=tokens[0]).bound == pytest.approx(0.01)
