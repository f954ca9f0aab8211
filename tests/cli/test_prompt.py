"""``dnip prompt``: from texts to a table; which model the options choose, and what is refused."""

import json
import math
from inspect import signature
from urllib.request import Request, urlopen
from zlib import crc32

import numpy as np
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


def test_content_free_rows_calibrate_a_comparison(dnip, job, folder):
    assert dnip("prompt", "content-free", *job[2:], "--json").json["n"] == 3
    for split in ("train", "test"):
        words = ("prompt", f"{split}.jsonl", *job[2:-1], f"{split}.csv")
        assert dnip(*words).status == 0
    tables = ("train.csv", "--test", "test.csv", "--content-free", "table.csv")
    settings = ("--methods", "contextual-calibration", "--seeds", "1", "--json")
    run = dnip("compare", *tables, *settings)
    assert run.json["n_content_free"] == 3


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
    (("--id", "id"), ["no column 'id', which --id names"]),
    (("--label", "lang"), ["row 1, column label: 'en' is neither"]),
    (("--label", "Ticket text"), ["the prompt names the column 'Ticket text', which holds the l"]),
    (("--shots", "2"), ["no table to draw demonstrations from", "--demonstrations"]),
    (("--demonstrations", "tickets.csv"), ["no demonstration is shown", "--shots"]),
    (("--task", "agnews"), ["both a prompt and a task"]),
    (("--limit", "0"), ["limit"]),
)
def test_what_is_wrong_is_said_before_the_first_request(dnip, folder, chats, options, told):
    dnip(*served(chats, *options, "--out", "opt.csv")).assert_refused(*told)
    assert chats.requests == []
    assert not list(folder.glob("opt.csv*"))


@cases(
    ("prompt.txt", "Topic of {{ body }}:", "no column 'body', which the prompt names"),
    ("prompt.txt", "Topic of {text}:", "names no column"),
    ("tickets.csv", TICKETS.replace("8,It", "7,It"), "row 2: the id '7' is already at"),
    ("tickets.csv", TICKETS.replace("Hi", ""), "row 3: no text; Ticket text is empty"),
)
def test_a_table_or_a_prompt_that_does_not_fit_is_refused(dnip, folder, chats, file, text, told):
    (folder / file).write_text(text)
    dnip(*served(chats, *COLUMNS, "--out", "opt.csv")).assert_refused(told)
    assert chats.requests == []


@cases(
    (("--classes", "billing,bug"), "there is no prompt"),
    (("--prompt", "{{ topic }}"), "the prompt has no classes. Give --classes"),
    (("--task", "agnews", "--classes", "a,b"), "has classes of its own. Leave out --classes"),
    (("--task", "agnews", "--system", "a"), "has a system message of its own"),
)
def test_a_prompt_needs_classes_and_a_task_has_them(dnip, folder, chats, options, told):
    model = ("--model", chats.url, "--served-model", "m", "--out", "opt.csv")
    dnip("prompt", "tickets.csv", *model, *options).assert_refused(told)


def test_a_server_without_log_probabilities_says_so_at_the_first_answer(dnip, folder, chats):
    chats.answer = lambda body: {"choices": [{"message": {"content": "bug"}}]}
    options = ("--endpoint", "chat", "--out", "opt.csv")
    dnip(*served(chats, *options)).assert_refused("no log-probabilities", "--votes")
    assert len(chats.requests) == 1


def test_json_is_scored_at_the_value_of_its_key(dnip, folder, chats):
    def answer(body):
        assert body["response_format"] == {"type": "json_object"}
        if "Hi" in body["messages"][-1]["content"]:
            text = "I cannot say."
            return completion(text, *((word, {word: 0.9, "x": 0.1}) for word in text.split(" ")))
        p = {"bug": 0.6, "billing": 0.3}
        why = ('why": "no billing', {'why": "no billing': 1.0})
        places = [('{"', {'{"': 1.0}), why, ('", "topic": "', {'", "topic": "': 1.0}), ("bug", p)]
        text = "".join(token for token, _ in places) + '"}'
        return completion(text, *places, ('"}', {'"}': 1.0}))

    chats.answer = answer
    options = ("--endpoint", "chat", "--extra-body", '{"response_format": {"type": "json_object"}}')
    run = dnip(*served(chats, *COLUMNS[:4], *options, "--out", "opt.csv"))
    assert run.status == 0
    assert "warning: opt.csv: 33% of the answers are left out, 1 of 3 (no label: 1" in run.err
    assert {body["max_tokens"] for body in chats.requests} == {256}
    table = ProbabilityTable.read("opt.csv")
    assert table.ids.tolist() == ["7", "8"]
    assert table.probabilities == pytest.approx(np.array([[1 / 3, 2 / 3]] * 2))
    metadata = json.loads((folder / "opt.csv.meta.json").read_text())
    assert metadata["question"]["answer"] == "json"
    assert metadata["left_out"]["rows"] == ["9"]


def test_a_limit_of_requests_is_waited_out(dnip, folder, chats, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    chats.fault = lambda number: "429-seconds" if 2 <= number <= 8 else None
    run = dnip(*served(chats, "--endpoint", "chat", "--concurrency", "1", "--out", "opt.csv"))
    assert run.status == 0
    assert "takes no more requests for now (status 429): waiting" in run.err
    assert len(chats.requests) == 10


@cases(("--data", "x"), ("--split", "train"))
def test_what_went_names_what_to_type(dnip, flag, value):
    run = dnip("prompt", "agnews", "--model", "m", "--out", "t.csv", flag, value)
    assert run.status == 2
    assert "Instead: dnip prompt " in run.err


def test_audit_names_what_to_type(dnip):
    run = dnip("audit", "agnews", "--model", "m")
    assert (run.status, "Instead: dnip prompt TEXTS --check" in run.err) == (2, True)


# --- a day ---
DAY = ("billing", "bug", "other")


def known(body):
    """A chat API's answer; its probabilities follow from the text of the row alone."""
    text = body["messages"][-1]["content"].split("\n")[0]
    p = 0.9 * np.random.default_rng(crc32(text.encode())).dirichlet([2.0, 1.0, 0.5])
    return completion("bug", ("bug", {**dict(zip(DAY, p.tolist(), strict=True)), "So": 0.1}))


def plain_call(url, text):
    """Label probabilities by one request of the standard library."""
    message = {"role": "user", "content": f"{text}\nTopic:"}
    body = {"model": "m", "messages": [message], "logprobs": True, "top_logprobs": 20}
    headers = {"Content-Type": "application/json"}
    request = Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    with urlopen(request) as response:
        [place] = json.load(response)["choices"][0]["logprobs"]["content"]
    p = {one["token"]: math.exp(one["logprob"]) for one in place["top_logprobs"]}
    shares = np.array([p[name] for name in DAY])
    return shares / shares.sum()


def test_a_day_of_three_hundred_texts(dnip, folder):
    rng = np.random.default_rng(0)
    rows = [
        {"ticket": f"t{n}", "text": f"ticket {n}", "topic": DAY[label], "checked": DAY[label]}
        for n, label in enumerate(rng.integers(0, 3, 300).tolist())
    ]

    def write(some):
        lines = [",".join(row.values()) for row in some]
        (folder / "tickets.csv").write_text("\n".join([",".join(rows[0]), *lines]) + "\n")

    def labels():
        table = ProbabilityTable.read("opt.csv")
        names = dict(zip(table.ids.tolist(), table.labels.tolist(), strict=True))
        return [DAY[names[row["ticket"]]] for row in rows if row["ticket"] in names]

    with FailingServer(lambda body: known(body) if "messages" in body else (404, {}, "")) as server:
        words = ("prompt", "tickets.csv", "--prompt", "{{ text }}\nTopic:", "--id", "ticket")
        words += ("--classes", ",".join(DAY), "--model", server.url, "--served-model", "m")
        words += ("--out", "opt.csv", "--label")
        write(rows)
        assert dnip(*words, "topic").status == 0
        assert len(server.requests) == 301  # and one for completions, which are not there
        table = ProbabilityTable.read("opt.csv")
        for row in range(0, 300, 10):
            expected = plain_call(server.url, rows[row]["text"])
            np.testing.assert_allclose(table.probabilities[row], expected, rtol=1e-6)
        assert dnip("fit", "opt.csv", "--out", "c.json", "--no-evidence").status == 0
        before = len(server.requests)

        for row in rows[:30]:
            row["topic"] = row["checked"] = DAY[(DAY.index(row["topic"]) + 1) % 3]
        write(rows)
        run = dnip(*words, "topic")
        assert "0 prompts asked now, 300 were there" in run.out
        assert labels() == [row["topic"] for row in rows]

        for row in rows:
            row["checked"] = "other"
        write(rows)
        assert dnip(*words, "checked").status == 0
        assert labels() == ["other"] * 300

        whole = (folder / "opt.csv").read_bytes()
        (folder / "opt.csv").write_bytes(whole[: len(whole) // 3])
        assert dnip(*words, "checked").status == 0
        assert (folder / "opt.csv").read_bytes() == whole

        write(rows[:10])
        assert dnip(*words, "checked", "--json").json["n"] == 10
        assert labels() == ["other"] * 10
        assert len(server.requests) == before
        write([*rows, {**rows[0], "ticket": "again"}, {**rows[0], "ticket": "new", "text": "new"}])
        run = dnip(*words, "checked", "--json")
        assert [run.json[key] for key in ("n", "n_asked", "n_alike")] == [302, 1, 1]
        assert len(server.requests) == before + 1


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
