"""Sources from a folder of saved probability tables."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.tables import ProbabilityTable
from reproduction.cell import TableRef
from reproduction.fingerprints import hash_values
from reproduction.sources import Source, Sources

# Endings of table files, best first.
_ENDINGS = (".csv.gz", ".csv", ".parquet", ".jsonl")
_PARTS = ("opt", "test")


def saved_sources(folder: Path) -> Sources:
    """Return a source for each folder with an opt and a test table.

    A ``meta.json`` beside the tables may name ``model``, ``class_names`` and, as ``task``, what the
    texts are: tables of the same texts count as one dataset. The task is named after the folder.

    Raises
    ------
    InvalidInputError
        If there is no such folder.
    """
    if not folder.is_dir():
        raise InvalidInputError(
            f"{folder}: there is no such folder", hint="Give the folder of saved tables"
        )
    rows, missing = [], {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            rows.append(_saved(place))
        except InvalidInputError as error:
            missing[place.name] = str(error)
    if not rows:
        reason = f": {next(iter(missing.values()))}" if missing else ""
        raise InvalidInputError(
            f"{folder}: no folder in it holds an opt and a test table{reason}",
            hint="Give a folder of folders such as NAME/opt.csv.gz and NAME/test.csv.gz",
        )
    return Sources(tuple(rows), missing)


def _saved(place: Path) -> Source:
    paths = {part: _find(place, part) for part in _PARTS}
    meta = _meta(place / "meta.json")
    tables = {part: _read(path, meta.get("class_names")) for part, path in paths.items()}
    opt, test = tables["opt"], tables["test"]
    if opt.n_classes != test.n_classes:
        raise InvalidInputError(
            f"{place}: opt has {opt.n_classes} classes, but test has {test.n_classes}"
        )
    references = {}
    for part, table in tables.items():
        if table.labels is None:
            raise InvalidInputError(f"{paths[part]}: there are no labels")
        key = hash_values({"table": table.data_hash, "classes": list(table.classes)})
        name = f"{place.name}/{part}"
        references[part] = TableRef(name, key, str(paths[part]), len(table), table.classes)
    model = str(meta.get("model") or "saved table")
    opt_ref, test_ref = references["opt"], references["test"]
    texts = str(meta.get("task") or "")
    return Source(model, place.name, None, None, opt_ref, test_ref, texts=texts)


def _read(path: Path, names: object) -> ProbabilityTable:
    """Read a table, with the class names of its meta file if they fit."""
    if isinstance(names, list):
        with suppress(InvalidInputError):
            return ProbabilityTable.read(path, [str(name) for name in names])
    return ProbabilityTable.read(path)


def _find(place: Path, part: str) -> Path:
    for ending in _ENDINGS:
        path = place / f"{part}{ending}"
        if path.is_file():
            return path
    raise InvalidInputError(f"{place}: there is no {part} table", hint=f"Add {part}.csv.gz")


def _meta(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
