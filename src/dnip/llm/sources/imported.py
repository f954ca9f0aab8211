"""A table of saved answers with what is to be known of it, and the files of both."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dnip.base import __version__
from dnip.base.files import write_text
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.columns import ROW, class_columns
from dnip.tables.origin import LEFT_OUT, QUESTION, metadata_path


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
        The kind of answers; ``"votes"`` where these were counted.
    model, question : str or None
        Where the answers name them.
    columns : tuple of str
        Columns of rows that hold log-probabilities, of which `question` was read.
    mean_mass : float or None
        Captured mass on average, where it is known.
    n_open : int
        Rows whose decision depends on what stands for labels that were not reported.
    unreported : tuple of str
        Classes of which no answer reports a token.
    n_nameless : int
        Rows whose answer is one token that is no class, so that this token is read.
    left_out : tuple of int
        The numbers of all answers that are not in the table, counted from 1.
    refused, failed, several, unstated, silent : tuple of str
        Ids (or lines) of answers that are refusals, of requests that failed, of answers that state
        several classes or none, and of answers without probabilities. They are not in the table: a
        row of it says something of every class.
    why : dict
        How many answers are left out, ``n``, ``of`` so many, and the commonest ``reasons``.
    n_other : int
        Answers without the question, which are not in the table either.
    n_unknown : int
        Labels in the gold file of ids that no answer has.
    decimals : int or None
        To how many decimals the probabilities are rounded; None where they are not.
    n_normalised : int
        Rows whose numbers did not sum to 1, so that they were divided by their sum.
    n_tied : int
        Rows whose most probable classes are equally probable, so that the lowest is decided for.
    n_one_class : int
        Rows that give everything to one class: no weights could change the decision.
    class_columns : tuple of str
        The columns of a table that were read, where they are not called like the classes.
    naming : tuple of str
        Columns that hold the names of classes and nothing else, where no row has a label.
    votes : dict or None
        Where votes were counted: ``answers``, of which ``refused`` and ``unmatched`` are no vote,
        the ``fewest`` and ``most`` votes of a row, and what is ``added`` to those of each class.
        ``refused`` above are the rows without any.
    asked : dict or None
        What is known of the question, as `dnip.llm.questions.Question.to_dict` returns it.
    others : dict
        Columns that are written beside those of the table: what is kept, and the numbers of rows
        that have no id. `to_dict` leaves them out.
    """

    files: tuple[str, ...]
    n: int
    n_labelled: int
    source: str
    model: str | None
    question: str | None
    columns: tuple[str, ...]
    mean_mass: float | None
    n_open: int
    unreported: tuple[str, ...]
    n_nameless: int
    left_out: tuple[int, ...]
    refused: tuple[str, ...]
    failed: tuple[str, ...]
    several: tuple[str, ...]
    unstated: tuple[str, ...]
    silent: tuple[str, ...]
    why: dict[str, Any]
    n_other: int
    n_unknown: int
    decimals: int | None
    n_normalised: int
    n_tied: int
    n_one_class: int
    class_columns: tuple[str, ...] = ()
    naming: tuple[str, ...] = ()
    votes: dict[str, float] | None = None
    asked: dict[str, Any] | None = None
    others: dict[str, list[object]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = asdict(replace(self, others={}))
        del values["others"]
        return values


class Import(NamedTuple):
    """A table of saved answers, and what is to be known of it."""

    table: ProbabilityTable
    summary: ImportSummary


def write_import(imported: Import, out: str | os.PathLike[str]) -> None:
    """Write the table, and beside it ``<out>.meta.json`` with the summary.

    Raises
    ------
    InvalidInputError
        For an unknown suffix.
    OutputError
        If a file cannot be written.
    """
    settings, summary = {"package_version": __version__}, imported.summary
    classes, others = imported.table.classes, summary.others
    # Beside other columns, p_ tells which are the classes.
    columns = class_columns(classes, marked=bool(others.keys() - {ROW}))
    with open_writer(out, classes) as writer:
        writer.write(replace(imported.table.rows, others=others, columns=columns))
    content = {"settings": settings, "summary": summary.to_dict(), QUESTION: summary.asked}
    content[LEFT_OUT] = summary.why
    write_text(metadata_path(Path(out)), json.dumps(content, indent=2) + "\n")
