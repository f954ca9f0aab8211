"""The results of a comparison."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dnip.base.typing import Confusion
from dnip.comparing.methods import Method
from dnip.metrics import HEADLINE, METRICS, metric_intervals, scores
from dnip.metrics.intervals import PAIRED, difference_intervals
from dnip.presenting.formats import Estimate

#: What methods are compared by.
COMPARED = (*HEADLINE, "macro_f1")


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """One fit of one method, scored on the test rows.

    Attributes
    ----------
    seed : int
        Of the fit, and of the draw of labels where there is one.
    seconds : float
        Of the fit.
    confusion : ndarray of shape (N, N)
        Of the test rows, rows true.
    agreement : ndarray of shape (N, 2, 2)
        Test rows of each class by whether the raw argmax and whether the method got them right.
    correction : dict
        What was learned.
    """

    seed: int
    seconds: float
    confusion: Confusion
    agreement: Confusion
    correction: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, all metrics among them."""
        values = {"seed": self.seed, "seconds": self.seconds, **scores(self.confusion)}
        return {**values, "correction": self.correction}


@dataclass(frozen=True, eq=False)
class MethodScores:
    """One method: the means over its fits, with intervals.

    Attributes
    ----------
    name, summary : str
    reads : tuple of str
        What it read: labels, unlabelled, batch (the test rows without labels), content-free.
    estimates : mapping of str to Estimate
        By metric, the mean over fits.
    differences : mapping of str to Estimate
        Of accuracy and COBias from those of the raw argmax on the same rows; empty for itself.
    fits : tuple of ScoredFit
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    fits: tuple[ScoredFit, ...]

    @classmethod
    def of(
        cls, method: Method, fits: Sequence[ScoredFit], confidence: float, raw: MethodScores | None
    ) -> MethodScores:
        """Sum up the fits of a method.

        Parameters
        ----------
        method : Method
        fits : sequence of ScoredFit
        confidence : float
            Level of the intervals, between 0 and 1.
        raw : MethodScores or None
            Of the raw argmax; None for itself.
        """
        found = [{m: METRICS[m].of(fit.confusion) for m in COMPARED} for fit in fits]
        bounds = [metric_intervals(fit.confusion, confidence) for fit in fits]
        estimates = {
            m: Estimate.mean([one[m] for one in found], [one[m] for one in bounds])
            for m in COMPARED
        }
        differences = {}
        if raw is not None:
            changes = [difference_intervals(fit.agreement, confidence) for fit in fits]
            for m in PAIRED:
                values = [one[m] - raw.estimates[m].value for one in found]
                differences[m] = Estimate.mean(values, [change[m] for change in changes])
        about = method.name, method.summary, method.reads
        return cls(*about, estimates, differences, tuple(fits))

    @property
    def seconds(self) -> float:
        """Median of the times of the fits."""
        return statistics.median(fit.seconds for fit in self.fits)

    def spread(self, metric: str) -> float:
        """Return the standard deviation of a metric over fits, 0 for one fit."""
        values = [METRICS[metric].of(fit.confusion) for fit in self.fits]
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        metrics = {}
        for metric, estimate in self.estimates.items():
            change = self.differences.get(metric)
            metrics[metric] = {
                **estimate._asdict(),
                "spread": self.spread(metric),
                "difference": change and change._asdict(),
            }
        return {
            "name": self.name,
            "summary": self.summary,
            "reads": list(self.reads),
            **metrics,
            "seconds": self.seconds,
            "runs": [fit.to_dict() for fit in self.fits],
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods on one opt and one test table.

    Attributes
    ----------
    opt, test : str
        Names of the tables.
    classes : tuple of str
    n_opt, n_test, n_unlabelled, n_content_free : int
        Rows: labels that a run learns from, labelled test rows, opt rows without a label, and
        content-free rows.
    seeds : int
        How many runs of each method.
    confidence : float
        Level of the intervals.
    objective : dict
        What DNIP minimises.
    scale : int, str or None
        Of the weights; None: that of the probabilities.
    methods : tuple of MethodScores
        In the order in which the methods ran, the raw argmax first.
    skipped : dict of str to str
        Methods that did not run, with the reason.
    interrupted : bool
        Whether the user stopped it; the methods are those that were finished.
    """

    opt: str
    test: str
    classes: tuple[str, ...]
    n_opt: int
    n_test: int
    n_unlabelled: int
    n_content_free: int
    seeds: int
    confidence: float
    objective: dict[str, Any]
    scale: int | str | None
    methods: tuple[MethodScores, ...]
    skipped: dict[str, str]
    interrupted: bool

    @property
    def title(self) -> str:
        """Name both tables: by their folder where that tells more, as of `name/opt.csv`."""
        opt, test = Path(self.opt), Path(self.test)
        if opt.parent == test.parent and opt.parent.name and opt.stem.startswith("opt"):
            return opt.parent.name
        return f"{opt.name} and {test.name}"

    def of(self, name: str) -> MethodScores:
        """Return the scores of a method.

        Raises
        ------
        KeyError
            If it did not run.
        """
        return {method.name: method for method in self.methods}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip compare --json`` prints."""
        return {
            **vars(self),
            "n_classes": len(self.classes),
            "classes": list(self.classes),
            "methods": [method.to_dict() for method in self.methods],
        }
