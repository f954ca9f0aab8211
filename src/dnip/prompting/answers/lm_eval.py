"""Samples that lm-evaluation-harness logs of multiple-choice tasks (``--log_samples``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.prompting.answers.choices import read_choices
from dnip.prompting.answers.source import Row, Source, Wanted


def _recognises(content: Any) -> bool:  # noqa: ANN401
    return isinstance(content, dict) and {"doc_id", "resps"} <= content.keys()


def _questions(content: Any) -> list[str]:  # noqa: ANN401
    """Return the filter: a file holds a row for each document and filter."""
    return [str(content.get("filter", ""))]


def _read(content: Any, wanted: Wanted) -> Row:  # noqa: ANN401
    logs, _ = _log_likelihoods(content, wanted)
    return _row(content, wanted, logs)


def _read_mutual_information(content: Any, wanted: Wanted) -> Row:  # noqa: ANN401
    """Divide by the probabilities without a context, as the metric ``acc_mutual_info`` does."""
    logs, alone = _log_likelihoods(content, wanted)
    if not alone:
        raise InvalidInputError(
            "it holds no log-likelihoods without a context",
            hint="Add the metric acc_mutual_info to the task, and run it again",
        )
    return _row(content, wanted, logs, alone)


def _row(content: Any, wanted: Wanted, logs: list[Any], alone: list[Any] | None = None) -> Row:  # noqa: ANN401
    texts = _choices(content)[: len(logs)]
    row = read_choices(logs, texts, content.get("target"), wanted, alone)
    return replace(row, own_id=content["doc_id"])


def _log_likelihoods(content: dict[str, Any], wanted: Wanted) -> tuple[list[Any], list[Any]]:
    """Return the numbers of the choices, and those without a context where there are any."""
    found = content.get("filtered_resps") or content["resps"]
    logs = []
    for one in found if isinstance(found, list) else [found]:
        while isinstance(one, list) and one and isinstance(one[0], list):
            one = one[0]  # noqa: PLW2901  # resps hold a list of repeats for each request
        if not isinstance(one, list) or len(one) != 2:
            raise InvalidInputError(
                f"it holds {one!r:.60} instead of log-likelihoods",
                hint="Import samples of tasks with output_type: multiple_choice",
            )
        logs.append(one[0])
    n = len(wanted.names)
    return (logs[:n], logs[n:]) if len(logs) == 2 * n else (logs, [])


def _choices(content: dict[str, Any]) -> list[str]:
    """Return the texts whose log-likelihoods were asked for, none where they are not logged."""
    asked = content.get("arguments")
    texts = []
    for one in asked.values() if isinstance(asked, dict) else asked or []:
        pair = list(one.values()) if isinstance(one, dict) else one
        texts.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    return texts


LM_EVAL = Source("samples of lm-evaluation-harness", _recognises, _read, _questions)
LM_EVAL_MUTUAL_INFORMATION = Source(
    "samples of lm-evaluation-harness, over the probabilities without a context",
    _recognises,
    _read_mutual_information,
    _questions,
)
