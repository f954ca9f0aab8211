"""What the sidecar has done, for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from dnip.llm.decisions import Correction
from dnip.llm.serving.sidecar.recording import Recorder

#: Seconds up to which durations are counted together; they never change.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

# By name: what is counted, and by which labels.
_COUNTERS: dict[str, tuple[str, Sequence[str]]] = {
    "decisions": ("Decisions with coefficients.", ["question"]),
    "changed": ("Decisions that they changed.", ["question"]),
    "deferred": ("Decisions to defer.", ["question"]),
    "uncorrected": ("Decisions without them.", []),
    "missed": ("Questions not corrected as they should be.", ["question", "reason"]),
    "failures": ("Requests that the sidecar answered by an error.", ["status"]),
    "chosen": ("Decisions for a class, before and after.", ["question", "class", "stage"]),
    "recorded": ("Rows recorded.", ["question"]),
    "unrecorded": ("Rows that could not be recorded.", ["reason"]),
}


class Metrics(Collector):
    """Counts since the start.

    They are kept in plain counters, which cost a tenth of the library's, and handed to it when they
    are asked for.

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
    >>> print(Metrics(["topic"]).text().decode().splitlines()[2])
    dnip_decisions_total{question="topic"} 0.0
    """

    def __init__(self, questions: Iterable[str], recorder: Recorder | None = None) -> None:
        zeros = Counter(dict.fromkeys([(question,) for question in questions], 0))
        self._counts: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _COUNTERS}
        self._counts |= {name: Counter(zeros) for name in ("decisions", "changed", "deferred")}
        self._counts["uncorrected"][()] = 0
        self._sums: Counter[tuple[str, ...]] = Counter()
        self._recorder = recorder
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self.whole, self.upstream = (
            Histogram(name, text, buckets=BUCKETS, registry=self._registry)
            for name, text in (
                ("dnip_request_seconds", "Until an answer begins."),
                ("dnip_upstream_seconds", "Waiting for the upstream."),
            )
        )

    def add(self, corrections: Iterable[Correction], uncorrected: int) -> None:
        """Count the decisions of an answer, and those that have no coefficients."""
        counts = self._counts
        counts["uncorrected"][()] += uncorrected
        for correction in corrections:
            question = correction.before.question
            counts["decisions"][question,] += 1
            counts["changed"][question,] += correction.changed
            counts["deferred"][question,] += bool(correction.deferred)
            for stage, decision in (("before", correction.before), ("after", correction.after)):
                counts["chosen"][question, str(decision.choice), stage] += 1
                values = decision.probabilities.tolist()
                for option, value in zip(decision.options, values, strict=True):
                    self._sums[question, option, stage] += value

    def add_missed(self, question: str, reason: str) -> int:
        """Count a question that could not be corrected as it should, and return the count."""
        self._counts["missed"][question, reason] += 1
        return self._counts["missed"][question, reason]

    def add_failure(self, status: int) -> None:
        """Count a request that the sidecar answered itself, with an error."""
        self._counts["failures"][str(status),] += 1

    def text(self) -> bytes:
        """Return all counts, in the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the counts for the library."""
        if self._recorder is not None:
            by_name = {"recorded": self._recorder.written, "unrecorded": self._recorder.lost}
            for name, counts in by_name.items():
                self._counts[name] = Counter({(key,): n for key, n in counts.items()})
        for name, (text, labels) in _COUNTERS.items():
            family = CounterMetricFamily(f"dnip_{name}", text, labels=labels)
            for key, number in self._counts[name].items():
                family.add_metric(key, number)
            yield family
        labels = _COUNTERS["chosen"][1]
        means = SummaryMetricFamily("dnip_probability", "Of a class, by stage.", labels=labels)
        for key, total in self._sums.items():
            means.add_metric(key, int(self._counts["decisions"][key[:1]]), total)
        yield means
