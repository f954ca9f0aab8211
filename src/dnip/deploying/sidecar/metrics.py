"""What the sidecar has done, in the text format of Prometheus."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TypeAlias

from dnip.deploying.decisions import Correction
from dnip.deploying.sidecar.recording import Recorder

#: Seconds up to which durations are counted together; they never change.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, math.inf)

# Labels and a value.
_Sample: TypeAlias = tuple[dict[str, str], float]

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Histogram:
    """How long something took, in seconds.

    Examples
    --------
    >>> histogram = Histogram()
    >>> histogram.add(0.003)
    >>> histogram.lines("request_seconds", "Until an answer begins.")[2:5]
    ['dnip_request_seconds_bucket{le="0.001"} 0', 'dnip_request_seconds_bucket{le="0.0025"} 0', \
'dnip_request_seconds_bucket{le="0.005"} 1']
    """

    def __init__(self) -> None:
        self._counts = [0] * len(BUCKETS)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, text: str) -> list[str]:
        """Return the counts up to each bound, the sum and the count."""
        counts = list(accumulate(self._counts))
        bounds = ["+Inf" if math.isinf(bound) else f"{bound:g}" for bound in BUCKETS]
        buckets = [({"le": le}, n) for le, n in zip(bounds, counts, strict=True)]
        return [
            *_head(name, text, "histogram"),
            *_samples(f"{name}_bucket", buckets),
            *_samples(f"{name}_sum", [({}, self._sum)]),
            *_samples(f"{name}_count", [({}, counts[-1])]),
        ]


class Metrics:
    """Counts since the start.

    Parameters
    ----------
    questions : iterable of str
        Questions with coefficients: they are shown from the start, with zeros.
    recorder : Recorder, optional
        It counts what it has written.

    Attributes
    ----------
    whole, upstream : Histogram
        Seconds until an answer, or a stream, begins; and of these, waiting for the upstream.

    Examples
    --------
    >>> print(Metrics(["topic"]).text().splitlines()[2])
    dnip_decisions_total{question="topic"} 0
    """

    def __init__(self, questions: Iterable[str], recorder: Recorder | None = None) -> None:
        self._decisions = Counter(dict.fromkeys(questions, 0))
        self._changes = Counter(self._decisions)
        self._sums: Counter[tuple[str, str, str]] = Counter()
        self._uncorrected = 0
        self._failures: Counter[int] = Counter()
        self._missed: Counter[tuple[str, str]] = Counter()
        self._choices: Counter[tuple[str, str, str]] = Counter()
        self._recorder = recorder
        self.whole, self.upstream = Histogram(), Histogram()

    def add(self, corrections: Iterable[Correction], uncorrected: int) -> None:
        """Count the decisions of an answer, and those that have no coefficients."""
        self._uncorrected += uncorrected
        for correction in corrections:
            question = correction.before.question
            self._decisions[question] += 1
            self._changes[question] += correction.changed
            for stage, decision in (("before", correction.before), ("after", correction.after)):
                self._choices[question, str(decision.choice), stage] += 1
                values = decision.probabilities.tolist()
                for option, value in zip(decision.options, values, strict=True):
                    self._sums[question, option, stage] += value

    def add_missed(self, question: str, reason: str) -> int:
        """Count a question that could not be corrected as it should, and return the count."""
        self._missed[question, reason] += 1
        return self._missed[question, reason]

    def add_failure(self, status: int) -> None:
        """Count a request that the sidecar answered itself, with an error."""
        self._failures[status] += 1

    def text(self) -> str:
        """Return all counts."""
        stages = ("question", "class", "stage")
        sums, choices = (
            [(dict(zip(stages, key, strict=True)), n) for key, n in counts.items()]
            for counts in (self._sums, self._choices)
        )
        counts = [(labels, self._decisions[labels["question"]]) for labels, _ in sums]
        without: list[_Sample] = [({}, self._uncorrected)]
        failures = [({"status": str(status)}, n) for status, n in self._failures.items()]
        missed = [({"question": q, "reason": why}, n) for (q, why), n in self._missed.items()]
        lines = [
            *_lines("decisions_total", "Decisions with coefficients.", _by(self._decisions)),
            *_lines("changed_total", "Decisions that they changed.", _by(self._changes)),
            *_lines("uncorrected_total", "Decisions without coefficients.", without),
            *_lines(
                "missed_total", "Questions not corrected as they should be, by reason.", missed
            ),
            *_lines("failures_total", "Requests that the sidecar answered by an error.", failures),
            *_lines("chosen_total", "Decisions for a class, before and after.", choices),
            *_head("probability", "Of a class, before and after the correction.", "summary"),
            *_samples("probability_sum", sums),
            *_samples("probability_count", counts),
            *self.whole.lines("request_seconds", "Until an answer, or a stream, begins."),
            *self.upstream.lines("upstream_seconds", "Of these, waiting for the upstream."),
        ]
        if self._recorder is not None:
            lost = [({"reason": why}, n) for why, n in self._recorder.lost.items()]
            lines += _lines("recorded_total", "Rows recorded.", _by(self._recorder.written))
            lines += _lines("unrecorded_total", "Rows that could not be recorded.", lost)
        return "\n".join(lines) + "\n"


def _by(counts: Counter[str]) -> list[_Sample]:
    return [({"question": question}, n) for question, n in counts.items()]


def _lines(name: str, text: str, samples: Iterable[_Sample]) -> list[str]:
    return [*_head(name, text, "counter"), *_samples(name, samples)]


def _head(name: str, text: str, kind: str) -> list[str]:
    return [f"# HELP dnip_{name} {text}", f"# TYPE dnip_{name} {kind}"]


def _samples(name: str, samples: Iterable[_Sample]) -> Iterator[str]:
    for labels, value in samples:
        pairs = ",".join(f'{key}="{word.translate(_ESCAPED)}"' for key, word in labels.items())
        yield f"dnip_{name}{{{pairs}}} {value}"
