"""The journal of a run: what is scored already, so that a killed run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.files import only_process
from dnip.prompting.engines.base import ScoredRow

_FORMAT = {"format": "dnip-progress", "version": 1}


class Journal:
    """Scored rows, one JSON line each, after a first line with the settings of the run.

    Attributes
    ----------
    rows : dict of int to ScoredRow
        What is scored so far.
    """

    def __init__(self, file: IO[bytes], rows: dict[int, ScoredRow]) -> None:
        self._file = file
        self.rows = rows

    def add(self, scored: ScoredRow) -> None:
        """Note a row; it survives the process from here on."""
        ceiling = None if scored.ceiling is None else scored.ceiling.tolist()
        arrays = {"captured": scored.captured.tolist(), "ceiling": ceiling}
        line = {"row": scored.row, **arrays, "details": dict(scored.details)}
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        self.rows[scored.row] = scored


@contextmanager
def open_journal(path: Path, settings: dict[str, Any]) -> Iterator[Journal]:
    """Open the journal of a run, new or begun by a run that was stopped.

    One without a row is deleted in the end.

    Parameters
    ----------
    path : Path
        The journal file.
    settings : dict
        Everything that the scores depend on; plain JSON values.

    Raises
    ------
    InvalidInputError
        If the journal is of a run with other settings; the message names them.
    OutputError
        If it cannot be written.
    """
    lock = lock_path(path)
    journal = None
    busy = f"{path}: another run is writing this table"
    with only_process(lock, busy, hint="Wait for it, or give another --out"):
        try:
            with path.open("a+b") as file:
                rows, end = _read(file, path, settings)
                file.truncate(end)
                if end == 0:
                    header = json.dumps({**_FORMAT, "settings": settings})
                    file.write(header.encode() + b"\n")
                    file.flush()
                journal = Journal(file, rows)
                yield journal
        except OSError as error:
            if isinstance(error, OutputError) or error.filename not in (None, str(path)):
                raise
            raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
        finally:
            if journal is not None and not journal.rows:  # the run was refused
                path.unlink(missing_ok=True)
            with suppress(OSError):  # Windows keeps a file that is open
                lock.unlink()


def lock_path(path: Path) -> Path:
    """Return the file that keeps a second run away from a journal."""
    return path.with_name(f".{path.stem}.lock")


def _read(
    file: IO[bytes], path: Path, settings: dict[str, Any]
) -> tuple[dict[int, ScoredRow], int]:
    """Return the rows of all complete lines, and where the last of these ends."""
    file.seek(0)
    rows: dict[int, ScoredRow] = {}
    end = 0
    for number, line in enumerate(file):
        if not line.endswith(b"\n"):
            break  # the process was killed while it wrote this line
        try:
            content = json.loads(line)
            if number == 0:
                _check_settings(content, settings, path)
            else:
                captured, ceiling = (content[name] for name in ("captured", "ceiling"))
                rows[content["row"]] = ScoredRow(
                    content["row"],
                    np.array(captured, np.float64),
                    None if ceiling is None else np.array(ceiling),
                    content["details"],
                )
        except InvalidInputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"{path}, line {number + 1}: damaged: {error}", hint="Delete the file to start anew"
            ) from error
        end += len(line)
    return rows, end


def _check_settings(content: dict[str, Any], settings: dict[str, Any], path: Path) -> None:
    if {key: content.get(key) for key in _FORMAT} != _FORMAT:
        raise InvalidInputError(
            f"{path}: not a journal of this version", hint="Delete it to start anew"
        )
    changed = changed_settings(content.get("settings", {}), settings)
    if changed:
        raise InvalidInputError(
            f"{path}: begun with other settings: {'; '.join(changed)}",
            hint="Give the settings of that run to go on, another --out, or delete the file",
        )


def changed_settings(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a short line for every setting that differs.

    Examples
    --------
    >>> changed_settings({"seed": 0, "task": {"name": "a"}}, {"seed": 0, "task": {"name": "b"}})
    ['task.name was "a", is "b"']
    """
    before, now = flat(old), flat(json.loads(json.dumps(new)))
    return [
        f"{key} was {_short(before.get(key))}, is {_short(now.get(key))}"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]


def flat(settings: dict[str, Any], within: str = "") -> dict[str, Any]:
    """Name settings inside others by their whole path."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{within}{key}"
        found |= flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return found


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
