"""Every door refuses a fault of the input with the same words, and takes the same labels."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import dnip
from cases import cases
from dnip import Coefficients, Constraints, InvalidInputError, ProbabilityTable
from dnip.cli.app import commands

NAMES = ["a", "b", "c"]
P = np.random.default_rng(0).dirichlet(np.ones(3), 12)
Y = NAMES * 4
QUICK = {"robust": "off", "evidence": False}


def frame_of(p, y):
    names = [f"p{index}" for index in range(p.shape[1])]
    frame = pd.DataFrame(p, columns=names)
    return frame if y is None else frame.assign(label=pd.Series(list(y), dtype=object))


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
#: Whatever reads a table, next to sound.csv and c.json; what it writes is there already.
COMMANDS = [
    "fit {} --out old.json",
    "fit {} --path --picture old.svg",
    "fit {} --no-labels --out old.json",
    "fit sound.csv --unlabelled {} --out old.json",
    "evaluate {} --picture old.svg",
    "evaluate {} --coefficients c.json",
    "report {} --out old.html",
    "compare {} --test sound.csv",
    "compare sound.csv --test {}",
    "check {} --coefficients c.json",
    "apply {} --coefficients c.json --out old.csv",
]


def options_of(command):
    """The options of a command that is typed."""
    parsed = commands.get_command(None, command.split()[0])
    return {name for option in parsed.params for name in option.opts}


#: Of these, what also works with rows without labels.
NO_LABELS = ("--no-labels", "--unlabelled", "check", "apply")
OLD = ("old.json", "old.svg", "old.html", "old.csv")


@pytest.fixture
def refused(folder, dnip):
    """A function that runs a command, which must be refused, and returns what it says."""
    sound = np.random.default_rng(1).dirichlet(np.ones(3), 12)
    ProbabilityTable(sound, Y, classes=NAMES).write("sound.csv")
    Coefficients(NAMES, [10, 20, 30], 30).save("c.json")
    for name in OLD:
        (folder / name).write_text("old")

    def run(command, name, classes=None):
        named = ["--classes", ",".join(classes)] if classes and "check" not in command else []
        files = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        outcome = dnip(*command.format(name).split(), *named)
        outcome.assert_refused()
        assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == files
        return outcome.err.removeprefix("error: ").strip()

    return run


def with_cell(row, column, value):
    p = P.copy()
    p[row, column] = value
    return p


def with_label(label):
    return [*Y[:2], label, *Y[3:]]


#: What is wrong with a table: its probabilities, labels and classes, and what is told of it.
TABLES = {
    "name": (P, with_label("dog"), NAMES, "'dog' is neither a class name nor a class index"),
    "half": (P, with_label(0.5), NAMES, "'0.5' is neither a class name nor a class index"),
    "index": (P, with_label(7), NAMES, "'7' is a class index outside 0..2"),
    "-2": (P, with_label(-2), NAMES, "'-2' is a class index outside 0..2"),
    "zeros": (with_cell(1, slice(None), 0), Y, NAMES, "all class probabilities are 0"),
    "NaN": (with_cell(1, 1, np.nan), Y, NAMES, "the number is missing (empty or NaN)"),
    "negative": (with_cell(1, 1, -0.5), Y, NAMES, "the probability is negative (-0.5)"),
    "infinite": (with_cell(1, 1, np.inf), Y, NAMES, "the probability is infinite (inf)"),
    "huge": (with_cell(1, slice(None), 1e308), Y, NAMES, "the sum of the class probabilities over"),
    "logits": (
        np.log(P) + 12, Y, NAMES, r"the numbers of the classes sum to \S+, and elsewhere to \S+: "
    ),
    "twice": (P, Y, ["a", "b", "b"], "class names must differ; b appear twice"),
    "number": (P, [0, *[5] * 11], ["5", "6", "7"], "'0' is not a class name, and as an index it"),
    "two names": (P, Y, ["a", "b"], "there are 3 columns of probabilities, but 2 classes: a, b"),
    "one column": (P[:, :1], Y, None, "1 column of probabilities, but at least 2 are needed"),
    "one class": (P, ["b"] * 12, NAMES, "only one class, b, has labelled rows, but COBias"),
    "no label": (P, [None] * 12, NAMES, "no row has a label"),
    "no column": (P, None, NAMES, "no row has a label"),
    "no row": (P[:0], [], NAMES, "there are no rows"),
}  # fmt: skip
#: What is told of a place: of an array, a frame or a file.
PLACE = r"(|probabilities|X|labels|y|frame|table|\S*t\.(csv|jsonl|parquet))"
CELL = r"(\[\d+(, \d+)?\]|: row \d+(, column \w+)?)?"


def says(message, told):
    """Whether a message has these words, with a place before them or none."""
    words = told if "\\" in told else re.escape(told)
    return re.match(rf"({PLACE}{CELL}: )?{words}", message)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", sorted(TABLES.keys() - {"no row", "no column"}))
def test_a_fault_of_a_table_has_one_message(tmp_path, door, fault):
    p, y, classes, told = TABLES[fault]
    if fault == "no label" and door in ("solve", "report"):
        told = "(the row has no label|there are neither labels nor coefficients)\\b"
    if door == "classifier" and fault in ("one column", "infinite", "NaN"):
        told = ""  # scikit-learn refuses it itself
    with pytest.raises(ValueError if door == "classifier" else InvalidInputError) as caught:
        DOORS[door](p, y, classes, tmp_path)
    if isinstance(caught.value, InvalidInputError):
        assert says(caught.value.message, told), caught.value.message
        assert caught.value.hint


def meets(command, fault):
    """Whether a command can meet a fault: some need no label, some have classes of their own."""
    if fault in ("one class", "no label", "no column"):
        also = () if fault == "one class" else ("report",)  # it may be of coefficients alone
        return not any(word in command for word in (*NO_LABELS, *also))
    return TABLES[fault][2] == NAMES or not ("c.json" in command or "sound" in command)


@cases(*((command, fault) for command in COMMANDS for fault in TABLES if meets(command, fault)))
def test_every_command_has_that_message_too(refused, folder, command, fault):
    p, y, classes, told = TABLES[fault]
    table_file(folder / "t.csv", p, y)
    message = refused(command, "t.csv", classes)
    assert says(message, told), message


#: Files that are no tables, by their name, what they hold, and what is told of them.
FILES = {
    "none": ("none.csv", None, "none.csv: there is no such file. Check the path; you are in"),
    "empty": ("t.csv", "", "t.csv: the file is empty"),
    "short row": ("t.csv", "label,p0,p1,p2\na,1,0\n", "t.csv: row 1, column p2: the row ends"),
    "coefficients": ("c.json", None, "c.json is a file of coefficients, but a table is needed"),
    "suffix": ("t.xlsx", "", "t.xlsx: the suffix '.xlsx' is that of no known table format"),
    "device": ("device.csv", "/dev/zero", "device.csv: the file cannot be read: this is a device"),
    "gzip": ("t.csv.gz", "label,p0,p1,p2\n", "t.csv.gz: this gzip file is damaged"),
    "JSON": ("t.jsonl", '{"p0": \n', "t.jsonl: row 1 is not valid JSON"),
    "Parquet": ("t.parquet", "PAR1", "t.parquet: this Parquet file is damaged"),
    "arrays": ("t.npz", "PK", "t.npz: arrays cannot be read"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", FILES)
def test_a_file_that_is_no_table_has_one_message(refused, folder, command, fault):
    name, content, told = FILES[fault]
    if content == "/dev/zero":
        (folder / name).symlink_to(content)
    elif content is not None:
        (folder / name).write_text(content)
    if fault == "coefficients" and "c.json" in command:
        Coefficients(NAMES, [10, 20, 30], 30).save(name := "d.json")
        told = told.replace("c.json", name)
    message = refused(command, name, None)
    assert message.startswith(told), message
    with pytest.raises(InvalidInputError) as caught:
        ProbabilityTable.read(name)
    assert caught.value.message.startswith(told.partition(". Check")[0])


#: Settings out of their range, as Python has them and as the command line has them.
SETTINGS = {
    "beta": ({"beta": -1.0}, "--beta -1", "beta must be a finite number at least 0; got -1.0"),
    "NaN": ({"beta": np.nan}, "--beta nan", "beta must be a finite number at least 0; got nan"),
    "defer": ({"defer": 1.0}, "--defer 1", "defer must be a finite number above 0 and below 1"),
    "steps": ({"scale": 0}, "--scale 0", "scale must be a whole number of at least 1"),
    "scale": ({"scale": "log:"}, "--scale log:", "scale is 'log:'"),
    "time": ({"time_limit": -1.0}, "--time-limit -1", "time_limit must be a finite number"),
    "metric": ({"objective": "f1"}, None, "objective must be one of cobias, balanced-accuracy"),
    "both": (
        {"objective": "macro-f1", "beta": 1.0}, "--objective macro-f1 --beta 1",
        "beta is a part of error + β·COBias, but objective replaces it",
    ),
    "costs": (
        {"objective": "macro-f1", "costs": 1 - np.eye(3)}, None,
        "costs is a part of error + β·COBias, but objective replaces it",
    ),
    "solver": ({"solver": "magic"}, None, "solver must be one of coordinate, exact, anneal; got"),
    "robust": ({"robust": "maybe"}, None, "robust must be one of auto, on, off; got 'maybe'"),
    "preset": ({"preset": "mine"}, None, "preset must be \"paper\"; got 'mine'"),
    "seed": ({"seed": -1}, "--seed -1", "seed must be a whole number of at least 0; got -1"),
    "helper": ({"defer": 0.3, "helper_accuracy": 2.0}, None, "helper_accuracy must be a finite"),
    "mix": (
        {"target_prior": {"a": 1.0}}, "--target-prior a=1",
        "target prior: the shares are of a, but the classes are a, b",
    ),
    "floor": (
        {"constraints": {"min_class_accuracies": {"a": 1.5}}}, "--min-class-accuracy a=1.5",
        "the least accuracy of class a must be a finite number at least 0 and at most 1; got 1.5",
    ),
    "loss": (
        {"constraints": {"max_accuracy_loss": -1}}, "--max-accuracy-loss -1",
        "max_accuracy_loss must be a finite number at least 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", SETTINGS)
def test_a_setting_out_of_range_has_one_message(refused, folder, fault):
    python, words, told = SETTINGS[fault]
    if words is not None:
        for command in ("fit sound.csv --out old.json", "fit sound.csv --path"):
            if "--path" not in command or not {"beta", "defer"} & python.keys():
                message = refused(f"{command} {words}", "")
                assert message.startswith(told), message
    messages = {"command": told}
    if "constraints" in python:
        with pytest.raises(InvalidInputError, match=f"^{told}"):
            Constraints(**python["constraints"])
        return
    doors = {
        "solve": lambda: dnip.solve(P, Y, classes=NAMES, **python),
        "fit": lambda: dnip.fit(P, Y, classes=NAMES, **python),
        "classifier": lambda: classifier_of(**python).fit(P, Y),
    }
    if python.keys() - {"scale", "solver", "seed", "time_limit", "objective"}:
        del doors["solve"]
    for name, door in doors.items():
        with pytest.raises(InvalidInputError) as caught:
            door()
        messages[name] = caught.value.message.replace("random_state", "seed")
        assert messages[name].startswith(told), messages


def classifier_of(seed=0, **settings):
    return dnip.DNIPClassifier(classes=NAMES, random_state=seed, **settings)


#: Whatever reads the coefficients of that name.
USERS = [
    "evaluate sound.csv --coefficients {}",
    "report sound.csv --coefficients {} --out old.html",
    "check sound.csv --coefficients {}",
    "apply sound.csv --coefficients {} --out old.csv",
    "show {}",
    "export {} --to python",
]
COEFFICIENTS = {
    "none": (None, "bad.json: there is no such file"),
    "table": ("label,p0,p1\n", "bad.json: not valid JSON"),
    "half": (Coefficients(NAMES, [1, 2, 3], 3).to_json()[:-40], "bad.json: not valid JSON"),
    "version": ('{"format": "dnip-coefficients", "version": 9}', "bad.json: "),
    "others": (
        Coefficients(["a", "b", "d"], [1, 2, 3], 3).to_json(),
        "sound.csv has the classes a, b, c, but the coefficients were fitted for a, b, d",
    ),
}


@cases(
    *(
        (user, fault)
        for user in USERS
        for fault in COEFFICIENTS
        if fault != "others" or "--classes" in options_of(user)
    )
)
def test_coefficients_that_cannot_serve_have_one_message(refused, folder, user, fault):
    content, told = COEFFICIENTS[fault]
    if content is not None:
        (folder / "bad.json").write_text(content)
    message = refused(user, "bad.json", NAMES if fault == "others" else None)
    assert message.startswith(told), message


@cases(
    *(
        (command, option)
        for command in COMMANDS
        for option in ("--group", "--by", "--weight")
        if option in options_of(command) and "--no-labels" not in command
    )
)
def test_a_column_that_is_not_there_has_one_message(refused, folder, command, option):
    table_file(folder / "t.csv", P[:6], Y[:6])
    message = refused(f"{command} {option} nothing", "t.csv")
    assert re.match(r"nothing is no column of (t|sound)\.csv to divide or weigh rows by", message)


@pytest.mark.parametrize("door", ["evaluate", "fit", "solve", "table", "frame"])
@pytest.mark.parametrize("classes", [None, NAMES])
def test_bytes_are_not_labels(tmp_path, door, classes):
    with pytest.raises(InvalidInputError, match=r"a text or a number is needed, not b'a'"):
        DOORS[door](P, [label.encode() for label in Y], classes, tmp_path)


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
