"""The line of `dnip import` that a foreign table is met with, typed as it stands."""

import json
import shlex

import numpy as np
import pytest

from cases import cases
from dnip.llm.sources.proposing import propose

SHARES = np.round(np.random.default_rng(3).dirichlet(np.ones(3), 40), 4)
TRUTH = SHARES.argmax(axis=1)
ANIMALS = ("cat", "car", "dog")


def rows_of(pattern, label, classes=ANIMALS, **others):
    return [
        {"uid": f"u{n}", **others, label: classes[truth]}
        | {"guess": classes[0]}
        | {pattern.format(name): value for name, value in zip(classes, p, strict=True)}
        for n, (p, truth) in enumerate(zip(SHARES.tolist(), np.roll(TRUTH, 9), strict=True))
    ]


@cases(
    ("score_{}", "truth"),
    ("confidence({})", "animal"),
    ("{}", "Gold"),
    ("{} %", "label"),
    ("prob.{}.raw", "y"),
)
def test_the_line_reads_the_table_with_its_labels(tmp_path, monkeypatch, dnip, pattern, label):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.jsonl").write_text("\n".join(map(json.dumps, rows_of(pattern, label))))
    run = dnip("evaluate", "a b.jsonl")
    assert run.status == 1
    line = shlex.split(run.err.partition("type: ")[2].strip())
    assert line[:3] == ["dnip", "import", "a b.jsonl"]
    made = dnip(*line[1:])
    assert made.status == 0, made.err
    assert made.out.splitlines()[0] == "40 rows written to opt.csv, 40 of them with a label"
    assert dnip("evaluate", "opt.csv").status == 0


def test_texts_without_probabilities_are_met_with_what_import_says(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,answer,label\n" + "so,ham,ham\nit,spam,spam\n" * 4)
    assert "import` says" in propose(path, is_foreign=True)
    assert "logprobs=True" in propose(path, is_foreign=True)
    assert propose(path) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "label,ham,spam\nham,0.5,0.5\nham,2,3\n",
        "label,ham,spam,id\nham,0.5,0.5,0\nspam,0.25,0.75,0\n",
        "label,ham,spam,text\nham,0.5,0.5,so\nspam,0.25,0.75,it\n",  # --classes makes it one
        "a,b\n1,x\n",
    ],
)
def test_nothing_is_made_up(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert "type:" not in (propose(path) or "")
    assert propose(tmp_path / "none.csv") is None


HALVES = "ham,0.5,0.5\nspam,0.25,0.75\n" * 4
RESPONSE = '{"id": 1, "model": "m", "choices": [{"text": "ham"}]%s}\n'


@cases(
    ("opt.csv", "ham,spam\n" + "0.5,0.5\n" * 4, "no row has a label. Add a column `label`"),
    ("opt.csv", "label,ham,spam\n" + ",0.5,0.5\n" * 4, "no row has a label. Add a column `label`"),
    (
        "opt.csv", "label,ham_p,spam_p\n" + HALVES,
        "type: dnip import opt.csv --classes ham,spam --out table.csv",
    ),
    (
        "a.csv", ("label,ham,spam\n" + HALVES).encode("utf-16"),
        "type: dnip import a.csv --classes ham,spam --out opt.csv",
    ),
    (
        "a.jsonl", RESPONSE % "",
        "type: dnip import a.jsonl --classes A,B,C --label LABEL --out opt.csv",
    ),
    (
        "a.jsonl", RESPONSE % ', "label": "ham"',
        "answers of a model, type: dnip import a.jsonl --classes A,B,C --out opt.csv",
    ),
    (
        "a.jsonl", '{"target": 0, "resps": [[-0.1, true]], "acc": 1.0}\n',
        "type: dnip import a.jsonl --classes A,B,C --label LABEL --out opt.csv",
    ),
)  # fmt: skip
def test_what_a_file_is_told_it_needs(folder, dnip, name, content, told):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in ("evaluate", "fit"):
        dnip(command, name).assert_refused(told)


def test_a_column_that_is_not_there_is_no_reason_to_import(tmp_path, dnip):
    path = tmp_path / "a.csv"
    path.write_text("label,ham,spam,user\n" + "ham,0.5,0.5,1\nspam,0.25,0.75,2\n" * 4)
    run = dnip("evaluate", path, "--classes", "ham,spam", "--group", "usr")
    assert run.status == 1
    assert run.err.endswith("the columns are ham, spam, user. Name one of these\n")
