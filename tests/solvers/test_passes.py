"""Passes: the same counts and flips in every layout, over any number of threads."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip import Objective, solve
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.solvers import Coordinate, Landscape, passes
from dnip.solvers.kernels import rows, threads
from dnip.solvers.kernels.flips import walk
from dnip.solvers.kernels.rows import DenseRows, InPlaceRows, SparseRows, lay_out
from dnip.solvers.kernels.threads import Threads
from dnip.solvers.levels import levels_of
from dnip.solvers.passes import CompiledPasses, InPlacePasses, LeaderPasses, passes_over
from layouts import weights_of
from strategies import KINDS, TINY, random_probabilities, scales, seeded, tables

#: What makes `passes_over` take a layout that it would not take for a small table.
IN_PLACE = [(rows, "_COPIED", 0), (rows, "_LISTED", -1), (passes, "_LEADERS_FROM", 10**6)]
FORCED = {
    "dense": (CompiledPasses, [(rows, "prefers_dense", lambda _: True)]),
    "sparse": (CompiledPasses, [(rows, "prefers_dense", lambda _: False)]),
    "in place": (InPlacePasses, IN_PLACE),
    "in place, tallied": (InPlacePasses, [*IN_PLACE, (passes, "_ROWS_PER_CELL", 0)]),
    "leaders": (LeaderPasses, [*IN_PLACE[:2], (passes, "_LEADERS_FROM", 2)]),
}

each_way = pytest.mark.parametrize("way", list(FORCED))


@pytest.fixture
def force(monkeypatch):
    """Take one layout for every table, and up to three threads for any work."""

    def force(way):
        for module, name, value in FORCED[way][1]:
            monkeypatch.setattr(module, name, value)
        monkeypatch.setattr(threads, "_FEWEST_CELLS", 1)
        monkeypatch.setattr(threads.numba.config, "NUMBA_NUM_THREADS", 3)

    return force


def made(way, p, labels, mass, scale):
    problem = Problem(p, labels, mass, 1.0, tuple(map(str, range(p.shape[1]))))
    passes = passes_over(problem, levels_of(scale))
    assert isinstance(passes, FORCED[way][0])
    return passes


def assert_walks_to_recounts(passes, table, scale, start, steps):
    """Step from class to class and index to index; recount at every place."""
    p, labels, mass = table
    here = np.array(start, np.float64)
    confusion = passes.count(here)
    recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
    np.testing.assert_array_equal(confusion, recount)
    predicted = confusion.sum(axis=0)
    for c, index in steps:
        flips = passes.find_flips(here, c)
        walk(flips, c, int(here[c]), index, confusion, predicted)
        here[c] = index
        recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
        np.testing.assert_array_equal(confusion, recount)
        np.testing.assert_array_equal(predicted, recount.sum(axis=0))


@each_way
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "weighted", "name"), [(np.float64, True, "{}"), (np.float32, False, "log:{}")]
)
def test_walking_equals_recounting(force, way, kind, dtype, weighted, name):
    force(way)
    rng = np.random.default_rng(0)
    for n_classes, size in ((2, 30), (3, 9), (12, 7), (40, 5)):
        scale = name.format(size)
        p = random_probabilities(rng, 90, n_classes, kind).astype(dtype)
        p = p[p.max(axis=1) > 0]  # float32 has no room for the tiniest
        labels = rng.integers(n_classes, size=len(p))
        mass = rng.integers(0, 4, len(p)) if weighted else np.broadcast_to(np.int64(1), len(p))
        passes = made(way, p, labels, mass, scale)
        start = rng.integers(1, size + 1, n_classes)
        classes, indices = rng.integers(n_classes, size=60), rng.integers(1, size + 1, 60)
        steps = zip(classes.tolist(), indices.tolist(), strict=True)
        assert_walks_to_recounts(passes, (p, labels, mass), scale, start, steps)


@each_way
@seeded
@given(table=tables(), scale=scales(40), data=st.data())
def test_walking_equals_recounting_on_wild_tables(way, table, scale, data):
    n_classes = table.p.shape[1]
    index = st.integers(1, WeightScale.of(scale).size)
    start = data.draw(st.lists(index, min_size=n_classes, max_size=n_classes))
    steps = data.draw(st.lists(st.tuples(st.integers(0, n_classes - 1), index), max_size=6))
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in FORCED[way][1]:
            patch.setattr(module, name, value)
        passes = made(way, *table, scale)
        assert_walks_to_recounts(passes, table, scale, start, steps)


def test_leaders_follow_a_jump_to_another_start(force):
    force("leaders")
    rng = np.random.default_rng(1)
    p, labels = random_probabilities(rng, 200, 9), rng.integers(9, size=200)
    passes = made("leaders", p, labels, np.ones(200, np.int64), 20)
    for moved in (9, 1, 0, 2, 1, 5):
        here = np.full(9, 7.0)
        here[:moved] = rng.integers(1, 21, moved)
        expected = oracles.confusion_at(p, labels, here)
        np.testing.assert_array_equal(passes.count(here), expected)


def test_an_interruption_leaves_the_leaders_nowhere(force, monkeypatch):
    force("leaders")
    rng = np.random.default_rng(2)
    p, labels = random_probabilities(rng, 200, 9), rng.integers(9, size=200)
    passes = made("leaders", p, labels, np.ones(200, np.int64), 20)
    here = np.full(9, 7.0)
    passes.count(here)

    def interrupted(*_):
        raise KeyboardInterrupt

    here[3] = 15
    with monkeypatch.context() as patch:
        patch.setattr("dnip.solvers.passes.move_leaders", interrupted)
        with pytest.raises(KeyboardInterrupt):
            passes.find_flips(here, 2)
    here[3] = 7
    np.testing.assert_array_equal(passes.count(here), oracles.confusion_at(p, labels, here))


@pytest.mark.parametrize("n_classes", [4, 40])
def test_a_large_table_is_searched_where_it_stands(n_classes):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(n_classes, 5.0), (1 << 20) // n_classes)
    labels = rng.integers(n_classes, size=len(p))
    laid_out = lay_out(p, labels, np.broadcast_to(np.int64(1), len(p)), 30)
    assert isinstance(laid_out, InPlaceRows)
    assert laid_out.p is p
    assert laid_out.label is labels
    assert laid_out.mass.tolist() == [1]


def test_a_large_table_of_few_candidates_is_listed():
    rng = np.random.default_rng(4)
    p = np.full((3000, 400), 1e-9)
    for _ in range(4):
        p[np.arange(3000), rng.integers(400, size=3000)] = rng.random(3000)
    mass = np.ones(3000, np.int64)
    assert p.nbytes > rows._COPIED
    assert isinstance(lay_out(p, rng.integers(400, size=3000), mass, 30), SparseRows)
    assert isinstance(lay_out(p[:, :4].copy(), np.zeros(3000, np.int64), mass, 30), DenseRows)


def solutions(p, labels, **settings):
    return [solve(p, labels, Objective(), seed=seed, **settings) for seed in range(2)]


@pytest.mark.parametrize("way", ["sparse", "in place", "in place, tallied", "leaders"])
@pytest.mark.parametrize(("weighted", "scale"), [(True, 30), (False, "log:100")])
def test_every_layout_leads_to_the_same_solution(force, way, weighted, scale):
    rng = np.random.default_rng(5)
    p = random_probabilities(rng, 300, 6, "mixed")
    labels = np.where(rng.random(300) < 0.6, p.argmax(axis=1), rng.integers(6, size=300))
    weight = rng.integers(0, 3, 300) if weighted else None
    settings = {"sample_weight": weight, "scale": scale}
    expected = solutions(p, labels, **settings)
    force(way)
    for one, other in zip(expected, solutions(p, labels, **settings), strict=True):
        np.testing.assert_array_equal(one.weight_indices, other.weight_indices)
        assert (one.value, one.evaluations) == (other.value, other.evaluations)
        assert [entry.value for entry in one.trace] == [entry.value for entry in other.trace]


@each_way
def test_single_precision_counts_as_double(force, way):
    force(way)
    rng = np.random.default_rng(6)
    single = random_probabilities(rng, 200, 5, "mixed").astype(np.float32)
    single = single[single.max(axis=1) > 1e-3]
    labels = np.append(np.arange(5), rng.integers(5, size=len(single) - 5))
    for one, other in zip(
        solutions(single, labels), solutions(single.astype(np.float64), labels), strict=True
    ):
        np.testing.assert_array_equal(one.weight_indices, other.weight_indices)
        assert one.value == other.value


EDGES = {
    "all rows alike": lambda rng: np.tile([0.5, 0.3, 0.2], (60, 1)),
    "every row tied": lambda rng: np.full((60, 3), 1 / 3),
    "one-hot": lambda rng: np.eye(3)[rng.integers(3, size=60)],
    "nearly one-hot": lambda rng: np.where(np.eye(3)[rng.integers(3, size=60)], 1 - 1e-16, 5e-324),
    "tiny": lambda rng: rng.permuted(np.tile([1 - 2e-9, *TINY[-1:], TINY[0]], (60, 1)), axis=1),
}


@each_way
@pytest.mark.parametrize("scale", [1, 10_000, "log:30"])
@pytest.mark.parametrize("edge", EDGES)
def test_edges_of_the_input(force, way, scale, edge):
    force(way)
    rng = np.random.default_rng(7)
    p, labels = EDGES[edge](rng), np.arange(60) % 3
    solution = solve(p, labels, scale=scale)
    weights = weights_of(scale, solution.weight_indices)
    np.testing.assert_array_equal(solution.confusion, oracles.confusion_at(p, labels, weights))
    raw = oracles.objective(oracles.confusion_at(p, labels, [1, 1, 1]))
    assert solution.value <= raw + 1e-12


def test_threads_share_every_row_once():
    for n_rows, n_cells, most in ((10, 10**9, 4), (1, 10**9, 4), (10**6, 1, 4), (7, 10**9, 3)):
        parts = Threads(most).share(n_rows, n_cells)
        assert [row for part in parts for row in range(*part)] == list(range(n_rows))
        assert len(parts) <= most


def test_no_thread_works_on_after_an_error():
    finished = []

    def work(part, first, last):
        if part == 0:
            raise KeyboardInterrupt
        finished.append(part)

    with pytest.raises(KeyboardInterrupt):
        Threads(3).run(work, [(0, 1), (1, 2), (2, 3)])
    assert sorted(finished) == [1, 2]


@pytest.mark.parametrize("way", ["in place", "leaders"])
def test_the_clock_stops_a_descent_over_many_rows(force, way):
    force(way)
    rng = np.random.default_rng(8)
    p, labels = random_probabilities(rng, 300, 6), rng.integers(6, size=300)
    landscape = Landscape(Problem.of(p, labels), Objective(), 30, {})
    landscape.deadline = time.perf_counter()
    position = landscape.descend(np.full(6, 30), np.arange(6))
    assert landscape.line_searches == 1
    confusion = oracles.confusion_at(p, labels, position.point)
    assert position.value == pytest.approx(oracles.objective(confusion), abs=1e-12)


@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 30), (np.float32, "log:1000")])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(300_000, 4), (100_000, 14), (60_000, 64)])
def test_a_fit_takes_at_most_half_of_its_input_beside_it(n_rows, n_classes, dtype, scale):
    rng = np.random.default_rng(9)
    p = rng.dirichlet(np.ones(n_classes), n_rows).astype(dtype)
    labels = rng.integers(n_classes, size=n_rows)
    solve(p, labels, scale=scale, time_limit=0)  # what is compiled stays
    tracemalloc.start()
    solve(p, labels, scale=scale, solver=Coordinate(effort=1e-3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 0.5 * (p.nbytes + labels.nbytes)
