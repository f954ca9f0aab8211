"""Compare what two versions of the package print and write, byte for byte.

Usage: python tools/same_outputs.py REVISION [TABLES]

Runs the commands below with the sources of REVISION and with the sources at hand, on the bundled
table and on every folder of TABLES that holds opt.csv.gz and test.csv.gz. A change that only moves
code must print "same" on every line. Times, versions and paths are left out of the comparison.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
OPT, TEST = "opt.csv.gz", "test.csv.gz"
CLASSES = "--classes World,Sports,Business,Technology"
COMMANDS = {
    "fit": f"fit {OPT} --out fit.json --trace trace.csv",
    "fit --json": f"fit {OPT} --out fit-json.json --json",
    "fit, plain": f"fit {OPT} --robust off --out plain.json --no-evidence --json",
    "fit, paper": f"fit {OPT} --preset paper --out paper.json --time-limit 60 --no-evidence",
    "fit, unlabelled": f"fit {OPT} --unlabelled {TEST} --out moved.json --no-evidence",
    "fit, mix": f"fit {OPT} --target-prior uniform --out mix.json --no-evidence",
    "evaluate": f"evaluate {TEST} --coefficients fit.json",
    "evaluate --json": f"evaluate {TEST} --coefficients plain.json --json",
    "apply": f"apply {TEST} --coefficients fit.json --out applied.csv",
    "apply --target-prior": f"apply {TEST} --coefficients fit.json --target-prior estimate "
    "--out applied.jsonl",
    "pareto": f"pareto {OPT} --test {TEST} --folder front --cross-fit off",
    "compare": f"compare {OPT} --test {TEST} --out compared --methods raw,batch-calibration,dnip",
    "check": f"check {TEST} --coefficients fit.json",
    "show": "show fit.json",
    "show, two": "show fit.json plain.json --json",
}
LANGUAGE_MODEL = {
    "audit": f"audit agnews --model {ROOT}/models/small --data {ROOT}/examples/news",
    "prompt": f"prompt agnews --model {ROOT}/models/small --data {ROOT}/examples/news "
    "--split test --out prompted.csv",
}
#: How older versions spell some commands; the first spelling that is no wrong usage is compared.
OLD_SPELLINGS = {
    r"compare (\S+) --test": r"compare \1",
    r"check (\S+) --coefficients (\S+)": r"check \2 \1",
    r"show (\S+\.json) (\S+\.json)": r"diff \1 \2",
}
#: Commands that can do without the names of the classes.
NAMELESS = ("check", "show")
#: A front of a hundred classes takes minutes.
FEW_CLASSES = ("pareto",)
VARYING = [
    (
        re.compile(rb'("(?:seconds|version|package_version|package|date|dnip|python)": )[^,}\n]+'),
        rb"\1-",
    ),
    (re.compile(rb"(?m)^[0-9]+\.[0-9]{6},|(?<=,)[0-9]+\.[0-9]{6}(?=,)"), b"-,"),  # seconds in CSV
    (re.compile(rb"(?m)^(fit\.seconds|seconds) +[0-9.e-]+$"), rb"\1 -"),
    (re.compile(rb"[0-9.]+(?: |\xc2\xa0|\xe2\x80\xaf)?(?:s|ms|seconds|minutes)\b"), b"-"),
]


def outputs(source: Path, folder: Path, commands: dict[str, str]) -> dict[str, bytes]:
    """Run the commands in a folder; return what they printed and the files they wrote."""
    given = {path.name for path in folder.iterdir()}
    found = {}
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "COLUMNS": "100"}
    for name, command in commands.items():
        old = command
        for today, before in OLD_SPELLINGS.items():
            old = re.sub(today, before, old)
        for spelling in (command, old):
            run = subprocess.run(
                [sys.executable, "-m", "dnip", *spelling.split()],
                cwd=folder,
                capture_output=True,
                env=environment,
                check=False,
            )
            if run.returncode != 2:  # no wrong usage
                break
        if run.returncode:
            print(f"{name}: exit status {run.returncode}, {run.stderr[-300:].decode()}")
        found[name] = b"%d\n%s\n%s" % (run.returncode, run.stdout, messages(run.stderr))
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in given and path.suffix != ".png":
            found[str(path.relative_to(folder))] = path.read_bytes()
    return {name: constant(content) for name, content in found.items()}


def messages(text: bytes) -> bytes:
    """Return the warnings, notes and errors among what was printed beside progress bars."""
    return b"\n".join(re.findall(rb"(?:warning|note|error): .*", text))


def constant(content: bytes) -> bytes:
    """Leave out what differs from run to run."""
    for pattern, instead in VARYING:
        content = pattern.sub(instead, content)
    return content


def tables(folder: Path | None) -> dict[str, tuple[Path, Path]]:
    """Return the opt and test table of every name."""
    data = next((ROOT / "src").rglob("agnews-opt.csv.gz")).parent
    found = {"bundled": (data / "agnews-opt.csv.gz", data / "agnews-test.csv.gz")}
    for opt in sorted(folder.glob(f"*/{OPT}")) if folder else []:
        found[opt.parent.name] = (opt, opt.with_name(TEST))
    return found


def main(revision: str, folder: str | None = None) -> int:
    """Compare, and return how many outputs differ."""
    different = 0
    with tempfile.TemporaryDirectory() as scratch:
        old = Path(scratch) / "old"
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", old, revision], cwd=ROOT, check=True
        )
        try:
            for name, (opt, test) in tables(Path(folder) if folder else None).items():
                commands = dict(COMMANDS)
                if name == "bundled":
                    commands = {
                        key: value if value.startswith(NAMELESS) else f"{value} {CLASSES}"
                        for key, value in commands.items()
                    }
                    commands |= LANGUAGE_MODEL
                if opt.stat().st_size > 1_000_000 or name.startswith(("cifar100", "20news")):
                    commands = {
                        key: value for key, value in commands.items() if key not in FEW_CLASSES
                    }
                found = []
                for source in (old, ROOT):
                    place = Path(scratch) / "run"
                    place.mkdir()
                    shutil.copy(opt, place / OPT)
                    shutil.copy(test, place / TEST)
                    found.append(outputs(source, place, commands))
                    shutil.rmtree(place)
                before, after = found
                unlike = sorted(
                    key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
                )
                different += len(unlike)
                print(
                    f"{name}: {len(before)} outputs, "
                    + ("same" if not unlike else f"DIFFERENT: {', '.join(unlike)}"),
                    flush=True,
                )
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", old], cwd=ROOT, check=True)
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
