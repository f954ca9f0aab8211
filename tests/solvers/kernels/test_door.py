"""The door to compiled code: what it takes and refuses, and that both builds give the same."""

import ast
from ctypes import c_void_p, cast
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dnip.solvers.kernels
from cases import cases
from dnip import Objective, solve
from dnip.fitting.pareto import front
from dnip.solvers import Exact, kernels
from dnip.solvers.anneal import Anneal
from dnip.solvers.kernels.compiled import unit as plain
from dnip.solvers.kernels.door import Struct
from dnip.solvers.kernels.levels import linear_levels
from dnip.solvers.kernels.rows import new_rows
from dnip.solvers.kernels.values import Floors, Terms, new_memo, no_floors, shortfall
from strategies import KINDS, random_probabilities, scales, seeded

FOLDER = Path(dnip.solvers.kernels.__file__).parent
IN_C = {"int": "int64_t", "float": "cython.double", "NoneType": "cython.void"}


def nodes(folder, kind):
    for file in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, kind):
                yield node


def is_declaration(call):
    return isinstance(call.func, ast.Name) and call.func.id == "kernel"


DECLARED = {
    name[1:-1]: [IN_C.get(kind, kind) for kind in kinds]
    for call in filter(is_declaration, nodes(FOLDER, ast.Call))
    for name, *kinds in [[ast.unparse(argument) for argument in call.args]]
}
COMPILED = {
    function.name: [
        ast.unparse(function.returns),
        *(ast.unparse(argument.annotation) for argument in function.args.args),
    ]
    for function in nodes(FOLDER / "compiled", ast.FunctionDef)
}


def constants(folder):
    """Numbers in capitals, by name: as they are, or as the last argument of ``cython.declare``."""
    return {
        ast.unparse(node.targets[0]): ast.unparse(getattr(node.value, "args", [node.value])[-1])
        for node in nodes(folder, ast.Assign)
        if ast.unparse(node.targets[0]).isupper()
    }


def test_a_number_of_both_sides_is_the_same_on_both():
    ours, theirs = constants(FOLDER), constants(FOLDER / "compiled")
    assert ours.keys() & theirs.keys() == {"BLOCK", "MISSED", "MOST_RIVALS"}
    assert {name: theirs[name] for name in ours.keys() & theirs.keys()}.items() <= ours.items()


@pytest.mark.parametrize("name", DECLARED)
def test_a_kernel_is_declared_with_the_types_that_it_takes(name):
    assert DECLARED[name] == COMPILED[name]


wide = plain
if plain.HAS_WIDE:
    from dnip.solvers.kernels.compiled.wide import unit as wide

COUNTS = np.array([3, 5, 8])
FLOORS = Floors(np.array([4, 5, 6]), 0)
MISSING = 1 / 4

AS_THEY_ARE = {
    "read-only": lambda a: np.frombuffer(a.tobytes(), np.int64),
    "one column": lambda a: np.asfortranarray(a[:, None]),
    "a stretch": lambda a: np.append(0, a)[1:],
}


@pytest.mark.parametrize("form", AS_THEY_ARE)
def test_contiguous_numbers_of_the_right_type_pass(form):
    correct = AS_THEY_ARE[form](COUNTS)
    assert shortfall(correct, FLOORS, np.array([4, 9, 9])) == MISSING
    assert shortfall(correct, Struct(FLOORS), np.array([4, 9, 9])) == MISSING


def test_no_numbers_pass():
    none = np.empty(0, np.int64)
    assert shortfall(none, no_floors(), none) == 0


REFUSED = {
    "floats": COUNTS.astype(np.float64),
    "too small": COUNTS.astype(np.int32),
    "unsigned": COUNTS.astype(np.uint64),
    "other end first": COUNTS.astype(np.dtype(np.int64).newbyteorder()),
    "empty, of another type": np.empty(0),
    "strided": np.repeat(COUNTS, 2)[::2],
    "backward": COUNTS[::-1],
    "a column": np.eye(3, dtype=np.int64)[:, 0],
    "by column": np.asfortranarray(np.eye(3, dtype=np.int64)),
}


@pytest.mark.parametrize("array", REFUSED)
def test_what_a_kernel_would_misread_is_refused(array):
    with pytest.raises(TypeError, match="must be contiguous and of int64"):
        shortfall(REFUSED[array], FLOORS, COUNTS)
    with pytest.raises(TypeError, match="correct must be contiguous and of int64"):
        shortfall(COUNTS, Floors(REFUSED[array], 0), COUNTS)


def test_columns_by_row_are_refused():
    label, settled = np.zeros(2, np.uint32), np.zeros((3, 3), np.int64)
    columns = np.asfortranarray(np.ones((3, 2)))
    with pytest.raises(TypeError, match="columns must be contiguous"):
        Struct(new_rows(label, COUNTS[:2], settled, columns=columns))


@cases(linear_levels(3), Struct(linear_levels(3)), new_memo(COUNTS, 1.0))
def test_another_record_is_refused(given):
    with pytest.raises(TypeError, match=r"takes Floors here; got (Levels|Memo)"):
        shortfall(COUNTS, given, COUNTS)
    with pytest.raises(TypeError, match=r"takes Floors here; got (Levels|Memo)"):
        Struct(Terms(1.0, 0.0, 0.0, 0.0, 1.0, np.zeros((0, 0)), given))


@pytest.mark.parametrize("arguments", [(), (COUNTS, FLOORS), (COUNTS, FLOORS, COUNTS, 3)])
def test_another_number_of_arguments_is_refused(arguments):
    with pytest.raises(ValueError, match="zip"):
        shortfall(*arguments)


def cells_of_kernels():
    """Where each kernel that is declared holds its C function."""
    for module in iter_modules(kernels.__path__, f"{kernels.__name__}."):
        for value in vars(import_module(module.name)).values():
            if getattr(value, "__qualname__", "") == "kernel.<locals>.call":
                names = value.__code__.co_freevars
                yield value.__closure__[names.index("function")]


def take(build):
    """Make all kernels those of one build."""
    names = {place: name for unit in (plain, wide) for name, place in unit.ADDRESSES.items()}
    taken = set()
    for cell in cells_of_kernels():
        name = names[cast(cell.cell_contents, c_void_p).value]
        cell.cell_contents = type(cell.cell_contents)(build.ADDRESSES[name])
        taken.add(name)
    assert taken >= {"descend", "search_depth_first", "visit_lines", "walk_chain"}


@pytest.fixture(scope="module")
def builds():
    """Both builds, one after the other; then the one that this processor takes by itself."""
    yield lambda: (take(build) for build in (plain, wide))
    take(wide)


def bits_of(found):
    """Everything of a solution that is a number, to the last bit."""
    told = {**found.to_dict(), "seconds": 0}
    return str(told), [(e.evaluations, e.value, str(e.statistics)) for e in found.trace]


class Begun(Exact):
    """A proof that is not waited for."""

    def search(self, landscape, rng):
        return islice(super().search(landscape, rng), 150)


@pytest.mark.filterwarnings("ignore:no labelled example")
@pytest.mark.skipif(wide is plain, reason="this processor takes no wide build")
@seeded
@given(
    seed=st.integers(0, 99),
    n_rows=st.integers(2, 700),
    n_classes=st.integers(2, 7),
    kind=st.sampled_from(KINDS),
    scale=scales(40),
    objective=st.sampled_from([Objective(), Objective(tau=0.2), Objective(gap="single")]),
)
def test_both_builds_give_the_same_bits(builds, seed, n_rows, n_classes, kind, scale, objective):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes, kind)
    labels = np.append([0, 1], rng.integers(n_classes, size=n_rows - 2))
    solvers = "coordinate", Anneal(t_min=50_000.0), Begun()
    found = [
        [
            *(bits_of(solve(p, labels, objective, scale=scale, solver=each)) for each in solvers),
            str(front(p, labels, scale=scale, effort=0.01).points),
        ]
        for _ in builds()
    ]
    assert found[0] == found[1]
