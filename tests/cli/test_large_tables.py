"""Large Parquet tables: bounded memory, full disks, broken parts."""

import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from processes import ran
from test_process import DNIP

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


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_a_folder_gives_what_memory_gives(dnip, fitted, kind):
    Path("parts").mkdir()
    parts = [
        write_part(f"parts/part-{number}.parquet", 400, number, kind, row_group_size=97)
        for number in range(3)
    ]
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
    table = pa.table(
        {"id": ids, "label": pa.array(np.arange(n_rows) % 3), "p0": p, "p1": p, "p2": p}
    )
    # Rows of 0.25, 0.25, 0.25 are normalised; no dictionary makes them short on disk.
    pq.write_table(table, "t.parquet", row_group_size=n_rows, use_dictionary=False)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    for command in (["evaluate"], ["apply", "--out", "out.parquet"]):
        options = [*command, "t.parquet", "--coefficients", "c.json"]
        run = ran(sys.executable, "-c", code, DNIP, *options)
        assert "3000000 of 3000000 rows did not sum to 1" in run.stderr
        assert int(run.stdout.split()[-1]) * 1024 < 500e6


def test_a_disk_that_fills_leaves_the_old_output_and_nothing_beside_it(fitted):
    write_part("t.parquet", 100_000)
    Path("out.parquet").write_bytes(b"old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))

    command = [DNIP, "apply", "t.parquet", "--coefficients", "c.json", "--out", "out.parquet"]
    run = ran(*command, preexec_fn=limit, timeout=60)
    told = "error: out.parquet cannot be written: File too large. Write elsewhere\n"
    assert (run.returncode, run.stdout, run.stderr) == (1, "", told)
    assert Path("out.parquet").read_bytes() == b"old"
    assert not list(Path().glob(".dnip-*"))
