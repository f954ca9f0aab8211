import pytest

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.openai_requests import Endpoint, sampling_body, scoring_body

COMMON = {"model": "m", "max_tokens": 1, "temperature": 0}
MESSAGES = [{"role": "user", "content": "Mood:"}]


@pytest.mark.parametrize(
    ("endpoint", "settings", "expected"),
    [
        ("completions", {}, {"prompt": "Mood:", "logprobs": 20}),
        ("completions", {"top_logprobs": 5}, {"prompt": "Mood:", "logprobs": 5}),
        ("chat", {}, {"messages": MESSAGES, "logprobs": True, "top_logprobs": 20}),
        (
            "chat",
            {"label_token_ids": (7, 9), "top_logprobs": 1},
            {
                "messages": MESSAGES,
                "logprobs": True,
                "top_logprobs": 1,
                "logprob_token_ids": [7, 9],
                "return_tokens_as_token_ids": True,
            },
        ),
        (
            "completions",
            {"extra": {"n_probs": 20, "logprobs": None}},
            {"prompt": "Mood:", "n_probs": 20},
        ),
    ],
)
def test_scoring_asks_for_one_token_and_its_rivals(endpoint, settings, expected):
    body = scoring_body(Endpoint(endpoint), "Mood:", model="m", **settings)
    assert body == COMMON | expected


@pytest.mark.parametrize("ids", [(), range(129)])
def test_label_token_ids_are_as_many_as_a_server_takes(ids):
    with pytest.raises(InvalidInputError, match="1 to 128"):
        scoring_body(Endpoint.CHAT, "", model="m", label_token_ids=ids)


def test_sampling_asks_for_one_answer():
    body = sampling_body(
        Endpoint.COMPLETIONS,
        "Mood:",
        model="m",
        temperature=0.7,
        max_tokens=50,
        seed=3,
        stop=["\n\n"],
        extra={"top_p": 0.9},
    )
    assert body == {
        "model": "m",
        "prompt": "Mood:",
        "max_tokens": 50,
        "temperature": 0.7,
        "seed": 3,
        "stop": ["\n\n"],
        "top_p": 0.9,
    }


@pytest.mark.parametrize(
    ("endpoint", "path"), [("completions", "completions"), ("chat", "chat/completions")]
)
def test_endpoints_have_their_paths(endpoint, path):
    assert Endpoint(endpoint).path == path
