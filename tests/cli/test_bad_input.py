"""Whatever is wrong with the input: status 1, one message, and old outputs untouched."""

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
@cases((HEAD + "a,0,1,0\nb,1,0\n", "row 2, column p1: the row ends"), (None, "no such file"))
def test_a_fault_of_a_table_stops_every_command(dnip, files, command, content, told):
    """All faults of tables are tried in tests/tables."""
    if content is not None:
        (files / "bad.csv").write_text(content)
    dnip(*command, "bad.csv").assert_refused("bad.csv", told)


@pytest.mark.parametrize("command", [FIT, EVALUATE, COMPARE], ids=lambda c: " ".join(c[:2]))
def test_labels_are_needed(dnip, files, command):
    (files / "bad.csv").write_text("p0,p1\n1,0\n0,1\n")
    dnip(*command, "bad.csv").assert_refused("label")


@pytest.mark.parametrize("command", [COMPARE, APPLY], ids=lambda c: c[0])
def test_coefficients_of_other_classes_stop_every_command(dnip, files, command):
    Coefficients(["no", "yes"], [15, 30], 30).save("c.json")
    dnip(*command, "t.csv", "--classes", "0,1").assert_refused("fitted for no, yes")


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
    ("fit t.csv --scale 2.5", "scale is '2.5'. Give K for the weights"),
    ("fit t.csv --scale log:", "scale is 'log:'. Give K for the weights"),
    ("report t.csv --coefficients t.csv", "not valid JSON"),
    ("fit t.csv --seed -1", "seed must be a whole number of at least 0"),
    ("prompt t.csv --task sst5 --model m --out o.csv --shots ²", "shots must be a number"),
    (f"prompt t.csv --task sst5 --model m --out o.csv --shots {'9' * 5000}", "9 digits"),
    ("apply t.csv --coefficients c.json --out .", "it is a folder"),
    ("apply t.csv --coefficients c.json --out out.txt", "The known suffixes are .csv"),
    ("apply t.csv --coefficients c.json --out /dev/stdout", "is that of no known table format"),
    ("check t.csv --coefficients c.json --alpha 1e-308", "more than 1e-9; got 1e-308. Give 0.05"),
    ("evaluate t.csv --picture p.bmp", "its name must end in .png or .svg or .pdf"),
    ("report t.csv --out r.pdf", "r.pdf cannot be written: its name must end in .html. Name it r"),
    ("fit t.csv --out model.csv", "its name must end in .json. Name it model.json"),
    ("export c.json --to onnx --out x.json", "its name must end in .onnx. Name it x.onnx"),
    ("export c.json --to sqlite --out x", "its name must end in .sql. Name it x.sql"),
    ("export c.json --to javascript --out x.py", "must end in .js or .mjs. Name it x.js"),
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
