"""``dnip reproduce`` as a function: plan, run, results, manifest, report."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.files import atomic_path, make_folder
from dnip.presenting.artefacts import Section
from dnip.prompting.journal import changed_settings
from dnip.studies.reproduction.engine import Outcome, run_cells
from dnip.studies.reproduction.planned import planned_sources, saved_sources
from dnip.studies.reproduction.registry import ALL, load_experiments
from dnip.studies.reproduction.report import (
    FIGURES,
    PAGE,
    STATEMENTS,
    TABLES,
    WEB_PAGE,
    write_report,
)
from dnip.studies.reproduction.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.experiment import Experiment, Results
    from dnip.studies.reproduction.plan import ModelPlan, Plan
    from dnip.studies.reproduction.sources import Sources

MANIFEST = "manifest.json"
_PROMPTS, _CELLS, _RESULTS = "prompts", "cells", "results"
#: Files and folders that are written.
OUTPUTS = (_PROMPTS, _CELLS, _RESULTS, TABLES, FIGURES, MANIFEST, PAGE, WEB_PAGE, STATEMENTS)
# Libraries whose versions the manifest names.
_LIBRARIES = ("numpy", "numba", "scipy", "scikit-learn", "matplotlib", "torch", "transformers")


@dataclass(frozen=True)
class Reproduction:
    """What a run came to.

    Attributes
    ----------
    experiments : tuple of str
        Those that were run.
    left_out : dict of str to str
        Those that were not, and why.
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
        found = self.outcome
        return {
            "experiments": list(self.experiments),
            "left_out": self.left_out,
            "missing": self.missing,
            "cells": found.n_cells,
            "cells_reused": found.n_reused,
            "tables": found.n_tables,
            "tables_reused": found.n_tables_reused,
            "failures": found.failures,
            "seconds": found.seconds,
            "written": [str(path) for path in self.written],
        }


def reproduce(
    name: str,
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    tables: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    threads: int = 1,
    replan: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run an experiment, or all, into a folder; what is there of an earlier run is used.

    Parameters
    ----------
    name : str
        An experiment, or ``"all"``.
    plan : Plan
    out : path-like
        The folder.
    data : path-like, optional
        A folder with one folder of texts per task; the plan's models are prompted.
    tables : path-like, optional
        In place of `data`, a folder of saved probability tables; nothing is prompted.
    jobs, threads : int
        Processes, and threads of each.
    replan : bool
        Go on in a folder that was begun with another plan or other data; what both share is kept.
    progress : callable, optional
        Receives a line now and then.

    Raises
    ------
    InvalidInputError
        For an unknown experiment, data without any task, or a folder of another plan.
    OutputError
        If outputs cannot be written.
    """
    work = _prepare(name, plan, Path(out), data=data, tables=tables)
    folder = make_folder(out)
    with _alone(folder):
        make_folder(folder / _CELLS)
        if work.sources.requests:
            make_folder(folder / _PROMPTS)
        manifest = _begin_manifest(folder, work.inputs, replan=replan)
        outcome = run_cells(
            work.cells,
            work.sources.requests,
            work.store,
            jobs=jobs,
            prompt_jobs=plan.prompt_jobs,
            threads=threads,
            progress=progress,
        )
        written = []
        for experiment in work.experiments:
            written += _write_results(folder, experiment, outcome.results[experiment.name])
        sections = [_section(one, plan, outcome) for one in work.experiments]
        manifest |= {
            "missing": dict(work.sources.missing),
            "failures": outcome.failures,
            "traces": outcome.traces,
            "results_sha256": {path.name: _hash(path) for path in written},
        }
        manifest["runs"].append(_describe_run(work, outcome, jobs))
        _write_json(folder / MANIFEST, manifest)
        written += [folder / MANIFEST, *write_report(folder, sections, manifest)]
    return Reproduction(
        tuple(one.name for one in work.experiments),
        work.left_out,
        dict(work.sources.missing),
        outcome,
        tuple(written),
    )


def survey(
    name: str,
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    data: str | os.PathLike[str] | None = None,
    tables: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Return what :func:`reproduce` would have to do; nothing is prompted or fitted.

    Returns
    -------
    dict
        ``cells`` and ``tables`` in all, ``cells_left``, ``tables_left`` and ``rows_left`` to
        prompt, ``models`` with what is known of their needs, ``missing`` and ``left_out``.
    """
    work = _prepare(name, plan, Path(out), data=data, tables=tables)
    cells = {cell.key: cell for of_one in work.cells.values() for cell in of_one}
    wanted = {ref.key for cell in cells.values() for ref in cell.tables.values()}
    to_prompt = wanted & set(work.sources.requests)
    open_cells = [cell for cell in cells.values() if work.store.get(cell) is None]
    needed = {ref.key for cell in open_cells for ref in cell.tables.values()} & to_prompt
    left = [request for key in needed if not (request := work.sources.requests[key]).is_made]
    return {
        "plan": plan.name,
        "experiments": [one.name for one in work.experiments],
        "cells": len(cells),
        "cells_left": len(open_cells),
        "tables": len(to_prompt),
        "tables_left": len(left),
        "rows_left": sum(request.rows for request in left),
        "models": [
            {"name": model.name, "model": model.model, "memory": model.memory, "cost": model.cost}
            for model in plan.models
            if work.sources.requests
        ],
        "missing": dict(work.sources.missing),
        "left_out": work.left_out,
    }


@dataclass(frozen=True)
class _Work:
    """What is to be done."""

    experiments: tuple[Experiment, ...]
    left_out: dict[str, str]
    sources: Sources
    cells: dict[str, Sequence[Cell]]
    store: Store
    inputs: dict[str, Any]


def _prepare(
    name: str,
    plan: Plan,
    folder: Path,
    *,
    data: str | os.PathLike[str] | None,
    tables: str | os.PathLike[str] | None,
) -> _Work:
    chosen = load_experiments(name)
    sources = _sources(plan, data, tables, folder)
    experiments, left_out = _that_can_run(chosen, sources, whole=name == ALL)
    return _Work(
        experiments,
        left_out,
        sources,
        {one.name: one.cells(plan, sources) for one in experiments},
        Store(folder / _CELLS),
        _inputs(plan, tables, sources),
    )


def _section(experiment: Experiment, plan: Plan, outcome: Outcome) -> Section:
    """Return what an experiment presents; one that cannot is a failure of its own."""
    try:
        artefacts = tuple(experiment.present(plan, outcome.results[experiment.name]))
    except Exception as error:  # a bug of one experiment, which the others must survive
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


def with_model(plan: Plan, model: str | None) -> Plan:
    """Return the plan with the model that the command line names.

    Raises
    ------
    InvalidInputError
        If the plan names several.
    """
    if model is None:
        return plan
    if len(plan.models) > 1:
        raise InvalidInputError(
            f"the plan {plan.name} has {len(plan.models)} models, but one is given beside it",
            hint="Leave --model out, or take a plan of one model",
        )
    only: ModelPlan = plan.models[0]
    title = only.name if only.model is not None else model.rstrip("/").rpartition("/")[2]
    return replace(plan, models=(replace(only, model=model, name=title),))


def _sources(
    plan: Plan,
    data: str | os.PathLike[str] | None,
    tables: str | os.PathLike[str] | None,
    folder: Path,
) -> Sources:
    if (data is None) == (tables is None):
        raise InvalidInputError(
            "an experiment works either on texts, with a model, or on saved tables",
            hint="Give --model and --data, or give --tables",
        )
    if tables is not None:
        return saved_sources(Path(tables))
    assert data is not None
    return planned_sources(plan, Path(data), folder / _PROMPTS)


def _that_can_run(
    chosen: Sequence[Experiment], sources: Sources, *, whole: bool
) -> tuple[tuple[Experiment, ...], dict[str, str]]:
    """Leave out, or refuse, experiments that prompt where there is nothing to prompt with."""
    if sources.requests:
        return tuple(chosen), {}
    reason = "it prompts a model, and there are only saved tables"
    left_out = {one.name: reason for one in chosen if one.prompts}
    if left_out and not whole:
        raise InvalidInputError(
            f"experiment {next(iter(left_out))}: {reason}", hint="Give --model and --data"
        )
    return tuple(one for one in chosen if not one.prompts), left_out


def _inputs(plan: Plan, tables: str | os.PathLike[str] | None, sources: Sources) -> dict[str, Any]:
    """Return all that the results depend on, the machine and the places of files apart."""
    content = plan.to_dict()
    for model in content["models"]:
        if model["model"] is not None and Path(model["model"]).is_dir():
            model["model"] = Path(model["model"]).name  # its hash stands beside it
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(
            {
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
        )
    )


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{folder / MANIFEST}: damaged: {error}",
            hint="Delete it; what was computed is kept and used",
        ) from error
    return content if isinstance(content, dict) else None


def _begin_manifest(folder: Path, inputs: dict[str, Any], *, replan: bool) -> dict[str, Any]:
    """Write the manifest of a run that begins; one of another plan binds, unless told otherwise."""
    earlier = _read_manifest(folder)
    changed = [] if earlier is None else changed_settings(earlier.get("inputs", {}), inputs)
    if changed and not replan:
        others = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise InvalidInputError(
            f"{folder} holds results of another plan: {'; '.join(changed[:3])}{others}",
            hint="Give another --out, or --replan to go on here: what both plans share is kept",
        )
    manifest = {
        "format": "dnip-reproduction",
        "version": 1,
        "inputs": inputs,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "runs": [] if earlier is None else list(earlier.get("runs", [])),
    }
    _write_json(folder / MANIFEST, manifest)
    return manifest


def _describe_run(work: _Work, outcome: Outcome, jobs: int) -> dict[str, Any]:
    return {
        "command": sys.argv,
        "experiments": [one.name for one in work.experiments],
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(outcome.seconds, 1),
        "jobs": jobs,
        "cells": outcome.n_cells,
        "cells_reused": outcome.n_reused,
        "tables": outcome.n_tables,
        "tables_reused": outcome.n_tables_reused,
    }


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _write_results(folder: Path, experiment: Experiment, results: Results) -> list[Path]:
    target = make_folder(folder / _RESULTS)
    content = {
        "experiment": experiment.name,
        "paper": experiment.paper,
        "cells": [{"labels": dict(row.labels), "result": row.result} for row in results],
    }
    paths = [target / f"{experiment.name}.json", target / f"{experiment.name}.csv"]
    _write_json(paths[0], content)
    flat = [{**row.labels, **_numbers(row.result)} for row in results]
    columns = list(dict.fromkeys(name for line in flat for name in line))
    with atomic_path(paths[1]) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(flat)
    return paths


def _numbers(result: dict[str, Any], within: str = "") -> dict[str, Any]:
    """Return single values by the keys that lead to them; lists stand in the JSON file only."""
    found: dict[str, Any] = {}
    for key, value in result.items():
        if isinstance(value, dict):
            found |= _numbers(value, f"{within}{key}.")
        elif not isinstance(value, list):
            found[f"{within}{key}"] = value
    return found


def _write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_path(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder, where the system knows file locks."""
    path = folder / ".lock"
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:
        yield
        return
    try:
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutputError(
                    f"{folder}: another run is working there",
                    hint="Wait for it, or give another --out",
                ) from None
            yield
    except OSError as error:
        if isinstance(error, OutputError) or error.filename != str(path):
            raise
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
