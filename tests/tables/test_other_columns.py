"""What travels beside the probabilities: mass, samples, fall-backs, and columns of no meaning."""

import json
import warnings

import numpy as np
import pytest

from dnip import Coefficients, DNIPWarning
from dnip.tables import Asked, ProbabilityTable, Scan, open_writer
from dnip.tables.rows import LOW_MASS, CapturedMass, MassCounts
from dnip.using.application import apply

ALL = Asked(others=True)
SUFFIXES = ["csv", "csv.gz", "jsonl", "parquet"]
TABLE = ProbabilityTable(
    np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, -1]), classes=("no", "yes")
)


def beside(table, others, **more):
    return table.changed(others=others, **more)


def low_table():
    """40 rows, of which 30 have next to no mass."""
    rng = np.random.default_rng(0)
    mass = rng.permutation(np.repeat([0.02, 0.8], [30, 10]))
    return ProbabilityTable(rng.dirichlet(np.ones(3), 40), rng.integers(3, size=40), mass=mass)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_with_them_reads_back_as_the_table(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    with open_writer(path) as writer:
        mass = np.array([1.0004, 0.1 + 0.2])
        writer.write(beside(TABLE, {"samples": [16, 15], "fallback": [0, 1]}, mass=mass))
    back = ProbabilityTable.read(path, TABLE.classes)
    assert back.data_hash == TABLE.data_hash
    assert back.mass.tolist() == [1.0004, 0.1 + 0.2]  # just above one is rounding


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("block_rows", [1, 7, 100])
def test_low_mass_is_told_once_whole_and_in_chunks(tmp_path, suffix, block_rows):
    table = low_table()
    path = tmp_path / f"low.{suffix}"
    table.write(path)
    for read in (ProbabilityTable.read, lambda path: list(Scan(path, block_rows=block_rows))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = read(path)
        assert [str(warning.message) for warning in caught] == [
            f"{path}: the labels capture less than 0.1 of the probability in 75% of the rows "
            "(30 of 40; median mass 0.02): the prompt or the label words are at fault, "
            "coefficients cannot mend that. Look at both with `dnip prompt --check`"
        ]
        parts = [rows] if isinstance(rows, ProbabilityTable) else rows
        assert np.concatenate([part.mass for part in parts]).tolist() == table.mass.tolist()


@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_parts_and_copies_of_a_table_keep_their_mass(tmp_path):
    table = low_table()
    assert table.take([3, 1]).mass.tolist() == table.mass[[3, 1]].tolist()
    part = ProbabilityTable(table.probabilities, np.full(40, -1), mass=table.mass).unlabelled()
    assert part.mass.tolist() == table.mass.tolist()
    coefficients = Coefficients(["0", "1", "2"], [1, 2, 3], 3)
    apply([table], coefficients, tmp_path / "out.parquet")
    assert ProbabilityTable.read(tmp_path / "out.parquet").mass.tolist() == table.mass.tolist()
    for library in ("pandas", "polars"):
        with pytest.warns(DNIPWarning, match="frame: the labels capture"):
            back = ProbabilityTable.from_frame(table.to_frame(library))
        assert back.mass.tolist() == table.mass.tolist()


def test_mass_may_be_the_name_of_a_class(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,mass,p0,p1\nmass,0.9,0.75,0.25\nenergy,0.8,0.5,0.5\n")
    table = ProbabilityTable.read(path, ["mass", "energy"])
    assert table.labels.tolist() == [0, 1]
    assert table.mass.tolist() == [0.9, 0.8]
    path.write_text("label,p0,p1\nmass,0.75,0.25\nenergy,0.5,0.5\n")
    assert ProbabilityTable.read(path, ["mass", "energy"]).mass is None


def test_mass_is_low_below_a_tenth_and_worth_a_word_from_a_tenth_of_the_rows_on():
    rows = [0.1] * 9
    assert CapturedMass.of([*rows, 0.1]).low == 0
    one = CapturedMass.of([*rows, np.nextafter(0.1, 0)])
    assert (one.low, one.worth_telling, one.at_fault) == (1, True, False)
    assert not CapturedMass.of([*rows, 0.1, 0.01]).worth_telling
    assert not CapturedMass.of([0.01, 0.5]).at_fault
    assert CapturedMass.of([0.01, 0.01, 0.5]).at_fault


@pytest.mark.parametrize("seed", range(5))
def test_chunks_give_what_the_whole_gives(seed):
    rng = np.random.default_rng(seed)
    mass = rng.random(rng.integers(1, 2000)) ** rng.integers(1, 6)
    counts = MassCounts()
    for chunk in np.array_split(mass, 7):
        counts.add(chunk)
    assert counts.summary == CapturedMass.of(mass)
    assert counts.summary.rows == len(mass)
    assert counts.summary.low == np.count_nonzero(mass < LOW_MASS)
    middle = np.sort(mass)[(len(mass) - 1) // 2]
    assert counts.summary.median == pytest.approx(middle, rel=6e-3)


TEXTS = ["plain", 'a "quote", a comma', "line\nend", "", "🐟"]


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path):
    """A table with a column of texts."""
    table = ProbabilityTable(np.array([[0.75, 0.25]] * 5), np.array([0, 1, 0, 1, -1]))
    found = tmp_path / f"opt.{request.param}"
    with open_writer(found) as writer:
        writer.write(beside(table, {"text": TEXTS}))
    return found


def test_they_are_not_read(path):
    table = ProbabilityTable.read(path)
    assert table.labels.tolist() == [0, 1, 0, 1, -1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_apply_carries_them_to_every_format(path, suffix, tmp_path):
    out = tmp_path / f"new.{suffix}"
    apply(Scan(path, asked=ALL), Coefficients(["0", "1"], [1, 4], 4), out)
    (chunk,) = Scan(out, asked=ALL)
    assert list(chunk.others["text"]) == TEXTS


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nested_cells_stay_in_json_and_texts_that_are_no_unicode_are_escaped(suffix, tmp_path):
    path, out = tmp_path / "opt.jsonl", tmp_path / f"new.{suffix}"
    row = {"p0": 0.5, "p1": 0.5, "text": "\ud800", "none": None, "meta": {"tokens": [1, 2]}}
    path.write_text("".join(json.dumps(each) + "\n" for each in (row, row | {"meta": None})))
    apply(Scan(path, asked=ALL), Coefficients(["0", "1"], [1, 1], 1), out)
    (chunk,) = Scan(out, asked=ALL)
    assert chunk.others["text"][0] in ("\\ud800", "\ud800")
    if suffix == "jsonl":
        assert [json.loads(line)["meta"] for line in out.open()] == [row["meta"], None]
