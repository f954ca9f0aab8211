import math

import pytest

from dnip.base.errors import BackendError
from dnip.prompting.engines.openai_responses import Reported, Token, read_reported, read_text

A, B = math.log(0.5), math.log(0.25)
TOKENS = (Token(" a", A), Token(" b", B))
WITH_IDS = (Token(" a", A, 4), Token(" b", B, 8))


def completions(top, **more):
    return {"choices": [{"logprobs": {"top_logprobs": [top]} | more}]}


def chat(first):
    return {"choices": [{"logprobs": {"content": [first, {"token": "x", "logprob": 0}]}}]}


def listed(*entries, **more):
    return [dict(entry) | more for entry in entries]


LIST = listed({"token": " a", "logprob": A}, {"token": " b", "logprob": B})
LIST_WITH_IDS = listed(
    {"token": " a", "logprob": A, "id": 4, "bytes": [32, 97]},
    {"token": " b", "logprob": B, "id": 8, "bytes": [32, 98]},
)


@pytest.mark.parametrize(
    ("payload", "tokens"),
    [
        (completions({" a": A, " b": B}, tokens=[" a"], token_logprobs=[A]), TOKENS),
        (completions({" a": A, " b": B}), TOKENS),
        (completions({" b": B}, tokens=[" a"], token_logprobs=[A]), TOKENS[::-1]),
        (
            completions({"token_id:4": A, "token_id:8": B}, tokens=["token_id:4"]),
            (Token("", A, 4), Token("", B, 8)),
        ),
        (chat({"token": " a", "logprob": A, "top_logprobs": LIST}), TOKENS),
        (chat({"token": " a", "logprob": A, "top_logprobs": LIST[1:]}), TOKENS[::-1]),
        (chat(LIST_WITH_IDS[0] | {"top_logprobs": LIST_WITH_IDS}), WITH_IDS),
        (
            {"completion_probabilities": [LIST_WITH_IDS[0] | {"top_logprobs": LIST_WITH_IDS}]},
            WITH_IDS,
        ),
        (
            {
                "completion_probabilities": [
                    {
                        "content": " a",
                        "probs": [{"tok_str": " a", "prob": 0.5}, {"tok_str": " b", "prob": 0.25}],
                    }
                ]
            },
            TOKENS,
        ),
        (
            {
                "completion_probabilities": [
                    {
                        "token": " a",
                        "id": 4,
                        "prob": 0.5,
                        "top_probs": [
                            {"token": " a", "id": 4, "prob": 0.5},
                            {"token": " b", "id": 8, "prob": 0.25},
                        ],
                    }
                ]
            },
            WITH_IDS,
        ),
        (completions({" a": A, " b": B, " c": -9999.0}), (*TOKENS, Token(" c", -9999.0))),
        (
            completions({" a": A, " b": B, " c": -math.inf}),
            (*TOKENS, Token(" c", -math.inf)),
        ),
        (completions({" a": 1e-6}), (Token(" a", 0.0),)),
    ],
)
def test_every_shape_is_read(payload, tokens):
    reported = read_reported(payload)
    assert [token[::2] for token in reported.tokens] == [token[::2] for token in tokens]
    assert [token.logprob for token in reported.tokens] == pytest.approx(
        [token.logprob for token in tokens]
    )


@pytest.mark.parametrize(
    "payload",
    [
        {"choices": [{"text": " a"}]},
        {"choices": [{"text": " a", "logprobs": None}]},
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": []}}]},
        {"choices": [{"logprobs": {"top_logprobs": None, "tokens": [" a"]}}]},
        {"choices": [{"logprobs": {"top_logprobs": []}}]},
    ],
)
def test_a_server_without_logprobs_is_told_at_once(payload):
    with pytest.raises(BackendError, match=r"no log-probabilities.*votes") as caught:
        read_reported(payload)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {"choices": []},
        {"choices": [3]},
        {"choices": [{"logprobs": {"content": [{"token": "a"}]}}]},
        {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "a"}]}]}}]},
        {"completion_probabilities": []},
        {"error": "overloaded"},
        completions({" a": "NaN"}),
        completions({" a": 0.5}),
        completions({}),
        completions({" a": 10**400}),
        completions({"token_id:x": A}),
    ],
)
def test_broken_answers_may_be_asked_again(payload):
    with pytest.raises(BackendError, match="not understood") as caught:
        read_reported(payload)
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("probabilities", "sampled", "bound"),
    [
        ((0.5, 0.25), 0, 0.25),  # the smallest reported
        ((0.9, 0.06), 0, 0.04),  # the left-over mass
        ((0.75, 0.25), 0, 0.0),
        ((0.8, 0.3), 0, 0.0),  # rounded above 1
        ((0.5, 0.25, 0.01), 2, 0.24),  # chosen at random and appended: tells nothing of the others
        ((0.3,), 0, 0.3),
        ((0.9,), 0, 0.1),
    ],
)
def test_unreported_tokens_are_bounded(probabilities, sampled, bound):
    tokens = tuple(Token(str(i), math.log(p)) for i, p in enumerate(probabilities))
    assert Reported(tokens, tokens[sampled]).bound == pytest.approx(bound)


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"text": " yes"}, " yes"),
        ({"message": {"content": "yes"}, "finish_reason": "stop"}, "yes"),
        ({"message": {"content": "<think>no, no</think>\nyes"}}, "\nyes"),
        ({"message": {"content": "<think>no, no"}}, ""),
        ({"message": {"content": "no</think>yes <think>"}}, "yes <think>"),
        ({"message": {"content": None, "reasoning_content": "no"}}, ""),
        ({"message": {"content": "no, so"}, "finish_reason": "length"}, None),
    ],
)
def test_sampled_answers_are_read(choice, text):
    assert read_text({"choices": [choice]}) == text
