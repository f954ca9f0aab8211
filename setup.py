"""Builds the kernels, twice: for any processor, and with wide instructions.

All else about the package is in pyproject.toml. This file is its build backend, too: that of
setuptools, which here asks the index for a C compiler where there is none.
"""

import ast
import os
import shlex
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup
from setuptools.build_meta import *  # noqa: F403
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError

KERNELS = Path("src/dnip/solvers/kernels")
FOLDER = KERNELS / "compiled"
PACKAGE = "dnip.solvers.kernels.compiled"
NUMBERS = {"int": "int64_t", "bool": "int64_t", "float": "double"}
# Products and sums are rounded one by one, so that all builds give the same bits.
PLAIN = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
# The compiler that the index has is one for this very processor unless it is told otherwise.
ZIG = f"{shlex.quote(sys.executable)} -m ziglang cc -march=baseline -s"
# One build serves all versions of Python from 3.11 on, but those without the lock.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")
NEEDED = "Building dnip needs a C compiler and Python's headers: apt install gcc python3-dev"


def get_requires_for_build_wheel(config_settings=None):
    """Ask for a C compiler where there is none."""
    check_headers()
    return [] if os.name == "nt" or find_compiler() else ["ziglang"]


get_requires_for_build_editable = get_requires_for_build_wheel


def check_headers():
    """Stop where Python's headers are not installed."""
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        sys.exit(f"{NEEDED} (there is no {header})")


def find_compiler():
    """Return the command of a C compiler: CC, Python's own, a usual one, or the index's."""
    if "CC" in os.environ:
        return os.environ["CC"]
    for command in (sysconfig.get_config_var("CC"), "cc", "gcc", "clang"):
        if command and shutil.which(shlex.split(command)[0]):
            return command
    return ZIG if find_spec("ziglang") else None


class BuildKernels(build_ext):
    """Compiles the one unit of all kernels, with the options of each processor, side by side."""

    def finalize_options(self):
        """Use all cores."""
        super().finalize_options()
        self.parallel = True

    def run(self):
        """Find a compiler; setuptools knows where that of Windows is."""
        check_headers()
        compiler = find_compiler()
        if compiler:
            os.environ["CC"] = compiler
        elif os.name != "nt":
            sys.exit(f"{NEEDED} (there is no C compiler)")
        try:
            super().run()
        except CCompilerError as error:
            sys.exit(f"{error}\n{NEEDED} (compiled with: {compiler or 'MSVC'})")

    def build_extensions(self):
        """Translate the unit to C, and compile it for each extension."""
        from Cython.Build import cythonize  # noqa: PLC0415 - not needed to make a source archive

        room = Path(self.build_temp)
        room.mkdir(parents=True, exist_ok=True)
        (room / "records.pxi").write_text("\n".join(structs()), "utf-8")
        (unit,) = cythonize(self.extensions[:1], build_dir=room, include_path=[str(room)])
        for extension in self.extensions:
            source = room / f"{extension.name}.c"
            shutil.copy(unit.sources[0], source)
            extension.sources = [str(source)]
            extension.extra_compile_args = self.options(wide=".wide." in extension.name)
        super().build_extensions()

    def options(self, *, wide):
        """Return what to tell the compiler."""
        if self.compiler.compiler_type == "msvc":
            return ["/O2", "/fp:precise", *(["/arch:AVX2"] if wide else [])]
        own = shlex.split(os.environ.get("CFLAGS", ""))
        return [*PLAIN, *(["-mavx2", "-mbmi2"] if wide else []), *own]


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


if __name__ == "__main__":
    names, macros = ["unit"], []
    if sysconfig.get_platform().endswith(("x86_64", "amd64")):
        names, macros = ["unit", "wide.unit"], [("DNIP_WIDE", "1")]
    if STABLE:
        macros += [("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")]
    source = (FOLDER / "unit.pyx").as_posix()
    setup(
        ext_modules=[
            Extension(f"{PACKAGE}.{name}", [source], define_macros=macros, py_limited_api=STABLE)
            for name in names
        ],
        cmdclass={"build_ext": BuildKernels},
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
    )
