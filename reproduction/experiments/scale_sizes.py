"""Section 5.2: whether a weight scale of 30 points is sufficient."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from dnip.fitting.settings import PAPER_SCALE
from dnip.presenting.artefacts import Column, Table
from reproduction.comparison import standard_error
from reproduction.degenerate import COST_TITLE
from reproduction.experiment import Claim
from reproduction.methods import OPTIMUM, cut, fit_by, raw_scores, scores_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Value
    from dnip.tables import ProbabilityTable
    from reproduction.results import CellResult, Results

# A scale is sufficient if it has this share of the gain of the finest on opt, on most tasks.
_ENOUGH = 0.95


def measure_scales(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    dev_share: float,
    scales: Sequence[int],
    seed: int,
) -> dict[str, Any]:
    """Return the published objective that each K reaches, and the scores of the test table.

    Returns
    -------
    dict
        ``raw_objective``, ``raw``, and by K, as text, under ``scales`` the scores after the fit.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(100, seed=0), bundled_table("test")
    >>> found = measure_scales(opt, test, dev_share=0.1, scales=[5, 30], seed=0)
    >>> list(found["scales"]), found["scales"]["30"]["objective"] < found["raw_objective"]
    (['5', '30'], True)
    """
    rows, _ = cut(opt, dev_share)
    fits = {scale: fit_by(OPTIMUM, rows, seed, scale=scale) for scale in scales}
    first = next(iter(fits.values()))
    return {
        "raw_objective": first.solution.trace[0].incumbent,
        "raw": raw_scores(test),
        "scales": {str(scale): scores_after(fit, test) for scale, fit in fits.items()},
    }


def scales_table(results: Results) -> Table:
    """Return the share of the gain on opt, and the scores on test, for each K."""
    scales = _scales(results)
    columns = [Column("Task")]
    columns += [Column(f"K = {k}", percent=True, group="Gain on opt") for k in scales]
    columns += [Column(f"K = {k}", percent=True, group=f"Test: {COST_TITLE}") for k in scales]
    rows: list[list[Value]] = [
        [title, *(_share(row, k, scales[-1]) for k in scales), *(_cost(k, row) for k in scales)]
        for title, row in results.titled()
    ]
    return Table(
        "convergence-scales",
        "Weight scales of K points (%)",
        columns,
        rows,
        caption="The plain optimum of the published objective. Gain on opt: what it gains over the "
        f"raw argmax, in parts of what K = {scales[-1]} gains.",
    )


def judge_scale(results: Results) -> Claim:
    """Say whether K = 30 has the gain of finer scales on opt, and their scores on test.

    On test, the mean loss over datasets must not exceed its standard error.
    """
    scales = _scales(results)
    finest = scales[-1]
    k = str(PAPER_SCALE)
    verdict = None
    if k in scales and k != finest:
        enough = [
            share is not None and share > _ENOUGH
            for share in (_share(row, k, finest) for row in results)
        ]
        lost = results.over_datasets([_cost(k, row) - _cost(finest, row) for row in results])
        verdict = sum(enough) > len(enough) / 2 and fmean(lost) <= standard_error(lost)
    means = ", ".join(
        f"K = {k} {100 * fmean(results.over_datasets([_cost(k, row) for row in results])):.1f}"
        for k in scales
    )
    return Claim(
        "Thirty weights to choose from are enough on most datasets",
        "no numbers",
        f"{COST_TITLE} on test, mean (%): {means}; asked for: no loss there by more than chance, "
        f"and {_ENOUGH:.0%} of the gain of K = {finest} on most opt sets",
        verdict,
    )


def _scales(results: Results) -> list[str]:
    """Return all K, the finest last."""
    return sorted({k for row in results for k in row.result["scales"]}, key=int)


def _cost(scale: str, row: CellResult) -> float:
    return float(row.result["scales"][scale]["cost"])


def _share(row: CellResult, scale: str, finest: str) -> float | None:
    """Return the gain of a scale over the raw argmax in parts of the finest's; None for no gain."""
    raw, found = row.result["raw_objective"], row.result["scales"]
    whole: float = raw - found[finest]["objective"]
    return (raw - found[scale]["objective"]) / whole if whole > 0 else None
