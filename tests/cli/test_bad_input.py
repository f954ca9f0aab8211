"""Whatever is wrong with the input: status 1, one message, and old outputs untouched."""

import json

import pytest

from cases import cases
from dnip import Coefficients

pytestmark = pytest.mark.usefixtures("old_outputs")

FIT = ("fit", "--out", "old.json", "--json")
EVALUATE = ("evaluate", "--json")
COMPARE = ("evaluate", "--coefficients", "c.json")
APPLY = ("apply", "--coefficients", "c.json", "--out", "old.csv")

HEAD = "id,label,p0,p1\n"


@pytest.mark.parametrize("command", [FIT, EVALUATE, COMPARE, APPLY], ids=lambda c: " ".join(c[:2]))
@cases(
    ("bad.csv", HEAD, "there are no rows"),
    ("bad.csv", HEAD + "a,0,1,0\nb,1,0\n", "row 2, column p1: the row ends"),
    ("bad.csv", HEAD + "a,0,nan,1\n", "row 1, column p0: the number is missing"),
    ("bad.csv", HEAD + "a,0,1,0\na,1,0,1\n", "row 2: the id 'a' is already at"),
    ("bad.jsonl", '{"label": 0, "p0": 1,', "row 1 is not valid JSON"),
    ("bad.parquet", "junk", "this Parquet file is damaged"),
    ("bad-missing.csv", None, "there is no such file"),
)
def test_tables(dnip, files, command, name, content, told):
    if content is not None:
        (files / name).write_text(content)
    dnip(*command, name).assert_refused(name, told)


@pytest.mark.parametrize("command", [FIT, EVALUATE, COMPARE], ids=lambda c: " ".join(c[:2]))
@cases(("label,p0,p1\n1,1,0\n1,0,1\n", "only one class, 1"), ("p0,p1\n1,0\n0,1\n", "label"))
def test_labels_that_nothing_can_be_learned_from(dnip, files, command, rows, told):
    (files / "bad.csv").write_text(rows)
    dnip(*command, "bad.csv").assert_refused(told)


SOUND = json.loads(Coefficients(["0", "1"], [15, 30], 30).to_json())


@pytest.mark.parametrize("command", [COMPARE, APPLY], ids=lambda c: c[0])
@cases(
    (None, "cannot be read: No such file"),
    (SOUND | {"weights": [1, 1]}, "weights do not equal those of weight_indices"),
    (SOUND | {"classes": ["no", "yes"]}, "fitted for no, yes"),
)
def test_coefficients(dnip, files, command, content, told):
    (files / "c.json").unlink()
    if content is not None:
        (files / "c.json").write_text(json.dumps(content))
    dnip(*command, "t.csv", "--classes", "0,1").assert_refused(told)


@cases(
    "evaluate bad.csv",
    "evaluate t.csv --coefficients bad.csv",
    "evaluate t.csv --target-prior bad.json",
    "fit t.csv --costs bad.csv",
    "import bad.json --classes 0,1 --out out.csv",
    "import bad-a.json --classes 0,1 --out out.csv --gold bad.csv",
)
def test_a_device_without_end_is_refused(dnip, files, words):
    (files / "bad-a.json").write_text('{"answers": {"q": {"type": "choice", "choice": "0"}}}')
    for name in ("bad.csv", "bad.json"):
        (files / name).symlink_to("/dev/zero")
    dnip(*words.split()).assert_refused("this is a device, not a file")


@cases(
    ("fit t.csv --out no/c.json", "no/c.json cannot be written: the folder no does not exist"),
    ("fit t.csv --defer 0", "defer must be a share of rows between 0 and 1, and neither; got"),
    ("fit t.csv --defer 0.3 --helper-accuracy 90%", "is '90%'; it is a rate or none"),
    ("fit t.csv --helper-accuracy 0.9", "with --defer SHARE"),
    ("fit t.csv --scale 2.5", "scale is '2.5'. Give K for the weights"),
    ("fit t.csv --scale log:", "scale is 'log:'. Give K for the weights"),
    ("fit t.csv --freeze 0,1", "every class with labels is frozen"),
    ("report t.csv --coefficients t.csv", "not valid JSON"),
    ("fit t.csv --seed -1", "seed must be a whole number of at least 0"),
    ("prompt t.csv --task sst5 --model m --out o.csv --shots ²", "shots must be a number"),
    (f"prompt t.csv --task sst5 --model m --out o.csv --shots {'9' * 5000}", "9 digits"),
    ("apply t.csv --coefficients c.json --out .", "it is a folder"),
    ("apply t.csv --coefficients c.json --out out.txt", "The known suffixes are .csv"),
    ("apply t.csv --coefficients c.json --out /dev/stdout", "is that of no known table format"),
    ("check t.csv --coefficients c.json --alpha 1e-308", "more than 1e-9; got 1e-308. Give 0.05"),
    ("evaluate t.csv --picture p.bmp", "its suffix must be one of .png, .svg, .pdf"),
    ("evaluate t.csv --picture no/p.png", "no/p.png cannot be written"),
)
def test_options(dnip, files, words, told):
    dnip(*words.split()).assert_refused(told)


@pytest.mark.parametrize("is_there", [False, True])
def test_what_is_to_be_written_is_not_to_be_read(dnip, files, is_there):
    if is_there:
        (files / "q.xls").touch()
    run = dnip("apply", "t.csv", "--coefficients", "c.json", "--out", "q.xls")
    run.assert_refused("The known suffixes are .csv")
    assert "Save the sheet" not in run.err
    (files / "q.xls").touch()
    dnip("fit", "q.xls").assert_refused("Save it as CSV UTF-8")
    (files / "q.xls").unlink()
