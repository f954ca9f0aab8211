"""How tables and figures name tasks and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.presenting.artefacts import Column
from dnip.prompting.plan import BALANCED
from reproduction.degenerate import COST_TITLE

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The metrics of the paper's tables, and their headings.
HEADINGS = {"accuracy": "Accuracy", "cobias": "COBias"}
#: The metrics by which methods are compared, and their headings.
COMPARED = {**HEADINGS, "worst_class_accuracy": "Worst class", "cost": COST_TITLE}

#: The paper's short names of its tasks.
SHORT_TASKS = {
    "agnews": "AGN",
    "dbpedia": "DBP",
    "sst5": "SST",
    "trec": "TREC",
    "rte": "RTE",
    "ddi": "DDI",
    "pubmedqa": "PMQA",
}


def short_task(task: str) -> str:
    """Return a task's short name.

    Examples
    --------
    >>> short_task("agnews"), short_task("mood")
    ('AGN', 'mood')
    """
    return SHORT_TASKS.get(task, task)


def shots_title(shots: int | str | None) -> str:
    """Return a prompt's setting in the paper's words.

    Examples
    --------
    >>> shots_title(1), shots_title("balanced"), shots_title(None)
    ('1-shot', 'N-shot', 'saved table')
    """
    if shots is None:
        return "saved table"
    return "N-shot" if shots == BALANCED else f"{shots}-shot"


def columns_by_metric(titles: Sequence[str]) -> list[Column]:
    """Return a column for each title, in per cent, under each metric of the paper's tables."""
    return [
        Column(title, percent=True, group=heading)
        for heading in HEADINGS.values()
        for title in titles
    ]
