"""``dnip reproduce`` as a function: plan, run, results, manifest, report."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.base.files import make_folder, only_process
from dnip.presenting.results import write_json, write_rows
from reproduction.artefacts import Section
from reproduction.engine import Outcome, run_cells
from reproduction.manifest import (
    MANIFEST,
    begin_manifest,
    end_manifest,
    inputs_of,
)
from reproduction.needs import needs_of
from reproduction.planned_sources import planned_sources
from reproduction.prompt_request import check_models
from reproduction.registry import ALL, load_experiments
from reproduction.report import (
    FIGURES,
    PAGE,
    STATEMENTS,
    TABLES,
    WEB_PAGE,
    write_report,
)
from reproduction.saved_sources import saved_sources
from reproduction.store import Store
from reproduction.summary import describe_models

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from dnip.base.cluster import Cluster
    from reproduction.cell import Cell
    from reproduction.experiment import Experiment
    from reproduction.plan import ReproductionPlan
    from reproduction.prompt_request import PromptRequest
    from reproduction.results import Results
    from reproduction.sources import Sources

_TEXTS, _PROMPTS, _CELLS, _RESULTS = "texts", "prompts", "cells", "results"
#: Files and folders that a run writes.
OUTPUTS = (
    _TEXTS,
    _PROMPTS,
    _CELLS,
    _RESULTS,
    TABLES,
    FIGURES,
    MANIFEST,
    PAGE,
    WEB_PAGE,
    STATEMENTS,
)


@dataclass(frozen=True)
class Reproduction:
    """What a run has done.

    Attributes
    ----------
    experiments : tuple of str
        Experiments that ran.
    left_out : dict of str to str
        Experiments that did not run, and why.
    missing : dict of str to str
        Tasks without data, and why.
    outcome : Outcome
    written : tuple of Path
    """

    experiments: tuple[str, ...]
    left_out: dict[str, str]
    missing: dict[str, str]
    outcome: Outcome
    written: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "experiments": list(self.experiments),
            "left_out": self.left_out,
            "missing": self.missing,
            **self.outcome.counts(),
            "failures": self.outcome.failures,
            "seconds": self.outcome.seconds,
            "written": [str(path) for path in self.written],
        }


def reproduce(
    name: str,
    plan: ReproductionPlan,
    out: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    tables: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    threads: int = 1,
    cluster: Cluster | None = None,
    replan: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run an experiment, or all, into a folder; results of an earlier run there are reused.

    Parameters
    ----------
    name : str
        An experiment, or ``"all"``.
    plan : ReproductionPlan
    out : path-like
        The folder.
    data : path-like, optional
        A folder with one folder of texts per task; the plan's models are prompted. Texts of other
        tasks are fetched from the hub where the plan says so.
    tables : path-like, optional
        In place of texts, a folder of saved probability tables; nothing is prompted.
    jobs, threads : int
        Processes, and threads of each.
    cluster : Cluster, optional
        Its workers are used instead of processes of this machine.
    replan : bool
        Go on in a folder of another plan or other data; what both share is kept.
    progress : callable, optional
        Receives a line now and then.

    Raises
    ------
    InvalidInputError
        For an unknown experiment, wrong options of an experiment, data without any task, or a
        folder of another plan.
    BackendError
        If no model can be loaded.
    OutputError
        If outputs cannot be written, or another run is working in the folder.
    """
    work = _prepare(name, plan, Path(out), data=data, tables=tables)
    if cluster is None:  # its workers may have other models
        check_models(work.tables_left())
    folder = make_folder(out)
    with only_process(
        folder / ".lock",
        f"{folder}: another run is working there",
        hint="Wait for it, or give another --out",
    ):
        make_folder(folder / _CELLS)
        if work.sources.requests:
            make_folder(folder / _PROMPTS)
        manifest = begin_manifest(folder, inputs_of(plan, tables, work.sources), replan=replan)
        manifest["models"] = (
            describe_models(plan)
            if tables is None
            else {source.task: source.note for source in work.sources if source.note}
        )
        outcome = run_cells(
            work.cells,
            work.sources.requests,
            work.store,
            jobs=jobs,
            prompt_jobs=plan.prompt_jobs,
            threads=threads,
            cluster=cluster,
            progress=progress,
        )
        results = [
            path
            for one in work.experiments
            for path in _write_results(folder, one, outcome.results[one.name])
        ]
        sections = [_section(one, outcome) for one in work.experiments]
        names = [one.name for one in work.experiments]
        path = end_manifest(
            folder,
            manifest,
            outcome,
            sources=work.sources,
            experiments=names,
            results=results,
            jobs=jobs,
        )
        report = write_report(folder, sections, manifest)
    missing = dict(work.sources.missing)
    return Reproduction(tuple(names), work.left_out, missing, outcome, (*results, path, *report))


def survey(
    name: str,
    plan: ReproductionPlan,
    out: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    tables: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return what :func:`reproduce` would have to do; nothing is prompted or fitted.

    Texts that the plan has on the hub are fetched into a temporary folder, unless `out` has them.

    Returns
    -------
    dict
        ``cells`` and ``tables`` in all, ``cells_left``, ``tables_left`` and ``rows_left`` to
        prompt, ``models`` with what they need for that (see
        :func:`~reproduction.needs.needs_of`), ``missing`` and ``left_out``.
    """
    with TemporaryDirectory() as folder:
        there = Path(out) / _TEXTS
        fetched = there if there.is_dir() else Path(folder)
        return _survey(
            _prepare(name, plan, Path(out), data=data, tables=tables, fetched=fetched), plan
        )


def _survey(work: _Work, plan: ReproductionPlan) -> dict[str, Any]:
    left = work.tables_left()
    return {
        "plan": plan.name,
        "experiments": [one.name for one in work.experiments],
        "cells": len(work.all_cells()),
        "cells_left": len(work.open_cells()),
        "tables": len(work.requests_of(work.all_cells())),
        "tables_left": len(left),
        "rows_left": sum(request.rows for request in left),
        "models": [
            needs_of(model, [one for one in left if one.options.model == model.model])
            for model in plan.models
            if work.sources.requests
        ],
        "missing": dict(work.sources.missing),
        "left_out": work.left_out,
    }


@dataclass(frozen=True)
class _Work:
    """The experiments of a run, and their cells."""

    experiments: tuple[Experiment, ...]
    left_out: dict[str, str]
    sources: Sources
    cells: dict[str, Sequence[Cell]]
    store: Store

    def all_cells(self) -> list[Cell]:
        """Return each cell once; experiments may share some."""
        cells = {cell.key: cell for of_one in self.cells.values() for cell in of_one}
        return list(cells.values())

    def open_cells(self) -> list[Cell]:
        """Return the cells without a result."""
        return [cell for cell in self.all_cells() if self.store.get(cell) is None]

    def requests_of(self, cells: Sequence[Cell]) -> list[PromptRequest]:
        """Return what a model is asked for, for some cells."""
        keys = {ref.key for cell in cells for ref in cell.tables.values()}
        return [request for key, request in self.sources.requests.items() if key in keys]

    def tables_left(self) -> list[PromptRequest]:
        """Return what a model must still be asked for."""
        return [one for one in self.requests_of(self.open_cells()) if not one.is_made]


def _prepare(
    name: str,
    plan: ReproductionPlan,
    folder: Path,
    *,
    data: str | os.PathLike[str] | None,
    tables: str | os.PathLike[str] | None,
    fetched: Path | None = None,
) -> _Work:
    chosen = load_experiments(name, plan)
    sources = _sources(plan, data, tables, folder, fetched or folder / _TEXTS)
    experiments, left_out = _that_can_run(chosen, sources, whole=name == ALL)
    cells = {one.name: one.cells(sources) for one in experiments}
    return _Work(experiments, left_out, sources, cells, Store(folder / _CELLS))


def _sources(
    plan: ReproductionPlan,
    data: str | os.PathLike[str] | None,
    tables: str | os.PathLike[str] | None,
    folder: Path,
    fetched: Path,
) -> Sources:
    if tables is not None and data is None:
        return saved_sources(Path(tables))
    if tables is None and (data is not None or plan.data):
        texts = None if data is None else Path(data)
        return planned_sources(plan, texts, folder / _PROMPTS, fetched)
    raise InvalidInputError(
        "an experiment works either on texts, with a model, or on saved tables",
        hint="Give --model and --data, or give --tables",
    )


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


def _section(experiment: Experiment, outcome: Outcome) -> Section:
    """Return what an experiment presents; an error there is a failure of this experiment only."""
    try:
        artefacts = tuple(experiment.present(outcome.results[experiment.name]))
    except Exception as error:  # a bug in one experiment must not stop the others
        name = f"{experiment.name} (its tables and figures)"
        outcome.failures[name] = f"{type(error).__name__}: {error}"
        outcome.traces[name] = traceback.format_exc()
        artefacts = ()
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
