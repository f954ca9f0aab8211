"""The manifest of an output folder: what its results depend on, and the runs that made them."""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.presenting.results import write_json
from dnip.prompting.journal import changed_settings
from reproduction.fingerprints import installed_versions

if TYPE_CHECKING:
    import os

    from reproduction.plan import ReproductionPlan
    from reproduction.sources import Sources

MANIFEST = "manifest.json"
# Libraries whose versions the manifest names.
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib", "torch", "transformers")
# How many changes of a plan a message names.
_NAMED = 3


def inputs_of(
    plan: ReproductionPlan, tables: str | os.PathLike[str] | None, sources: Sources
) -> dict[str, Any]:
    """Return all that the results depend on, except the machine and the places of files."""
    content = plan.to_dict()
    for model in content["models"]:
        if "model" in model and Path(model["model"]).is_dir():
            model["model"] = Path(model["model"]).name  # its hash identifies it
    return {
        "plan": content,
        "saved_tables": None if tables is None else Path(tables).name,
        "tables": {
            " ".join(filter(None, (row.model, ref.name, ref.part))): ref.content
            for row in sources
            for ref in (row.opt, row.test)
        },
        "hashes": dict(sources.hashes),
        "package_version": version("dnip"),
    }


def begin_manifest(folder: Path, inputs: dict[str, Any], *, replan: bool) -> dict[str, Any]:
    """Write the manifest of a run that begins, and return it.

    Raises
    ------
    InvalidInputError
        If the folder has results of other inputs, and `replan` does not allow that.
    """
    earlier = _read(folder)
    changed = [] if earlier is None else changed_settings(earlier.get("inputs", {}), inputs)
    if changed and not replan:
        more = len(changed) - _NAMED
        others = f" and {more} more" if more > 0 else ""
        raise InvalidInputError(
            f"{folder} holds results of another plan: {'; '.join(changed[:_NAMED])}{others}",
            hint="Give another --out, or --replan to go on here: what both plans share is kept",
        )
    manifest = {
        "format": "dnip-reproduction",
        "version": 1,
        "inputs": inputs,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": installed_versions(*_LIBRARIES),
        "runs": [] if earlier is None else list(earlier.get("runs", [])),
    }
    write_json(folder / MANIFEST, manifest)
    return manifest


def end_manifest(
    folder: Path, manifest: dict[str, Any], found: dict[str, Any], traces: dict[str, str], jobs: int
) -> Path:
    """Add what a run came to, write the manifest and return its path."""
    of_folder, of_run = ("missing", "failures"), ("experiments", "cells", "cells_reused", "tables")
    manifest |= {name: found[name] for name in of_folder}
    manifest["traces"] = traces
    manifest["runs"].append(
        {
            "command": sys.argv,
            "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seconds": round(found["seconds"], 1),
            "jobs": jobs,
            **{name: found[name] for name in (*of_run, "tables_reused")},
        }
    )
    return write_json(folder / MANIFEST, manifest)


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{path}: damaged: {error}", hint="Delete it; computed results are kept and used"
        ) from error
    return content if isinstance(content, dict) else None
