"""A run: every prompt of a plan scored into a probability table.

Its journal holds what is scored already, so that a killed run goes on where it was.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dnip.base import __version__
from dnip.base.errors import BackendError, DNIPError, InvalidInputError, OutputError, shown
from dnip.base.files import check_writable, read_text, write_text
from dnip.base.validation import flat
from dnip.llm.answers.fill import Fill, fill_unreported, open_decisions
from dnip.llm.prompting.engines.base import Engine, ScoredRow
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import Plan, hash_prompts
from dnip.llm.questions import origin_of_run
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.cells import is_storable
from dnip.tables.columns import FALLBACK, SAMPLES
from dnip.tables.files import format_of
from dnip.tables.origin import QUESTION, metadata_path


@dataclass(frozen=True)
class RunSummary:
    """What a run came to.

    Attributes
    ----------
    n : int
        Rows in the table.
    n_resumed : int
        Of these, rows that an earlier run had scored.
    mean_mass, least_mass : float
        Captured mass: what the model put on all labels together before normalising.
    n_open : int
        Rows whose decision could change with labels that the engine did not report.
    details : dict
        Sums over rows of the numbers that the engine told of each, such as fall-backs.
    """

    n: int
    n_resumed: int
    mean_mass: float
    least_mass: float
    n_open: int
    details: dict[str, float]


def run_plan(
    plan: Plan,
    engine: Engine,
    *,
    out: str | os.PathLike[str],
    fill: Fill = Fill.HALF,
    progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Score every prompt and write the table, its captured mass and its metadata.

    Rows are noted in ``<out>.progress`` as they come. A run that was killed goes on from there
    when it is started again with the same settings, and ends with the same table; other settings
    are refused. The metadata stand in ``<out>.meta.json``.

    Parameters
    ----------
    plan : Plan
    engine : Engine
    out : path-like
        The table; its suffix names the format.
    fill : Fill, default=Fill.HALF
        What stands for labels that the engine did not report.
    progress : callable, optional
        Receives rows done and rows in all.

    Returns
    -------
    RunSummary

    Raises
    ------
    InvalidInputError
        If `out` or its journal is of a run with other settings.
    BackendError
        If the model fails; what was scored is kept.
    OutputError
        If an output cannot be written.
    """
    target = Path(out)
    check_table_path(target)
    prompts = plan.prompts
    settings = {
        **plan.settings,
        "prompts_sha256": hash_prompts(prompts),
        "scoring": engine.scoring.value,
        "fill": fill.value,
        "engine": engine.describe(),
        "package_version": __version__,
    }
    for name, value in flat(settings).items():
        if not is_storable(text := json.dumps(value, ensure_ascii=False)):
            raise InvalidInputError(f"{name} is not valid Unicode: {shown(text)}")
    finished = _finished(target, settings)
    if finished is not None:
        return finished

    show = progress or (lambda *_: None)
    journal_path = files_of_run(target)["progress"]
    with open_journal(journal_path, settings) as journal:
        rows = journal.rows
        n, n_resumed = len(prompts), len(rows)
        show(n_resumed, n)
        if n_resumed < n:
            for scored in engine.score(prompts, plan.task, done=frozenset(rows)):
                if scored.row not in rows:
                    journal.add(scored)
                    show(len(rows), n)
        if len(rows) < n:
            raise BackendError(
                f"{n - len(rows)} of {n} rows were not scored",
                hint="Run the same command again to go on",
                retryable=True,
            )
        in_order = [rows[i] for i in range(n)]
        summary = _write(target, plan, engine.scoring, in_order, fill, n_resumed)
    question = engine.question(prompts, plan.task).to_dict()
    content = {
        "settings": settings,
        "summary": vars(summary),
        "origin": origin_of_run(settings),
        QUESTION: question,
    }
    write_text(metadata_path(target), json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    journal_path.unlink()
    return summary


def files_of_run(out: Path) -> dict[str, Path]:
    """Return the files that a run writes, by what they are."""
    progress = out.with_name(f"{out.name}.progress")
    return {"out": out, "metadata": metadata_path(out), "progress": progress}


def check_table_path(out: Path) -> None:
    """Refuse a path at which no table can be written, before any row is scored."""
    format_of(out, to_write=True)
    check_writable(out)


def _finished(target: Path, settings: dict[str, Any]) -> RunSummary | None:
    """Return the summary of a table that this very run has made before, None if there is none."""
    if not target.exists():
        return None
    try:
        content = json.loads(read_text(metadata_path(target)))
        changed = _changed_settings(content["settings"], settings)
        summary = RunSummary(**content["summary"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        changed = ["its metadata are missing or damaged"]
    if changed:
        raise InvalidInputError(
            f"{target} exists and is of another run: {'; '.join(changed)}",
            hint="Give another --out, or delete the table",
        )
    return summary


def _write(
    target: Path, plan: Plan, scoring: Scoring, rows: list[ScoredRow], fill: Fill, n_resumed: int
) -> RunSummary:
    captured = np.array([row.captured for row in rows])
    ceiling = np.array([row.captured if row.ceiling is None else row.ceiling for row in rows])
    # Label words that begin alike are counted twice in a sum.
    captured_mass = np.minimum(captured.sum(axis=1), 1.0)
    labels = plan.examples.labels
    # The mean of a word's tokens is not a part of the whole probability.
    table = ProbabilityTable(
        fill_unreported(captured, ceiling, fill),
        ids=np.array(plan.examples.ids, dtype=object),
        classes=plan.task.classes,
        mass=None if scoring is Scoring.PER_TOKEN else captured_mass,
    )
    known = labels if (labels >= 0).any() else None
    beside = {
        name: [row.details[name] for row in rows]
        for name in (SAMPLES, FALLBACK)
        if all(name in row.details for row in rows)
    }
    with open_writer(target, plan.task.classes) as writer:
        writer.write(replace(table.rows, labels=known, others=beside))
    numbers: dict[str, float] = {}
    for row in rows:
        for name, value in row.details.items():
            if isinstance(value, bool | int | float):
                numbers[name] = numbers.get(name, 0) + value
    return RunSummary(
        n=len(rows),
        n_resumed=n_resumed,
        mean_mass=float(captured_mass.mean()),
        least_mass=float(captured_mass.min()),
        n_open=int(open_decisions(captured, ceiling).sum()),
        details=numbers,
    )


# In a journal, the settings stand before the first row.
_SETTINGS = -1


class _Journal:
    """Scored rows in a SQLite file, beside the settings of the run.

    Attributes
    ----------
    rows : dict of int to ScoredRow
        What is scored so far.
    """

    def __init__(self, path: Path, file: sqlite3.Connection, settings: dict[str, Any]) -> None:
        self._file = file
        file.execute("CREATE TABLE IF NOT EXISTS rows (row INTEGER PRIMARY KEY, content TEXT)")
        contents = {row: json.loads(content) for row, content in file.execute("SELECT * FROM rows")}
        if _SETTINGS not in contents:
            self._write(_SETTINGS, settings)
        elif changed := _changed_settings(contents.pop(_SETTINGS), settings):
            raise InvalidInputError(
                f"{path}: begun with other settings: {'; '.join(changed)}",
                hint="Give the settings of that run to go on, another --out, or delete the file",
            )
        self.rows = {
            row: ScoredRow(row, np.array(captured), most and np.array(most), details)
            for row, (captured, most, details) in contents.items()
        }

    def add(self, scored: ScoredRow) -> None:
        """Note a row; it survives the process from here on."""
        ceiling = None if scored.ceiling is None else scored.ceiling.tolist()
        self._write(scored.row, [scored.captured.tolist(), ceiling, dict(scored.details)])
        self.rows[scored.row] = scored

    def _write(self, row: int, content: object) -> None:
        self._file.execute("INSERT INTO rows VALUES (?, ?)", (row, json.dumps(content)))


@contextmanager
def open_journal(path: Path, settings: dict[str, Any]) -> Iterator[_Journal]:
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
            journal = _Journal(path, file, settings)
            yield journal
    except sqlite3.OperationalError as error:
        reason, hint = f"it cannot be written: {error}", "Check the folder, and space on it"
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            reason, hint = "another run is writing this table", "Wait for it, or give another --out"
        raise OutputError(f"{path}: {reason}", hint=hint) from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        if journal is not None or isinstance(error, DNIPError):
            raise
        raise InvalidInputError(
            f"{path}: damaged, or of another version: {error}", hint="Delete it to start anew"
        ) from error
    finally:
        if journal is not None and not journal.rows:  # the run was refused
            path.unlink(missing_ok=True)


def _changed_settings(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a short line for every setting that differs.

    Examples
    --------
    >>> _changed_settings({"seed": 0, "task": {"name": "a"}}, {"seed": 0, "task": {"name": "b"}})
    ['task.name was "a", is "b"']
    """
    before, now = flat(old), flat(json.loads(json.dumps(new)))
    return [
        f"{key} was {_short(before.get(key))}, is {_short(now.get(key))}"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
