"""Builds the kernels. All else about the package is in pyproject.toml.

This file is its build backend, too: that of setuptools, which here asks the index for a C compiler
where there is none.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup
from setuptools.build_meta import *  # noqa: F403
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError

KERNELS = Path("src/dnip/solvers/kernels")
PACKAGE = "dnip.solvers.kernels"
# What Cython needs for memoryviews, compiled once for all kernels.
SHARED = f"{PACKAGE}.memoryviews"
# Products and sums are rounded one by one, so that all builds give the same bits.
PLAIN = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
UNCHECKED = {
    **dict.fromkeys(["boundscheck", "wraparound", "initializedcheck"], False),
    **dict.fromkeys(["cdivision", "freethreading_compatible"], True),
}
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
    """Compiles the kernels, side by side."""

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
        """Take the kernels of an earlier build of the same sources, or compile them."""
        built = [Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions]
        kept = Path("build", f"kernels-{self.fingerprint()}")
        if kept.is_dir():
            for path in built:
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(kept / path.name, path)
            return
        self.compile_kernels()
        unfinished = Path(self.build_temp, kept.name)
        unfinished.mkdir(exist_ok=True)  # an earlier build may have been stopped here
        for path in built:
            shutil.copy(path, unfinished)
        kept.parent.mkdir(exist_ok=True)
        shutil.move(unfinished, kept)

    def fingerprint(self):
        """Return what tells a build from another: sources, compiler, flags and Python."""
        from Cython import __version__ as cython  # noqa: PLC0415 - not needed for an archive

        sources = [Path(__file__), *sorted(KERNELS.glob("*.[ph]*"))]
        parts = [cython, sys.platform, sysconfig.get_platform(), sysconfig.get_config_var("SOABI")]
        parts += [os.environ.get("CC"), os.environ.get("CFLAGS"), *map(Path.read_text, sources)]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def compile_kernels(self):
        """Translate the kernels to C, and compile them."""
        from Cython.Build import cythonize  # noqa: PLC0415 - not needed to make a source archive

        shared = Path(self.build_temp, "memoryviews.c")
        shared.parent.mkdir(parents=True, exist_ok=True)
        generate = [f"--module-name={SHARED}", f"--generate-shared={shared}"]
        subprocess.run([sys.executable, "-m", "cython", *generate], check=True)
        kernels = [extension for extension in self.extensions if extension.name != SHARED]
        translated = cythonize(
            kernels,
            build_dir=self.build_temp,
            include_path=["src"],
            language_level=3,
            compiler_directives=UNCHECKED,
            shared_utility_qualified_name=SHARED,
        )
        own = shlex.split(os.environ.get("CFLAGS", ""))
        windows = self.compiler.compiler_type == "msvc"
        sources = {done.name: done.sources for done in translated} | {SHARED: [str(shared)]}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
            extension.extra_compile_args = ["/O2", "/fp:precise"] if windows else [*PLAIN, *own]
        super().build_extensions()


if __name__ == "__main__":
    macros = [("Py_LIMITED_API", "0x030B0000"), ("CYTHON_LIMITED_API", "1")] if STABLE else []
    names = {f"{PACKAGE}.{path.stem}": [path.as_posix()] for path in sorted(KERNELS.glob("*.pyx"))}
    names[SHARED] = []
    setup(
        ext_modules=[
            Extension(
                name,
                sources,
                include_dirs=[KERNELS.as_posix()],
                depends=[
                    path.as_posix()
                    for path in sorted([*KERNELS.glob("*.pxd"), *KERNELS.glob("*.h")])
                ],
                define_macros=macros,
                py_limited_api=STABLE,
            )
            for name, sources in names.items()
        ],
        cmdclass={"build_ext": BuildKernels},
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
    )
