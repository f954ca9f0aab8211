"""Every door refuses a fault of the input with the same words, and takes the same labels."""

import gzip
import json
import re
from functools import cache, partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dnip
from cases import cases
from dnip import Coefficients, Constraints, DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.cli.app import commands
from dnip.tables import Scan, open_writer
from dnip.tables.formats import FORMATS

NAMES = ["a", "b", "c"]
P = np.random.default_rng(0).dirichlet(np.ones(3), 12)
Y = NAMES * 4
QUICK = {"robust": "off", "evidence": False}


def frame_of(p, y):
    names = [f"p{index}" for index in range(p.shape[1])]
    frame = pd.DataFrame(p, columns=names)
    return frame if y is None else frame.assign(label=pd.Series(list(y), dtype=object))


def written(frame, path):
    """Write a data frame as other programs do, and return the path."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


def table_file(path, p, y):
    """Write a table as other programs do."""
    frame = frame_of(p, y)
    if path.suffix == ".parquet":  # where all cells of a column are of one type
        alike = len({type(label) for label in y}) == 1
        frame = frame.astype({"label": object if alike else "string"})
    if path.suffix != ".jsonl":
        return written(frame, path)
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


@cache
def fitted():
    """A fit of other rows; what made it is in the coefficients."""
    return dnip.fit(P, Y, classes=NAMES, **QUICK)


@pytest.fixture
def refused(folder, dnip):
    """A function that runs a command, which must be refused, and returns what it says."""
    sound = np.random.default_rng(1).dirichlet(np.ones(3), 12)
    ProbabilityTable(sound, Y, classes=NAMES).write("sound.csv")
    fitted().save("c.json")
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
#: Those that commands treat in their own way: some need no label.
LABEL_FAULTS = ("name", "one class", "no label", "no column")
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
    """Whether a command is to meet a fault: one meets all, and others what they may treat alone."""
    if not command.startswith("evaluate") and fault not in (*LABEL_FAULTS, "negative", "no row"):
        return False
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


# --- what files hold ---
GZIPPED = gzip.compress(b"label,p0,p1\n" + b"0,0.25,0.75\n" * 1000, mtime=0)
HALVES = {"p0": [0.5] * 2, "p1": [0.5] * 2}
ENDS = pa.py_buffer(np.array([0, 1, 1], np.int32))
NO_UNICODE = pa.Array.from_buffers(pa.string(), 2, [None, ENDS, pa.py_buffer(b"\xff")])
TWO = np.array([[0.5, 0.5], [0.25, 0.75]])
HEADED = "id,bad,good,label\n0,0.25,0.75,good\n1,1,0,\n"

#: By the ending of the file's name: what it holds, and what is told of it.
CONTENT = {
    "csv": [
        ("label,p0,p1\n0,1_0,1\n", ["row 1, column p0: '1_0' is not a number"]),
        ('p0,p1\n"0,5","0,5"\n', ["row 1, column p0: '0,5' is not a number", "decimal point"]),
        ("p0,p1\n0,1\n\n1,\n", ["row 2, column p1: the number is missing"]),
        ("label,p0,p1\n0,0,1\n0,0,1,7\n", ["row 2 has 4 cells", "the header has 3", "'7'"]),
        (
            "label,ham,spam,user\nham,0,1,\nspam,0,1,u1\n",
            ["row 1, column user: the number is missing", "a column that is no class goes"],
        ),
        (
            "label,ham,spam,text\nham,1,0,so\nspam,0,1,it\n",
            ["column text: 'so' is", "No label is text: if that is no class, name the classes with "
             "--classes ham,spam"],
        ),
        (HEADED.replace(",good\n", ",1\n"), ["'1' is none of the columns", "--classes bad,good"]),
        (HEADED.replace("0.75", "text"), ["row 1, column good: 'text' is", "If a column is no"]),
        (HEADED.replace("0.75", "17"), ["row 1: the columns bad, good were taken", "sum to 17"]),
        ("id,p0,p1\na,0,1\n,0,1\n", ["row 2: the id is empty"]),
        ("p0,p1,mass\n1,0,\n", ["row 1, column mass: the number is missing"]),
        ("p0,p1,mass\n1,0,nan\n", ["row 1, column mass: the captured mass is nan, outside 0..1"]),
        ("p0,p1,mass\n1,0,1.5\n", ["row 1, column mass: the captured mass is 1.5, outside 0..1"]),
        ('p0,p1\n0,1\n0,"1\n', ["line 3 is not valid CSV", "quote"]),
        (b"id,p0,p1\na,0,1\n\xe9,0,1\n", ["line 3 is not UTF-8 text (byte 0xe9)"]),
        ("p0,p1\n0,1\n".encode("utf-16"), ["line 1 is not UTF-8", "Save the file as UTF-8"]),
        (GZIPPED, ["line 1 is not UTF-8", "ends its name in .gz"]),
    ],
    "csv.gz": [
        (GZIPPED[:-9], ["this gzip file is damaged"]),
        (GZIPPED[:-8] + b"\0" * 8, ["this gzip file is damaged", "CRC"]),
        (GZIPPED[:30] + b"\xff" * 20, ["this gzip file is damaged"]),
        (gzip.compress(b"p0,p1\n\xff,1\n", mtime=0), ["line 2 is not UTF-8 text (byte 0xff)"]),
    ],
    "jsonl": [
        ("{}\n", ["no class columns"]),
        ("[0, 1]\n", ["row 1", "it is of type list, not an object"]),
        ('{"p0": 1, "p1": 0}\n\n{"p0": 1,\n', ["row 2 is not valid JSON"]),
        ("[" * 100_000, ["row 1 is not valid JSON"]),
        ('{"p0": 1, "p1": "0"}\n', ["row 1, column p1: '0' is not a number"]),
        (f'{{"p0": 1, "p1": 1{"0" * 400}}}\n', ["row 1, column p1: 1000", "is too large"]),
        ('{"p0": 1, "p1": 0}\n{"p0": 1}\n', ["row 2, column p1 is missing"]),
        (
            '{"p0": 1, "p1": 0}\n{"p0": 1, "p1": 0, "label": 1}\n',
            ["row 2, column label is not in row 1", '"label": null'],
        ),
        ('{"p0": 1, "p1": 0, "p0": 1}\n', ["row 1", "a key is there twice"]),
        ('{"label": [0], "p0": 1, "p1": 0}\n', ["row 1, column label: a text or a number"]),
        ('{"id": "\\ud800", "p0": 1, "p1": 0}\n', ["row 1: the id", "Unicode"]),
    ],
    "parquet": [
        ({"p0": [0.5, None], "p1": [0.5, 1.0]}, ["row 2, column p0: the number is missing"]),
        ({"p0": [True], "p1": [0.5]}, ["row 1, column p0: True is not a number"]),
        ({"p0": [[1.0]], "p1": [0.5]}, ["row 1, column p0", "is not a number"]),
        ({"id": pa.array(["a", "b\0"]), **HALVES}, ["row 2: the id ", "no file can hold"]),
        ({"id": pa.array(["a", "a"]).dictionary_encode(), **HALVES}, ["row 2: the id 'a' is al"]),
        ({"id": pa.array([7, 7], pa.int8()), **HALVES}, ["row 2: the id '7' is already"]),
        ({"id": pa.array([0.5, None]), **HALVES}, ["row 2: the id is empty"]),
        ({"id": NO_UNICODE, **HALVES}, ["this Parquet file is damaged"]),
    ],
    "npz": [
        ({"q": TWO}, ["there is no array p; the arrays are q. Save probabilities p, shape (M, N)"]),
        ({"p": TWO[0]}, ["has shape (2,), but a matrix (examples, classes) is needed"]),
        ({"p": TWO, "y": [0]}, ["t.npz: y has shape (1,), but 2 examples need (2,)"]),
        ({"p": TWO, "y": np.array([{}, 1])}, ["arrays cannot be read: Object arrays cannot be"]),
        ({"p": TWO, "y": [1, 2]}, ["row 2, column label: '2' is a class", "--classes A,B,C"]),
        ({"p": [*TWO, [-1, 2]]}, ["row 3, column p0: the probability is negative"]),
    ],
    "TSV": [("", ["The known suffixes are .csv, .csv.gz"])],
    "pkl": [("", ["dnip import", "JSON lines or Parquet"])],
}  # fmt: skip


def write(path, content):
    """Write bytes, a text, columns or arrays."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(content), path)
    elif path.suffix == ".npz":
        np.savez(path, **content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def assert_refused(path, told, classes=None):
    with pytest.raises(InvalidInputError) as caught:
        ProbabilityTable.read(path, classes)
    for part in [str(path), *told]:
        assert part in str(caught.value)
    assert caught.value.hint


@cases(*((suffix, *case) for suffix, refused in CONTENT.items() for case in refused))
def test_what_is_no_table_is_refused_with_its_place(tmp_path, suffix, content, told):
    path = tmp_path / f"t.{suffix}"
    write(path, content)
    assert_refused(path, told)


def test_damaged_parquet(tmp_path, table):
    path = tmp_path / "t.parquet"
    table.write(path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[100] ^= 0x01
    for data in [b"", whole[: len(whole) // 2], whole[:-20], bytes(flipped)]:
        path.write_bytes(data)
        assert_refused(path, ["this Parquet file is damaged", "again"])
    table.write(path)
    assert_refused(path, ["bad, so, so", "a, b, c were given"], classes=["a", "b", "c"])


def test_folders(tmp_path, table):
    (tmp_path / "recorded" / "topic").mkdir(parents=True)
    assert_refused(tmp_path / "recorded", ["holds no ", "within it is the folder", "topic"])
    table.write(tmp_path / "part-0.parquet")
    ProbabilityTable(np.array([[0.5, 0.25, 0.25]])).write(tmp_path / "part-1.parquet")
    assert_refused(tmp_path, ["part-1.parquet: the columns p0, p1, p2 differ", "part-0.parquet"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@cases((1, "in an earlier"), (4, "in an earlier"), (100, ".*: row 4"))
def test_an_id_that_appears_twice_is_told_with_both_places(tmp_path, suffix, block_rows, place):
    ids = [f"row {number}" for number in (*range(9), 3, 10, 11)]
    frame = pd.DataFrame({"id": ids, "p0": 0.5, "p1": 0.5})
    path = written(frame, tmp_path / f"t.{suffix}")
    with pytest.raises(InvalidInputError, match=f"row 10: the id 'row 3' is already {place}"):
        list(Scan(path, block_rows=block_rows))


def test_of_very_many_ids_only_the_first_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr("dnip.tables.rows.MOST_IDS", 5)
    path = tmp_path / "t.csv"
    path.write_text("id,p0,p1\n" + "".join(f"{n},0,1\n" for n in (*range(9), 3, 10, 11)))
    with pytest.warns(DNIPWarning, match="ids were compared in the first 5 rows only"):
        assert sum(map(len, Scan(path, block_rows=6))) == 12


@cases(
    (
        ProbabilityTable(TWO, classes=("a", "b")),
        {},
        "has the columns a, b, but the file has p0, p1",
    ),
    (ProbabilityTable(TWO, [0, 1]), {}, "has the columns label, p0, p1"),
    (ProbabilityTable(TWO), {"predictions": [0, 1]}, "has the columns prediction, p0, p1"),
    (ProbabilityTable(TWO), {"predictions": [0]}, "shape (1,), but 2 examples"),
    (ProbabilityTable(TWO).take([]), {}, "there are no rows to write"),
)
@pytest.mark.parametrize("suffix", [name for name in FORMATS if FORMATS[name].open])
def test_rows_that_do_not_fit_the_file_are_refused(tmp_path, suffix, second, columns, told):
    def write_both():
        with open_writer(tmp_path / f"t{suffix}") as writer:
            if len(second):
                writer.write(ProbabilityTable(TWO))
            writer.write(second, **columns)

    with pytest.raises(InvalidInputError, match=re.escape(told)):
        write_both()
    assert list(tmp_path.iterdir()) == []


# --- what is given in Python ---
class Gradients:
    """As a tensor of torch that requires gradients."""

    def __array__(self, *_, **__):
        raise RuntimeError("it requires grad. Use tensor.detach().numpy()")


FRAME = pd.DataFrame(P, columns=NAMES)
WHOLE = FRAME.assign(label=Y)
NUMBERS = np.arange(12) % 3
#: Data, labels and other arguments, and what is told of them.
GIVEN = [
    ([0.5, 0.5], [0, 1], {}, r"shape \(2,\), but a matrix"),
    ([["a", "b"]], [0], {}, "not a matrix of numbers"),
    ([[0.5], [0.5, 0.5]], [0, 1], {}, "not a matrix of numbers"),
    ([[1j, 1]], [0], {}, "complex"),
    (Gradients(), Y, {}, r"requires grad\. Use tensor\.detach"),
    (P, Y[1:], {}, r"y has shape \(11,\), but 12 examples"),
    (P, np.array(Y)[:, None], {}, r"y has shape \(12, 1\)"),
    (P, [*Y[1:], "dog"], {}, "3 columns .* 4 classes: a, b, c, dog.*classes="),
    ([[0.5, 0.5]] * 12, Y, {}, "2 columns of probabilities, but 3 classes: a, b, c"),
    (P, [{}] * 12, {}, r"y\[0\]: a text or a number is needed"),
    (P, [label.encode() for label in Y], {}, r"a text or a number .* not b'a'.* \.decode\(\)"),
    (P, Y, {"classes": "abc"}, "a sequence of names"),
    (P, Y, {"classes": {*NAMES}}, "a sequence of names"),
    (P, Y, {"classes": 3}, "a sequence of names; got 3"),
    (P, Y, {"classes": []}, "got 0: none"),
    (P, Y, {"classes": ["a", "b", " "]}, "must not be empty"),
    (P, Y, {"classes": ["a", "b", "\udc80"]}, "valid Unicode"),
    (P, Y, {"groups": "user"}, "'user' names a column"),
    (P, Y, {"label": "label"}, "label names the column of labels in a data frame"),
    (WHOLE, Y, {}, "holds labels of its own, but y was given too"),
    (WHOLE, Coefficients(NAMES, [1, 1, 1], 1), {}, "coefficients=..."),
    (WHOLE, None, {"label": "truth"}, "no column truth.*The columns are a, b, c"),
    (FRAME.assign(text="x"), Y, {"label": "text"}, "label names the column of labels"),
    (FRAME.assign(text="x"), None, {"label": "text"}, "'x' is none of the columns a, b, c"),
    (FRAME.assign(text="x"), NUMBERS, {}, "column text: 'x' is not a number.*classes="),
    (WHOLE.replace("c", "dog"), None, {}, "'dog' is none of the columns a, b, c"),
    (WHOLE, None, {"groups": "usr"}, "usr is no column of .* to divide .*the columns are a, b, c"),
    (WHOLE, None, {"by": "label"}, "label is no column of .* to divide"),
    (FRAME.set_axis(["a", "b", "b"], axis=1), Y, {}, "two columns have the same name"),
    (FRAME.set_axis(["1", 1, "b"], axis=1), Y, {}, "column 1 appears twice"),
    (FRAME.assign(b=pd.array([0.5, None] * 6, "Float64")), Y, {}, "row 2, column b: the number is"),
    (pl.from_pandas(FRAME.assign(b=[0.5, None] * 6)), Y, {}, "row 2, column b: the number is mis"),
    (pl.from_pandas(FRAME).lazy(), Y, {}, "Collect a lazy frame"),
]


@cases(*GIVEN)
def test_bad_input_is_refused_with_a_remedy(data, y, options, told):
    with pytest.raises(InvalidInputError, match=told) as caught:
        dnip.evaluate(data, y, **options)
    assert caught.value.hint or "classes" in options


@cases(
    ({"weights": [1, -1, 2.5] * 4}, "row 2, column weights: .*-1"),
    ({"weights": [1, 2, None] * 4}, "row 3, column weights: .* no weight"),
    ({"weights": ["u"] * 12}, "row 1, column weights: 'u' is no weight"),
    ({"weights": 0}, "the weights of all labelled rows are zero"),
    ({"weights": 1e-120}, "the largest weight is 1e"),
    ({"weights": 1e120}, "the largest weight is 1e"),
    ({"groups": "x"}, "all rows are of one group, 'x'"),
)
@pytest.mark.parametrize("kind", ["array", "frame", "csv"])
def test_what_no_weights_and_groups_can_be_is_refused(tmp_path, kind, asked, told):
    [(name, cells)] = asked.items()
    if kind == "array":
        cells = np.full(12, cells) if np.isscalar(cells) else cells
        told = re.sub(r"row (\d), column \w+", lambda row: rf"weights\[{int(row[1]) - 1}\]", told)
        given = P, Y, {name: cells}
    else:
        frame = WHOLE.assign(**{name: cells})
        given = frame if kind == "frame" else written(frame, tmp_path / "t.csv"), None, {name: name}
    data, y, options = given
    with pytest.raises(InvalidInputError, match=told):
        dnip.fit(data, y, classes=NAMES, **options, **QUICK)


@cases(
    ({"mass": [0.5]}, "mass has shape"),
    ({"mass": [0.5, -1]}, "mass[1]: "),
    ({"mass": ["a", "b"]}, "not a list"),
    ({"ids": ["a", "a"]}, "ids[1]: the id 'a' is already at ids[0]"),
    ({"ids": ["a"]}, "ids has 1 entries, but there are 2 rows"),
)
def test_the_constructor_checks_all(arguments, told):
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        ProbabilityTable(TWO, **arguments)


@pytest.mark.parametrize("other", [{"p0": [1]}, pd.Series([1.0]), P])
def test_what_is_no_frame_is_refused(other):
    with pytest.raises(InvalidInputError, match="a data frame is needed; got"):
        ProbabilityTable.from_frame(other)


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
        "sound.csv has the classes a, b, c, but the coefficients",
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
