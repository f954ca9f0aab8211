"""From an opt table to coefficients with their provenance."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dnip.coefficients import Coefficients
from dnip.errors import InvalidInputError
from dnip.evaluation import Evaluation, evaluate
from dnip.solvers import solve

if TYPE_CHECKING:
    from dnip.objective import ConfusionFunction, ObjectiveLike
    from dnip.solution import Solution
    from dnip.solvers import Progress, Solver
    from dnip.tables import ProbabilityTable


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, the solution they come from, and how they do on the opt table itself."""

    coefficients: Coefficients
    solution: Solution
    evaluation: Evaluation


def fit_table(
    table: ProbabilityTable,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    scale: int = 30,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit coefficients on the labelled rows of a table.

    Parameters
    ----------
    table : ProbabilityTable
        The opt set; unlabelled rows are left aside.
    objective, scale, solver, seed, time_limit, progress
        As for :func:`dnip.solve`.

    Returns
    -------
    Fit

    Raises
    ------
    InvalidInputError
        If no row is labelled, or fewer than two classes have labelled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> fit_table(table).evaluation.reweighted
    array([[1, 0],
           [0, 1]])
    """
    labelled = table.labelled()
    if len(labelled) == 0 or labelled.labels is None:
        raise InvalidInputError(
            f"{table.source}: no row has a label, and a fit needs labels",
            hint="Add a column `label` with the class of each row",
        )
    solution = solve(
        labelled.probabilities,
        labelled.labels,
        objective,
        scale=scale,
        solver=solver,
        seed=seed,
        time_limit=time_limit,
        classes=table.classes,
        progress=progress,
    )
    coefficients = Coefficients.from_solution(
        solution, table.classes, provenance=_provenance(table, len(labelled))
    )
    return Fit(coefficients, solution, evaluate([table], coefficients))


def _provenance(table: ProbabilityTable, n_labelled: int) -> dict[str, Any]:
    # A path may hold bytes that are no Unicode; JSON may not.
    source = table.source.encode("utf-8", "backslashreplace").decode()
    return {
        "package_version": version("dnip"),
        "data": {
            "source": source,
            "sha256": table.data_hash,
            "rows": len(table),
            "labelled_rows": n_labelled,
        },
    }
