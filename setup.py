"""Builds the kernels, twice: for any processor, and with wide instructions.

All else about the package is in pyproject.toml.
"""

import platform

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = "src/dnip/solvers/kernels/compiled"
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
    return Extension(name, [f"{FOLDER}/{source}"], define_macros=MACROS, py_limited_api=True)


package = "dnip.solvers.kernels.compiled"
extensions = cythonize([kernels(f"{package}.unit", "unit.pyx")], language_level=3)
if platform.machine() in ("x86_64", "AMD64"):
    extensions.append(kernels(f"{package}.wide.unit", "unit.c"))
setup(ext_modules=extensions, cmdclass={"build_ext": BuildKernels})
