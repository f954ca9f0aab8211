"""What is to be known of an import."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ImportSummary:
    """What an import came to.

    Attributes
    ----------
    files : tuple of str
        The files of answers.
    n : int
        Rows of the table.
    n_labelled : int
        Of these, rows with a gold label.
    source : str
        The kind of answers.
    model, question : str or None
        Where the answers name them.
    mean_mass : float or None
        Captured mass on average, where it is known.
    n_open : int
        Rows whose decision depends on what stands for labels that were not reported.
    n_nameless : int
        Rows whose answer names no class, so that its first token is read.
    n_several : int
        Rows whose answer names several classes, of which the last is read.
    refused, failed : tuple of str
        Ids (or places) of answers that are refusals and of requests that failed. They are not in
        the table: a row of it says something of every class.
    n_other : int
        Answers without the question, which are not in the table either.
    decimals : int or None
        To how many decimals the probabilities are rounded; None where they are not.
    n_raised : int
        Rows in which half a unit of the last decimal stands for zeros.
    n_tied : int
        Rows whose most probable classes are equally probable, so that the lowest is decided for.
    n_one_class : int
        Rows that give everything to one class: no weights could change the decision.
    """

    files: tuple[str, ...]
    n: int
    n_labelled: int
    source: str
    model: str | None
    question: str | None
    mean_mass: float | None
    n_open: int
    n_nameless: int
    n_several: int
    refused: tuple[str, ...]
    failed: tuple[str, ...]
    n_other: int
    decimals: int | None
    n_raised: int
    n_tied: int
    n_one_class: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)
