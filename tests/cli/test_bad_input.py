"""Whatever is wrong with the input: status 1, one message, and old outputs untouched."""

import pytest

from cases import cases

pytestmark = pytest.mark.usefixtures("old_outputs")


@cases(
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
    ("prompt t.csv --task sst5 --model m --out o.csv --shots ²", "shots must be a number"),
    (f"prompt t.csv --task sst5 --model m --out o.csv --shots {'9' * 5000}", "9 digits"),
    ("apply t.csv --coefficients c.json --out .", "it is a folder"),
    ("apply t.csv --coefficients c.json --out out.txt", "The known suffixes are .csv"),
    ("apply t.csv --coefficients c.json --out /dev/stdout", "is that of no known table format"),
    (
        "check t.csv --coefficients c.json --alpha 0",
        "alpha must be a finite number above 1e-09 and below 1",
    ),
    ("check t.csv --coefficients c.json --alpha 1e-308", "below 1; got 1e-308"),
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
