import pytest

from dnip.prompting.engines.server import Server
from dnip.prompting.engines.votes import Ballot, VotingEngine
from dnip.prompting.prompt import Prompt
from failing_server import FailingServer
from fakes import TASK

MOODS = ("good", "bad", "not good")


@pytest.mark.parametrize(
    ("words", "text", "vote"),
    [
        (MOODS, "good", 0),
        (MOODS, "good at first, then bad", 1),
        (MOODS, "bad, no: good.", 0),
        (MOODS, "**Good**", 0),
        (MOODS, "BAD", 1),
        (MOODS, "it is not good", 2),
        (MOODS, "not good, but good", 0),
        (MOODS, "goodness", None),
        (MOODS, "good_bad", None),
        (MOODS, "", None),
        (("a.b", "a"), "a.b", 0),
        (("a.b", "a"), "axb", None),
        (("us", "US"), "us or US", 1),
        (("us", "US"), "Us", None),
        (("1", "10"), "10", 1),
        (("+", "-"), "so: -", 1),
        (("straße", "weg"), "STRASSE oder Straße", 0),
    ],
)
def test_the_last_label_word_is_the_vote(words, text, vote):
    assert Ballot(words).read(text) == vote


def spoken(body):
    """Of four samples: two happy, one sad, one cut."""
    kind = body["seed"] % 4
    text = ["sad? no: happy", "Happy.", "so it is sad", "happy"][kind]
    reason = "length" if kind == 3 else "stop"
    message = {"message": {"content": text}} if "messages" in body else {"text": text}
    return {"choices": [{**message, "finish_reason": reason}]}


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_shares_are_of_all_samples(endpoint):
    pytest.importorskip("openai")
    with FailingServer(spoken) as server:
        voters = VotingEngine("m", Server(server.url), endpoint, samples=4, seed=8)
        rows = list(voters.score([Prompt("", str(row)) for row in range(3)], TASK))
    assert sorted(row.row for row in rows) == [0, 1, 2]
    for row in rows:
        assert row.captured == pytest.approx([0.5, 0.25])
        assert row.details == {"samples": 4, "unmatched": 1}
        assert row.ceiling is None
    assert {body.pop("seed") for body in server.requests} == {8, 9, 10, 11}
    asked = {"model": "m", "temperature": 1.0, "max_tokens": 2048}
    if endpoint == "completions":
        asked["stop"] = ["\n\n"]  # where the next example would begin
    for body in server.requests:
        assert body.pop("messages" if endpoint == "chat" else "prompt")
        assert body == asked
