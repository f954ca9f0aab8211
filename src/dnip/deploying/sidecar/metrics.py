"""What the sidecar has done, in the text format of Prometheus."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from dnip.deploying.decisions import Correction
from dnip.deploying.sidecar.recording import Recorder

#: Seconds up to which durations are counted together; they never change.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, math.inf)

# By question and stage, then by option.
_Staged: TypeAlias = "defaultdict[tuple[str, str], Counter[str]]"

# Labels and values.
_Samples: TypeAlias = Sequence[tuple[dict[str, str], float]]

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Histogram:
    """How long something took, in seconds.

    Examples
    --------
    >>> histogram = Histogram()
    >>> histogram.add(0.003)
    >>> histogram.samples()["_bucket"][1:4]
    [({'le': '0.0025'}, 0), ({'le': '0.005'}, 1), ({'le': '0.01'}, 1)]
    """

    def __init__(self) -> None:
        self._counts = [0] * len(BUCKETS)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self._sum += seconds

    def samples(self) -> dict[str, _Samples]:
        """Return the counts up to each bound, the sum and the count, by how their names end."""
        counts = list(accumulate(self._counts))
        buckets = zip(BUCKETS, counts, strict=True)
        return {
            "_bucket": [({"le": f"{most:g}".replace("inf", "+Inf")}, n) for most, n in buckets],
            "_sum": [({}, self._sum)],
            "_count": [({}, counts[-1])],
        }


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
        self._changes, self._deferred = Counter(self._decisions), Counter(self._decisions)
        self._sums: _Staged = defaultdict(Counter)
        self._uncorrected = 0
        self._failures: Counter[int] = Counter()
        self._missed: Counter[tuple[str, str]] = Counter()
        self._choices: _Staged = defaultdict(Counter)
        self._recorder = recorder
        self.whole, self.upstream = Histogram(), Histogram()

    def add(self, corrections: Iterable[Correction], uncorrected: int) -> None:
        """Count the decisions of an answer, and those that have no coefficients."""
        self._uncorrected += uncorrected
        for correction in corrections:
            question = correction.before.question
            self._decisions[question] += 1
            self._changes[question] += correction.changed
            self._deferred[question] += bool(correction.deferred)
            for stage, decision in (("before", correction.before), ("after", correction.after)):
                self._choices[question, stage][str(decision.choice)] += 1
                sums, values = self._sums[question, stage], decision.probabilities.tolist()
                for option, value in zip(decision.options, values, strict=True):
                    sums[option] += value

    def add_missed(self, question: str, reason: str) -> int:
        """Count a question that could not be corrected as it should, and return the count."""
        self._missed[question, reason] += 1
        return self._missed[question, reason]

    def add_failure(self, status: int) -> None:
        """Count a request that the sidecar answered itself, with an error."""
        self._failures[status] += 1

    def text(self) -> str:
        """Return all counts."""
        sums, choices = _staged(self._sums), _staged(self._choices)
        means = {
            "_sum": sums,
            "_count": [(one, self._decisions[one["question"]]) for one, _ in sums],
        }
        failures = [({"status": str(status)}, n) for status, n in self._failures.items()]
        missed = [({"question": q, "reason": why}, n) for (q, why), n in self._missed.items()]
        whole, upstream = self.whole.samples(), self.upstream.samples()
        lines = [
            *_lines("decisions_total", "Decisions with coefficients.", _by(self._decisions)),
            *_lines("changed_total", "Decisions that they changed.", _by(self._changes)),
            *_lines("deferred_total", "Decisions to defer.", _by(self._deferred)),
            *_lines("uncorrected_total", "Decisions without them.", [({}, self._uncorrected)]),
            *_lines("missed_total", "Questions not corrected as they should be.", missed),
            *_lines("failures_total", "Requests that the sidecar answered by an error.", failures),
            *_lines("chosen_total", "Decisions for a class, before and after.", choices),
            *_lines("probability", "Of a class, before and after.", means, "summary"),
            *_lines("request_seconds", "Until an answer begins.", whole, "histogram"),
            *_lines("upstream_seconds", "Waiting for the upstream.", upstream, "histogram"),
        ]
        if self._recorder is not None:
            lost = _by(self._recorder.lost, "reason")
            lines += _lines("recorded_total", "Rows recorded.", _by(self._recorder.written))
            lines += _lines("unrecorded_total", "Rows that could not be recorded.", lost)
        return "\n".join(lines) + "\n"


def _by(counts: Counter[str], label: str = "question") -> _Samples:
    return [({label: word}, n) for word, n in counts.items()]


def _staged(counts: _Staged) -> _Samples:
    return [
        ({"question": question, "class": option, "stage": stage}, n)
        for (question, stage), by_option in counts.items()
        for option, n in by_option.items()
    ]


def _lines(
    name: str, text: str, samples: _Samples | dict[str, _Samples], kind: str = "counter"
) -> Iterator[str]:
    yield f"# HELP dnip_{name} {text}"
    yield f"# TYPE dnip_{name} {kind}"
    for end, some in (samples if isinstance(samples, dict) else {"": samples}).items():
        for labels, value in some:
            pairs = ",".join(f'{key}="{word.translate(_ESCAPED)}"' for key, word in labels.items())
            yield f"dnip_{name}{end}{{{pairs}}} {value}"
