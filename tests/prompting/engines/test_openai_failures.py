import pytest

from dnip.prompting.engines.openai_failures import clean, refusal, unreachable

KEY = "sk-SECRET"


@pytest.mark.parametrize(
    ("status", "content", "retryable", "message"),
    [
        (401, "no sk-SEC***", False, "access (status 401); the key of MY_KEY was sent. Set MY_KEY"),
        (403, "", False, "refuses access (status 403)"),
        (404, '{"error": "no such model"}', False, "(status 404: no such model). Check the base"),
        (400, '{"error": {"message": "too long"}}', False, "the request (status 400: too long)"),
        (400, '{"detail": "logprobs at most 5"}', False, "Lower top_logprobs, or count votes"),
        (422, '{"detail": [{"msg": "missing"}]}', False, "[{'msg': 'missing'}]"),
        (429, '{"code": "insufficient_quota"}', False, "the quota is used up (status 429"),
        (302, "", False, "redirected (status 302)"),
        (204, "", False, "refuses the request (status 204)"),
        (501, "<html>", False, "refuses the request (status 501)"),
        (429, "slow down", True, "status 429. Lower the concurrency"),
        (400, '{"error": "context length is 9 tokens"}', False, "Cut the texts, show fewer"),
        (500, '{"message": "busy"}', True, "status 500: busy"),
        (500, '{"message": "bad sk-SECRET"}', True, "status 500: bad ***"),
        (503, "[[", True, "status 503."),
        (503, "3", True, "status 503: 3."),
    ],
)
def test_a_status_says_what_to_do(status, content, retryable, message):
    failure = refusal(status, content, retry_after="7", key_variable="MY_KEY", key=KEY)
    assert message in str(failure.error)
    assert failure.error.retryable == retryable
    assert failure.retry_after == (7 if retryable else None)
    assert "SEC" not in str(failure.error) + str(failure)


def test_a_key_that_is_not_set_is_named():
    failure = refusal(401, "", retry_after=None, key_variable="MY_KEY", key=None)
    assert "the key of MY_KEY is not set" in str(failure.error)


@pytest.mark.parametrize(
    ("reason", "retryable"),
    [("refused", True), ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", False)],
)
def test_an_untrusted_server_stays_untrusted(reason, retryable):
    failure = unreachable(reason)
    assert reason in str(failure.error)
    assert failure.error.retryable == retryable


def test_words_of_others_are_short():
    assert clean("a" * 400, None) == "a" * 300 + "…"
    assert clean("two\nlines\tof sk-SECRET", KEY) == "two lines of ***"
