"""No command destroys what it reads, or one output with another, by whatever path it is told of.

All commands are walked: an option that is a path must be named here.
"""

from itertools import product
from pathlib import Path

import pytest

from dnip.cli import app
from dnip.cli.options import path

COMMANDS = {name: app.commands.get_command(None, name) for name in app.COMMANDS}

#: Options that name what is read, and how the path of a file there is made of the option's value.
READS = {
    **dict.fromkeys(("test", "table", "unlabelled", "content_free"), ""),
    **dict.fromkeys(("files", "gold", "coefficients", "costs"), ""),
    "target_prior": ".json",
    "task": ".toml",
    **dict.fromkeys(("texts", "prompt", "system", "demonstrations"), ""),
}
#: Options that name what is written: the suffix of a file, or the files in a folder.
WRITES = {
    "fit": {"out": ""},
    "apply": {"out": ".csv"},
    "export": {"out": ""},
    "show": {},
    "prompt": {"out": ".csv"},
    "import": {"out": ".csv"},
    "evaluate": {"picture": ".png"},
    "compare": {"out": ("results.json", "runs.csv", "comparison.png")},
    "demo": {"out": ("coefficients.json", "class_accuracies.png", "report.md")},
    "serve": {},
    "check": {},
    "report": {"out": ".html"},
}
BESIDE = {"prompt": (".meta.json", ".answers"), "import": (".meta.json",)}
GIVEN = {"export": ["--to", "logit-bias"]}


def reads_of(command):
    names = [one.name for one in COMMANDS[command].params if one.name not in WRITES[command]]
    return {name: READS[name] for name in names if name in READS}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_is_a_path_is_named_here(command):
    paths = {
        one.name for one in COMMANDS[command].params if getattr(one.type, "func", None) is path
    }
    assert paths - {*WRITES[command], *READS, "record", "picture"} == set()
    assert {*WRITES[command]} <= paths


def line(command, values):
    """The command line with these values, and others where a value is needed."""
    arguments = [command]
    for one in COMMANDS[command].params:
        value = values.get(one.name)
        if value is None and one.required:
            value = f"some-{one.name}"
        if value is not None:
            is_option = one.param_type_name == "option"
            arguments += [one.opts[0], str(value)] if is_option else [str(value)]
        elif one.param_type_name == "argument" and set(values) & {"test"}:
            arguments += [f"some-{one.name}"]
    return [*arguments, *GIVEN.get(command, [])]


def clashes():
    for command, outputs in WRITES.items():
        others = {**reads_of(command), **{o: s for o, s in outputs.items() if isinstance(s, str)}}
        for (option, kind), other in product(outputs.items(), others):
            if other == option:
                continue
            suffix = others[other]
            names = kind
            if isinstance(kind, str):
                whole = f"victim{kind or suffix}"
                names = (whole, *(whole + end for end in BESIDE.get(command, ())))
            for name in names:
                way = "itself" if name.endswith(suffix) else "link"
                case = (command, option, kind, name, other, suffix, way)
                yield pytest.param(*case, id=f"{command} --{option} {name}: {other} by {way}")


@pytest.mark.parametrize(
    ("command", "option", "kind", "name", "other", "suffix", "way"), list(clashes())
)
def test_a_clash_is_refused_and_the_input_stays(
    dnip, folder, command, option, kind, name, other, suffix, way
):
    in_folder = not isinstance(kind, str)
    victim = alias = folder / ("made" if in_folder else ".") / name
    victim.parent.mkdir(parents=True, exist_ok=True)
    victim.write_bytes(b"kept")
    if way == "link":
        alias = folder / f"input{suffix}"
        alias.parent.mkdir(parents=True, exist_ok=True)
        alias.symlink_to(victim)
    written = folder / "made" if in_folder else folder / name
    for beside in BESIDE.get(command, ()):
        written = Path(str(written).removesuffix(beside))
    before = sorted(folder.rglob("*"))
    run = dnip(*line(command, {option: written, other: alias}))
    run.assert_refused("cannot be written", "the same file", "Give each a place of its own")
    assert victim.read_bytes() == alias.read_bytes() == b"kept"
    assert sorted(folder.rglob("*")) == before


def test_an_input_table_may_not_become_a_part_of_the_outputs(dnip, folder):
    (folder / "o.csv").write_text("label,p0,p1\n0,0.9,0.1\n1,0.6,0.4\n")
    (folder / "parts").mkdir()
    run = dnip("fit", "parts", "--out", "parts/c.json")
    run.assert_refused("out and table lie one in the other")
    dnip("fit", "/", "--out", "c.json").assert_refused("out and table lie one in the other")
