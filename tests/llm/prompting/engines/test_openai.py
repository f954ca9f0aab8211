"""What OpenAI-compatible servers are asked for, and what is read from their answers."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import sidecars
from cases import cases
from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.answers.answer import Answer, Position, Reported, SilentError, Token, read_completion
from dnip.llm.answers.fill import open_decisions
from dnip.llm.answers.reader import Reading
from dnip.llm.prompting.engines.servers import (
    OpenAIEngine,
    OpenAIReasoningEngine,
    Server,
    label_reader,
)
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import built_in_tasks, load_task
from failing_server import FailingServer
from fakes import TASK as HAPPY_OR_SAD, FakeTokenizer

pytest.importorskip("openai")

WORDS = ("good", "great", "bad")
TASK = replace(HAPPY_OR_SAD, classes=WORDS, label_words=WORDS)


def encode(text):
    """Tell a text by its last word: 4, 5 and 6 are the labels."""
    return [1, *(4 + i for i, word in enumerate(TASK.label_words) if text.endswith(word))]


TOKENIZER = FakeTokenizer(encode, name="tok", decode=str, in_chat=lambda task: task)
TEXT = "A message.\nMood:"
TURN = {"role": "user", "content": TEXT}
#: Of labels at one place: reported, unreported where 0.
SURE = {" good": 0.5, " great": 0.25, " bad": 0.125}
TORN = {" bad": 0.5, " good": 0.25}


def place(token, top=None):
    """A generated token, and what the server reports at its place."""
    return token, {token: 0.75} | {} if top is None else top


def completion(*places, text=None):
    """An answer in the shape of ``/v1/completions``."""
    tokens = [token for token, _ in places]
    tops = [{text: math.log(p) for text, p in top.items()} for _, top in places]
    chosen = [top[token] for token, top in zip(tokens, tops, strict=True)]
    logprobs = {"tokens": tokens, "token_logprobs": chosen, "top_logprobs": tops}
    whole = "".join(tokens) if text is None else text
    return {"choices": [{"text": whole, "finish_reason": "stop", "logprobs": logprobs}]}


def chat(*places, text=None):
    """The same in the shape of ``/v1/chat/completions``."""
    whole = "".join(token for token, _ in places) if text is None else text
    return sidecars.completion(whole, *places)


SHAPES = [("completions", completion), ("chat", chat)]
each_shape = pytest.mark.parametrize(("endpoint", "shape"), SHAPES)


def asked(answer, *, kind=OpenAIReasoningEngine, **settings):
    """The one row that is read from a server's answer, and the request."""
    with FailingServer(lambda body: answer) as server:
        engine = kind("m", Server(server.url, retries=0), **settings)
        [row] = engine.score([Prompt("", TEXT)], TASK)
    return row, server.requests[0]


# --- one token ---
@cases(
    ({}, {"prompt": TEXT, "logprobs": 20}),
    ({"top_logprobs": 5}, {"prompt": TEXT, "logprobs": 5}),
    ({"endpoint": "chat"}, {"messages": [TURN], "logprobs": True, "top_logprobs": 20}),
    ({"extra_body": {"n_probs": 9, "logprobs": None}}, {"prompt": TEXT, "n_probs": 9}),
)
def test_scoring_asks_for_one_token_and_its_rivals(settings, expected):
    shape = chat if "endpoint" in settings else completion
    row, request = asked(shape(place(" good", SURE)), kind=OpenAIEngine, **settings)
    assert request == {"model": "m", "max_tokens": 1, "temperature": 0} | expected
    np.testing.assert_allclose(row.captured, [0.5, 0.25, 0.125])
    assert (row.ceiling, row.details) == (None, {})


def test_labels_that_are_not_reported_are_bounded():
    top = {" good": 0.5, " g": 0.25, " the": 0.125}
    row, _ = asked(completion(place(" good", top)), kind=OpenAIEngine)
    np.testing.assert_allclose(row.captured, [0.5, 0, 0])
    np.testing.assert_allclose(row.ceiling, [0.5, 0.125, 0.125])
    assert row.details == {"ambiguous": pytest.approx(0.25)}


@each_shape
def test_labels_are_asked_for_by_id_where_the_tokenizer_is_known(endpoint, shape):
    top = {f"token_id:{token}": p for token, p in {4: 0.03, 5: 0.02, 6: 0.01, 60: 0.9}.items()}
    answer = shape(place("token_id:60", top))
    row, request = asked(answer, kind=OpenAIEngine, tokenizer=TOKENIZER, endpoint=endpoint)
    assert request["logprob_token_ids"] == [4, 5, 6]
    assert request["return_tokens_as_token_ids"] is True
    np.testing.assert_allclose(row.captured, [0.03, 0.02, 0.01])
    assert row.ceiling is None


def test_a_prompt_whose_end_becomes_part_of_the_answer_is_refused():
    merging = FakeTokenizer(lambda text: [sum(map(ord, text))], name="tok", decode=str)
    with pytest.raises(InvalidInputError, match="part of the answer's first one"):
        asked({}, kind=OpenAIEngine, tokenizer=merging)


# --- a whole answer ---
NICE = place(" nice", SURE | {" nice": 0.01})


@each_shape
@cases(
    ([place(" Not"), place(" good", TORN), place(". Score:"), place(" great", SURE)], None, 0, 4),
    ([place(" So"), NICE], None, 1, 2),  # without a label, the last token stands for one
    ([NICE, place("</s>")], " nice", 1, 1),  # which is not what ends the sequence
)
def test_the_last_label_is_scored(endpoint, shape, places, text, fallback, new_tokens):
    row, _ = asked(shape(*places, text=text), endpoint=endpoint)
    np.testing.assert_allclose(row.captured, [0.5, 0.25, 0.125])
    assert row.ceiling is None
    assert row.details == {"fallback": fallback, "cut": 0, "new_tokens": new_tokens}


def test_an_empty_answer_tells_nothing():
    empty = {"choices": [{"text": "", "finish_reason": "stop", "logprobs": None}]}
    row, _ = asked(empty)
    np.testing.assert_array_equal(row.captured, [0, 0, 0])
    np.testing.assert_array_equal(row.ceiling, [1, 1, 1])
    assert row.details == {"fallback": 1, "cut": 0, "new_tokens": 0}


@cases([place("\n\n"), place(" bad", TORN)], [place("\n"), place("\n"), place(" bad", TORN)], [])
def test_what_comes_with_or_after_the_stop_text_does_not_count(tail):
    """Some servers report the tokens of the stop text, though they cut it off the text."""
    row, request = asked(completion(place(" good", SURE), place(".\n\n"), *tail), stop="\n\n")
    np.testing.assert_allclose(row.captured, [0.5, 0.25, 0.125])
    assert request["stop"] == ["\n\n"]
    whole, _ = asked(completion(place(" So"), *tail[:2], text=" So"), stop="\n\n")
    assert whole.details["new_tokens"] == 1


# --- a label with a reason, or in JSON ---
JSON = {"extra_body": {"response_format": {"type": "json_object"}}}
TOLD = [0.5, 0.25, 0.125]
GOOD = place("good", dict(zip(WORDS, TOLD, strict=True)))


@each_shape
@cases(
    (JSON, [place('{"why": "bad'), place('", "label": "'), GOOD, place('"}')], 256),
    ({"max_new_tokens": 30}, [GOOD, place(", because bad"), place(" is bad.")], 30),
)
def test_an_answer_is_scored_where_it_states_its_label(endpoint, shape, settings, places, longest):
    row, request = asked(shape(*places), kind=OpenAIEngine, endpoint=endpoint, **settings)
    np.testing.assert_allclose(row.captured, TOLD)
    assert (row.details, request["max_tokens"]) == ({}, longest)
    assert row.answer == "".join(token for token, _ in places)


@cases(
    (9, "Hard to say.", "no label"), (9, "good or bad", "several labels"), (None, "I", "refusal")
)
def test_an_answer_that_states_no_label_is_not_scored(longest, text, reason):
    words = re.findall(r" ?[\w.]+", text)
    answer = chat(*(place(word, {word: 0.5, "x": 0.25}) for word in words))
    if reason == "refusal":
        answer["choices"][0]["finish_reason"] = "content_filter"
    row, _ = asked(answer, kind=OpenAIEngine, endpoint="chat", max_new_tokens=longest)
    assert row.details == {"unread": reason, "said": text}
    assert not row.captured.any()


@cases(({"max_tokens": None, "max_completion_tokens": 50}, True), ({"max_tokens": 1}, False))
def test_the_length_that_a_request_gives_itself_counts(more, is_whole):
    answer = completion(place(" good", SURE), place(", for it is bad"))
    row, request = asked(answer, kind=OpenAIEngine, extra_body=more)
    assert request.get("max_completion_tokens") == more.get("max_completion_tokens")
    np.testing.assert_allclose(row.captured, TOLD)
    engine = OpenAIEngine("m", extra_body=more)
    assert (engine.longest > 1) == is_whole
    assert engine.describe()["max_new_tokens"] == engine.longest


# --- the JSON of servers ---
def one_place(top):
    return {"choices": [{"text": " a", "logprobs": {"top_logprobs": [top]}}]}


def weighed(payload):
    return label_reader(TASK).weigh(read_completion(payload), Reading(()))


def test_a_log_probability_that_is_rounded_above_0_is_0():
    [position] = read_completion(one_place({" a": 1e-6})).positions
    assert position.reported.tokens == (Token(" a", 0.0),)


WITHOUT = [None, {"content": []}, {"top_logprobs": None, "tokens": [" a"]}, {"top_logprobs": []}]
HALF = {"choices": [{"text": "a", "logprobs": {"content": [{"top_logprobs": [{"token": "a"}]}]}}]}
ODD = [{" a": "NaN"}, {" a": 0.5}, {" a": 10**400}, {"token_id:x": -1.0}]
BROKEN = [None, [], {"choices": []}, {"choices": [3]}, {"error": "overloaded"}, HALF]


@pytest.mark.parametrize("logprobs", [{}, *({"logprobs": each} for each in WITHOUT)])
def test_a_server_without_logprobs_is_told_at_once(logprobs):
    with pytest.raises(SilentError, match=r"no log-probabilities.*votes") as caught:
        weighed({"choices": [{"text": " a"} | logprobs]})
    assert not caught.value.retryable


@pytest.mark.parametrize("payload", [*BROKEN, *map(one_place, ODD)])
def test_broken_answers_may_be_asked_again(payload):
    with pytest.raises(BackendError, match="not understood") as caught:
        weighed(payload)
    assert caught.value.retryable


# --- which reported token belongs to which label ---
def report(*tokens):
    return Reported(tuple(Token(text, math.log(p), *rest) for text, p, *rest in tokens))


def match(reader, reported):
    """What a reader says of the tokens at one place."""
    return reader.weigh(Answer(None, (Position(None, None, lambda: reported),)), Reading(()))


@cases(
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
)
def test_labels_are_found(chat, tokens, captured, ceiling, ambiguous):
    found = match(label_reader(TASK, chat=bool(chat)), report(*tokens))
    assert found.captured == pytest.approx(captured)
    assert found.ceiling == (None if ceiling is None else pytest.approx(ceiling))
    assert found.ambiguous == pytest.approx(ambiguous)


def test_ids_decide_where_they_are_told():
    reader = label_reader(TASK, token_ids=(11, 12, 13))
    by_id = match(reader, report(("", 0.5, 12), ("", 0.25, 11), ("", 0.01, 13), (" bad", 0.1, 7)))
    assert by_id.captured == pytest.approx([0.25, 0.5, 0.01])
    assert by_id.ceiling is None
    partly = match(reader, report(("", 0.5, 12), ("", 0.25, 99)))
    assert partly.captured == pytest.approx([0, 0.5, 0])
    assert partly.ceiling == pytest.approx([0.25, 0.5, 0.25])
    by_text = match(reader, report((" good", 0.5), (" bad", 0.25), (" great", 0.125)))
    assert by_text.captured == pytest.approx([0.5, 0.125, 0.25])


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("name", built_in_tasks())
def test_built_in_tasks_can_be_told_apart(name, chat):
    label_reader(load_task(name), chat=chat)


@cases(
    (("good", "goodness", "bad"), {}, "' good' of one label begins another label's"),
    (("good", "great", "bad"), {"token_ids": (1, 2)}, "3 different token ids"),
    (("good", "great", "bad"), {"token_ids": (1, 2, 2)}, "3 different token ids"),
)
def test_labels_that_cannot_be_told_apart_are_refused(words, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        label_reader(replace(TASK, label_words=words), **settings)


@given(st.lists(st.integers(1, 1000), min_size=5, max_size=12), st.integers(1, 8))
def test_the_truth_is_within_the_bounds(counts, k):
    """Whatever the model's distribution and however few of its tokens are reported."""
    words = [TASK.answer(label) for label in range(TASK.n_classes)]
    vocabulary = [*words, *(f" other{i}" for i in range(len(counts) - 3))]
    p = np.array(counts) / sum(counts)
    top = sorted(zip(p, vocabulary, strict=True), reverse=True)[:k]
    reported = Reported(tuple(Token(text, math.log(x)) for x, text in top))
    found = match(label_reader(TASK), reported)
    ceiling = found.captured if found.ceiling is None else found.ceiling
    assert (found.captured <= p[:3] + 1e-12).all()
    assert (p[:3] <= ceiling + 1e-12).all()
    ties = len(set(counts)) < len(counts)
    if not ties and not open_decisions([found.captured], [ceiling])[0]:
        assert found.captured.argmax() == p[:3].argmax()
