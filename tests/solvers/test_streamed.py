"""Fits in passes: the solution of the whole table, whatever fits into memory."""

import errno
import os
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip import Objective, solve
from dnip.base.errors import DNIPWarning, InvalidInputError, OutputError
from dnip.method.scales import DEFAULT_SCALE, WeightScale
from dnip.solvers import (
    SOLVERS,
    Anneal,
    SearchSettings,
    Solver,
    StreamedProblem,
    find_optimum,
    streamed,
)
from dnip.solvers.kernels import flips
from dnip.solvers.kernels.flips import walk
from dnip.solvers.levels import levels_of
from dnip.solvers.passes import BlockPasses, passes_over
from layouts import weights_of
from problems import KNOWN
from strategies import random_probabilities, scales, seeded, tables

LAYOUTS = {"dense": (True, 1e300), "dense, listed": (True, 0), "sparse": (False, 0)}

each_layout = pytest.mark.parametrize("layout", list(LAYOUTS))
# everything on disk, some of it, nothing
each_memory = pytest.mark.parametrize("memory", [0, 4000, 10**9])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(streamed, "_BLOCK_CELLS", 100)


def in_chunks(p, labels, size=37):
    return [(p[i : i + size], labels[i : i + size]) for i in range(0, len(p), size)]


def problem_of(p, labels, scale, memory, chunk=37):
    names = [str(c) for c in range(p.shape[1])]
    return StreamedProblem(in_chunks(p, labels, chunk), names, scale=scale, memory=memory)


def force(patch, layout):
    """Take one layout for every block."""
    dense, cells_per_row = LAYOUTS[layout]
    patch.setattr(streamed, "prefers_dense", lambda _: dense)
    patch.setattr(flips, "_CELLS_PER_ROW", cells_per_row)


def random_table(n_rows=300, n_classes=6):
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, n_rows, n_classes, "mixed")
    anyone = rng.integers(n_classes, size=n_rows)
    labels = np.where(rng.random(n_rows) < 0.6, p.argmax(axis=1), anyone)
    labels[:n_classes] = np.arange(n_classes)
    return p, labels


@each_layout
@each_memory
@pytest.mark.parametrize(
    ("solver", "scale"),
    [
        ("coordinate", 30),
        ("coordinate", "log:100"),
        ("anneal", 30),
        (Anneal(t_min=10_000.0, chain=0.05), 30),
    ],
)
def test_the_solution_is_that_of_the_whole_table(monkeypatch, layout, memory, solver, scale):
    p, labels = random_table()
    force(monkeypatch, layout)
    for seed in range(2):
        settings = {"scale": scale, "solver": solver, "seed": seed}
        whole = solve(p, labels, **settings)
        with problem_of(p, labels, scale, memory) as problem:
            assert problem.dense == LAYOUTS[layout][0]
            assert len(problem.blocks) > 5
            assert (problem.blocks.spilled_bytes > 0) == (memory < 10**9)
            passed = find_optimum(problem, SearchSettings(**settings), began=0.0)
        np.testing.assert_array_equal(passed.weight_indices, whole.weight_indices)
        np.testing.assert_array_equal(passed.confusion, whole.confusion)
        assert (passed.value, passed.evaluations) == (whole.value, whole.evaluations)
        assert [e.value for e in passed.trace] == [e.value for e in whole.trace]


@pytest.mark.parametrize("name", KNOWN)
def test_the_optimum_is_found_in_passes(name):
    known = KNOWN[name]
    with problem_of(known.p, known.labels, known.scale, 0) as problem:
        solution = find_optimum(
            problem, SearchSettings(scale=known.scale, solver="exhaustive"), began=0.0
        )
    assert solution.value == pytest.approx(known.optimum, abs=1e-12)


def test_a_called_objective_and_a_class_without_examples():
    p, labels = random_table()
    p, labels = p[labels != 2], labels[labels != 2]

    def error(confusion):
        return 1 - confusion.trace() / confusion.sum()

    with pytest.warns(DNIPWarning, match="class 2"):
        whole = solve(p, labels, error)
    with (
        problem_of(p, labels, DEFAULT_SCALE, 0) as problem,
        pytest.warns(DNIPWarning, match="class 2"),
    ):
        passed = find_optimum(problem, SearchSettings(error), began=0.0)
    np.testing.assert_array_equal(passed.weight_indices, whole.weight_indices)
    assert passed.unfitted == whole.unfitted == (2,)


@each_layout
@seeded
@given(table=tables(min_rows=3), scale=scales(40), data=st.data())
def test_walking_equals_recounting(layout, table, scale, data):
    p, labels, _ = table
    labels[:2] = [0, 1]
    n_classes = p.shape[1]
    index = st.integers(1, WeightScale.of(scale).size)
    here = np.array(data.draw(st.lists(index, min_size=n_classes, max_size=n_classes)), float)
    steps = data.draw(st.lists(st.tuples(st.integers(0, n_classes - 1), index), max_size=4))
    with pytest.MonkeyPatch.context() as patch:
        force(patch, layout)
        patch.setattr(streamed, "_BLOCK_CELLS", 2 * n_classes)
        memory = data.draw(st.sampled_from([0, 100, 10**6]))
        with problem_of(p, labels, scale, memory, chunk=3) as problem:
            passes = passes_over(problem, levels_of(scale))
            assert isinstance(passes, BlockPasses)
            confusion = passes.count(here)
            np.testing.assert_array_equal(
                confusion, oracles.confusion_at(p, labels, weights_of(scale, here))
            )
            predicted = confusion.sum(axis=0)
            for c, index in steps:
                flips = passes.find_flips(here, c)
                walk(flips, c, int(here[c]), index, confusion, predicted)
                here[c] = index
                recount = oracles.confusion_at(p, labels, weights_of(scale, here))
                np.testing.assert_array_equal(confusion, recount)
                np.testing.assert_array_equal(predicted, recount.sum(axis=0))


def test_settled_rows_take_no_memory():
    p = np.eye(3)[np.arange(900) % 3]
    with problem_of(p, np.arange(900) % 3, DEFAULT_SCALE, 0) as problem:
        assert problem.n_open == problem.blocks.spilled_bytes == 0
        assert problem.settled.tolist() == (300 * np.eye(3)).tolist()
        assert find_optimum(problem, SearchSettings(), began=0.0).value == pytest.approx(
            Objective()(300 * np.eye(3))
        )


def test_a_solver_that_needs_the_whole_table_says_so():
    class Whole(Solver):
        name = "whole"
        searches_in_passes = False

        def search(self, landscape, rng):
            yield landscape.problem.probabilities

    p, labels = random_table()
    with (
        problem_of(p, labels, DEFAULT_SCALE, 0) as problem,
        pytest.raises(InvalidInputError, match=r"needs the whole table in memory.*more memory"),
    ):
        find_optimum(problem, SearchSettings(solver=Whole()), began=0.0)


def test_one_class_alone_is_refused():
    p, _ = random_table()
    with pytest.raises(InvalidInputError, match="only class 1 has labelled examples"):
        problem_of(p, np.ones(len(p), int), DEFAULT_SCALE, 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


OPEN_FILES = Path("/proc/self/fd")


def open_files(folder):
    there = []
    for link in list(OPEN_FILES.iterdir()):
        with suppress(FileNotFoundError):  # the listing itself was one
            there.append(str(link.readlink()))
    return [path for path in there if path.startswith(str(folder))]


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="looks at open files in /proc")
@pytest.mark.parametrize("interrupted", [False, True])
def test_no_file_is_left(folder, interrupted):
    def chunks():
        yield from in_chunks(*random_table())
        assert len(open_files(folder)) == 1
        if interrupted:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt) if interrupted else nullcontext(),
        StreamedProblem(chunks(), "abcdef", scale=30, memory=0) as problem,
    ):
        assert problem.blocks.spilled_bytes > 0
    assert list(folder.iterdir()) == open_files(folder) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk, /dev/full")
def test_a_full_disk_is_told(folder, monkeypatch):
    p, labels = random_table()
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        with pytest.raises(OutputError, match=f"{folder}: the rows .* kept there: No space"):
            problem_of(p, labels, DEFAULT_SCALE, 0)


def test_a_file_that_cannot_be_made_is_told(folder):
    folder.rmdir()
    p, labels = random_table()
    with pytest.raises(OutputError, match=os.strerror(errno.ENOENT)):
        problem_of(p, labels, DEFAULT_SCALE, 0)


def test_a_file_that_was_cut_is_told(folder):
    p, labels = random_table()
    with problem_of(p, labels, DEFAULT_SCALE, 0) as problem:
        problem.blocks._file.truncate(100)
        with pytest.raises(OutputError, match="has lost its end"):
            find_optimum(problem, SearchSettings(), began=0.0)


def test_every_solver_has_been_tried():
    assert {"coordinate", "anneal", "exhaustive"} <= SOLVERS.keys()
