"""What the sidecar has done: counts for Prometheus, and lines in the log.

Whatever is counted as missed or failed is in the log, too: what is missed once, by its reason; what
fails at once, and then once a minute, with how often it did.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from dnip.base.escaping import one_line
from dnip.llm.decisions import Correction

LOG = logging.getLogger("dnip.sidecar")

# Seconds between two lines of one kind, and kinds of failures that are told apart.
_SECONDS, _MOST_KINDS = 60.0, 20

# What an event may have next to its message.
_FIELDS = ("question", "reason", "status")

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
    rows, lost_rows : Counter, optional
        What a recorder counts: rows written by question, and lost by reason.

    Attributes
    ----------
    whole, upstream : Histogram
        Seconds until an answer, or a stream, begins; and of these, waiting for the upstream.

    Examples
    --------
    >>> print(Metrics(["topic"]).text().decode().splitlines()[2])
    dnip_decisions_total{question="topic"} 0.0
    """

    def __init__(
        self,
        questions: Iterable[str],
        rows: Counter[str] | None = None,
        lost_rows: Counter[str] | None = None,
    ) -> None:
        zeros = Counter(dict.fromkeys([(question,) for question in questions], 0))
        self._counts: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _COUNTERS}
        self._counts |= {name: Counter(zeros) for name in ("decisions", "changed", "deferred")}
        self._counts["uncorrected"][()] = 0
        self._recorded = {"recorded": rows, "unrecorded": lost_rows}
        self._sums: Counter[tuple[str, ...]] = Counter()
        self._masses: dict[str, tuple[int, float]] = {}  # how many there are, and their sum
        self._missed: set[tuple[str, ...]] = set()  # which kinds were in the log
        # By kind of failure: when it was last in the log, and how often it has come since.
        self._told: dict[str, tuple[float, int]] = {}
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
            before = correction.before
            counts["decisions"][before.question,] += 1
            counts["changed"][before.question,] += correction.changed
            counts["deferred"][before.question,] += bool(correction.deferred)
            if before.mass is not None:
                number, total = self._masses.get(before.question, (0, 0.0))
                self._masses[before.question] = number + 1, total + before.mass
            for stage, decision in (("before", before), ("after", correction.after)):
                counts["chosen"][before.question, str(decision.choice), stage] += 1
                values = decision.probabilities.tolist()
                for option, value in zip(decision.options, values, strict=True):
                    self._sums[before.question, option, stage] += value

    def passed(self, question: str, reason: str, text: str, changes: tuple[str, ...] = ()) -> None:
        """Count an answer that passes as it is, and a question that is missed."""
        self.add((), 1)
        self.missed(question, reason, text, changes)

    def missed(
        self,
        question: str,
        reason: str,
        text: str,
        changes: tuple[str, ...] = (),
        *,
        quiet: bool = False,
    ) -> None:
        """Count what is not corrected as it should be; the first time, it stands in the log.

        Where a question is another one, `changes` are sentences that begin with what differs: what
        has not differed before is in the log, too.
        """
        self._counts["missed"][question, reason] += 1
        kind = (question, reason, *(change.partition(":")[0] for change in changes))
        if kind not in self._missed and not quiet:
            self._missed.add(kind)
            LOG.warning("%s", text, extra={"question": question, "reason": reason})

    def failed(self, status: int, kind: str, text: str) -> None:
        """Count a request that the sidecar answers by an error."""
        self._counts["failures"][str(status),] += 1
        if kind not in self._told and len(self._told) >= _MOST_KINDS:
            kind = "of other kinds"
        last, more = self._told.get(kind, (-math.inf, 0))
        now = time.monotonic()
        if now - last < _SECONDS:
            self._told[kind] = last, more + 1
            return
        self._told[kind] = now, 0
        since = f" ({more:,} more since the last such line)" if more else ""
        LOG.warning("%s%s", text, since, extra={"status": status})

    def text(self) -> bytes:
        """Return all counts, in the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the counts for the library."""
        for name, counts in self._recorded.items():
            self._counts[name] = Counter({(key,): n for key, n in (counts or {}).items()})
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
        text = "What a model gives to all labels together, where it is known."
        masses = SummaryMetricFamily("dnip_mass", text, labels=["question"])
        for question, (number, sum_of_them) in self._masses.items():
            masses.add_metric([question], number, sum_of_them)
        yield masses


def log_to_standard_error(*, as_json: bool = False) -> None:
    """Write a line for each event of the sidecar, and for each error of its libraries."""
    logging.basicConfig(level=logging.WARNING)
    LOG.setLevel(logging.INFO)
    formatter = _AsJson() if as_json else _AsText("%(asctime)s %(levelname)s: %(message)s")
    logging.getLogger().handlers[0].setFormatter(formatter)


def report_event(kind: str, message: str) -> None:
    """Write a message of the command line, such as an error or a note."""
    levels = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}
    text = message if kind in levels else f"{kind}: {message}"
    LOG.log(levels.get(kind, logging.INFO), "%s", text)


class _AsText(logging.Formatter):
    """An event as a line; what others wrote in it ends no line, and moves no cursor."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(super().formatMessage(record))


class _AsJson(logging.Formatter):
    """An event as one line: time, level, message, and what else is known of it."""

    def format(self, record: logging.LogRecord) -> str:
        more = {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            more["exception"] = self.formatException(record.exc_info)
        return as_json(record.levelname.lower(), record.getMessage(), **more)


def as_json(level: str, message: str, **more: object) -> str:
    """Return an event as one line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "level": level, "message": message, **more})
