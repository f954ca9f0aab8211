"""The journal of a run: what is scored already, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError, OutputError
from dnip.prompting.engines.base import ScoredRow

# The settings stand before the first row.
_SETTINGS = -1


class Journal:
    """Scored rows in a SQLite file, beside the settings of the run.

    Attributes
    ----------
    rows : dict of int to ScoredRow
        What is scored so far.
    """

    def __init__(self, file: sqlite3.Connection, settings: dict[str, Any]) -> None:
        self._file = file
        file.execute("CREATE TABLE IF NOT EXISTS rows (row INTEGER PRIMARY KEY, content TEXT)")
        found = {row: json.loads(content) for row, content in file.execute("SELECT * FROM rows")}
        if _SETTINGS not in found:
            self._write(_SETTINGS, settings)
        elif changed := changed_settings(found.pop(_SETTINGS), settings):
            raise InvalidInputError(
                f"begun with other settings: {'; '.join(changed)}",
                hint="Give the settings of that run to go on, another --out, or delete the file",
            )
        self.rows = {row: _read(row, *content) for row, content in found.items()}

    def add(self, scored: ScoredRow) -> None:
        """Note a row; it survives the process from here on."""
        ceiling = None if scored.ceiling is None else scored.ceiling.tolist()
        self._write(scored.row, [scored.captured.tolist(), ceiling, dict(scored.details)])
        self.rows[scored.row] = scored

    def _write(self, row: int, content: object) -> None:
        self._file.execute("INSERT INTO rows VALUES (?, ?)", (row, json.dumps(content)))


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
        If it cannot be written, or another run has it open.
    """
    journal = None
    try:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as file:
            # One process at a time. A row outlives the process, not the machine: no waits on disks.
            file.executescript("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
            file.executescript("BEGIN IMMEDIATE; COMMIT")
            journal = Journal(file, settings)
            yield journal
    except InvalidInputError as error:
        if journal is not None:
            raise
        raise InvalidInputError(f"{path}: {error.message}", hint=error.hint) from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            reason, hint = "another run is writing this table", "Wait for it, or give another --out"
        else:
            reason, hint = f"it cannot be written: {error}", "Check the folder, and space on it"
        raise OutputError(f"{path}: {reason}", hint=hint) from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        if journal is not None:
            raise
        raise InvalidInputError(
            f"{path}: damaged, or of another version: {error}", hint="Delete it to start anew"
        ) from error
    finally:
        if journal is not None and not journal.rows:  # the run was refused
            path.unlink(missing_ok=True)


def _read(
    row: int, captured: list[float], ceiling: list[float] | None, details: dict[str, Any]
) -> ScoredRow:
    most = None if ceiling is None else np.array(ceiling)
    return ScoredRow(row, np.array(captured, np.float64), most, details)


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
