"""A run: plan, cells, results, manifest, report."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.base.files import make_folder, only_process
from dnip.presenting.results import write_json, write_rows
from reproduction.engine import Cache, Failed, Outcome, run_cells
from reproduction.manifest import MANIFEST, begin_manifest, end_manifest, inputs_of
from reproduction.needs import needs_of
from reproduction.planned_sources import planned_sources
from reproduction.prompt_request import check_models
from reproduction.registry import ALL, load_experiments
from reproduction.report import CLAIMS, FIGURES, PAGE, TABLES, Section, write_report
from reproduction.saved_sources import saved_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reproduction.cell import Cell
    from reproduction.engine import Progress
    from reproduction.experiment import Experiment
    from reproduction.plan import ReproductionPlan
    from reproduction.prompt_request import PromptRequest
    from reproduction.results import Results
    from reproduction.sources import Sources

_TEXTS, _PROMPTS, _CELLS, _RESULTS = "texts", "prompts", "cells", "results"
#: Files and folders that a run writes.
OUTPUTS = (_TEXTS, _PROMPTS, _CELLS, _RESULTS, TABLES, FIGURES, MANIFEST, PAGE, CLAIMS)
# Cells that are reckoned to take longer are named before they start.
_LONG_HOURS = 0.5


@dataclass(frozen=True)
class Work:
    """The experiments of a run and their cells; nothing is prompted or fitted yet."""

    plan: ReproductionPlan
    experiments: tuple[Experiment, ...]
    left_out: dict[str, str]
    sources: Sources
    cells: dict[str, Sequence[Cell]]
    cache: Cache

    def all_cells(self) -> list[Cell]:
        """Return each cell once; experiments may share some."""
        cells = {cell.key: cell for of_one in self.cells.values() for cell in of_one}
        return list(cells.values())

    def requests_of(self, cells: Sequence[Cell]) -> list[PromptRequest]:
        """Return what a model is asked for, for some cells."""
        keys = {ref.key for cell in cells for ref in cell.tables.values()}
        return [request for key, request in self.sources.requests.items() if key in keys]

    def survey(self) -> dict[str, Any]:
        """Return what is left to do.

        Returns
        -------
        dict
            ``cells`` and ``tables`` in all, ``cells_left``, ``tables_left`` and ``rows_left`` to
            prompt, ``models`` with what they need for that (see
            :func:`~reproduction.needs.needs_of`), ``long``, ``missing`` and ``left_out``.
        """
        cells = self.all_cells()
        to_do = [cell for cell in cells if not self.cache.has(cell)]
        left = [one for one in self.requests_of(to_do) if not one.is_made]
        return {
            "plan": self.plan.name,
            "experiments": [one.name for one in self.experiments],
            "cells": len(cells),
            "cells_left": len(to_do),
            "tables": len(self.requests_of(cells)),
            "tables_left": len(left),
            "rows_left": sum(request.rows for request in left),
            "models": [
                needs_of(model, [one for one in left if one.options.model == model.model])
                for model in self.plan.models
                if self.sources.requests
            ],
            "long": long_cells(to_do),
            "missing": dict(self.sources.missing),
            "left_out": self.left_out,
        }


def long_cells(cells: Sequence[Cell]) -> list[str]:
    """Say which cells take long by the paper's chains, and how long all of them take."""
    words = [
        f"{cell.name}: about {cell.hours:.1f} hours of one core by the paper's chains"
        for cell in cells
        if cell.hours >= _LONG_HOURS
    ]
    hours = sum(cell.hours for cell in cells)
    if hours >= 1:
        words.append(f"the paper's chains take about {hours:.0f} hours of one core in all")
    return words


def prepare(
    name: str,
    plan: ReproductionPlan,
    folder: Path,
    data: Path | None,
    tables: Path | None,
    fetched: Path | None = None,
) -> Work:
    """Return the work of an experiment, or of all.

    Parameters
    ----------
    name : str
        An experiment, or ``"all"``.
    plan : ReproductionPlan
    folder : Path
        Where everything is to be.
    data : Path or None
        A folder with one folder of texts per task; the plan's models are prompted.
    tables : Path or None
        In place of texts, a folder of saved probability tables; nothing is prompted.
    fetched : Path, optional
        Where texts of the hub go that the plan names; a folder in `folder` by default.

    Raises
    ------
    InvalidInputError
        For an unknown experiment, wrong options of an experiment, or data without any task.
    """
    chosen = load_experiments(name, plan)
    if tables is not None and data is None:
        sources = saved_sources(tables)
    elif tables is None and (data is not None or plan.data):
        sources = planned_sources(plan, data, folder / _PROMPTS, fetched or folder / _TEXTS)
    else:
        raise InvalidInputError(
            "an experiment works either on texts, with a model, or on saved tables",
            hint="Give --model and --data, or give --tables",
        )
    experiments, left_out = _that_can_run(chosen, sources, whole=name == ALL)
    cells = {one.name: one.cells(sources) for one in experiments}
    return Work(plan, experiments, left_out, sources, cells, Cache(folder / _CELLS))


def _that_can_run(
    chosen: Sequence[Experiment], sources: Sources, *, whole: bool
) -> tuple[tuple[Experiment, ...], dict[str, str]]:
    """Leave out, or refuse, experiments that need a model to prompt where there is none."""
    if sources.requests:
        return tuple(chosen), {}
    reason = "it prompts a model, and there are only saved tables"
    left_out = {one.name: reason for one in chosen if one.prompts}
    if left_out and not whole:
        raise InvalidInputError(
            f"experiment {next(iter(left_out))}: {reason}", hint="Give --model and --data"
        )
    return tuple(one for one in chosen if not one.prompts), left_out


def survey(
    name: str, plan: ReproductionPlan, folder: Path, data: Path | None, tables: Path | None
) -> dict[str, Any]:
    """Return what :func:`reproduce` would have to do, as `Work.survey`; nothing is left behind."""
    with TemporaryDirectory() as other:
        there = folder / _TEXTS
        fetched = there if there.is_dir() else Path(other)
        return prepare(name, plan, folder, data, tables, fetched).survey()


def reproduce(
    name: str,
    plan: ReproductionPlan,
    folder: Path,
    data: Path | None = None,
    tables: Path | None = None,
    *,
    jobs: int = 1,
    threads: int = 1,
    replan: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run an experiment, or all, into a folder; results of an earlier run there are reused.

    Parameters
    ----------
    name, plan, folder, data, tables
        As for `prepare`.
    jobs, threads : int
        Processes, and threads of each.
    replan : bool
        Go on in a folder of another plan or other data; what both share is kept.
    note : callable, optional
        Receives lines about cells that will take long, before they start.
    progress : callable, optional
        As for `run_cells`.

    Returns
    -------
    dict
        ``experiments``, ``left_out``, ``missing``, how many ``cells`` and ``tables`` there were and
        were reused, ``failures``, ``seconds`` and the files ``written``.

    Raises
    ------
    InvalidInputError
        As `prepare`, or for a folder of another plan.
    BackendError
        If no model can be loaded.
    OutputError
        If outputs cannot be written, or another run is working in the folder.
    """
    work = prepare(name, plan, folder, data, tables)
    to_do = [cell for cell in work.all_cells() if not work.cache.has(cell)]
    check_models([one for one in work.requests_of(to_do) if not one.is_made])
    if note is not None:
        for line in long_cells(to_do):
            note(line)
    make_folder(folder)
    with only_process(
        folder / ".lock",
        f"{folder}: another run is working there",
        hint="Wait for it, or give another --out",
    ):
        make_folder(folder / _CELLS)
        if work.sources.requests:
            make_folder(folder / _PROMPTS)
        manifest = begin_manifest(folder, inputs_of(plan, tables, work.sources), replan=replan)
        outcome = run_cells(
            work.cells,
            work.sources.requests,
            work.cache,
            jobs=jobs,
            prompt_jobs=plan.prompt_jobs,
            threads=threads,
            progress=progress,
        )
        results = [
            path
            for one in work.experiments
            for path in _write_results(folder, one, outcome.results[one.name])
        ]
        sections = [_section(one, outcome) for one in work.experiments]
        found = {
            "experiments": [one.name for one in work.experiments],
            "left_out": work.left_out,
            "missing": dict(work.sources.missing),
            **outcome.counts,
            "failures": outcome.failures,
            "seconds": outcome.seconds,
        }
        path = end_manifest(folder, manifest, found, outcome.traces, jobs)
        written = [*results, path, *write_report(folder, sections, manifest)]
    return {**found, "written": [str(path) for path in written]}


def _section(experiment: Experiment, outcome: Outcome) -> Section:
    """Return what an experiment presents; an error there is a failure of this experiment only."""
    artefacts: Sequence[Any] = ()
    try:
        artefacts = tuple(experiment.present(outcome.results[experiment.name]))
    except Exception as error:  # a bug in one experiment must not stop the others
        name = f"{experiment.name} (its tables and figures)"
        outcome.fail(name, Failed(f"{type(error).__name__}: {error}", traceback.format_exc()))
    failures = {
        name: reason
        for name, reason in outcome.failures.items()
        if name.partition(" ")[0] == experiment.name
    }
    return Section(experiment.name, experiment.title, experiment.paper, artefacts, failures)


def _write_results(folder: Path, experiment: Experiment, results: Results) -> list[Path]:
    target = make_folder(folder / _RESULTS)
    content = {
        "experiment": experiment.name,
        "paper": experiment.paper,
        "cells": [{"labels": dict(row.labels), "result": row.result} for row in results],
    }
    flat = [{**row.labels, **_numbers(row.result)} for row in results]
    columns = list(dict.fromkeys(name for line in flat for name in line))
    rows = [columns, *([line.get(name, "") for name in columns] for line in flat)]
    return [
        write_json(target / f"{experiment.name}.json", content),
        write_rows(target / f"{experiment.name}.csv", rows),
    ]


def _numbers(result: dict[str, Any], within: str = "") -> dict[str, Any]:
    """Return single values under keys joined by points; lists are in the JSON file only."""
    found: dict[str, Any] = {}
    for key, value in result.items():
        if isinstance(value, dict):
            found |= _numbers(value, f"{within}{key}.")
        elif not isinstance(value, list):
            found[f"{within}{key}"] = value
    return found
