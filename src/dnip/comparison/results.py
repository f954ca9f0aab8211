"""What a comparison found."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dnip.comparison.intervals import METRICS, interval
from dnip.evaluation import scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.typing import Confusion, Floats


class Estimate(NamedTuple):
    """A number and the interval that holds it in 95 % of resampled test sets."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, resampled: Floats) -> Estimate:
        """Take the interval from resampled values of shape (B,)."""
        return cls(float(value), *interval(resampled))

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values."""
        return dict(self._asdict())


@dataclass(frozen=True, eq=False)
class Run:
    """One fit of one method, scored on the test rows.

    Attributes
    ----------
    seed : int
        Of the fit, and of the draw of labels where there is one.
    seconds : float
        Of the fit.
    confusion : ndarray of shape (N, N)
        Of the test rows, rows true.
    correction : dict
        What was learned.
    """

    seed: int
    seconds: float
    confusion: Confusion
    correction: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, all metrics among them."""
        told = {"seed": self.seed, "seconds": self.seconds, **scores(self.confusion)}
        return {**told, "correction": self.correction}


@dataclass(frozen=True, eq=False)
class Outcome:
    """One method: the mean of its runs, with intervals.

    Attributes
    ----------
    name, summary : str
    reads : tuple of str
        What it read: labels, unlabelled, batch (the test rows without labels), content-free.
    estimates : mapping of str to Estimate
        By metric: the mean over runs, and its interval over test rows.
    differences : mapping of str to Estimate
        From the raw argmax on the same resampled rows; empty for itself.
    runs : tuple of Run
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    runs: tuple[Run, ...]

    @classmethod
    def of(
        cls,
        name: str,
        summary: str,
        reads: tuple[str, ...],
        runs: Sequence[Run],
        resampled: Floats,
        raw: tuple[Mapping[str, Estimate], Floats] | None,
    ) -> Outcome:
        """Sum up the runs of a method.

        Parameters
        ----------
        name, summary, reads, runs
            As above.
        resampled : ndarray of shape (B, metrics)
            Scores on resampled test rows.
        raw : (estimates, resampled), optional
            Those of the raw argmax; None for itself.
        """
        told = [scores(run.confusion) for run in runs]
        means = {metric: statistics.fmean(one[metric] for one in told) for metric in METRICS}
        estimates = {m: Estimate.of(means[m], resampled[:, i]) for i, m in enumerate(METRICS)}
        differences = {}
        if raw is not None:
            for i, metric in enumerate(METRICS):
                difference = means[metric] - raw[0][metric].value
                paired = resampled[:, i] - raw[1][:, i]
                differences[metric] = Estimate.of(difference, paired)
        return cls(name, summary, reads, estimates, differences, tuple(runs))

    @property
    def seconds(self) -> float:
        """Median of the times of the fits."""
        return statistics.median(run.seconds for run in self.runs)

    def spread(self, metric: str) -> float:
        """Return the standard deviation of a metric over runs, 0 for one run."""
        values = [scores(run.confusion)[metric] for run in self.runs]
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        metrics = {
            metric: {
                **self.estimates[metric].to_dict(),
                "spread": self.spread(metric),
                "difference": (
                    self.differences[metric].to_dict() if metric in self.differences else None
                ),
            }
            for metric in METRICS
        }
        return {
            "name": self.name,
            "summary": self.summary,
            "reads": list(self.reads),
            **metrics,
            "seconds": self.seconds,
            "runs": [run.to_dict() for run in self.runs],
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
    n_seeds, resamples : int
    objective : dict
        What DNIP, the adapter and the membership functions minimise.
    scale : int
        K.
    outcomes : tuple of Outcome
        In the order in which the methods ran, the raw argmax first.
    skipped : dict of str to str
        Methods that did not run, with the reason.
    interrupted : bool
        Whether the user stopped it; the outcomes are those of finished methods.
    """

    opt: str
    test: str
    classes: tuple[str, ...]
    n_opt: int
    n_test: int
    n_unlabelled: int
    n_content_free: int
    n_seeds: int
    resamples: int
    objective: dict[str, Any]
    scale: int
    outcomes: tuple[Outcome, ...]
    skipped: dict[str, str]
    interrupted: bool

    @property
    def title(self) -> str:
        """Name both tables: by their folder where that tells more, as of `name/opt.csv`."""
        opt, test = Path(self.opt), Path(self.test)
        if opt.parent == test.parent and opt.parent.name and opt.stem.startswith("opt"):
            return opt.parent.name
        return f"{opt.name} → {test.name}"

    def of(self, name: str) -> Outcome:
        """Return the outcome of a method.

        Raises
        ------
        KeyError
            If it did not run.
        """
        return {outcome.name: outcome for outcome in self.outcomes}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip compare --json`` prints."""
        return {
            "opt": self.opt,
            "test": self.test,
            "n_classes": len(self.classes),
            "classes": list(self.classes),
            "n_opt": self.n_opt,
            "n_test": self.n_test,
            "n_unlabelled": self.n_unlabelled,
            "n_content_free": self.n_content_free,
            "seeds": self.n_seeds,
            "resamples": self.resamples,
            "objective": self.objective,
            "scale": self.scale,
            "interrupted": self.interrupted,
            "skipped": self.skipped,
            "methods": [outcome.to_dict() for outcome in self.outcomes],
        }
