"""Compiled kernels of the searches: extension types that hold arrays and check them once."""

from importlib import import_module
from pathlib import Path

_names = ("annealing", "coordinate", "exact", "rows", "values")
try:
    _modules = [import_module(f"{__name__}.{name}") for name in _names]
except ImportError as error:
    raise ImportError(
        f"the compiled kernels do not load ({error}); install dnip again, with: pip install "
        "--force-reinstall dnip, or where its source is: pip install --editable ."
    ) from error

_folder = Path(__file__).parent
for _name, _module in zip(_names, _modules, strict=True):
    _source = _folder / f"{_name}.pyx"  # in an editable install
    _built = Path(str(_module.__file__))
    if _source.exists() and _source.stat().st_mtime > _built.stat().st_mtime:
        raise ImportError(
            "the kernels have changed since they were compiled; build them again with: make test, "
            "or pip install --editable ."
        )
