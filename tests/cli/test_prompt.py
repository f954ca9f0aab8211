"""``dnip prompt``: from texts to a table; which model the options choose, and what is refused."""

import json
from inspect import signature

import pytest

import dnip as dnip_package
from cases import cases
from dnip import DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.cli.app import commands
from dnip.llm.prompting import models
from failing_server import FailingServer
from fakes import FakeEngine, happy, write_data
from sidecars import completion

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
API = (*SERVER, "--endpoint", "systemone")
VOTES = (*SERVER, "--votes", "3")


@pytest.fixture
def task(folder):
    """A task and data."""
    (folder / "mood.toml").write_text(TASK)
    write_data(folder)
    return ("prompt", "test.jsonl", "--task", "mood.toml")


@pytest.fixture
def job(task, monkeypatch):
    """A task, data and a fake model, as arguments."""
    monkeypatch.setattr(
        models, "open_model", lambda options, *_, **__: FakeEngine(name=options.model)
    )
    return (*task, "--model", "fake", "--out", "table.csv")


SHOTS = ("--demonstrations", "train.jsonl", "--shots")


def test_a_table_with_ids_labels_and_mass_is_written(dnip, job, folder):
    run = dnip(*job, *SHOTS, "balanced", "--json")
    assert (run.status, run.err) == (0, "")
    assert [run.json[key] for key in ("n", "n_labelled", "n_asked", "n_kept")] == [9, 9, 9, 0]
    assert 0 < run.json["least_mass"] <= run.json["mean_mass"] < 1
    table = ProbabilityTable.read(folder / "table.csv", ["happy", "sad"])
    assert len(table) == 9
    settings = json.loads((folder / "table.csv.meta.json").read_text())["settings"]
    assert settings["shots"] == "balanced"


@cases(
    ({"mood.toml": "nowhere.toml"}, ["nowhere.toml: there is no such file"]),
    ({"mood.toml": "mood"}, ["no built-in task 'mood'", "agnews"]),
    ({"test.jsonl": "nowhere.csv"}, ["nowhere.csv: there is no such file"]),
    ({"test.jsonl": "."}, ["lie one in the other"]),
    ({"table.csv": "table.txt"}, ["table.txt"]),
)
def test_what_is_not_there_is_refused(dnip, job, change, told):
    dnip(*(change.get(word, word) for word in job)).assert_refused(*told)


def words(task, *options):
    return (*task, "--out", "t.csv", *map(str, options))


@cases(
    ((*HERE, "--timeout", "5"), ["--timeout is for a server", "Leave it out"]),
    ((*SERVER, "--truncate"), ["--truncate is for a model on this machine"]),
    ((*SERVER, "--scoring", "sum"), ["--scoring is for a model on this machine"]),
    ((*VOTES, "--top-logprobs", "5"), ["--top-logprobs is for a server", "not for votes"]),
    ((*API, "--top-logprobs", "5"), ["--top-logprobs is for", "not for a decision server"]),
    ((*HERE, "--endpoint", "systemone"), ["--endpoint systemone is for a decision server"]),
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
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    with FailingServer(happy) as server:
        run = dnip(
            *words(task, "--model", server.url, "--served-model", "m", "--endpoint", "chat"),
            *("--top-logprobs", 5, "--concurrency", 2),
            *("--timeout", 9, "--extra-body", '{"user": "u", "temperature": null}', "--json"),
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
    assert settings["engine"]["endpoint"] == "chat"
    assert not any(b"sk-mine" in path.read_bytes() for path in folder.iterdir())


def vote(body):
    """Two samples in three are happy; those of the last prompt are neither."""
    text = "no idea" if "test message 8" in body["messages"][-1]["content"] else "Sentiment: happy"
    return {"choices": [{"message": {"content": "It is sad" if body["seed"] == 2 else text}}]}


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
    assert lines[0] == "label,mass,row,samples,happy,sad"
    assert [line.split(",")[3] for line in lines[1:]] == ["3"] * 9
    shares = [[float(share) for share in line.split(",")[4:]] for line in lines[1:]]
    assert shares[0] == pytest.approx([2.5 / 4, 1.5 / 4])
    assert shares[8] == pytest.approx([0.5 / 2, 1.5 / 2])


def test_a_look_asks_ten_prompts_and_writes_nothing(dnip, task, folder):
    write_data(folder, n_test=20)
    before = sorted(folder.iterdir())
    with FailingServer(happy) as server:
        options = ("--model", server.url, "--served-model", "m", "--check")
        run = dnip(*task, *options, "--json")
        assert len(server.requests) == 10
        text = dnip(*task, *options).out
    assert run.status == 0
    assert [run.json[key] for key in ("n_measured", "n_prompts", "n_requests")] == [10, 20, 20]
    assert run.json["mass"] == pytest.approx(0.9)
    assert [one["ids"] for one in run.json["classes"]] == [[], []]
    assert "--- the first prompt\nIs the message happy or sad?\n\nMessage: test message" in text
    assert "the whole table: 20 prompts, 20 requests" in text
    assert sorted(folder.iterdir()) == before
    dnip(*task, *SERVER[:3], "\udcff", "--check").assert_refused("a name the server knows")


# --- texts, a prompt and its classes ---
TICKETS = "ticket,Ticket text,topic,lang\n7,My bill,billing,en\n8,It fails,bug,de\n9,Hi,,en\n"
ASKED = ("prompt", "tickets.csv", "--prompt", "prompt.txt", "--classes", "billing,bug")
COLUMNS = ("--label", "topic", "--id", "ticket", "--keep", "lang")


def topics(body):
    """A chat server's answer: the first class has as much as the text has letters."""
    text = body["messages"][-1]["content"].splitlines()[0]
    p = len(text) / 100
    return completion("bug", ("bug", {"billing": p, "bug": 0.9 - p, "the": 0.1}))


@pytest.fixture
def chats(folder):
    """Tickets, a prompt, and a server that has no completions."""
    (folder / "tickets.csv").write_text(TICKETS)
    (folder / "prompt.txt").write_text("{{ Ticket_text }}\nTopic:\n")

    def answer(body):
        return topics(body) if "messages" in body else (404, {}, '{"error": "no such path"}')

    with FailingServer(answer) as server:
        yield server


def served(server, *options):
    return (*ASKED, "--model", server.url, "--served-model", "m", *options)


def test_tickets_are_asked_as_she_would_type_it(dnip, folder, chats):
    run = dnip(*served(chats, *COLUMNS, "--system", "Name the topic.", "--out", "opt.csv"))
    assert run.status == 0
    told = "note: the server has no completions, so that it was asked as --endpoint chat\n"
    assert run.err == told
    assert "3 rows written to opt.csv, 2 of them with a label" in run.out
    assert "; 3 prompts asked now, 0 were there" in run.out
    assert chats.paths == ["/v1/completions", *["/v1/chat/completions"] * 3]
    turns = [("system", "Name the topic."), ("user", "My bill\nTopic:")]
    assert [(one["role"], one["content"]) for one in chats.requests[1]["messages"]] == turns
    assert (folder / "opt.csv").read_text().splitlines()[0] == "id,label,mass,lang,p_billing,p_bug"
    table = ProbabilityTable.read("opt.csv")
    assert (table.ids.tolist(), table.labels.tolist()) == (["7", "8", "9"], [0, 1, -1])
    expected = [0.07 / 0.9, 0.08 / 0.9, 0.02 / 0.9]
    assert table.probabilities[:, 0] == pytest.approx(expected, rel=1e-6)


def test_labels_that_come_later_cost_no_request(dnip, folder, chats):
    bare = dnip(*served(chats, "--out", "opt.csv"))
    assert "note: no row has a label: --label names the column of labels" in bare.err
    assert (folder / "opt.csv").read_text().startswith("mass,row,billing,bug\n0.9")
    assert len(chats.requests) == 4
    run = dnip(*served(chats, *COLUMNS, "--out", "opt.csv"))
    assert "2 of them with a label; 0 prompts asked now, 3 were there" in run.out
    assert "no completions" not in run.err
    assert len(chats.requests) == 4


@cases(
    (("--label", "mood"), ["tickets.csv has no column 'mood', which --label names", "Ticket text"]),
    (("--label", "lang"), ["row 1, column label: 'en' is neither"]),
    (("--label", "Ticket text"), ["the prompt names the column 'Ticket text', which holds the l"]),
    (("--shots", "2"), ["no table to draw demonstrations from", "--demonstrations"]),
    (("--task", "agnews"), ["both a prompt and a task"]),
)
def test_what_is_wrong_is_said_before_the_first_request(dnip, folder, chats, options, told):
    dnip(*served(chats, *options, "--out", "opt.csv")).assert_refused(*told)
    assert chats.requests == []
    assert not list(folder.glob("opt.csv*"))


def test_python_asks_as_the_command_does(dnip, folder, chats):
    pandas = pytest.importorskip("pandas")
    assert dnip(*served(chats, *COLUMNS[:4], "--out", "opt.csv")).status == 0
    model = {"model": chats.url, "served_model": "m", "progress": False}
    columns = {"label": "topic", "id": "ticket"}
    texts = pandas.read_csv("tickets.csv", dtype={"ticket": str})
    asked = {"prompt": "{{ Ticket_text }}\nTopic:", "classes": ["billing", "bug"]}
    with pytest.warns(DNIPWarning, match="asked as --endpoint chat"):
        table = dnip_package.prompt(texts, **asked, **columns, **model)
    expected = ProbabilityTable.read("opt.csv")
    assert (table.probabilities == expected.probabilities).all()
    assert (table.ids.tolist(), table.labels.tolist()) == (["7", "8", "9"], [0, 1, -1])
    n = len(chats.requests)
    again = dnip_package.prompt(
        "tickets.csv", prompt=folder / "prompt.txt", classes=["billing", "bug"], out="opt.csv",
        **columns, **model,
    )  # fmt: skip
    assert len(chats.requests) == n
    assert (again.probabilities == expected.probabilities).all()


def test_the_command_and_python_have_the_same_settings():
    command = {option.name for option in commands.get_command(None, "prompt").params}
    python = set(signature(dnip_package.prompt).parameters)
    rare = {"device", "revision", "batch_tokens", "key_variable", "retries", "fill"}
    assert command - {"json", "check", "on", "workers", "help_all"} == python - rare - {"progress"}
    with pytest.raises(InvalidInputError, match="endpoint must be one of completions, chat"):
        dnip_package.prompt([], model="http://h/v1", served_model="m", endpoint="talk")
