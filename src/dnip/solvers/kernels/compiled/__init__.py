"""The kernels: written here, compiled when the package is built (see ``setup.py``)."""

from importlib import import_module
from pathlib import Path

try:
    _unit = import_module(".unit", __package__)
    if _unit.HAS_WIDE:
        _unit = import_module(".wide.unit", __package__)
except ImportError as error:
    raise ImportError(
        f"the compiled kernels do not load ({error}); install dnip again, with: pip install "
        "--force-reinstall dnip, or where its source is: pip install --editable ."
    ) from error

#: Where the kernels are in memory, by name: those with the widest instructions that there are here.
ADDRESSES: dict[str, int] = _unit.ADDRESSES

_folder = Path(__file__).parent
if (_folder / "unit.pyx").exists():  # an editable install
    _sources = (*_folder.glob("*.p[yx]*"), *_folder.parent.glob("*.py"))
    if max(file.stat().st_mtime for file in _sources) > Path(str(_unit.__file__)).stat().st_mtime:
        raise ImportError(
            "the kernels have changed since they were compiled; build them again with: make test, "
            "or pip install --editable ."
        )
