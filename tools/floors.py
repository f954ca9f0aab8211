"""Print the lowest version of each library that pyproject.toml allows, as pip takes constraints.

Usage: python tools/floors.py [EXTRA ...]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def floors(extras: list[str]) -> list[str]:
    """Return ``name==version`` for what the package and its extras ask for directly."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        for line in project["optional-dependencies"][extra]:
            inner = re.fullmatch(r"dnip\[(.+)\]", line)
            wanted += floors(inner[1].split(",")) if inner else [line]
    return sorted({re.sub(r"(\[.*\])?>=", "==", line) for line in wanted})


if __name__ == "__main__":
    print("\n".join(floors(sys.argv[1:])))
