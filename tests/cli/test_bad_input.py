"""Whatever is wrong with the input: status 1, one message, and old outputs untouched."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from dnip import Coefficients

pytestmark = pytest.mark.usefixtures("old_outputs")

FIT = ("fit", "--out", "old.json", "--trace", "old-trace.csv", "--json")
EVALUATE = ("evaluate", "--json")
COMPARE = ("evaluate", "--coefficients", "c.json")
APPLY = ("apply", "--coefficients", "c.json", "--out", "old.csv")

HEAD = "id,label,p0,p1\n"
GZIPPED = gzip.compress(b"label,p0,p1\n" + b"0,0.25,0.75\n1,0.5,0.5\n" * 1000, mtime=0)


@pytest.mark.parametrize("command", [FIT, EVALUATE, COMPARE, APPLY], ids=lambda c: " ".join(c[:2]))
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("bad.csv", "", "the file is empty"),
        ("bad.csv", HEAD, "there are no rows"),
        ("bad.csv", "label,p1\n0,1\n", "column p0 is missing"),
        ("bad.csv", "label,a,b\n0,1,0\n", "a, b"),
        ("bad.csv", "label,p0,p1,p02\n0,1,0,1\n", "column p02 is not known"),
        ("bad.csv", "label,p0,p1,p1\n0,1,0,1\n", "column p1 appears twice"),
        ("bad.csv", "label,p0\n0,1\n", "1 class column"),
        ("bad.csv", HEAD + "a,0,1,0\nb,1,0\n", "row 2, column p1: the row ends"),
        ("bad.csv", HEAD + "a,0,1,0,0\n", "row 1 has 5 cells"),
        ("bad.csv", HEAD + "a,0,high,0\n", "row 1, column p0: 'high' is not a number"),
        ("bad.csv", HEAD + "a,0,,1\n", "row 1, column p0: the cell is empty"),
        ("bad.csv", HEAD + "a,0,nan,1\n", "row 1, column p0: the probability is not a number"),
        ("bad.csv", HEAD + "a,0,1,inf\n", "row 1, column p1: the probability is infinite"),
        ("bad.csv", HEAD + "a,0,1,-0.5\n", "row 1, column p1: the probability is negative (-0.5)"),
        ("bad.csv", HEAD + "a,0,1,0\nb,1,0,0\n", "row 2: all class probabilities are 0"),
        ("bad.csv", HEAD + "a,2,1,0\n", "row 1, column label: the class index '2' is outside 0..1"),
        ("bad.csv", HEAD + "a,-1,1,0\n", "row 1, column label: the class index '-1'"),
        ("bad.csv", HEAD + "a,spam,1,0\n", "row 1, column label: 'spam' is neither"),
        ("bad.csv", HEAD + "a,0,1,0\na,1,0,1\n", "row 2: the id 'a' is already at"),
        ("bad.jsonl", '{"label": 0, "p0": 1,', "row 1 is not valid JSON"),
        ("bad.csv", "label,p0,p1\n\xe9,1,0\n".encode("latin-1"), "line 2 is not UTF-8"),
        ("bad.csv.gz", GZIPPED[:-20], "truncated"),
        ("bad.csv.gz", b"label,p0,p1\n0,1,0\n", "not a sound gzip file"),
        ("bad.npz", b"junk", "not an NPZ file"),
        ("bad.parquet", b"junk", "not a sound Parquet file"),
        ("bad.xlsx", b"junk", "the suffix '.xlsx' stands for no known table format"),
        ("bad-missing.csv", None, "there is no such file"),
    ],
)
def test_tables(dnip, files, command, name, content, told):
    if content is not None:
        content = content if isinstance(content, bytes) else content.encode()
        (files / name).write_bytes(content)
    dnip(*command, name).assert_refused(name, told)


@pytest.mark.parametrize("command", [FIT, EVALUATE, COMPARE, APPLY], ids=lambda c: " ".join(c[:2]))
def test_a_folder_and_a_locked_file(dnip, files, monkeypatch, command):
    (files / "bad").mkdir()
    dnip(*command, "bad").assert_refused("bad: the folder holds no .parquet files")
    open_path = Path.open

    def open_unlocked(path, *args, **kwargs):
        if path.name == "t.csv":
            raise PermissionError(13, "Permission denied")
        return open_path(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_unlocked)
    monkeypatch.setattr(os, "access", lambda path, *_args: Path(path).name != "t.csv")
    dnip(*command, "t.csv").assert_refused("t.csv: the file cannot be read: Permission denied")


@pytest.mark.parametrize("command", [FIT, EVALUATE, COMPARE], ids=lambda c: " ".join(c[:2]))
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("label,p0,p1\n1,1,0\n1,0,1\n", "class 1"),
        ("label,p0,p1\n,1,0\n,0,1\n", "label"),
        ("label,p0,p1\n0,1,0\n", "class 0"),
        ("p0,p1\n1,0\n0,1\n", "label"),
    ],
    ids=["one class", "no label", "one row", "no label column"],
)
def test_labels_that_nothing_can_be_learned_from(dnip, files, command, rows, told):
    (files / "bad.csv").write_text(rows)
    dnip(*command, "bad.csv").assert_refused(told)


SOUND = json.loads(Coefficients(["0", "1"], [15, 30], 30).to_json())


@pytest.mark.parametrize("command", [COMPARE, APPLY], ids=lambda c: c[0])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file"),
        ("", "not valid JSON"),
        (json.dumps(SOUND)[:-20], "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("label,p0,p1\n", "not valid JSON"),
        ("{}", '"format" is not'),
        (SOUND | {"version": 3}, "version 3 is unknown; this package reads versions 1 and 2"),
        (SOUND | {"weights": [1, 1]}, "weights do not equal those of weight_indices"),
        (SOUND | {"weight_indices": [15]}, "2 whole numbers"),
        (SOUND | {"classes": ["no", "yes"]}, "fitted for no, yes"),
        (SOUND | {"classes": ["1", "0"]}, "fitted for 1, 0"),
    ],
)
def test_coefficients(dnip, files, command, content, told):
    (files / "c.json").unlink()
    if content is not None:
        (files / "c.json").write_text(content if isinstance(content, str) else json.dumps(content))
    dnip(*command, "t.csv", "--classes", "0,1").assert_refused(told)


def test_a_folder_for_coefficients_is_refused(dnip):
    dnip("evaluate", "t.csv", "--coefficients", ".").assert_refused("Is a directory", "dnip fit")


@pytest.mark.parametrize(("option", "suffix"), [("coefficients", ""), ("target-prior", ".json")])
def test_a_device_without_end_is_refused(dnip, files, option, suffix):
    path = files / f"bad{suffix}"
    path.symlink_to("/dev/zero")
    dnip("evaluate", "t.csv", f"--{option}", path).assert_refused("it has no end")


def test_a_device_is_no_table(dnip, files):
    (files / "bad.csv").symlink_to("/dev/zero")
    dnip("evaluate", "bad.csv").assert_refused("bad.csv: this is a device, not a file")


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_dates_and_spans_are_no_probabilities(dnip, files, kind):
    np.savez("bad.npz", p0=np.array([1, 2]).astype(kind), p1=[0.5, 0.5], label=[0, 1])
    dnip("evaluate", "bad.npz").assert_refused("row 1, column p0", "is a date or a time")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--beta", "-1"], "beta must be a finite number at least 0; got -1"),
        (["--beta", "inf"], "beta must be"),
        (["--tau", "nan"], "tau must be"),
        (["--scale", "0"], "scale must be a whole number of at least 1 and at most 10000; got 0"),
        (["--scale", "10001"], "got 10001"),
        (["--smoothing", "0"], "smoothing must be a finite number above 0"),
        (["--terms", "error,fairness"], "terms must be one of error, cobias, pmi; got 'fairness'"),
        (["--terms", ""], "terms must be one of"),
        (["--effort", "0"], "effort must be a finite number above 0"),
        (["--effort", "2", "--solver", "anneal"], "effort is a setting of the coordinate solver"),
        (["--time-limit", "-1"], "time_limit must be"),
        (["--seed", "-1"], "seed must be a whole number of at least 0; got -1"),
        (["--solver", "exhaustive", "--scale", "10000"], "max_points"),
        (["--classes", "a"], "at least 2 classes"),
        (["--classes", "a,,c"], "class names must not be empty"),
        (["--classes", "a,a"], "a appear twice"),
        (["--classes", "a,b,c"], "2 class columns, p0, p1, but 3 classes: a, b, c"),
        (["--out", "no/c.json"], "no/c.json cannot be written: the folder no does not exist"),
        (["--out", "."], "it is a folder"),
        (["--out", "t.csv/c.json"], "t.csv does not exist"),
        (["--out", "t.csv"], "table and out are the same file"),
        (["--out", "./old-trace.csv"], "out and trace are the same file"),
        (["--trace", "no/trace.csv"], "the folder no does not exist"),
    ],
)
def test_settings_of_a_fit(dnip, files, options, told):
    table = (files / "t.csv").read_bytes()
    dnip(*FIT, "t.csv", *options).assert_refused(told)
    assert (files / "t.csv").read_bytes() == table


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("no/out.csv", "the folder no does not exist"),
        (".", "it is a folder"),
        ("folder.csv", "it is a folder"),
        ("out.txt", "The known suffixes are .csv"),
        ("/dev/stdout", "stands for no known table format"),
    ],
)
def test_outputs_of_apply(dnip, files, out, told):
    (files / "folder.csv").mkdir()
    dnip("apply", "t.csv", "--coefficients", "c.json", "--out", out).assert_refused(told)
    (files / "folder.csv").rmdir()


def test_a_write_protected_output_is_refused(dnip, files, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, *_args: Path(path).name != "old.json")
    dnip(*FIT, "t.csv").assert_refused("old.json cannot be written: the file is write-protected")
