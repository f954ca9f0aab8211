"""``dnip import``: from files of answers to a table that is fitted, and what it says."""

import csv
import gzip
import json

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable

CLASSES = ("--classes", "ham,spam", "--out", "t.csv")


def decision(p_ham, **beside):
    probabilities = {"ham": p_ham, "spam": round(1 - p_ham, 6)}
    choice = "ham" if p_ham >= 0.5 else "spam"
    answer = {"type": "choice", "choice": choice, "probabilities": probabilities}
    return {"model": "m", "answers": {"kind": answer}, **beside}


def lines(*values):
    return "".join(f"{json.dumps(value)}\n" for value in values)


@pytest.fixture
def write(folder):
    def write(name, text):
        (folder / name).write_text(text, encoding="utf-8")

    return write


def test_answers_are_imported_and_fitted(dnip, write, folder):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    p_ham = np.round(np.clip(0.75 - 0.3 * truth + rng.normal(0, 0.1, 60), 0.01, 0.99), 3)
    answers = [decision(p, id=f"row {i}") for i, p in enumerate(p_ham.tolist())]
    write("a.jsonl", lines(*answers[:30]))
    (folder / "b.json.gz").write_bytes(gzip.compress(json.dumps(answers[30:], indent=1).encode()))
    gold = [f"row {i},{['ham', 'spam'][label]}" for i, label in enumerate(truth)]
    write("gold.csv", "id,label\n" + "\n".join(reversed(gold)) + "\n")
    run = dnip("import", "a.jsonl", "b.json.gz", *CLASSES, "--gold", "gold.csv", "--json")
    assert run.status == 0
    assert run.err == (
        "note: probabilities are rounded to 0.001; rows with ties for the best class: "
        f"{(p_ham == 0.5).sum()}\n"
    )
    assert (run.json["n"], run.json["n_labelled"], run.json["source"]) == (60, 60, "decisions")
    table = ProbabilityTable.read("t.csv", ["ham", "spam"])
    np.testing.assert_array_equal(table.labels, truth)
    np.testing.assert_allclose(table.probabilities[:, 0], p_ham, rtol=1e-12)
    assert table.ids.tolist() == [f"row {i}" for i in range(60)]
    meta = json.loads((folder / "t.csv.meta.json").read_text())
    assert meta["summary"]["files"] == ["a.jsonl", "b.json.gz"]
    assert {**meta["summary"], "out": "t.csv"} == run.json
    assert dnip("fit", "t.csv", "--out", "c.json").status == 0


def test_what_is_missing_is_counted_and_named(dnip, write):
    batch = [
        {"custom_id": "a", "response": {"status_code": 200, "body": decision(0.8)}},
        {"custom_id": "b", "response": {"status_code": 500, "body": {"error": {}}}},
        {"custom_id": "c", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "d", "response": {"status_code": 200, "body": decision(1.0)}},
        {"custom_id": "e", "response": {"body": {"answers": {"kind": {"type": "refusal"}}}}},
        {"custom_id": "f", "response": {"body": {"answers": {"other": {"type": "refusal"}}}}},
    ]
    write("batch.jsonl", lines(*batch))
    write("gold.jsonl", lines({"id": "a", "label": 1}, {"id": "z", "label": None}))
    question = ("--question", "kind", "--gold", "gold.jsonl")
    run = dnip("import", "batch.jsonl", *CLASSES, *question)
    assert run.status == 0
    assert run.out.splitlines() == [
        "2 rows written to t.csv, 1 of them with a label",
        "source decisions, model m, question kind",
    ]
    assert run.err.splitlines() == [
        "warning: batch.jsonl: 60% of the answers are left out, 3 of 5 (the request failed: 2, "
        "such as 'b'; the model refuses: 1, such as 'e'); numbers are of the other rows",
        "note: refusals, which are not in the table: 1 (e)",
        "note: failed requests, which are not in the table: 2 (b, c)",
        "note: answers to other questions or of other rows, which are not in the table: 1",
        "note: rows without a label: 1",
        "note: rows that give everything to one class, so that no weights can move them: 1",
        "note: probabilities are rounded to 0.1; rows with ties for the best class: 0",
    ]


def test_votes_are_counted_and_their_steps_are_told(dnip, write):
    said = {"a": ["spam", "Ham", "SPAM", "no"], "b": ["ham", "spam"], "c": ["no", None]}
    answers = [{"row_id": row, "text": one} for row, texts in said.items() for one in texts]
    write("a.jsonl", lines(*answers))
    write("gold.csv", "row_id,label\nc,ham\nb,spam\na,ham\n")
    run = dnip("import", "a.jsonl", *CLASSES, "--votes", "--on", "row_id", "--gold", "gold.csv")
    assert run.out.splitlines() == [
        "2 rows written to t.csv, 2 of them with a label",
        "source votes, question text; captured mass 0.875 on average",
    ]
    assert run.err.splitlines() == [
        "warning: a.jsonl: 38% of the answers are left out, 3 of 8 (no label is stated: 2, such as "
        "'no'; the model refuses: 1, such as 'c'); numbers are of the other rows",
        "note: votes of a row: 2 to 3, and half a vote more for each class; rows with ties for the "
        "best class: 1; no votes, of 8 answers: 1 refusals and 2 without one class",
        "note: rows without a vote, which are not in the table: 1 (c)",
    ]
    table = ProbabilityTable.read("t.csv", ["ham", "spam"])
    np.testing.assert_allclose(table.probabilities, [[1.5 / 4, 2.5 / 4], [0.5, 0.5]])


ID = {"id": "a"}
ANSWER = lines(decision(0.5, **ID))


@cases(
    (ANSWER * 2, "", "", "a.jsonl: line 2: the id 'a' is already at a.jsonl: line 1"),
    (ANSWER, "", "--question topic", "no answer has the question 'topic'; the questions are kind"),
    (ANSWER + '{"ans', "", "", "a.jsonl: line 2 is not valid JSON"),
    (ANSWER, "id,label\na,egg\n", "--gold gold.csv", "row 1, column label: 'egg' is neither"),
    (ANSWER, "nr,topic\na,ham\n", "--gold gold.csv", "their ids with --on id=COLUMN"),
    (ANSWER, "", "--from tea", "'tea'"),
    (ANSWER, "", "--map egg=ham", "--map names 'egg'"),
    ("", "", "", "a.jsonl: there are no answers"),
)
def test_bad_input_writes_nothing(dnip, write, unchanged, text, gold, further, told):
    write("a.jsonl", text)
    write("gold.csv", gold)
    with unchanged():
        dnip("import", "a.jsonl", *CLASSES, *further.split()).assert_refused(told)


def test_kept_columns_and_row_numbers_go_through_apply(dnip, write, folder):
    write("c.json", Coefficients(["ham", "spam"], [1, 2], 2).to_json())
    rows = [f"{n};so it is, {n};0,{3 + n};0,{7 - n};{'HAM' if n > 2 else 'Spam'}" for n in range(5)]
    write("a.csv", "\n".join(["sep=;", "nr;text;p_ham;p_spam;topic", *rows]) + "\n")
    run = dnip("import", "a.csv", *CLASSES)
    assert "note: the classes were read from the columns p_ham, p_spam" in run.err
    assert "give --label topic" in run.err  # which is typed now
    keep = ("--label", "topic", "--keep", "text", "--keep", "nr")
    assert dnip("import", "a.csv", *CLASSES, *keep).status == 0
    assert dnip("evaluate", "t.csv", "--json").json["n"] == 5  # without --classes
    assert dnip("apply", "t.csv", "--coefficients", "c.json", "--out", "out.csv").status == 0
    back = list(csv.DictReader((folder / "out.csv").open()))
    assert [(row["row"], row["nr"], row["text"]) for row in back] == [
        (str(n + 1), str(n), f"so it is, {n}") for n in range(5)
    ]
    assert [row["label"] for row in back] == ["spam", "spam", "spam", "ham", "ham"]


def test_the_remedy_of_a_message_works_when_it_is_typed(dnip, write):
    write("a.csv", "w,s,label\n0.5,0.5,Junk\n0.25,0.75,ham\n")
    run = dnip("import", "a.csv", *CLASSES)
    run.assert_refused("--map ham=w --map spam=s, if that is their order")
    named = ("--map", "ham=w", "--map", "spam=s")
    run = dnip("import", "a.csv", *CLASSES, *named)
    run.assert_refused("'Junk' is neither a class name", "--map spam=Junk")
    write("c.csv", "text,prob_ham,prob_spam,label\nso,0.5,0.5,ham\nit,0.25,0.75,spam\n")
    run = dnip("fit", "c.csv")
    run.assert_refused("type: dnip import c.csv --classes ham,spam --out opt.csv")
    assert dnip("import", "c.csv", "--classes", "ham,spam", "--out", "opt.csv").status == 0
    write("d.jsonl", lines({"id": "1", "model": "m", "choices": []}))
    dnip("fit", "d.jsonl").assert_refused("answers of a model, type: dnip import d.jsonl")


def test_records_of_two_schemas_are_one_table_by_the_line_to_type(dnip, write, folder):
    """Those of an earlier version have no ``p_``, and no mass; a folder may hold both."""
    (folder / "recorded").mkdir()
    rows = np.random.default_rng(0).dirichlet([1, 1], 80).tolist()
    when = {"time": "2026-01-01T00:00:00Z", "model": "m"}
    old = [{"id": f"a{n}", **when, "ham": p, "spam": q} for n, (p, q) in enumerate(rows[:40])]
    new = [
        {"id": f"b{n}", **when, "form": "text", "p_ham": p, "p_spam": q, "mass": 0.5}
        for n, (p, q) in enumerate(rows[40:])
    ]
    for name, cells in (("record-1", old), ("record-2", new)):
        write(f"recorded/{name}.jsonl", lines(*cells))
    Coefficients(["ham", "spam"], [1, 2], 2).save("c.json")
    refused = dnip("apply", "recorded", "--coefficients", "c.json", "--out", "out.csv")
    line = "dnip import recorded --classes ham,spam --out opt.csv"
    refused.assert_refused("record-2.jsonl: the columns id, p_ham", line)
    (folder / "recorded" / "record-2.jsonl").rename(folder / "new.jsonl")
    unnamed = dnip("import", "recorded", "--out", "opt.csv")
    unnamed.assert_refused("Name the classes with --classes A,B,C")
    (folder / "new.jsonl").rename(folder / "recorded" / "record-2.jsonl")
    run = dnip(*line.split()[1:])
    assert "captured mass is left out, for 40 of 80 rows have none" in run.err
    np.testing.assert_allclose(ProbabilityTable.read("opt.csv").probabilities, rows, atol=1e-12)
