"""Whatever is wrong with the input: status 1, one message, and old outputs untouched."""

import gzip
import json
import os
from pathlib import Path

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
        ("bad.csv", "label,a,b\n0,1,0\n", "a, b"),
        ("bad.csv", HEAD + "a,0,1,0\nb,1,0\n", "row 2, column p1: the row ends"),
        ("bad.csv", HEAD + "a,0,high,0\n", "row 1, column p0: 'high' is not a number"),
        ("bad.csv", HEAD + "a,0,nan,1\n", "row 1, column p0: the probability is not a number"),
        ("bad.csv", HEAD + "a,0,1,-0.5\n", "row 1, column p1: the probability is negative (-0.5)"),
        ("bad.csv", HEAD + "a,2,1,0\n", "row 1, column label: the class index '2' is outside 0..1"),
        ("bad.csv", HEAD + "a,spam,1,0\n", "row 1, column label: 'spam' is neither"),
        ("bad.csv", HEAD + "a,0,1,0\na,1,0,1\n", "row 2: the id 'a' is already at"),
        ("bad.jsonl", '{"label": 0, "p0": 1,', "row 1 is not valid JSON"),
        ("bad.csv.gz", GZIPPED[:-20], "truncated"),
        ("bad.parquet", b"junk", "not a sound Parquet file"),
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
        ("{}", '"format" is not'),
        (SOUND | {"version": 3}, "version 3 is unknown; this package reads versions 1 and 2"),
        (SOUND | {"weights": [1, 1]}, "weights do not equal those of weight_indices"),
        (SOUND | {"classes": ["no", "yes"]}, "fitted for no, yes"),
    ],
)
def test_coefficients(dnip, files, command, content, told):
    (files / "c.json").unlink()
    if content is not None:
        (files / "c.json").write_text(content if isinstance(content, str) else json.dumps(content))
    dnip(*command, "t.csv", "--classes", "0,1").assert_refused(told)


@pytest.mark.parametrize(("option", "suffix"), [("coefficients", ""), ("target-prior", ".json")])
def test_a_device_without_end_is_refused(dnip, files, option, suffix):
    path = files / f"bad{suffix}"
    path.symlink_to("/dev/zero")
    dnip("evaluate", "t.csv", f"--{option}", path).assert_refused("it has no end")


def test_a_device_is_no_table(dnip, files):
    (files / "bad.csv").symlink_to("/dev/zero")
    dnip("evaluate", "bad.csv").assert_refused("bad.csv: this is a device, not a file")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--beta", "-1"], "beta must be a finite number at least 0; got -1"),
        (["--scale", "continuous"], "continuous weights are no longer searched. Take log:1000"),
        (["--scale", "0"], "scale must be a whole number of at least 1 and at most 10000; got 0"),
        (["--smoothing", "0"], "smoothing must be a finite number above 0"),
        (["--terms", "error,fairness"], "terms must be one of error, cobias, pmi; got 'fairness'"),
        (["--effort", "0"], "effort must be a finite number above 0"),
        (["--effort", "2", "--solver", "anneal"], "effort is a setting of the coordinate solver"),
        (["--time-limit", "-1"], "time_limit must be"),
        (["--seed", "-1"], "seed must be a whole number of at least 0; got -1"),
        (["--solver", "exhaustive", "--scale", "10000"], "max_points"),
        (["--classes", "a"], "at least 2 classes"),
        (["--classes", "a,a"], "a appear twice"),
        (["--classes", "a,b,c"], "2 class columns, p0, p1, but 3 classes: a, b, c"),
        (["--out", "no/c.json"], "no/c.json cannot be written: the folder no does not exist"),
        (["--out", "."], "it is a folder"),
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


#: More digits than any number has that could follow.
HUGE = "9" * 400


@pytest.mark.parametrize(
    "options",
    [
        ["fit", "t.csv", "--tau", "1e308"],
        ["fit", "t.csv", "--tau", "1", "--smoothing", "1e308"],
        ["fit", "t.csv", "--beta", "1e308"],
        ["fit", "t.csv", "--effort", "1e308"],
        ["fit", "t.csv", "--effort", "1e20"],
        ["fit", "t.csv", "--time-limit", "1e308"],
        ["tune", "t.csv", "--taus", "0,1e308"],
        ["tune", "t.csv", "--smoothings", "1e308"],
        ["pareto", "t.csv", "--effort", "1e308", "--folder", "bad-front"],
    ],
)
def test_settings_beyond_all_bounds_are_refused(dnip, files, options):
    dnip(*options).assert_refused("must be a finite number", "at most 1e+12")


@pytest.mark.parametrize("shares", [f'{{"0": {HUGE}, "1": 0}}', f"[{HUGE}, 0]"])
def test_class_mixes_of_numbers_beyond_floats_are_refused(dnip, files, shares):
    (files / "bad.json").write_text(shares)
    dnip("fit", "t.csv", "--target-prior", "bad.json").assert_refused("target prior: not numbers")


def test_costs_beyond_floats_are_refused(dnip, files):
    (files / "bad.json").write_text(f"[[0, {HUGE}], [1, 0]]")
    dnip("fit", "t.csv", "--costs", "bad.json").assert_refused("bad.json is not a matrix")


@pytest.mark.parametrize("shots", ["9" * 5000, "²"])
def test_shots_are_a_number_of_few_digits(dnip, files, shots):
    run = dnip("prompt", "sst5", "--data", ".", "--model", "m", "--out", "o.csv", "--shots", shots)
    run.assert_refused("shots must be a number", "9 digits")
