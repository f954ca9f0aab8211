"""Labelled texts, from a folder or object store with a file per split, or from a hub."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
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
from dnip.base.typing import Labels
from dnip.llm.files import Found, Places, read_values
from dnip.llm.prompting.task import Task
from dnip.tables.cells import check_ids
from dnip.tables.columns import CONTENT_FREE
from dnip.tables.labels import UNLABELLED, read_labels

#: Marks the name of a data set on the Hugging Face hub: ``hf:NAME`` or ``hf:NAME:CONFIGURATION``,
#: and either with ``@REVISION``.
HUB = "hf:"
# Marks the address of an object store, such as s3://BUCKET/FOLDER.
_REMOTE = "://"
#: The split that demonstrations are drawn from.
TRAIN = "train"
#: How files of rows end; the first that is there is read.
SUFFIXES = (".jsonl", ".csv", ".parquet")
#: Texts that say nothing, those of Zhao et al. (2021).
CONTENT_FREE_TEXTS = ("N/A", "[MASK]", "")
# Seconds to try to reach a store.
_PATIENCE = 20


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows of one split.

    Attributes
    ----------
    rows : tuple of dict
        Their fields.
    labels : ndarray of shape (M,)
        Class indices, -1 where a row has no label.
    ids : tuple of str
        The column ``id``, or ``<split>-<row number from 0>``.
    """

    rows: tuple[Mapping[str, Any], ...]
    labels: Labels
    ids: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def take(self, numbers: Sequence[int]) -> Examples:
        """Return some rows, in the order given."""
        return Examples(
            tuple(self.rows[i] for i in numbers),
            self.labels[np.asarray(numbers, np.int64)],
            tuple(self.ids[i] for i in numbers),
        )


def load_examples(source: str | os.PathLike[str], split: str, task: Task) -> Examples:
    """Load a split: ``<source>/<split>.jsonl``, ``.csv`` or ``.parquet``, or one from the hub.

    Parameters
    ----------
    source : path-like
        A folder with one file per split; or the address of such a folder that pyarrow opens:
        ``s3://BUCKET/FOLDER``, ``gs://``, ``abfs://``, ``file://``; or ``hf:NAME`` for the data set
        of that name, which needs the library ``datasets``. Each row has the task's fields,
        ``label`` (class index or class name, may be absent or empty) and optionally ``id``.
    split : str
        Such as ``"train"`` or ``"test"``; or ``"content-free"`` for three rows without a label
        whose every field says nothing, which need no data.
    task : Task
        Its fields and classes.

    Raises
    ------
    InvalidInputError
        If there is no such file, it is damaged, or a row lacks a field or has a label that is no
        class.
    BackendError
        If the hub or the object store cannot be reached, or holds no such data.

    Examples
    --------
    >>> from dnip.llm.prompting.task_files import load_task
    >>> examples = load_examples("", "content-free", load_task("rte"))
    >>> examples.ids[0], examples.rows[0]
    ('content-free-0', {'premise': 'N/A', 'hypothesis': 'N/A'})
    """
    if split == CONTENT_FREE:
        free = tuple(dict.fromkeys(task.fields, text) for text in CONTENT_FREE_TEXTS)
        names = tuple(f"{CONTENT_FREE}-{number}" for number in range(len(free)))
        return Examples(free, np.full(len(free), UNLABELLED), names)
    name, values = _find_rows(source, split)
    ids: list[str] = []
    rows: list[dict[str, Any]] = []
    places: list[str] = []
    for where, row in values:
        _check_row(row, task, where)
        row_id = row.get("id")
        ids.append(f"{split}-{len(rows)}" if row_id in (None, "") else str(row_id))
        rows.append(row)
        places.append(where)
    if not rows:
        raise InvalidInputError(f"{name}: there are no rows")
    location = Places(name, (), places=places)
    check_ids(ids, n_examples=len(ids), location=location)
    try:
        labels = read_labels([row.get("label") for row in rows], task.classes, location)
    except InvalidInputError as error:
        hint = f"Task {task.name} has the classes {listed(task.classes)}; an index counts from 0"
        raise InvalidInputError(error.message, hint=hint) from error
    return Examples(tuple(rows), labels, tuple(ids))


def _check_row(row: object, task: Task, where: str) -> None:
    if not isinstance(row, dict):
        raise InvalidInputError(f"{where}: not a JSON object")
    missing = [name for name in task.fields if row.get(name) in (None, "")]
    if missing:
        raise InvalidInputError(
            f"{where}: no {', '.join(missing)}; it has {', '.join(row)}",
            hint=f"Task {task.name} needs the fields {', '.join(task.fields)}",
        )
    for name in task.fields:
        try:
            json.dumps(row[name], ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"{where}: {name} is not valid Unicode: {shown(row[name])}",
                hint="Clean this row of the data",
            ) from error


def split_files(source: str | os.PathLike[str], *splits: str) -> list[Path]:
    """Return the files that rows and demonstrations may be read from, be they there or not."""
    if str(source).startswith(HUB) or _is_remote(source):
        return []
    return [Path(source, f"{split}{suffix}") for split in (*splits, TRAIN) for suffix in SUFFIXES]


def _is_remote(source: str | os.PathLike[str]) -> bool:
    """Tell the address of an object store from a folder.

    Examples
    --------
    >>> _is_remote("s3://bucket/news"), _is_remote("examples/news")
    (True, False)
    """
    return _REMOTE in str(source)


def folder_name(source: str | os.PathLike[str]) -> str:
    """Return the last part of a folder's path or address.

    Examples
    --------
    >>> folder_name("examples/news"), folder_name("s3://key:secret@bucket/news?scheme=http")
    ('news', 'news')
    """
    return Path(urlsplit(str(source)).path if _is_remote(source) else source).name


def _find_rows(source: str | os.PathLike[str], split: str) -> tuple[str, Iterator[Found]]:
    """Return the name of a split, for messages, and its rows."""
    if str(source).startswith(HUB):
        name = f"{source}, {split}"
        rows = enumerate(_rows_of_hub(str(source), split), 1)
        return name, (Found(f"{name}: row {number}", row) for number, row in rows)
    if _is_remote(source):
        return _find_remote(str(source), split)
    for suffix in SUFFIXES:
        path = Path(source, f"{split}{suffix}")
        if path.is_file():
            return str(path), read_values(path)
    raise _no_file(str(source), split)


def _find_remote(source: str, split: str) -> tuple[str, Iterator[Found]]:
    fs: Any = load_optional("pyarrow.fs", purpose=f"read {folder_name(source)}", extra="parquet")
    scheme = source.partition(_REMOTE)[0]
    try:
        system, folder = fs.FileSystem.from_uri(_soon(source))
        for suffix in SUFFIXES:
            path = f"{folder}/{split}{suffix}"
            if system.get_file_info(path).is_file:
                name = f"{scheme}{_REMOTE}{path}"  # without keys
                return name, read_values(name, partial(system.open_input_file, path))
    except Exception as error:  # pyarrow raises whatever the store's library raises
        raise BackendError(
            f"{scheme}{_REMOTE}…/{folder_name(source)} cannot be opened: {first_line(error)}",
            hint="Check the address, the network and the keys in the environment; or give a "
            "folder, or hf:NAME",
            retryable=True,
        ) from error
    raise _no_file(f"{scheme}{_REMOTE}{folder}", split)


def _soon(source: str) -> str:
    """Google's store is tried for 15 minutes unless its address says otherwise."""
    if not source.startswith(("gs://", "gcs://")) or "retry_limit_seconds" in source:
        return source
    return f"{source}{'&' if '?' in source else '?'}retry_limit_seconds={_PATIENCE}"


def _no_file(folder: str, split: str) -> InvalidInputError:
    names = [f"{split}{suffix}" for suffix in SUFFIXES]
    return InvalidInputError(
        f"{folder}: there is no {', '.join(names[:-1])} or {names[-1]}",
        hint="Give a folder with one such file per split",
    )


def _rows_of_hub(source: str, split: str) -> Sequence[dict[str, Any]]:
    """Load a split of a data set of the hub, ``hf:NAME[:CONFIGURATION][@REVISION]``.

    Raises
    ------
    BackendError
        If there is no such data set, configuration or split; or it is not stored on this machine,
        and the hub cannot be reached.
    """
    datasets = load_optional("datasets", purpose=f"load {source}", extra="datasets")
    path, _, revision = source.removeprefix(HUB).partition("@")
    name, _, configuration = path.partition(":")
    try:
        rows: Sequence[dict[str, Any]] = datasets.load_dataset(
            name, configuration or None, split=split, revision=revision or None
        )
    except Exception as error:  # the library raises whatever its own libraries raise
        reason = first_line(error) or type(error).__name__
        raise BackendError(
            f"{source}: split {split} cannot be loaded: {reason}",
            hint="Check the name and the network, or give a folder with JSON lines",
            retryable=isinstance(error, ConnectionError),
        ) from error
    return rows
