"""Labelled texts, from a folder or object store with a file per split, or from a hub."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import BackendError, InvalidInputError, listed
from dnip.base.optional import load_optional
from dnip.prompting.data_files import MORE, SUFFIXES, is_remote, read_split
from dnip.tables.chunk import CellLocation, shown
from dnip.tables.columns import CONTENT_FREE
from dnip.tables.ids import check_ids
from dnip.tables.labels import UNLABELLED

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dnip.base.typing import Labels
    from dnip.prompting.task import Task


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


#: Texts that say nothing, those of Zhao et al. (2021).
CONTENT_FREE_TEXTS = ("N/A", "[MASK]", "")


def content_free_examples(task: Task) -> Examples:
    """Return rows without a label whose every field says nothing.

    Examples
    --------
    >>> from dnip.prompting.task import load_task
    >>> examples = content_free_examples(load_task("rte"))
    >>> examples.ids[0], examples.rows[0]
    ('content-free-0', {'premise': 'N/A', 'hypothesis': 'N/A'})
    """
    rows = tuple(dict.fromkeys(task.fields, text) for text in CONTENT_FREE_TEXTS)
    ids = tuple(f"{CONTENT_FREE}-{number}" for number in range(len(rows)))
    return Examples(rows, np.full(len(rows), UNLABELLED), ids)


#: Marks the name of a data set on the Hugging Face hub: ``hf:NAME`` or ``hf:NAME:CONFIGURATION``,
#: and either with ``@REVISION``.
HUB = "hf:"
#: The split that demonstrations are drawn from.
TRAIN = "train"


def load_examples(source: str | os.PathLike[str], split: str, task: Task) -> Examples:
    """Load a split: ``<source>/<split>.jsonl``, ``.csv`` or ``.parquet``, or one from the hub.

    Parameters
    ----------
    source : path-like
        A folder with one file per split; or the address of such a folder in an object store, as
        :func:`~dnip.prompting.data_files.read_split` takes it; or ``hf:NAME`` for the data set of
        that name, which needs the library ``datasets``. Each row has the task's fields, ``label``
        (class index or class name, may be absent or empty) and optionally ``id``.
    split : str
        Such as ``"train"`` or ``"test"``.
    task : Task
        Its fields and classes.

    Raises
    ------
    InvalidInputError
        If there is no such file, or a row lacks a field or has a label that is no class.
    BackendError
        If the hub or the object store cannot be reached.
    """
    found: Iterable[dict[str, Any]]
    if str(source).startswith(HUB):
        name, found = f"{source}, {split}", rows_of_hub(str(source), split)
    else:
        name, found = read_split(source, split)
    rows, labels, ids = [], [], []
    for number, row in enumerate(found):
        place = f"{name}, row {number + 1}"
        if MORE in row:
            raise InvalidInputError(
                f"{place}: {len(row[MORE])} more cells than there are columns",
                hint="Quote texts that hold a comma",
            )
        missing = [field for field in task.fields if row.get(field) in (None, "")]
        if missing:
            raise InvalidInputError(
                f"{place}: no {', '.join(missing)}; it has {', '.join(row)}",
                hint=f"Task {task.name} needs the fields {', '.join(task.fields)}",
            )
        for field in task.fields:
            if not _is_unicode(row[field]):
                raise InvalidInputError(
                    f"{place}: {field} is no valid Unicode: {shown(row[field])}",
                    hint="Clean this row of the data",
                )
        rows.append(row)
        labels.append(_label(row.get("label"), task, place))
        own = row.get("id")
        ids.append(f"{split}-{number}" if own in (None, "") else str(own))
    if not rows:
        raise InvalidInputError(f"{name}: there are no rows")
    check_ids(ids, n_examples=len(ids), location=CellLocation(name, ()))
    return Examples(tuple(rows), np.array(labels, np.int64), tuple(ids))


def split_files(source: str | os.PathLike[str], *splits: str) -> list[Path]:
    """Return the files that rows and demonstrations may be read from, be they there or not."""
    if str(source).startswith(HUB) or is_remote(source):
        return []
    return [Path(source, f"{split}{suffix}") for split in (*splits, TRAIN) for suffix in SUFFIXES]


def rows_of_hub(source: str, split: str) -> Sequence[dict[str, Any]]:
    """Load a split of a data set of the hub, ``hf:NAME[:CONFIGURATION][@REVISION]``.

    Raises
    ------
    InvalidInputError
        If there is no such data set, configuration or split.
    BackendError
        If it is not stored on this machine, and the hub cannot be reached.
    """
    datasets = load_optional("datasets", purpose=f"load {source}", extra="datasets")
    place, _, revision = source.removeprefix(HUB).partition("@")
    name, _, configuration = place.partition(":")
    try:
        with _no_waiting(source):
            rows: Sequence[dict[str, Any]] = datasets.load_dataset(
                name, configuration or None, split=split, revision=revision or None
            )
    except ConnectionError as error:
        raise BackendError(
            f"{source} is not stored here, and the hub cannot be reached",
            hint="Check the network, or give a folder with JSON lines",
            retryable=True,
        ) from error
    except Exception as error:  # the library raises whatever its own libraries raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InvalidInputError(
            f"{source}: split {split} cannot be loaded: {reason}",
            hint="Check the name and the network, or give a folder with JSON lines",
        ) from error
    return rows


@contextmanager
def _no_waiting(source: str) -> Iterator[None]:
    """Within, only data on this machine are loaded if the hub cannot be reached.

    The hub's client would repeat its requests for some 25 seconds; in its offline mode, it looks
    into the local store at once.
    """
    purpose = f"load {source}"
    constants: Any = load_optional("huggingface_hub.constants", purpose=purpose, extra="datasets")
    utils = load_optional("huggingface_hub.utils", purpose=purpose, extra="datasets")
    before = constants.HF_HUB_OFFLINE
    try:
        utils.get_session().head(constants.ENDPOINT, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except Exception:  # of whichever library of HTTP the client is made with
        constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _label(value: object, task: Task, place: str) -> int:
    if value is None or value == "":
        return -1
    text = str(value)
    if text in task.classes:
        return task.classes.index(text)
    if text.isdecimal() and len(text) < 10 and int(text) < task.n_classes:
        return int(text)
    raise InvalidInputError(
        f"{place}: label {shown(value)} is no class of task {task.name}",
        hint=f"Give a name of {listed(task.classes)}, or an index from 0",
    )
