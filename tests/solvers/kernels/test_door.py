"""The door to compiled code: what kernels are declared to take is what they take."""

import ast
from pathlib import Path

import pytest

import dnip.solvers.kernels

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
