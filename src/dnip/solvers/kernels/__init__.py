"""Compiled kernels of the searches: extension types that hold arrays and check them once."""

from pathlib import Path

try:
    from dnip.solvers.kernels import annealing, bounds, coordinate, exact, rows, values
except ImportError as error:
    raise ImportError(
        f"the compiled kernels do not load ({error}); install dnip again, with: pip install "
        "--force-reinstall dnip, or where its source is: pip install --editable ."
    ) from error

_folder = Path(__file__).parent
for _module in (annealing, bounds, coordinate, exact, rows, values):
    _source = _folder / f"{_module.__name__.rpartition('.')[2]}.pyx"  # in an editable install
    if _source.exists() and _source.stat().st_mtime > Path(_module.__file__).stat().st_mtime:
        raise ImportError(
            "the kernels have changed since they were compiled; build them again with: make test, "
            "or pip install --editable ."
        )
