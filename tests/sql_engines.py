"""Real databases that run an exported query on a table of doubles, ``probabilities``.

Each returns the last column of the result, or raises what the database said.
"""

import atexit
import csv
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

NULL = "(the mark of a NULL)"


def in_duckdb(columns, rows, query):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    arrow = pytest.importorskip("pyarrow")
    with duckdb.connect() as database:
        table = arrow.table([*zip(*rows, strict=True)], [*map(str, range(len(columns)))])
        database.register("given", table)
        named = ", ".join(f'"{n}" AS {name}' for n, name in enumerate(_quoted(columns)))
        database.execute(f"CREATE TABLE probabilities AS SELECT {named} FROM given")
        return [row[-1] for row in database.execute(query).fetchall()]


def in_sqlite(columns, rows, query):
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE probabilities ({' REAL, '.join(_quoted(columns))} REAL)")
        marks = ", ".join("?" * len(columns))
        database.executemany(f"INSERT INTO probabilities VALUES ({marks})", rows)
        return [row[-1] for row in database.execute(query).fetchall()]


def in_postgresql(columns, rows, query):
    types = [f"{name} DOUBLE PRECISION" for name in _quoted(columns)]
    lines = ["\t".join("\\N" if p is None else repr(p) for p in row) for row in rows]
    script = [
        "SET client_min_messages = error; DROP TABLE IF EXISTS probabilities;",
        f"CREATE TABLE probabilities ({', '.join(types)});",
        *("COPY probabilities FROM STDIN;", *lines, "\\.", query),
    ]
    psql = [*_postgresql(), "--quiet", "--csv", "--tuples-only", "--set=ON_ERROR_STOP=1"]
    given = "\n".join(script).encode()
    psql += [f"--pset=null={NULL}"]
    done = subprocess.run(psql, input=given, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    found = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    return [None if row[-1] == NULL else row[-1] for row in found]


def in_spark(columns, rows, query):
    session, types = _spark()
    fields = [types.StructField(name, types.DoubleType()) for name in columns]
    table = session.createDataFrame(rows, types.StructType(fields))
    table.createOrReplaceTempView("probabilities")
    return [row[-1] for row in session.sql(query).collect()]


#: By dialect. Those after the first two are servers, or as slow as one.
ENGINES = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgresql": in_postgresql, "spark": in_spark}
SQL = [
    pytest.param(name, marks=[pytest.mark.integration] * (run in (in_postgresql, in_spark)))
    for name, run in ENGINES.items()
]


def _quoted(names):
    return ['"' + name.replace('"', '""') + '"' for name in names]


@cache
def _postgresql():
    """Start a server, which ends with the tests, and return the command that asks it."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = str(programs[-1]) if programs else shutil.which("initdb")
    if found is None or shutil.which("psql") is None:
        pytest.skip("PostgreSQL is not installed")
    place = tempfile.mkdtemp(prefix="dnip-postgresql-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    other = []
    if os.geteuid() == 0:  # whom the server refuses
        shutil.chown(place, "postgres", "postgres")
        other = ["runuser", "-u", "postgres", "--"]
    data = f"{place}/data"
    make = [found, "--pgdata", data, "--auth=trust", "--username=tester", "--no-sync"]
    subprocess.run([*other, *make, "--encoding=UTF8"], check=True, capture_output=True, cwd=place)
    server = Path(found).with_name("pg_ctl")
    control = [*other, server, "--pgdata", data, "--silent", "--wait"]
    options = f"-F -k {place} -c listen_addresses="
    start = [*control, "--log", f"{place}/log", "--options", options, "start"]
    subprocess.run(start, check=True, cwd=place)
    stop = [*control, "--mode=immediate", "stop"]
    atexit.register(subprocess.run, stop, check=False, cwd=place)
    return ["psql", "--no-psqlrc", f"--host={place}", "--username=tester", "postgres"]


def _spark():
    """Return the session of this process, and the module of its types."""
    spark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = spark.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session, spark.types
