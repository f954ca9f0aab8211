"""Tables as people have them: what is read, and what is refused with its reason."""

import json

import numpy as np
import pytest

import dnip
from cases import cases
from dnip import Coefficients
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.llm.sources import read_answers, write_import
from dnip.tables import Asked, Scan
from dnip.using.application import apply

CLASSES = ["Größe M", "Tech/Sci", "sport"]
SHARES = np.round(np.random.default_rng(7).dirichlet(np.ones(3), 40), 3)
TRUTH = np.random.default_rng(8).integers(0, 3, 40)


def text_of(header, rows, mark=","):
    quoted = [[f'"{cell}"' if mark in str(cell) else str(cell) for cell in row] for row in rows]
    return "\n".join(mark.join(row) for row in [header, *quoted]) + "\n"


def table_of(mark=",", number="{}".format, columns=CLASSES, beside=()):
    rows = [
        [*[cell for _, cell in beside], *map(number, p), CLASSES[label]]
        for p, label in zip(SHARES.tolist(), TRUTH, strict=True)
    ]
    return text_of([*[name for name, _ in beside], *columns, "label"], rows, mark)


def check(table):
    expected = SHARES / SHARES.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table.probabilities, expected, atol=2e-3)
    np.testing.assert_array_equal(table.labels, TRUTH)


def comma(value):
    return f"{value:.3f}".replace(".", ",")


SAVED = {
    "semicolons": ("a.csv", table_of(";", comma).encode()),
    "tabs": ("a.tsv", table_of("\t").encode()),
    "bars": ("a.txt", table_of("|").encode()),
    "quoted decimal commas": ("a.csv", table_of(",", comma).encode()),
    "per cent": ("a.csv", table_of(",", "{:.1%}".format).encode()),
    "per cent and a space": ("a.csv", table_of(";", lambda p: f"{comma(100 * p)} %").encode()),
    "hundreds": ("a.csv", table_of(",", lambda p: f"{100 * p:.1f}").encode()),
    "UTF-16": ("a.csv", table_of("\t").encode("utf-16")),
    "a byte order mark": ("a.csv", table_of().encode("utf-8-sig")),
    "a first line sep=": ("a.csv", b"sep=;\r\n" + table_of(";", comma).encode()),
    "one quoted": ("a.csv", b'"sep=,"\n' + table_of().encode()),
}


@pytest.mark.parametrize(("name", "content"), SAVED.values(), ids=SAVED)
def test_spreadsheets_are_read_as_they_are_saved(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    table, summary = read_answers([tmp_path / name], CLASSES)
    check(table)
    assert (summary.source, summary.class_columns, summary.n_labelled) == ("columns", (), 40)


def test_windows_1252_is_read_and_told_but_not_damaged_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(table_of().encode("cp1252"))
    with pytest.warns(DNIPWarning, match="not UTF-8, and read as Windows-1252"):
        check(read_answers([path], CLASSES).table)
    path.write_bytes(table_of().encode() + b"\xff")
    with pytest.raises(InvalidInputError, match="line 42 is not UTF-8 text"):
        read_answers([path], CLASSES)


@cases(
    ("x.xlsx", b"", "kind .xlsx are not read here. Save it as CSV UTF-8"),
    ("x.pkl", b"\x80\4", "give its numbers in Python"),
)
def test_files_of_other_programs_are_named(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=told):
        read_answers([tmp_path / name], CLASSES, question="any")


PATTERNS = ["p_{}", "prob_{}", "prob.{}", ".pred_{}", "proba_{}", "{}_score", "P({})", "{} (%)"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_columns_that_are_called_like_the_classes_are_taken_and_told(tmp_path, pattern):
    columns = [pattern.format(name) for name in CLASSES]
    beside = [("text", "so it goes, once"), ("prediction", "sport"), ("score", 0.5)]
    (tmp_path / "a.csv").write_text(table_of(columns=columns, beside=beside), encoding="utf-8")
    table, summary = read_answers([tmp_path / "a.csv"], CLASSES)
    check(table)
    assert summary.class_columns == tuple(columns)


NEWS = ["World", "Sports", "Business", "Tech"]
SPELT = {"P World": 0.5, "P sports": 0.25, "P Business": 0.125, "P technology": 0.125}


def test_a_column_of_another_name_is_told_and_mapped_alone():
    with pytest.raises(
        InvalidInputError, match=r"there is no column World; the columns are P World"
    ) as e:
        read_answers([{**SPELT, "topic": "World"}], NEWS)
    assert "--map 'Tech=P technology'" in e.value.hint
    table, summary = read_answers([SPELT], NEWS, names={"Tech": "P technology"})
    assert table.probabilities.tolist() == [[*SPELT.values()]]
    assert summary.class_columns == tuple(SPELT)


@cases("", "n/a", "null", None, float("nan"))
def test_rows_whose_class_cells_are_all_empty_are_left_out_and_listed(cell):
    empty = {"id": "b", "ham": cell, "spam": cell}
    table, summary = read_answers([{"id": "a", "ham": 0.25, "spam": 0.75}, empty], BOTH)
    assert table.probabilities.tolist() == [[0.25, 0.75]]
    assert (summary.silent, summary.left_out) == (("b",), (2,))
    with pytest.raises(InvalidInputError, match="the cells of ham, spam are empty: 1, such as 'b'"):
        read_answers([empty], BOTH)


def test_names_that_r_has_changed_are_taken():
    row = {"prob.größe.m": 0.5, "prob.tech.sci": 0.25, "prob.sport": 0.25}
    table, summary = read_answers([row], CLASSES)
    assert table.probabilities.tolist() == [[0.5, 0.25, 0.25]]
    assert summary.class_columns == tuple(row)


BOTH = ["ham", "spam"]


@pytest.mark.parametrize("offset", [0, -20, -800, -5000])
def test_log_probabilities_of_sequences_are_relative_to_the_largest(offset):
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(2), 20)) + offset
    rows = [dict(zip(BOTH, row, strict=True)) for row in logs.tolist()]
    for written in (rows, [{"logits": str([*row.values()])} for row in rows]):
        table, _ = read_answers(written, BOTH)
        np.testing.assert_allclose(table.probabilities, np.exp(logs - offset), rtol=1e-9)
        assert (table.mass is None) == (offset < 0)
    if offset < 0:  # what is not reported is at most as probable as ham, of which half is taken
        table, _ = read_answers([{**rows[0], "spam": ""}, rows[1]], BOTH)
        np.testing.assert_allclose(table.probabilities[0], [2 / 3, 1 / 3])


def test_rows_can_be_joined_back(tmp_path):
    lp = [{"ham": -0.1, "spam": -2.5}, "", {"ham": -1.5, "spam": -0.3}]
    rows = [{"lp": cell, "text": text} for cell, text in zip(lp, "abc", strict=True)]
    imported = read_answers(rows, BOTH, keep=["text"])
    assert imported.summary.left_out == (2,)
    write_import(imported, tmp_path / "t.jsonl")
    back = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [(row["row"], row["text"]) for row in back] == [(1, "a"), (3, "c")]
    for suffix in ("csv", "parquet"):
        again = (tmp_path / f"t.{suffix}", tmp_path / f"out.{suffix}")
        write_import(imported, again[0])
        apply(Scan(again[0], BOTH, Asked(others=True)), Coefficients(BOTH, [1, 2], 2), again[1])
        [rows_back] = Scan(again[1], BOTH, Asked(others=True))
        assert [*zip(*rows_back.others.values(), strict=True)] == [("1", "a"), ("3", "c")]
    meta = json.loads((tmp_path / "t.jsonl.meta.json").read_text())
    assert meta["summary"]["left_out"] == [2]
    named = read_answers([{**row, "id": n} for n, row in enumerate(rows)], BOTH)
    assert named.summary.others == {}  # they have ids


def test_gold_labels_match_by_case_or_by_map(tmp_path):
    rows = [{"ham": 0.5, "spam": 0.5, "y": cell} for cell in ("HAM ", "Spam", "junk", "", "0")]
    with pytest.raises(InvalidInputError, match=r"answer 3.*'junk'.*--map \w+=junk"):
        read_answers(rows, BOTH, label="y")
    table, summary = read_answers(rows, BOTH, label="y", names={"spam": "junk"})
    assert table.labels.tolist() == [0, 1, 1, -1, 0]
    assert summary.class_columns == ("ham", "spam")  # the map is for labels, which is told
    rows[3]["y"] = "JUNK"
    with pytest.raises(InvalidInputError) as told:
        read_answers(rows[2:], BOTH, label="y")
    assert told.value.hint.count("--map") == 1
    table, _ = read_answers(rows, BOTH, label="y", names={"spam": "Junk"})
    assert table.labels.tolist() == [0, 1, 1, 1, 0]
    (tmp_path / "gold.csv").write_text("id,label\n1,Junk\n")
    with pytest.raises(InvalidInputError, match="neither a class name"):
        read_answers([{**rows[0], "id": 1}], BOTH, gold=tmp_path / "gold.csv")


def test_a_column_of_class_names_is_offered_and_not_taken():
    rows = [{"ham": 0.5, "spam": 0.5, "text": "spam it", "topic": name} for name in BOTH]
    table, summary = read_answers(rows, BOTH)
    assert (table.labels, summary.naming) == (None, ("topic",))


def test_labels_that_are_the_models_own_answers_are_told():
    rows = [
        {"ham": p, "spam": 1 - p, "label": BOTH[p < 0.5]}
        for p in np.random.default_rng(0).random(40).tolist()
    ]
    with pytest.warns(DNIPWarning, match=r"in 40 of 40 rows.*the model's own answers"):
        read_answers(rows, BOTH)


def test_columns_of_votes_that_are_numbered_belong_together(tmp_path):
    (tmp_path / "a.csv").write_text("id,run1,run2,run3\n1,ham,ham,spam\n2,spam,spam,ham\n")
    imported = read_answers([tmp_path / "a.csv"], ["ham", "spam"], votes=True)
    np.testing.assert_allclose(imported.table.probabilities[:, 0], [0.625, 0.375])


# --- one column, several kinds of rows, labels of a file of their own ---
def test_of_one_column_the_other_class_is_what_is_left(tmp_path):
    rows = [{"id": n, "score": p, "y": y} for n, (p, y) in enumerate([(0.25, 0), ("75%", 1)])]
    table, summary = read_answers(rows, BOTH, names={"spam": "score"}, label="y")
    assert table.probabilities.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert summary.class_columns == ("1 - score", "score")


def test_rows_of_several_kinds_are_named_and_one_is_chosen():
    rows = [
        {"ham": 0.25, "spam": 0.75, "model_id": model, "seed": seed, "lr": 0.1 * seed}
        for model in ("small", "large")
        for seed in (1, 2, 3)
    ]
    told = r"model_id: small \(3\), large \(3\); seed: 1 \(2\).*--only model_id=small --only seed=1"
    with pytest.warns(DNIPWarning, match=told):
        assert len(read_answers(rows, BOTH).table) == 6
    told = (
        r"\(seed: 1 \(1\), 2 \(1\), 3 \(1\)\).*choose, as with --only model_id=large --only seed=1"
    )
    with pytest.warns(DNIPWarning, match=told):
        assert len(read_answers(rows, BOTH, only="model_id=large").table) == 3
    table, summary = read_answers(rows, BOTH, only=["model_id=large", "seed=2"])
    assert (len(table), summary.n_other) == (1, 5)
    with pytest.raises(InvalidInputError, match=r"no answer is of seed=7; .*seed: 1, 2, 3"):
        read_answers(rows, BOTH, only="seed=7")


@cases("m", "model=m")
def test_rows_of_a_model_are_chosen_by_its_name_or_by_its_column(only):
    rows = [
        {"ham": 0.25, "spam": 0.75, "model": model, "split": split}
        for model, split in [("m", "a b"), ("n", "a b"), ("n", "c"), ("m", "c")]
    ]
    told = rf"\(split: a b \(1\), c \(1\)\).*choose, as with --only {only} --only 'split=a b'"
    with pytest.warns(DNIPWarning, match=told):
        table, summary = read_answers(rows, BOTH, only=only)
    assert (len(table), summary.model) == (2, "m")
    assert len(read_answers(rows, BOTH, only=[only, "split=a b"]).table) == 1


def test_labels_given_twice_are_named_unless_the_last_is_asked_for(tmp_path):
    gold = tmp_path / "gold.csv"
    rows = [{"key": n, "ham": 0.25, "spam": 0.75} for n in "abc"]
    gold.write_text("uid,label\na,ham\nb,spam\na,ham\nc,\n")
    table = read_answers(rows, BOTH, gold=gold, on="key=uid").table
    assert table.labels.tolist() == [0, 1, -1]
    gold.write_text("uid,label\na,ham\nb,spam\na,spam\n")
    with pytest.raises(InvalidInputError, match="id 'a' has two different labels, spam here"):
        read_answers(rows, BOTH, gold=gold, on="key=uid")
    assert read_answers(rows, BOTH, gold=gold, on="key=uid", last=True).table.labels[0] == 1


def test_rows_are_not_joined_in_order_where_their_ids_contradict_it(tmp_path):
    gold = tmp_path / "gold.csv"
    rows = [{"id": n, "ham": 0.25, "spam": 0.75} for n in "ab"]
    gold.write_text("id,label\nb,ham\na,spam\n")
    with pytest.raises(InvalidInputError, match="id 'a', but row 1 of the labels 'b'"):
        read_answers(rows, BOTH, gold=gold, on="row")
    gold.write_text("id,label\na,ham\nb,spam\n")
    assert read_answers(rows, BOTH, gold=gold, on="row").table.labels.tolist() == [0, 1]


@cases((["ham"], 0), ([], -1), ('["spam"]', 1))
def test_a_list_of_one_label_is_that_label(cell, label):
    rows = [{"ham": 0.25, "spam": 0.75, "accept": cell}, {"ham": 0.5, "spam": 0.5, "accept": "ham"}]
    assert read_answers(rows, BOTH, label="accept").table.labels.tolist() == [label, 0]


@pytest.mark.parametrize("order", [1, -1])
def test_dictionaries_of_rounded_probabilities_lose_no_row_and_zeros_stay(order):
    cells = [(0.5, 0.5, 0.0), (0.34, 0.34, 0.33), (0.99, 0.0, 0.0), (0.0, 1.0, 0.0)][::order]
    rows = [{"id": n, "p": str(dict(zip(NEWS, p, strict=False)))} for n, p in enumerate(cells)]
    table, summary = read_answers(rows, NEWS[:3])
    assert (len(table), table.mass, summary.left_out) == (4, None, ())
    np.testing.assert_array_equal(table.probabilities == 0, np.array(cells) == 0)


def test_log_probabilities_of_two_decimals_are_read():
    rows = [
        {"logprob_ham": -0.69, "logprob_spam": -0.69},
        {"logprob_ham": 0, "logprob_spam": -9.21},
    ]
    table = read_answers(rows, BOTH).table
    np.testing.assert_allclose(table.probabilities[:, 0], [0.5, 1], atol=1e-3)


def test_what_is_left_out_is_told_again_where_the_table_is_used(tmp_path):
    rows = [
        {"id": n, "ham": p, "spam": 1 - p, "label": n % 2}
        for n, p in enumerate([0.25, 0.5, 0.75] * 10)
    ]
    rows += [{"id": f"x{n}", "ham": "", "spam": ""} for n in range(3)]
    path, told = tmp_path / "t.csv", r"9% of the answers are left out, 3 of 33 \(the cells"
    with pytest.warns(DNIPWarning, match=told):
        write_import(read_answers(rows, BOTH), path)
    with pytest.warns(DNIPWarning, match=told):
        fitted = dnip.fit(path)
    with pytest.warns(DNIPWarning, match=told):
        dnip.check(path, coefficients=fitted)
