"""A run: every prompt of a plan scored, resumable, into a probability table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dnip.base import __version__
from dnip.base.errors import BackendError, InvalidInputError, shown
from dnip.base.files import atomic_path, check_writable, read_text
from dnip.base.validation import is_storable
from dnip.prompting.engines.base import FALLBACK, SAMPLES, Engine, ScoredRow
from dnip.prompting.journal import changed_settings, flat, open_journal
from dnip.prompting.labels import Scoring
from dnip.prompting.plan import Plan, hash_prompts
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.columns import QUESTION
from dnip.tables.fill import Fill, fill_unreported, open_decisions
from dnip.tables.formats import format_of
from dnip.tables.provenance import metadata_path


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return dict(vars(self))


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
            raise InvalidInputError(f"{name} is no valid Unicode: {shown(text)}")
    finished = _finished(target, settings)
    if finished is not None:
        return finished

    show = progress or (lambda *_: None)
    journal_path = _journal_path(target)
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
    with atomic_path(metadata_path(target)) as temporary:
        question = engine.question(prompts, plan.task).to_dict()
        content = {"settings": settings, "summary": summary.to_dict(), QUESTION: question}
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    journal_path.unlink()
    return summary


def files_of_run(out: Path) -> dict[str, Path]:
    """Return the files that a run writes, by what they are."""
    return {"out": out, "metadata": metadata_path(out), "progress": _journal_path(out)}


def _journal_path(out: Path) -> Path:
    return out.with_name(f"{out.name}.progress")


def check_table_path(out: Path) -> None:
    """Refuse a path at which no table can be written, before any row is scored."""
    format_of(out)
    check_writable(out)


def _finished(target: Path, settings: dict[str, Any]) -> RunSummary | None:
    """Return the summary of a table that this very run has made before, None if there is none."""
    if not target.exists():
        return None
    try:
        content = json.loads(read_text(metadata_path(target)))
        changed = changed_settings(content["settings"], settings)
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
    table = ProbabilityTable(
        fill_unreported(captured, ceiling, fill),
        labels if (labels >= 0).any() else None,
        np.array(plan.examples.ids, dtype=object),
        plan.task.classes,
    )
    beside = {
        name: [row.details[name] for row in rows]
        for name in (SAMPLES, FALLBACK)
        if all(name in row.details for row in rows)
    }
    # The mean of a word's tokens is no part of the whole probability.
    known = None if scoring is Scoring.PER_TOKEN else captured_mass
    with open_writer(target, plan.task.classes) as writer:
        writer.write(table, mass=known, samples=beside.get(SAMPLES), fallback=beside.get(FALLBACK))
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
