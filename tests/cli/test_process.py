"""Real processes: two streams, broken pipes, signals; and large tables in bounded memory."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oracles
from cases import cases
from dnip import Coefficients, ProbabilityTable
from processes import ran

DNIP = str(Path(sys.executable).with_name("dnip"))


def shell(command, **options):
    """Run a line of shell in which ``dnip`` is this package's command."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path} | options
    return ran("bash", "-o", "pipefail", "-c", command, env=environment)


@cases(
    ("dnip evaluate t.csv", 0, "class  rows", ""),
    ("dnip evaluate no.csv", 1, "", "error: no.csv: there is no such file"),
    ("dnip evaluate", 2, "", "Usage: dnip evaluate"),
    ("dnip evaluate t.csv >/dev/full", 1, "", "error: standard output cannot be written"),
    ("dnip evaluate t.csv --json >&-", 0, "", ""),
    ("dnip evaluate no.csv 2>&-", 1, "", ""),
    ("dnip fit t.csv --json 2>&-", 0, "{", ""),
    ("dnip fit t.csv --out /dev/stdout", 0, '{\n  "format": "dnip-coefficients"', ""),
)
def test_status_and_streams(files, command, status, out, err):
    run = shell(command)
    assert run.returncode == status
    for found, expected in ((run.stdout, out), (run.stderr, err)):
        assert found.startswith(expected)
        assert bool(found) == bool(expected)


@cases("dnip evaluate t.csv --json | true", "dnip fit --help | head -1")
def test_a_reader_that_leaves_early_is_no_error_worth_a_word(files, command):
    assert shell(command).stderr == ""


def test_a_path_that_is_no_unicode(files):
    odd = os.fsdecode(b"\xff.csv")
    Path("t.csv").rename(odd)
    run = ran(DNIP, "fit", odd, "--out", "new.json", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(Path("new.json").read_text())["fit"]["data"]["source"] == r"\udcff.csv"


#: Run a command that listens to Ctrl-C; a child of a script's background job would ignore it.
LISTENING = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL);"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@cases(("csv", signal.SIGINT, 130, "interrupted"), ("parquet", signal.SIGTERM, 143, "terminated"))
def test_a_signal_leaves_the_old_file_and_nothing_else(folder, suffix, number, status, kind):
    if suffix == "csv":
        Path("rows.csv").write_text("p0,p1\n" + "0.25,0.75\n" * 1_000_000)
    else:
        p = pa.array(np.full(4_000_000, 0.25))
        pq.write_table(pa.table({"p0": p, "p1": p}), "rows.parquet")
    Coefficients(["0", "1"], [15, 30], 30).save("c.json")
    out = Path(f"out.{suffix}")
    out.write_text("old")
    command = [sys.executable, "-c", LISTENING, DNIP, "apply", f"rows.{suffix}"]
    command += ["--coefficients", "c.json", "--out", out]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    while not any(path.stat().st_size for path in Path().glob(".dnip-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    told = process.communicate(timeout=200)
    assert (process.returncode, out.read_text()) == (status, "old")
    assert told == ("", f"{kind}: every output file is complete or unchanged\n")
    assert not list(Path().glob(".dnip-*"))


@cases(
    ("apply f.csv --coefficients c.json --out out.csv", 0, "4 rows"),
    ("evaluate f.csv --coefficients c.json", 0, "class"),
    ("fit f.csv --out d.json", 0, "coefficients written"),
    ("evaluate f.csv --target-prior 0=0.5,1=0.5", 1, "f.csv is a pipe, which can be read once"),
)
def test_a_pipe_is_read_once(files, command, status, told):
    os.mkfifo("f.csv")
    run = shell(f"timeout 200 cat t.csv >f.csv & timeout 200 dnip {command}")
    assert run.returncode == status, run.stderr
    assert told in run.stdout + run.stderr


# --- large tables ---
INDICES = [30, 12, 17]


@pytest.fixture
def fitted(folder):
    Coefficients(["0", "1", "2"], INDICES, 30).save("c.json")


def write_part(path, n_rows, seed=0, kind="float64", **options):
    """Write random rows, in row groups of odd lengths; return them."""
    rng = np.random.default_rng(seed)
    p = rng.multinomial(8, [0.4, 0.3, 0.3], n_rows) / 8  # many ties
    labels = rng.integers(0, 3, n_rows)
    columns = {f"p{n}": p[:, n].astype(kind) for n in range(3)}
    pq.write_table(pa.table({"label": labels, **columns}), path, **options)
    return p.astype(kind).astype(np.float64), labels


def test_a_folder_gives_what_memory_gives(dnip, fitted):
    Path("parts").mkdir()
    kinds = ("float64", "float32", "float16")
    parts = [write_part(f"parts/{kind}.parquet", 400, 0, kind, row_group_size=97) for kind in kinds]
    p, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    run = dnip("evaluate", "parts", "--coefficients", "c.json", "--json")
    assert run.json["raw"]["confusion"] == oracles.confusion_at(p, labels, [1, 1, 1]).tolist()
    assert run.json["reweighted"]["confusion"] == oracles.confusion_at(p, labels, INDICES).tolist()
    dnip("apply", "parts", "--coefficients", "c.json", "--out", "out.parquet")
    written = pq.read_table("out.parquet")
    assert written["prediction"].to_pylist() == oracles.predict(p, INDICES).tolist()
    assert written["label"].to_pylist() == labels.tolist()
    in_memory = Coefficients.load("c.json").apply(ProbabilityTable.read("parts").probabilities)
    np.testing.assert_array_equal(ProbabilityTable.read("out.parquet").probabilities, in_memory)


def test_one_row_group_of_many_rows_and_ids_is_read_in_little_memory(fitted):
    """The columns alone take 140 MB when they are read; two million ids to compare take 200 MB."""
    n_rows = 3_000_000
    ids = pa.array(np.arange(n_rows)).cast(pa.string())
    p = pa.array(np.full(n_rows, 0.25))
    labels = pa.array(np.arange(n_rows) % 3)
    table = pa.table({"id": ids, "label": labels, "p0": p, "p1": p, "p2": p})
    # Rows of 0.25, 0.25, 0.25 are normalised; no dictionary makes them short on disk.
    pq.write_table(table, "t.parquet", row_group_size=n_rows, use_dictionary=False)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    options = ["apply", "--out", "out.parquet", "t.parquet", "--coefficients", "c.json"]
    run = ran(sys.executable, "-c", code, DNIP, *options)
    assert "3000000 of 3000000 rows did not sum to 1" in run.stderr
    assert int(run.stdout.split()[-1]) * 1024 < 500e6


def test_a_disk_that_fills_leaves_the_old_output_and_nothing_beside_it(fitted):
    write_part("t.parquet", 100_000)
    Path("out.parquet").write_bytes(b"old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    command = [DNIP, "apply", "t.parquet", "--coefficients", "c.json", "--out", "out.parquet"]
    run = ran(*command, preexec_fn=limit)
    told = "error: out.parquet cannot be written: File too large. Write elsewhere\n"
    assert (run.returncode, run.stdout, run.stderr) == (1, "", told)
    assert Path("out.parquet").read_bytes() == b"old"
    assert not list(Path().glob(".dnip-*"))
