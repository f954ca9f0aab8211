"""What the sidecar has done, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from dnip.deploying.decisions import Correction

# Labels and a value.
_Sample: TypeAlias = tuple[dict[str, str], float]

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Metrics:
    """Counts since the start.

    Parameters
    ----------
    questions : iterable of str
        Questions with coefficients: they are shown from the start, with zeros.

    Examples
    --------
    >>> print(Metrics(["topic"]).text().splitlines()[2])
    dnip_decisions_total{question="topic"} 0
    """

    def __init__(self, questions: Iterable[str]) -> None:
        self._decisions = Counter(dict.fromkeys(questions, 0))
        self._changes = Counter(self._decisions)
        self._handed_on: Counter[str] = Counter()
        self._sums: Counter[tuple[str, str, str]] = Counter()
        self._uncorrected = 0
        self._failures: Counter[int] = Counter()
        self._missed: Counter[tuple[str, str]] = Counter()

    def add(self, corrections: Iterable[Correction], uncorrected: int) -> None:
        """Count the decisions of an answer, and those that have no coefficients."""
        self._uncorrected += uncorrected
        for correction in corrections:
            question = correction.before.question
            self._decisions[question] += 1
            self._changes[question] += correction.changed
            if correction.handed_on is not None:
                self._handed_on[question] += correction.handed_on
            for stage, decision in (("before", correction.before), ("after", correction.after)):
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
        means = [
            (dict(zip(stages, key, strict=True)), total / self._decisions[key[0]])
            for key, total in self._sums.items()
        ]
        without: list[_Sample] = [({}, self._uncorrected)]
        failures = [({"status": str(status)}, n) for status, n in self._failures.items()]
        missed = [({"question": q, "reason": why}, n) for (q, why), n in self._missed.items()]
        lines = [
            *_lines("decisions_total", "Decisions with coefficients.", _by(self._decisions)),
            *_lines("changed_total", "Decisions that they changed.", _by(self._changes)),
            *_lines("handed_on_total", "Decisions to hand on.", _by(self._handed_on)),
            *_lines("uncorrected_total", "Decisions without coefficients.", without),
            *_lines(
                "missed_total", "Questions not corrected as they should be, by reason.", missed
            ),
            *_lines("failures_total", "Requests that the sidecar answered by an error.", failures),
            *_lines("mean_probability", "Before and after the correction.", means, kind="gauge"),
        ]
        return "\n".join(lines) + "\n"


def _by(counts: Counter[str]) -> list[_Sample]:
    return [({"question": question}, n) for question, n in counts.items()]


def _lines(
    name: str, text: str, samples: Iterable[_Sample], kind: str = "counter"
) -> Iterator[str]:
    yield f"# HELP dnip_{name} {text}"
    yield f"# TYPE dnip_{name} {kind}"
    for labels, value in samples:
        pairs = ",".join(f'{key}="{word.translate(_ESCAPED)}"' for key, word in labels.items())
        yield f"dnip_{name}{{{pairs}}} {value}"
