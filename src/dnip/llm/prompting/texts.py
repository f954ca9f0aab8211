"""Texts to prompt with: the rows of a table, their labels, their ids and what else is kept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import numpy as np

from dnip.base.errors import (
    BackendError,
    InvalidInputError,
    first_line,
    listed,
    load_optional,
    shown,
)
from dnip.base.files import cannot_read
from dnip.base.typing import Labels
from dnip.llm.files import Found, Places, read_values
from dnip.llm.prompting.task import RATIONALE, Task
from dnip.tables.cells import check_ids, is_missing
from dnip.tables.columns import CONTENT_FREE, ID, RESERVED
from dnip.tables.labels import LABEL, UNLABELLED, read_labels

#: A table of texts: a file, ``hf:NAME/SPLIT``, a data frame, or rows as dictionaries.
Source: TypeAlias = "str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Any"

#: Marks a data set of the Hugging Face hub.
HUB = "hf:"
# Marks an address in an object store, such as s3://BUCKET/texts.csv.
_REMOTE = "://"
#: Texts that say nothing, those of Zhao et al. (2021).
CONTENT_FREE_TEXTS = ("N/A", "[MASK]", "")
# Seconds to try to reach a store.
_PATIENCE = 20


@dataclass(frozen=True, eq=False)
class Texts:
    """Rows of a table of texts.

    Attributes
    ----------
    source : str
        Where they come from, for messages and metadata.
    rows : tuple of dict
        Their fields, by the names that a template uses.
    labels : ndarray of shape (M,)
        Class indices, -1 where a row has no label.
    numbers : tuple of int
        Which row of the source each is, counted from 1.
    ids : tuple of str or None
        None without a column of ids.
    kept : dict of str to tuple
        Further columns for the table to come.
    """

    source: str
    rows: tuple[Mapping[str, Any], ...]
    labels: Labels
    numbers: tuple[int, ...]
    ids: tuple[str, ...] | None = None
    kept: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def name(self, row: int) -> str:
        """Return the id of a row, or else its number."""
        return str(self.numbers[row]) if self.ids is None else self.ids[row]

    def take(self, rows: Sequence[int]) -> Texts:
        """Return some rows, in the order given."""
        return Texts(
            self.source,
            tuple(self.rows[row] for row in rows),
            self.labels[np.asarray(rows, np.int64)],
            tuple(self.numbers[row] for row in rows),
            None if self.ids is None else tuple(self.ids[row] for row in rows),
            {name: tuple(cells[row] for row in rows) for name, cells in self.kept.items()},
        )


def read_texts(
    source: Source,
    task: Task,
    *,
    label: str | None = None,
    id: str | None = None,  # noqa: A002 - as on the command line
    keep: Sequence[str] = (),
) -> Texts:
    """Read a table of texts, and check all of it.

    Parameters
    ----------
    source : path-like, data frame or sequence of dict
        A file of CSV, JSON lines or Parquet; its address in an object store that pyarrow opens
        (``s3://``, ``gs://``, ``abfs://``, ``file://``); ``hf:NAME/SPLIT``, a data set of the hub,
        which needs the library ``datasets``; or ``content-free``, three texts that say nothing.
    task : Task
        Its fields and classes.
    label : str, optional
        The column of labels: class names or indices, empty where there is none. By default the
        column `label`, if there is one.
    id : str, optional
        The column of ids. By default the column `id`, if there is one.
    keep : sequence of str
        Further columns for the table to come.

    Raises
    ------
    InvalidInputError
        If the file is damaged, a column is missing, a row has no text, a label is no class, or two
        ids are alike.
    BackendError
        If the hub or the object store cannot be reached, or holds no such data.

    Examples
    --------
    >>> from dnip.llm.prompting.task import load_task
    >>> rows = [{"text": "a joy .", "stars": "great"}, {"text": "a bore .", "stars": ""}]
    >>> texts = read_texts(rows, load_task("sst5"), label="stars")
    >>> texts.labels, texts.name(1)
    (array([ 4, -1]), '2')
    """
    if isinstance(source, str) and source == CONTENT_FREE:
        free = tuple(dict.fromkeys(task.fields, text) for text in CONTENT_FREE_TEXTS)
        names = tuple(f"{CONTENT_FREE}-{number}" for number in range(len(free)))
        return Texts(source, free, np.full(len(free), UNLABELLED), (1, 2, 3), names)
    name, found = _find_rows(source)
    places, rows = [], []
    for where, value in found:
        for row in value if isinstance(value, list) else [value]:  # a file may be one list
            if not isinstance(row, Mapping):
                raise InvalidInputError(f"{where}: not a row of columns but {shown(row)}")
            places.append(where)
            rows.append(row)
    if not rows:
        raise InvalidInputError(f"{name}: there are no rows")
    columns = dict.fromkeys(column for row in rows for column in row)
    label = label or (LABEL if LABEL in columns else None)
    id = id or (ID if ID in columns else None)  # noqa: A001
    by_name = {plain_field(column): column for column in columns}
    by_name |= {column: column for column in columns}
    fields = {field: by_name.get(field, field) for field in task.fields}
    wanted = dict.fromkeys(fields.values(), "which the prompt names")
    for flag, named in (("label", [label]), ("id", [id]), ("keep", keep)):
        wanted |= {column: f"which --{flag} names" for column in named if column is not None}
    _check_columns(name, columns, wanted)
    if label in fields.values():
        raise InvalidInputError(
            f"the prompt names the column {label!r}, which holds the labels",
            hint="Name the columns of the text alone, or another --label",
        )
    if taken := [column for column in keep if column in RESERVED or column in task.classes]:
        raise InvalidInputError(
            f"--keep {taken[0]}: the table to come has a column {taken[0]!r} of its own",
            hint="Give that column another name",
        )
    texts = tuple(_fields(row, fields, where) for row, where in zip(rows, places, strict=True))
    location = Places(name, (), places=places)
    labels = np.full(len(rows), UNLABELLED)
    if label is not None:
        try:
            labels = read_labels([row.get(label) for row in rows], task.classes, location)
        except InvalidInputError as error:
            raise InvalidInputError(
                error.message,
                hint=f"The classes are {listed(task.classes, most=10)}: write one of them, or "
                "nothing; other classes need --prompt with --classes, or a task of your own",
            ) from error
    ids = None
    if id is not None:
        cells = ["" if is_missing(cell := row.get(id)) else str(cell) for row in rows]
        ids = tuple(check_ids(cells, n_examples=len(cells), location=location).tolist())
    kept = {column: tuple(row.get(column) for row in rows) for column in keep}
    return Texts(name, texts, labels, tuple(range(1, len(rows) + 1)), ids, kept)


def plain_field(column: str) -> str:
    """Return the name by which a template calls a column.

    Examples
    --------
    >>> plain_field("Ticket text"), plain_field("text")
    ('Ticket_text', 'text')
    """
    name = re.sub(r"\W", "_", column.strip())
    return name if not name[:1].isdecimal() else f"_{name}"


def _check_columns(name: str, columns: Iterable[str], wanted: Mapping[str, str]) -> None:
    """Refuse a table without a column that is named; `wanted` says where."""
    for column, where in wanted.items():
        if column not in columns:
            raise InvalidInputError(
                f"{name} has no column {column!r}, {where}",
                hint=f"Its columns are {listed([*columns], most=20)}",
            )


def _fields(row: Mapping[str, Any], columns: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return the fields of a row, and its rationale; an empty cell is an empty text."""
    cells = {name: row.get(column) for name, column in columns.items()}
    fields = {name: "" if is_missing(cell) else cell for name, cell in cells.items()}
    if fields and not any(cell != "" for cell in fields.values()):
        raise InvalidInputError(
            f"{where}: no text; {listed([*columns.values()])} is empty",
            hint="Fill it, or leave the row out",
        )
    if RATIONALE in row:
        fields[RATIONALE] = row[RATIONALE]
    for name, cell in fields.items():
        try:
            json.dumps(cell, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"{where}: {name} is not valid Unicode: {shown(cell)}",
                hint="Clean this row of the data",
            ) from error
    return fields


def texts_files(source: Source) -> list[Path]:
    """Return the file that texts are read from, if it is one on this machine."""
    text = str(source) if isinstance(source, str | os.PathLike) else ""
    return [] if not text or text.startswith(HUB) or _REMOTE in text else [Path(text)]


def _find_rows(source: Source) -> tuple[str, Iterable[Found]]:
    """Return the name of a table, for messages, and its rows."""
    if not isinstance(source, str | os.PathLike):
        rows = source if isinstance(source, list | tuple) else _rows_of_frame(source)
        return "texts", (Found(f"texts: row {n}", row) for n, row in enumerate(rows, 1))
    text = str(source)
    if text.startswith(HUB):
        return text, _rows_of_hub(text)
    if _REMOTE in text:
        return _find_remote(text)
    if Path(text).is_dir():
        raise InvalidInputError(
            f"{text} is a folder", hint="Give one of the tables in it, or hf:NAME/SPLIT"
        )
    return text, read_values(text)


def _rows_of_frame(frame: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - of any library
    narwhals = load_optional("narwhals", purpose="read data frames", extra="pandas")
    try:
        rows: list[dict[str, Any]] = narwhals.from_native(frame, eager_only=True).rows(named=True)
    except TypeError as error:
        raise InvalidInputError(
            f"texts must be a file, a data frame or rows as dictionaries; got {shown(frame)}"
        ) from error
    return rows


def _find_remote(source: str) -> tuple[str, Iterator[Found]]:
    """Open a table in an object store; messages hold no keys of its address."""
    name = f"{source.partition(_REMOTE)[0]}{_REMOTE}…/{Path(urlsplit(source).path).name}"
    fs: Any = load_optional("pyarrow.fs", purpose=f"read {name}", extra="parquet")
    if source.startswith(("gs://", "gcs://")) and "retry_limit_seconds" not in source:
        # Google's store would be tried for 15 minutes.
        source += f"{'&' if '?' in source else '?'}retry_limit_seconds={_PATIENCE}"
    try:
        system, path = fs.FileSystem.from_uri(source)
        is_there = system.get_file_info(path).is_file
    except Exception as error:  # pyarrow raises whatever the store's library raises
        raise BackendError(
            f"{name} cannot be opened: {first_line(error)}",
            hint="Check the address, the network and the keys in the environment",
            retryable=True,
        ) from error
    if not is_there:
        raise cannot_read(name, FileNotFoundError())
    return name, read_values(name, partial(system.open_input_file, path))


def _rows_of_hub(source: str) -> Iterator[Found]:
    """Yield the rows of ``hf:NAME[:CONFIGURATION][@REVISION]/SPLIT``."""
    datasets = load_optional("datasets", purpose=f"load {source}", extra="datasets")
    whole, _, split = source.removeprefix(HUB).rpartition("/")
    path, _, revision = whole.partition("@")
    name, _, configuration = path.partition(":")
    try:
        rows = datasets.load_dataset(
            name, configuration or None, split=split, revision=revision or None
        )
    except Exception as error:  # the library raises whatever its own libraries raise
        reason = first_line(error) or type(error).__name__
        raise BackendError(
            f"{source} cannot be loaded: {reason}",
            hint="Check the network and the name: hf:NAME/SPLIT, such as hf:fancyzhx/ag_news/test",
            retryable=isinstance(error, ConnectionError),
        ) from error
    yield from (Found(f"{source}: row {number}", row) for number, row in enumerate(rows, 1))
