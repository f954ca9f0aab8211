"""Files, ids, labels and rounding: what is the same for every source."""

import csv
import gzip
import json
from decimal import Decimal

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, InvalidInputError, ProbabilityTable
from dnip.llm.decisions import correct
from dnip.llm.questions import Question
from dnip.llm.sources import read_answers, write_import
from dnip.tables.origin import origin_of
from dnip.using.application import apply

CLASSES = ["ham", "spam"]
ROWS = [{"id": f"r{i}", "ham": p, "spam": 1 - p} for i, p in enumerate((0.125, 1 / 3, 0.75))]


@cases(
("a.jsonl", "\n\n".join(map(json.dumps, ROWS))),
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps(ROWS, indent=2)),
        ("a.json", "\n".join(json.dumps(row, indent=2) for row in ROWS)),
        ("a.jsonl", "\n".join(json.dumps([row]) for row in ROWS)),
        ("a.csv", "id,spam,ham\n" + "".join(f"{r['id']},{r['spam']},{r['ham']}\n" for r in ROWS))
)  # fmt: skip
def test_a_file_is_read_in_each_layout(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    table, _ = read_answers([path], CLASSES)
    assert table.probabilities.tolist() == [[row["ham"], row["spam"]] for row in ROWS]
    assert table.ids.tolist() == ["r0", "r1", "r2"]


def test_a_file_of_columns_is_read(tmp_path):
    Table = pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table
    from pyarrow.parquet import write_table

    exact = {"ham": Decimal("0.25"), "spam": Decimal("0.75")}
    write_table(Table.from_pylist([exact]), tmp_path / "exact.parquet")
    for table in (
        read_answers([tmp_path / "exact.parquet"], CLASSES).table,
        ProbabilityTable.read(tmp_path / "exact.parquet", CLASSES),
    ):
        assert table.probabilities.tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize("name", ["a.bin", "a.jsonl", "a.json.gz"])
def test_a_file_of_another_format_is_refused_by_what_it_is(tmp_path, name):
    content = b"PK\x03\x04\xff\xfe"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(InvalidInputError, match="line 1 is not UTF-8"):
        read_answers([tmp_path / name], CLASSES)


def test_a_table_that_is_imported_again_is_the_same(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.3] * 3, 50)
    before = ProbabilityTable(p, rng.integers(-1, 3, 50), [str(i) for i in range(50)])
    before.write(tmp_path / "t.jsonl")
    names = {name: f"p{name}" for name in before.classes}
    after, _ = read_answers([tmp_path / "t.jsonl"], before.classes, names=names)
    assert after.data_hash == before.data_hash
    assert after.ids.tolist() == before.ids.tolist()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_gold_labels_are_joined_by_id(tmp_path, order):
    gold = [("r0", 0), ("r1", "spam"), ("r2", "ham")]
    text = "".join(f"{gold[i][0]},{gold[i][1]}\n" for i in order)
    (tmp_path / "gold.csv").write_text(f"name,y\n{text}")
    rows = [{**row, "name": row["id"]} for row in ROWS]
    options = {"gold": tmp_path / "gold.csv", "on": "name", "label": "y"}
    table, _ = read_answers(rows, CLASSES, **options)
    assert table.labels.tolist() == [0, 1, 0]


def test_gold_labels_are_joined_by_row_past_refusals(tmp_path):
    answer = {"type": "choice", "choice": "ham", "probabilities": {"ham": 0.5, "spam": 0.5}}
    answers = [{"answers": {"q": one}} for one in (answer, {"type": "refusal"}, answer)]
    (tmp_path / "gold.csv").write_text("label\nham\nham\nspam\n")
    table, summary = read_answers(answers, CLASSES, gold=tmp_path / "gold.csv", on="row")
    assert (table.labels.tolist(), summary.refused) == ([0, 1], ("answer 2",))


def test_labels_beside_answers_are_read_unless_there_is_a_gold_file(tmp_path):
    rows = [{**row, "label": "spam", "y": 0} for row in ROWS]
    assert read_answers(rows, CLASSES)[0].labels.tolist() == [1, 1, 1]
    assert read_answers(rows, CLASSES, label="y")[0].labels.tolist() == [0, 0, 0]
    (tmp_path / "gold.csv").write_text("id,label\nr1,ham\n")
    table, _ = read_answers(rows, CLASSES, gold=tmp_path / "gold.csv")
    assert table.labels.tolist() == [-1, 0, -1]


def test_a_filter_of_a_harness_is_chosen_as_a_question():
    resps = [[[-1.0, False]], [[-2.0, False]]]
    rows = [{"doc_id": i, "resps": resps, "filter": f} for i in range(3) for f in ("none", "other")]
    table, summary = read_answers(rows, CLASSES, question="other")
    assert (len(table), summary.n_other, summary.question) == (3, 3, "other")


@pytest.mark.parametrize("places", [0, 1, 2, 3, None])
def test_import_and_apply_decide_as_the_sidecar_does_on_rounded_answers(tmp_path, places):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.3), 300)
    p = p if places is None else np.round(p, places)
    p[p.sum(axis=1) == 0] = 0.25
    classes = ["a", "b", "c", "d"]
    fitted = Coefficients(classes, [1, 30, 7, 12], 30)
    bodies = []
    for row in p.tolist():
        probabilities = dict(zip(classes, row, strict=True))
        choice = max(probabilities, key=probabilities.get)
        answer = {"type": "choice", "choice": choice, "probabilities": probabilities}
        bodies.append({"answers": {"q": answer}})
    table, _ = read_answers(bodies, classes)
    apply([table], fitted, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open() as file:
        applied = [row["prediction"] for row in csv.DictReader(file)]
    on_their_way = [correct(body, {"q": fitted})[0]["answers"]["q"]["choice"] for body in bodies]
    assert applied == on_their_way


def test_votes_as_counts_and_as_shares_are_the_same():
    counts = np.random.default_rng(0).multinomial(8, [0.7, 0.2, 0.1], 50)
    rows = [dict(zip("abc", row, strict=True)) for row in counts.tolist()]
    shares = [dict(zip("abc", row, strict=True)) for row in (counts / 8).tolist()]
    of_counts, told = read_answers(rows, list("abc"))
    of_shares, _ = read_answers(shares, list("abc"))
    np.testing.assert_array_equal(of_counts.probabilities, of_shares.probabilities)
    assert told.n_normalised == 50


def test_ties_and_one_class_rows_of_rounded_answers_are_counted():
    rounded = [{"ham": 0.33, "spam": 0.66}, {"ham": 0.0, "spam": 1.0}, {"ham": 0.5, "spam": 0.5}]
    _, summary = read_answers(rounded, CLASSES)
    found = (summary.decimals, summary.n_normalised, summary.n_tied, summary.n_one_class)
    assert found == (2, 1, 1, 1)


def test_rows_of_several_questions_are_counted_and_one_is_chosen(tmp_path):
    one, other = (Question.of("m", "decision", CLASSES, text) for text in ("Which?", "What?"))
    folder = tmp_path / "topic"  # as a sidecar records it
    folder.mkdir()
    row = {"time": "now", "model": "m", "p_ham": 0.25, "p_spam": 0.75}
    rows = [
        json.dumps({"id": f"{n}-{i}", **row, "question": json.dumps(asked.to_dict())})
        for n, asked in enumerate((one, other))
        for i in range(3)
    ]
    (folder / "record-0.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(InvalidInputError, match=r"2 questions .*m, decision \(.{8}\): 3.*--only"):
        read_answers([folder], None)
    with pytest.raises(InvalidInputError, match="no answer is of n; models and columns: m"):
        read_answers([folder], None, only="n")
    imported = read_answers([folder], None, only=other.fingerprint[:6])
    assert imported.table.ids.tolist() == ["1-0", "1-1", "1-2"]
    assert (imported.summary.n_other, imported.summary.model) == (3, "m")
    write_import(imported, tmp_path / "t.csv")
    assert origin_of(tmp_path / "t.csv") == {"question": other.to_dict()}


def test_answers_of_one_model_are_chosen_by_its_name():
    said = [{"choices": [{"message": {"content": "spam"}}], "model": name} for name in "mnm"]
    for answer in said:
        top = [{"token": "spam", "logprob": -0.5}, {"token": "ham", "logprob": -1.0}]
        answer["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    with pytest.raises(InvalidInputError, match=r"m, chat \(.{8}\): 2, n, chat \(.{8}\): 1"):
        read_answers(said, CLASSES)
    table, summary = read_answers(said, CLASSES, only="m")
    assert (len(table), summary.model, summary.asked["form"]) == (2, "m", "chat")


def chat(system, text="ham"):
    """A request to a chat, and its answer."""
    top = [{"token": "spam", "logprob": -0.5}, {"token": "ham", "logprob": -1.0}]
    choice = {
        "message": {"content": text},
        "logprobs": {"content": [{**top[1], "top_logprobs": top}]},
    }
    said = [{"role": "system", "content": system}, {"role": "user", "content": "x"}]
    return {"model": "m", "messages": said}, {"model": "m-1", "choices": [choice]}


SAVED = {
    "messages": lambda asked, answer: {"messages": asked["messages"], "response": answer},
    "request": lambda asked, answer: {"request": asked, "response": answer},
    "bodies": lambda asked, answer: {"request": {"body": asked}, "response": {"body": answer}},
    "batch": lambda asked, answer: {
        "custom_id": str(id(asked)),
        "body": asked,
        "response": {"status_code": 200, "body": answer},
    },
    "litellm": lambda asked, answer: {**asked, "status": "success", "response": answer},
    "litellm-texts": lambda asked, answer: {
        "messages": json.dumps(asked["messages"]),
        "response": json.dumps(answer),
    },
    "litellm-proxy": lambda asked, answer: {
        "messages": "{}",
        "proxy_server_request": asked,
        "response": answer,
    },
    "in the answer": lambda asked, answer: {**answer, "messages": asked["messages"]},
}


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_chats_with_other_system_messages_are_other_questions(saved):
    rows = [saved(*chat(system)) for system in ("Sort.", "Sort.", "Sort, please.")]
    counted = r"2 questions .*\(.{8}\): 2, .*\(.{8}\): 1.*--only: the first letters"
    with pytest.raises(InvalidInputError, match=counted):
        read_answers(rows, CLASSES)
    _, summary = read_answers(rows[:2], CLASSES)
    is_whole = not {"request", "body", "proxy_server_request"}.isdisjoint(rows[0])
    form = "text" if is_whole else None  # messages alone do not show what else was asked for
    asked = Question.of(summary.model, "chat", CLASSES, [["system", "Sort."]], form)
    assert summary.asked == asked.to_dict()
    table, _ = read_answers(rows, CLASSES, only=asked.fingerprint[:6])
    assert len(table) == 2


def test_a_chat_whose_messages_were_not_saved_is_to_the_same_question():
    asked, answer = chat("Sort.")
    _, summary = read_answers(
        [answer, {"messages": asked["messages"], "response": answer}], CLASSES
    )
    assert summary.asked["fixed"] is not None
