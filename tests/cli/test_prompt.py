"""``dnip prompt``: from texts to a table; which model the options choose, and what is refused."""

import json

import pytest

from cases import cases
from dnip import ProbabilityTable
from dnip.cli.commands import prompt as command
from failing_server import FailingServer
from fakes import FakeEngine, happy, write_data

TASK = """
name = "mood"
instruction = "Is the message happy or sad?"
fields = ["text"]
template = "Message: {{ text }}\\nMood:"
[[classes]]
name = "happy"
[[classes]]
name = "sad"
"""


SERVER = ("--model", "http://127.0.0.1:1/v1", "--served-model", "m")
HERE = ("--model", "here")
API = (*SERVER, "--api", "systemone")
VOTES = (*SERVER, "--votes", "3")


@pytest.fixture
def task(folder):
    """A task and data."""
    (folder / "mood.toml").write_text(TASK)
    write_data(folder)
    return "mood.toml"


@pytest.fixture
def job(task, monkeypatch):
    """A task, data and a fake model, as arguments."""
    monkeypatch.setattr(
        command, "open_model", lambda options, *_, **__: FakeEngine(name=options.model)
    )
    return ("prompt", task, "--data", ".", "--model", "fake", "--out", "table.csv")


def test_a_table_with_ids_labels_and_mass_is_written(dnip, job, folder):
    run = dnip(*job, "--shots", "balanced", "--json")
    assert (run.status, run.err) == (0, "")
    assert run.json["n"] == 9
    assert run.json["n_resumed"] == 0
    assert 0 < run.json["least_mass"] <= run.json["mean_mass"] < 1
    table = ProbabilityTable.read(folder / "table.csv", ["happy", "sad"])
    assert len(table) == 9
    settings = json.loads((folder / "table.csv.meta.json").read_text())["settings"]
    assert settings["shots"] == "balanced"


def test_content_free_rows_calibrate_a_comparison(dnip, job, folder):
    assert dnip(*job, "--split", "content-free", "--json").json["n"] == 3
    for split in ("train", "test"):
        assert dnip(*job[:-1], f"{split}.csv", "--split", split).status == 0
    tables = ("train.csv", "--test", "test.csv", "--content-free", "table.csv")
    settings = ("--methods", "contextual-calibration", "--seeds", "1", "--json")
    run = dnip("compare", *tables, *settings)
    assert run.json["n_content_free"] == 3


@cases(
    ({"mood.toml": "nowhere.toml"}, ["nowhere.toml", "cannot be read"]),
    ({"mood.toml": "mood"}, ["no built-in task 'mood'", "agnews"]),
    ({".": "nowhere"}, ["nowhere", "test.jsonl"]),
    ({"table.csv": "table.txt"}, ["table.txt"]),
)
def test_what_is_not_there_is_refused(dnip, job, change, told):
    dnip(*(change.get(word, word) for word in job)).assert_refused(*told)


def words(task, *options):
    return ("prompt", task, "--data", ".", "--out", "t.csv", *map(str, options))


@cases(
    ((*HERE, "--timeout", "5"), ["--timeout is for a server", "Leave it out"]),
    ((*HERE, "--fill", "zero"), ["--fill is for a server"]),
    ((*SERVER, "--chat"), ["--chat is for a model on this machine"]),
    ((*SERVER, "--truncate"), ["--truncate is for a model on this machine"]),
    ((*SERVER, "--scoring", "sum"), ["--scoring is for a model on this machine"]),
    ((*VOTES, "--fill", "zero"), ["--fill is for a server's log-prob", "not for votes"]),
    ((*API, "--endpoint", "chat"), ["--endpoint is for", "not for a decision server"]),
    ((*HERE, "--api", "systemone"), ["--api is for a decision server"]),
    (SERVER[:2], ["http://127.0.0.1:1/v1", "--served-model"]),
    ((*SERVER, "--extra-body", "[1]"), ["--extra-body must be a JSON object"]),
    ((*SERVER, "--top-logprobs", "21"), ["top_logprobs", "21"]),
    (("--model", "http://u:secret@h/v1", "--served-model", "m"), ["no user name, password"]),
    ((*SERVER[:3], "\udcff"), ["a name the server knows; got"]),
)
def test_what_does_not_go_together_or_is_out_of_range_is_refused(dnip, task, folder, options, told):
    run = dnip(*words(task, *options))
    run.assert_refused(*told)
    assert "secret" not in run.err
    assert not list(folder.glob("t.csv*"))


def test_every_option_of_a_server_reaches_it(dnip, task, folder, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-mine")
    with FailingServer(happy) as server:
        run = dnip(
            *words(task, "--model", server.url, "--served-model", "m", "--endpoint", "chat"),
            *("--top-logprobs", 5, "--key-variable", "MY_KEY", "--concurrency", 2),
            *("--timeout", 9, "--retries", 7, "--extra-body", '{"user": "u", "temperature": null}'),
            *("--fill", "ceiling", "--json"),
        )
    assert (run.status, run.json["n"]) == (0, 9)
    assert run.json["mean_mass"] == pytest.approx(0.9)
    assert set(server.paths) == {"/v1/chat/completions"}
    assert server.authorizations == {"Bearer sk-mine"}
    assert server.most_under_way <= 2
    body = server.requests[0]
    assert (body["model"], body["top_logprobs"], body["user"]) == ("m", 5, "u")
    assert "temperature" not in body
    settings = json.loads((folder / "t.csv.meta.json").read_text())["settings"]
    assert settings["fill"] == "ceiling"
    assert settings["engine"]["endpoint"] == "chat"
    assert not any(b"sk-mine" in path.read_bytes() for path in folder.iterdir())


def vote(body):
    """Two samples in three are happy; those of the last prompt are neither."""
    text = "no idea" if "test message 8" in body["messages"][-1]["content"] else "So: happy"
    return {"choices": [{"message": {"content": "I am sad" if body["seed"] == 2 else text}}]}


def test_votes_are_counted_and_their_number_stands_in_the_table(dnip, task, folder):
    with FailingServer(vote) as server:
        run = dnip(
            *words(task, "--model", server.url, "--served-model", "m", "--votes", 3),
            *("--extra-body", '{"temperature": 0.7}', "--max-new-tokens", 9),
        )
    assert run.status == 0
    assert run.err == "note: sampled answers that end in no label: 2 of 27\n"
    assert {(body["temperature"], body["max_tokens"]) for body in server.requests} == {(0.7, 9)}
    assert sorted({body["seed"] for body in server.requests}) == [0, 1, 2]
    lines = (folder / "t.csv").read_text().splitlines()
    assert lines[0] == "id,label,mass,samples,happy,sad"
    assert [line.split(",")[3] for line in lines[1:]] == ["3"] * 9
    shares = [[float(share) for share in line.split(",")[4:]] for line in lines[1:]]
    assert shares[0] == pytest.approx([2.5 / 4, 1.5 / 4])
    assert shares[8] == pytest.approx([0.5 / 2, 1.5 / 2])


def test_a_server_is_audited_by_asking_it(dnip, task):
    with FailingServer(happy) as server:
        options = ("--model", server.url, "--served-model", "m", "--data", ".", "--json")
        run = dnip("audit", task, *options)
    assert run.status == 0
    assert run.json["n_measured"] == 8
    assert run.json["mass"] == pytest.approx(0.9)
    assert [one["ids"] for one in run.json["classes"]] == [[], []]
    dnip("audit", task, *SERVER[:3], "\udcff").assert_refused("a name the server knows")
