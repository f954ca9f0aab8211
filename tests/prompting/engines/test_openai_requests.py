import pytest

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.openai_requests import Endpoint, logprob_fields, request_body

COMMON = {"model": "m", "max_tokens": 1}
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
    asked = {"top_logprobs": 20} | settings
    extra = asked.pop("extra", None)
    fields = COMMON | logprob_fields(Endpoint(endpoint), **asked)
    assert request_body(Endpoint(endpoint), "Mood:", fields, extra) == COMMON | expected


@pytest.mark.parametrize("ids", [(), range(129)])
def test_label_token_ids_are_as_many_as_a_server_takes(ids):
    with pytest.raises(InvalidInputError, match="1 to 128"):
        logprob_fields(Endpoint.CHAT, 20, ids)


@pytest.mark.parametrize(
    ("endpoint", "path"), [("completions", "completions"), ("chat", "chat/completions")]
)
def test_endpoints_have_their_paths(endpoint, path):
    assert Endpoint(endpoint).path == path
