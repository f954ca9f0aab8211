import random
from datetime import UTC, datetime

import pytest

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.openai_failures import (
    RetryPolicy,
    clean,
    is_passing,
    parse_retry_after,
    refusal,
    unreachable,
)

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
    assert message in str(failure)
    assert failure.retryable == retryable
    assert failure.retry_after == (7 if retryable else None)
    assert "SEC" not in str(failure) + str(failure)


def test_a_key_that_is_not_set_is_named():
    failure = refusal(401, "", retry_after=None, key_variable="MY_KEY", key=None)
    assert "the key of MY_KEY is not set" in str(failure)


@pytest.mark.parametrize(
    ("reason", "retryable"),
    [("refused", True), ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", False)],
)
def test_an_untrusted_server_stays_untrusted(reason, retryable):
    failure = unreachable(reason)
    assert reason in str(failure)
    assert failure.retryable == retryable


def test_words_of_others_are_short():
    assert clean("a" * 400, None) == "a" * 300 + "…"
    assert clean("two\nlines\tof sk-SECRET", KEY) == "two lines of ***"


NOON = datetime(2015, 10, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("120", 120),
        ("1.5", 1.5),
        ("-3", 0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 12:00:30 GMT", 30),
        ("Wed, 21 Oct 2015 11:00:00 GMT", 0),
        ("Wed, 21 Oct 2015 12:00:30 -0000", 30),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert parse_retry_after(value, now=NOON) == seconds


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_these_statuses_pass(status):
    assert is_passing(status)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_these_statuses_stay(status):
    assert not is_passing(status)


def test_waits_are_uniform_below_a_bound_that_doubles():
    policy = RetryPolicy(base_delay=1, max_delay=10)
    rng = random.Random(0)
    for retry, longest in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (2000, 10)]:
        waits = [policy.delay(retry, None, rng) for _ in range(500)]
        assert 0 <= min(waits) < 0.05 * longest
        assert 0.95 * longest < max(waits) <= longest
        assert sum(waits) / 500 == pytest.approx(longest / 2, rel=0.1)


def test_what_the_server_asks_for_is_the_least():
    policy = RetryPolicy(base_delay=1, max_delay=10)
    assert 7 <= min(policy.delay(1, 7.0, random.Random(seed)) for seed in range(50)) < 7.5


def test_the_total_follows_the_run():
    assert RetryPolicy().total_for(3) == 100
    assert RetryPolicy().total_for(5_000) == 5_000
    assert RetryPolicy(total=0).total_for(5_000) == 0


@pytest.mark.parametrize(
    "settings", [{"per_request": -1}, {"total": 1.5}, {"base_delay": -1}, {"max_wait": "long"}]
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        RetryPolicy(**settings)
