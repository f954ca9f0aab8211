"""Every door refuses a fault of the input with the same words, and takes the same labels."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import dnip
from cases import cases
from dnip import InvalidInputError, ProbabilityTable

NAMES = ["a", "b", "c"]
P = np.random.default_rng(0).dirichlet(np.ones(3), 12)
Y = NAMES * 4
QUICK = {"robust": "off", "evidence": False}


def frame_of(p, y):
    names = [f"p{index}" for index in range(p.shape[1])]
    return pd.DataFrame(p, columns=names).assign(label=pd.Series(list(y), dtype=object))


def table_file(path, p, y):
    """Write a table as other programs do."""
    frame = frame_of(p, y)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":  # where all cells of a column are of one type
        alike = len({type(label) for label in y}) == 1
        frame.astype({"label": object if alike else "string"}).to_parquet(path)
    else:
        frame["label"] = frame["label"].replace({np.nan: None})
        path.write_text("".join(f"{json.dumps(row)}\n" for row in frame.to_dict("records")))
    return path


#: Whatever takes probabilities and labels.
DOORS = {
    "evaluate": lambda p, y, classes, _: dnip.evaluate(p, y, classes=classes),
    "fit": lambda p, y, classes, _: dnip.fit(p, y, classes=classes, **QUICK),
    "solve": lambda p, y, classes, _: dnip.solve(p, y, classes=classes),
    "classifier": lambda p, y, classes, _: dnip.DNIPClassifier(classes=classes, **QUICK).fit(p, y),
    "report": lambda p, y, classes, _: dnip.report(p, y, classes=classes),
    "table": lambda p, y, classes, _: dnip.evaluate(ProbabilityTable(p, y, classes=classes)),
    "frame": lambda p, y, classes, _: dnip.evaluate(frame_of(p, y), classes=classes),
    **{
        suffix: lambda p, y, classes, folder, suffix=suffix: dnip.evaluate(
            table_file(folder / f"t.{suffix}", p, y), classes=classes
        )
        for suffix in ("csv", "jsonl", "parquet")
    },
}


def with_cell(row, column, value):
    p = P.copy()
    p[row, column] = value
    return p


def with_label(label):
    return [*Y[:2], label, *Y[3:]]


@pytest.mark.parametrize("door", ["evaluate", "fit", "solve", "table", "frame"])
@pytest.mark.parametrize("classes", [None, NAMES])
def test_bytes_are_not_labels(tmp_path, door, classes):
    with pytest.raises(InvalidInputError, match=r"not bytes\. Make a text of each, by"):
        DOORS[door](P, [label.encode() for label in Y], classes, tmp_path)


@pytest.mark.parametrize("door", DOORS)
@cases(
    (P, with_label("dog"), NAMES, "'dog' is neither a class name nor a class index"),
    (P, with_label(0.5), NAMES, "'0.5' is neither a class name nor a class index"),
    (P, with_label(7), NAMES, "'7' is a class index outside 0..2"),
    (P, with_label(-2), NAMES, "'-2' is a class index outside 0..2"),
    (P, [0, *[5] * 11], ["5", "6", "7"], "'0' is not a class name, and as an index it would be"),
    (with_cell(1, slice(None), 0), Y, NAMES, "all class probabilities are 0"),
    (with_cell(1, 1, np.nan), Y, NAMES, "the number is missing (empty or NaN)"),
    (with_cell(1, 1, -0.5), Y, NAMES, "the probability is negative (-0.5)"),
    (with_cell(1, 1, np.inf), Y, NAMES, "the probability is infinite (inf)"),
    (
        P,
        ["b"] * 12,
        NAMES,
        "only one class, b, has labelled rows, but COBias compares at least 2 classes",
    ),
    (P, Y, ["a", "b", "b"], "class names must differ; b appear twice"),
    (P, Y, ["a", "b"], "there are 3 columns of probabilities, but 2 classes: a, b"),
    (P[:, :1], Y, None, "1 column of probabilities, but at least 2 are needed"),
)
def test_a_fault_has_one_message(tmp_path, door, p, y, classes, message):
    if door == "classifier" and p.shape[1] == 1:  # scikit-learn refuses it itself
        with pytest.raises(ValueError, match="Found array with 1 feature"):
            DOORS[door](p, y, classes, tmp_path)
        return
    with pytest.raises(InvalidInputError) as caught:
        DOORS[door](p, y, classes, tmp_path)
    place = r"(|probabilities|X|labels|y|frame|table|.*[/\\]t\.(csv|jsonl|parquet))"
    cell = r"(\[\d+(, \d+)?\]|: row \d+(, column \w+)?)?"
    assert re.fullmatch(rf"({place}{cell}: )?{re.escape(message)}.*", caught.value.message)
    assert caught.value.hint


@pytest.mark.parametrize("door", sorted(DOORS.keys() - {"fit", "solve", "classifier", "report"}))
@cases(
    *((NAMES, missing, -1) for missing in (None, "", np.nan, pd.NA, -1, "-1", -1.0)),
    (["nan", "None", "b"], None, -1),
    (["b", "nan", "NA"], "nan", 1),
    (["b", "NA", "None"], "None", 2),
    (["b", "NA", "-1"], -1, 2),
    (["1", "3", "5"], 3.0, 1),
    (["5", "1", "3"], "3.0", 2),
    (["x", "y", "z"], 2.0, 2),
)
def test_a_label_means_the_same_everywhere(tmp_path, door, names, label, index):
    y = [names[c] for c in [2, 0, 1] * 4]
    expected = np.bincount([2, 0, 1] * 3 + [0, 1], minlength=3)
    expected += np.arange(3) == index
    result = DOORS[door](P, [label, *y[1:]], names, tmp_path)
    assert result.raw.sum(axis=1).tolist() == expected.tolist()
    assert result.n_unlabelled == (index == -1)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "frame"])
@cases(
    (["a", "b", "c"], [" a", "b ", "c"], ["a", "b", "c"]), (["0", "1", "2"], ["0", "1", "2"], None)
)
def test_spaces_around_classes_and_columns_called_by_numbers(tmp_path, suffix, classes, columns, y):
    """Labels are told apart where there are any; a class with spaces has a column that says so."""
    frame = pd.DataFrame(P, columns=columns)
    if y is not None:
        frame["label"] = y * 4
    path = tmp_path / f"t.{suffix}"
    write = {"csv": partial(frame.to_csv, index=False), "parquet": frame.to_parquet}
    write["jsonl"] = partial(frame.to_json, orient="records", lines=True)
    write.get(suffix, lambda _: None)(path)
    for known in (None, classes):
        if suffix == "frame":
            table = ProbabilityTable.from_frame(frame, classes=known)
        else:
            table = ProbabilityTable.read(path, known)
        assert table.classes == tuple(classes)
        np.testing.assert_allclose(table.probabilities, P, atol=1e-9)


def test_a_series_in_another_order_than_the_frame_is_refused():
    frame, y = pd.DataFrame(P, columns=NAMES), pd.Series(Y)
    mixed = y.sample(frac=1, random_state=0)
    for door in (dnip.evaluate, partial(dnip.fit, **QUICK), dnip.report):
        with pytest.raises(InvalidInputError, match=r"y has the index .* y\.loc\[frame\.index\]"):
            door(frame, mixed)
    with pytest.raises(InvalidInputError, match="groups has the index"):
        dnip.evaluate(frame, y, groups=pd.Series(range(12)).sample(frac=1, random_state=0))
    same = dnip.evaluate(frame, y).to_dict()
    assert dnip.evaluate(frame, mixed.loc[frame.index]).to_dict() == same
    assert dnip.evaluate(frame, y.set_axis(range(7, 19))).to_dict() == same  # of other rows


def test_a_tensor_with_gradients_is_refused_as_other_arrays_are():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(InvalidInputError, match=r"requires grad\. Use tensor\.detach"):
        dnip.evaluate(torch.tensor(P, requires_grad=True), Y)
