"""Rows that belong together, rows of a fit, and columns that make rows whole."""

import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dnip
from cases import cases
from dnip import Coefficients, InvalidInputError, ProbabilityTable
from dnip.tables import Asked, Scan
from dnip.tables.groups import FittedRows, Overlap, check_groups, find_copies, first_of_groups
from dnip.tables.table import as_table
from dnip.using.application import apply
from dnip.using.drift import check

NAMES = ["ham", "spam"]
ROWS = pd.DataFrame(
    {
        "label": ["ham", "spam", "ham"],
        "ham": [0.75, 0.25, 0.5],
        "spam": [0.25, 0.75, 0.5],
        "user": ["u", None, "u"],
        "times": [1, 2.5, 0],
        "lang": [1, 2, 1],
    }
)


KINDS = ["frame", "polars", "csv", "jsonl", "parquet"]


def given(kind, frame, folder):
    """The rows as a user has them: a frame of either library, or the path of a file."""
    path = folder / f"t.{kind}"
    if kind == "frame":
        return frame
    if kind == "polars":
        return pl.from_pandas(frame)
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        {"csv": partial(frame.to_csv, index=False), "parquet": frame.to_parquet}[kind](path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_no_classes_and_come_with_their_rows(tmp_path, kind):
    table = as_table(
        given(kind, ROWS, tmp_path), groups="user", weights="times", by="lang", classes=None
    )
    assert table.classes == ("ham", "spam")
    assert table.groups.tolist() == ["u", None, "u"]
    assert table.weights.tolist() == [1, 2.5, 0]
    assert [str(float(key)) for key in table.slices] == ["1.0", "2.0", "1.0"]
    part = table.take([2, 1])
    assert (part.groups.tolist(), part.weights.tolist()) == (["u", None], [0, 2.5])


def test_arrays_have_a_value_for_each_row():
    p, y = ROWS[NAMES].to_numpy(), ROWS["label"]
    table = as_table(p, y, NAMES, groups=[7, None, 7], weights=[1, 2, 3], by=list("aab"))
    assert table.groups.tolist() == ["7", None, "7"]


def test_of_each_group_the_first_row_stands_for_all_over_blocks():
    seen = set()
    blocks = [["u", None, "u"], [None, "v", "u", None]]
    first = [first_of_groups(np.array(names, object), seen).tolist() for names in blocks]
    assert first == [[True, True, False], [True, True, False, True]]
    assert first_of_groups(None, seen) == slice(None)


def test_an_empty_group_is_one_of_its_own():
    assert check_groups(["b", None, "a", float("nan"), "b", ""], 6).tolist() == [1, 2, 0, 3, 1, 4]


# --- rows that are whole only with another column ---
NEW = pd.DataFrame(
    {"id": ["x", "y"], "ham": [0.5, 0.6], "spam": [0.5, 0.1], "scam": [0, 0.3], "age": [31, 44]}
)


FITTED = Coefficients(NAMES, [1, 2], 2)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("door", ["apply", "check", "evaluate", "read"])
def test_a_class_that_is_not_known_is_named_at_every_door(tmp_path, kind, door):
    path = given(kind, NEW.assign(label=["ham", "spam"]), tmp_path)
    doors = {
        "apply": lambda: apply(Scan(path, NAMES), FITTED, tmp_path / "out.csv"),
        "check": lambda: check(Scan(path, NAMES), dnip.fit(ROWS[["label", *NAMES]])),
        "evaluate": lambda: dnip.evaluate(path, coefficients=FITTED),
        "read": lambda: ProbabilityTable.read(path, NAMES),
    }
    told = "row 2: the classes ham, spam sum to 0.7, and only with the column scam to 1"
    with pytest.raises(InvalidInputError, match=told):
        doors[door]()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_frames_with_such_a_class_are_refused(make):
    frame = make(NEW)
    with pytest.raises(InvalidInputError, match=r"\[1\]: .*only with the column scam"):
        FITTED.predict(frame)
    with pytest.raises(InvalidInputError, match="only with the column scam"):
        dnip.evaluate(frame, ["ham", "spam"], classes=NAMES)
    whole = NEW.assign(ham=[0.5, 0.9])[["ham", "spam", "age"]]
    assert FITTED.predict(make(whole)).tolist() == ["spam", "ham"]


def test_two_classes_that_are_not_known_are_named_together():
    frame = NEW.assign(scam=[0, 0.1], junk=[0, 0.2])
    with pytest.raises(InvalidInputError, match="only with the column scam, junk to 1"):
        FITTED.predict(frame)


@cases({"scam": [0, 0.2]}, {"scam": [0.1, 0.3]}, {"scam": [True, False]}, {"scam": ["a", "b"]})
def test_columns_that_do_not_make_rows_whole_are_other_columns(change):
    with pytest.warns(dnip.DNIPWarning, match="did not sum to 1"):
        assert FITTED.predict(NEW.assign(**change)).tolist() == ["spam", "ham"]


def test_groups_are_carried_block_by_block(tmp_path):
    path = given("csv", pd.concat([ROWS] * 3), tmp_path)
    blocks = list(Scan(path, NAMES, Asked(group="user", others=True)))
    assert [len(block) for block in blocks] == [9]
    assert blocks[0].groups.tolist() == ["u", None, "u"] * 3
    assert set(blocks[0].others) == {"times", "lang"}
    assert find_copies(np.array([[0.1, 0.9]] * 4), np.zeros(4, int)) is None


# --- rows of a fit are known again, and other rows are not taken for them ---
RNG = np.random.default_rng(0)


def table(n, digits=16, seed=0, ids=False):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6] * 3, n).round(digits) + 10.0**-digits
    names = [str(i) for i in range(n)] if ids else None
    return ProbabilityTable(p / p.sum(axis=1, keepdims=True), rng.integers(3, size=n), names)


def overlap(fitted, rows):
    found = Overlap(FittedRows.from_dict(json.loads(json.dumps(fitted.to_dict()))))
    for block in np.array_split(np.arange(len(rows)), 3):
        part = rows.take(block)
        found.add(part.probabilities, part.ids)
    return found


@cases((300, 300, 1.0, 0), (300, 150, 0.5, 0), (300, 0, 0.0, 0), (20_000, 10_000, 0.5, 0.15))
def test_the_share_of_fitted_rows_is_told(n, shared, share, within):
    mine, others = table(n, seed=1), table(n, seed=2)
    p = np.concatenate([mine.probabilities[:shared], others.probabilities[shared:]])
    found = overlap(FittedRows.of(mine.probabilities, None), ProbabilityTable(p))
    assert found.share == pytest.approx(share, abs=within)
    assert bool(found.sentence) == (share > 0)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_rows_that_rounding_makes_equal_are_not_taken_for_fitted_ones(digits):
    for seed in range(5):
        mine, others = (table(400, digits, seed) for seed in (10 + seed, 50 + seed))
        assert overlap(FittedRows.of(mine.probabilities, None), others).share <= 0.08
        numbered, other = (table(400, digits, s, ids=True) for s in (10 + seed, 50 + seed))
        fitted = FittedRows.of(numbered.probabilities, numbered.ids)
        assert overlap(fitted, other).share <= 0.02
        assert overlap(fitted, numbered).share == 1


def test_what_rounding_makes_equal_is_taken_off_the_share():
    first = np.random.default_rng(0).integers(1, 1000, 600) / 1000  # of so few, many are equal
    p = np.column_stack([first, 1 - first])
    fitted = FittedRows.of(p[:300], None)
    assert 0.2 < fitted.chance < 0.35
    found = overlap(fitted, ProbabilityTable(p[150:450]))
    assert found.found > 180
    assert found.share == pytest.approx(0.5, abs=0.06)


def test_running_numbers_as_ids_make_no_row_a_fitted_one():
    mine, others = table(200, seed=3, ids=True), table(200, seed=4, ids=True)
    assert overlap(FittedRows.of(mine.probabilities, mine.ids), others).share == 0


def test_coefficients_know_the_rows_of_their_fit(tmp_path):
    mine, others = table(300, seed=5), table(300, seed=6)
    dnip.fit(mine, evidence=False).save(tmp_path / "c.json")
    loaded = dnip.Coefficients.load(tmp_path / "c.json")
    assert "fitted" in json.loads((tmp_path / "c.json").read_text())["fit"]
    assert dnip.evaluate(mine, coefficients=loaded).to_dict()["fitted"] == 1
    assert dnip.evaluate(others, coefficients=loaded).to_dict()["fitted"] == 0
    assert dnip.evaluate(others).to_dict()["fitted"] is None
    told = dnip.evaluate(mine, coefficients=loaded).overlap.sentence
    assert told.startswith("100% of these rows (300 of 300 compared) are rows of the fit")


@cases(
    {"hashes": "AAAA", "below": "1", "by_id": False, "chance": 0},
    {"hashes": "!", "below": "1", "by_id": False, "chance": 0},
    {"hashes": "AQAAAAAAAAA=", "below": "1", "by_id": False, "chance": 0},
    {"hashes": "AQAAAAAAAAA=", "below": "2", "by_id": False, "chance": 7},
    {"hashes": "", "below": "2", "by_id": False, "chance": 0},
    {"below": "2", "by_id": False, "chance": 0},
)
def test_damaged_hashes_are_refused(content):
    record = {"fit": {"fitted": content}}
    text = json.dumps({**json.loads(dnip.Coefficients(["a", "b"], [1, 2], 2).to_json()), **record})
    with pytest.raises(dnip.CoefficientsFormatError, match=r"fit\.fitted is damaged"):
        dnip.Coefficients.from_json(text)


def test_weights_of_rows_count_in_a_fit_as_the_classifier_counts_them(tmp_path):
    rng = np.random.default_rng(7)
    p = rng.dirichlet([1, 1, 1], 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    w = rng.integers(1, 5, 200).astype(float)
    quick = {"robust": "off", "evidence": False}
    weighed = dnip.fit(p, y, weights=w, **quick).weights
    assert weighed.tolist() != dnip.fit(p, y, **quick).weights.tolist()
    classifier = dnip.DNIPClassifier(**quick).fit(p, y, sample_weight=w)
    assert weighed.tolist() == classifier.weights_.tolist()
    again = dnip.fit(np.repeat(p, w.astype(int), axis=0), np.repeat(y, w.astype(int)), **quick)
    assert again.weights == pytest.approx(weighed)
    half = np.where(np.arange(200) % 2, y.astype(float), np.nan)
    of_half = dnip.fit(p, half, weights=w, **quick)
    rest = np.arange(200) % 2 == 1
    alone = dnip.fit(p[rest], y[rest], weights=w[rest], **quick)
    assert of_half.weights == pytest.approx(alone.weights, abs=1e-3)
