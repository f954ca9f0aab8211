"""Low captured mass: a warning on standard error, a key in JSON, the same result else."""

from pathlib import Path

import pytest

ROWS = ["0,0.9,0.1", "0,0.8,0.2", "1,0.6,0.4", "1,0.55,0.45"]
MASSES = [0.02, 0.01, 0.03, 0.5]
WARNING = (
    "warning: low.csv: the labels capture less than 0.1 of the probability in 75% of the rows "
    "(3 of 4; median mass 0.02): the prompt or the label words are at fault, coefficients cannot "
    "mend that. Look at both with `dnip audit`\n"
)
COMMANDS = {
    "fit": ("--out", "fitted.json"),
    "evaluate": ("--coefficients", "c.json"),
    "apply": ("--coefficients", "c.json", "--out", "out.csv"),
}


@pytest.fixture
def low(files):
    rows = [f"{mass},{row}\n" for mass, row in zip(MASSES, ROWS, strict=True)]
    Path("low.csv").write_text("mass,label,p0,p1\n" + "".join(rows))
    return files


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize("command", COMMANDS)
def test_low_mass_is_told(dnip, command):
    options = COMMANDS[command]
    plain = dnip(command, "t.csv", *options, "--json")
    run = dnip(command, "low.csv", *options, "--json")
    assert (run.status, run.err.count(WARNING), plain.err) == (0, 1, run.err.replace(WARNING, ""))
    assert run.json["mass"] == {"rows": 4, "low": 3, "median": 0.02, "threshold": 0.1}
    assert plain.json["mass"] is None
    if command == "evaluate":
        assert {**run.json, "mass": None} == plain.json
