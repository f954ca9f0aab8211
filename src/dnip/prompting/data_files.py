"""Rows of one split, in a folder or an object store: JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import json
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dnip.base.errors import BackendError, InvalidInputError, first_line
from dnip.base.optional import load_optional

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

#: How files of rows end; the first that is there is read.
SUFFIXES = (".jsonl", ".csv", ".parquet")
#: Where cells without a column stand; no column of a file is named so.
MORE = "\0more"
# Marks the address of an object store, such as s3://BUCKET/FOLDER.
_REMOTE = "://"
# Seconds to try to reach a store.
_PATIENCE = 20


def read_split(source: str | os.PathLike[str], split: str) -> tuple[str, Iterator[dict[str, Any]]]:
    """Find the file of a split; return its name, for messages, and its rows.

    Parameters
    ----------
    source : path-like
        A folder, or the address of one that pyarrow opens: ``s3://BUCKET/FOLDER``, ``gs://``,
        ``abfs://``, ``file://``.
    split : str
        The name of the file without its suffix.

    Raises
    ------
    InvalidInputError
        If there is no such file, it is damaged, or pyarrow knows no such address.
    BackendError
        If the object store does not answer.
    """
    if is_remote(source):
        return _find_remote(str(source), split)
    for suffix in SUFFIXES:
        path = Path(source, f"{split}{suffix}")
        if path.is_file():
            return str(path), _read(str(path), partial(path.open, "rb"))
    raise _no_file(str(source), split)


def is_remote(source: str | os.PathLike[str]) -> bool:
    """Tell the address of an object store from a folder.

    Examples
    --------
    >>> is_remote("s3://bucket/news"), is_remote("examples/news")
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
    return Path(urlsplit(str(source)).path if is_remote(source) else source).name


def _find_remote(source: str, split: str) -> tuple[str, Iterator[dict[str, Any]]]:
    fs: Any = load_optional("pyarrow.fs", purpose=f"read {folder_name(source)}", extra="parquet")
    scheme = source.partition(_REMOTE)[0]
    try:
        system, folder = fs.FileSystem.from_uri(_soon(source))
        for suffix in SUFFIXES:
            path = f"{folder}/{split}{suffix}"
            if system.get_file_info(path).is_file:
                name = f"{scheme}{_REMOTE}{path}"  # without keys
                return name, _read(name, partial(system.open_input_file, path))
    except (ValueError, NotImplementedError) as error:
        raise InvalidInputError(
            f"data: pyarrow opens no {scheme}{_REMOTE} address like this: {first_line(error)}",
            hint="Give a folder, hf:NAME, or an address such as s3://BUCKET/FOLDER",
        ) from error
    except Exception as error:  # pyarrow raises whatever the store's library raises
        raise BackendError(
            f"{scheme}{_REMOTE}…/{folder_name(source)} cannot be reached: {first_line(error)}",
            hint="Check the address, the network and the keys in the environment",
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


def _read(name: str, open_file: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    try:
        with open_file() as file:
            if name.endswith(".parquet"):
                parquet: Any = load_optional(
                    "pyarrow.parquet", purpose=f"read {name}", extra="parquet"
                )
                for batch in parquet.ParquetFile(file).iter_batches(batch_size=1024):
                    yield from batch.to_pylist()
                return
            text = TextIOWrapper(file, encoding="utf-8", newline="")
            if name.endswith(".csv"):
                yield from csv.DictReader(text, restkey=MORE)
                return
            for number, line in enumerate(text):
                if line.strip():
                    yield _json_object(line, f"{name}, line {number + 1}")
    except InvalidInputError:
        raise
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInputError(f"{name}: cannot be read: {first_line(error)}") from error


def _json_object(line: str, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{place}: not valid JSON") from error
    if not isinstance(row, dict):
        raise InvalidInputError(f"{place}: not a JSON object")
    return row
