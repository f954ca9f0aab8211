"""Builds the kernels, twice: for any processor, and with wide instructions.

All else about the package is in pyproject.toml.
"""

import ast
import platform
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Path("src/dnip/solvers/kernels")
FOLDER = KERNELS / "compiled"
NUMBERS = {"int": "int64_t", "bool": "int64_t", "float": "double"}
# One build serves all versions of Python from 3.11 on. Products and sums are rounded one by one, so
# that all builds give the same bits.
MACROS = [("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")]
PLAIN = {
    "unix": ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"],
    "msvc": ["/O2", "/fp:precise"],
}
WIDE = {"unix": ["-march=x86-64-v3"], "msvc": ["/arch:AVX2"]}


class BuildKernels(build_ext):
    """Compiles each extension with the options of its processor."""

    def build_extension(self, extension):
        """Compile one extension."""
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        wide = WIDE[kind] if ".wide." in extension.name else []
        extension.extra_compile_args = PLAIN[kind] + wide
        super().build_extension(extension)


def kernels(name, source):
    """Return the extension that is compiled from a file of the folder."""
    path = (FOLDER / source).as_posix()
    return Extension(name, [path], define_macros=MACROS, py_limited_api=True)


def structs():
    """Yield the C structs of the records, the named tuples of the kernels, eight bytes a field.

    An array is a pointer. Its length stands behind it if its annotation gives the length a name. A
    record within a record is a pointer, too.
    """
    records = [
        node
        for file in sorted(KERNELS.glob("*.py"))
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)
    ]
    for record in records:
        yield f"cdef struct {record.name}Record\nctypedef {record.name}Record *{record.name}"
    for record in records:
        yield f"cdef struct {record.name}Record:"
        for field in (node for node in record.body if isinstance(node, ast.AnnAssign)):
            kind = ast.unparse(field.annotation)
            if kind.startswith("Annotated"):
                kind, length = (ast.unparse(part) for part in field.annotation.slice.elts)
                yield f"    {kind} {field.target.id}\n    int64_t {length[1:-1]}"
            else:
                yield f"    {NUMBERS.get(kind, kind)} {field.target.id}"


(FOLDER / "records.pxi").write_text("\n".join(structs()), "utf-8")
package = "dnip.solvers.kernels.compiled"
extensions = cythonize([kernels(f"{package}.unit", "unit.pyx")])
if platform.machine() in ("x86_64", "AMD64"):
    extensions.append(kernels(f"{package}.wide.unit", "unit.c"))
setup(ext_modules=extensions, cmdclass={"build_ext": BuildKernels})
