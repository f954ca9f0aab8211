"""A choice of settings as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.method.objective import smoothing_name
from dnip.metrics import HEADLINE, METRICS
from dnip.presenting.artefacts import Column, Table
from dnip.presenting.terminal import to_text

if TYPE_CHECKING:
    from dnip.fitting.tuning import Tuning

#: Candidates that the table shows; the chosen one is added where it is not among them.
MOST = 10


def describe_tuning(tuning: Tuning) -> str:
    """Return the best candidates as a table, how they were scored, and why the chosen one.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.fitting.tuning import Grid, tune
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 5)
    >>> grid = Grid((2.7, 5.0), taus=(0.0,), scales=(30,), robust_modes=("off",))
    >>> print(describe_tuning(tune(p, [0, 1, 0, 1] * 5, grid)))
         β  τ   K      μ  robust  accuracy  COBias  worst    ahead       ±
    *  2.7  0  30  0.4·M  off        1.000   0.000  1.000  +0.0000  0.0000
         5  0  30  0.4·M  off        1.000   0.000  1.000  +0.0000  0.0000
    <BLANKLINE>
    2 candidates, scored by 5 folds, best first by accuracy - cobias
    chosen: β = 2.7, τ = 0, K = 30, μ = 0.4·M, robust off
    No candidate is better than what is nearest to the defaults.
    """
    shown = list(tuning.candidates[:MOST])
    shown += [c for c in tuning.candidates[MOST:] if c.settings == tuning.chosen]
    columns = [
        Column(""),
        *(Column(name, right=True) for name in ("β", "τ", "K", "μ")),
        Column("robust"),
        *(Column(METRICS[metric].short, 3) for metric in HEADLINE),
        Column("ahead", 4, signed=True),
        Column("±", 4),
    ]
    rows = [
        (
            "*" if candidate.settings == tuning.chosen else "",
            f"{candidate.settings.beta:g}",
            f"{candidate.settings.tau:g}",
            candidate.settings.scale,
            smoothing_name(candidate.settings.smoothing)[4:],
            candidate.settings.robust,
            *(candidate.scores[metric] for metric in HEADLINE),
            candidate.standing.ahead,
            candidate.standing.standard_error,
        )
        for candidate in shown
    ]
    lines = [to_text(Table("candidates", "", columns, rows)), ""] if shown else []
    n_more = len(tuning.candidates) - len(shown)
    more = f", {n_more} more are not shown" if n_more > 0 else ""
    finished = f"{len(tuning.candidates)} candidates"
    if len(tuning.candidates) < tuning.n_planned:
        finished += f" of {tuning.n_planned}"
    lines += [
        f"{finished}, scored by {tuning.scheme}, best first by {_words(tuning)}{more}",
        f"chosen: {tuning.chosen}",
        tuning.reason,
    ]
    return "\n".join(lines)


def _words(tuning: Tuning) -> str:
    if tuning.criterion.name != "weighted":
        first, then = ("accuracy", "COBias")[:: 1 if tuning.criterion.name == "accuracy" else -1]
        return f"{first}, then {then}"
    words = ""
    for metric, weight in tuning.criterion.steps[0].items():
        sign = " + " if METRICS[metric].higher_is_better else " - "
        words += f"{sign}{metric}" if weight == 1 else f"{sign}{weight:g}·{metric}"
    return words.removeprefix(" + ").strip()
