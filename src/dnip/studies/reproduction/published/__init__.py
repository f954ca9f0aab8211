"""The paper's own numbers, as data: every number of its tables, and those its text states.

One JSON file per experiment. ``place`` says where in the paper the numbers stand, ``remarks`` what
does not fit together there. Where a figure is a picture alone, the remarks say so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: How the paper's tasks are called on a page.
TASK_TITLES = {
    "agnews": "AG News",
    "dbpedia": "DBpedia",
    "sst5": "SST-5",
    "trec": "TREC",
    "rte": "RTE",
    "ddi": "DDI",
    "pubmedqa": "PubMedQA",
}


@dataclass(frozen=True)
class Published:
    """What the paper reports of one experiment.

    Attributes
    ----------
    experiment : str
    place : str
        Where in the paper the numbers stand.
    numbers : dict
        The rest of the file.
    remarks : tuple of str
        What does not fit together, is missing, or was taken as printed.
    """

    experiment: str
    place: str
    numbers: dict[str, Any]
    remarks: tuple[str, ...]


def is_published(experiment: str) -> bool:
    """Say whether the paper has an experiment.

    Examples
    --------
    >>> is_published("time"), is_published("mine")
    (True, False)
    """
    return _path(experiment).is_file()


@cache
def published(experiment: str) -> Published:
    """Return what the paper reports of an experiment.

    Raises
    ------
    InvalidInputError
        For an experiment that is not the paper's.

    Examples
    --------
    >>> published("time").numbers["rows"][0]
    {'task': 'agnews', 'seconds': 2278, 'variable_space': 120}
    """
    if not is_published(experiment):
        raise InvalidInputError(f"the paper has no experiment {experiment!r}")
    content = _read(experiment)
    place, remarks = content.pop("place"), content.pop("remarks")
    return Published(experiment, place, content, tuple(remarks))


def citation() -> str:
    """Return authors and title of the paper.

    Examples
    --------
    >>> citation().startswith("Ruixi Lin and Yang You")
    True
    """
    paper = _read("paper")
    return f"{paper['authors']}, “{paper['title']}”"


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(_path(name).read_text(encoding="utf-8"))
    return content


def _path(name: str) -> Traversable:
    return files(__name__).joinpath(f"{name}.json")
