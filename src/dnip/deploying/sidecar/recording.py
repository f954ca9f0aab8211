"""What the upstream said, kept: raw probabilities, in a folder for each question."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.escaping import valid_unicode
from dnip.base.validation import check_integer
from dnip.deploying.decisions import Correction
from dnip.method.coefficients import Coefficients
from dnip.tables.columns import (
    CLASSES,
    ID,
    INPUT,
    MODEL,
    RECORDED,
    TIME,
    class_columns,
    default_classes,
    probability_columns,
)

#: The size of a folder of records, in bytes: the least, and that by default.
LEAST, MOST = 10_000, 1_000_000_000

# Seconds between two writes, bytes that wait for one, and files that one question may have.
_SECONDS, _WAITING, _FILES = 1.0, 64_000_000, 8

# What a client may choose for the id of a request, and names of questions that name folders.
_NAME = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
_FOLDER = re.compile(r"\w(?:[\w .-]{0,98}[\w-])?")

_LOG = logging.getLogger("dnip.sidecar")
_encode = json.JSONEncoder(separators=(",", ":")).encode


def request_id(given: str | None, answer: Mapping[str, Any], upstreams: str | None) -> str:
    """Return the id of a request: the client's, the answer's own, the upstream's, or a new one.

    Examples
    --------
    >>> request_id(None, {"id": "dec-7"}, None)
    'dec-7'
    """
    for name in (given, answer.get("id"), answer.get("request_id"), upstreams):
        if isinstance(name, str) and _NAME.fullmatch(name):
            return name
    return str(uuid.uuid4())


class Recorder:
    """Appends raw probabilities to ``FOLDER/QUESTION/record-*.jsonl``, which are read as one table.

    A row is made at once and waits in memory; a thread writes once a second. Each process writes
    files of its own, so several may share a folder. The oldest file goes first.

    Parameters
    ----------
    folder : path-like
        It is made where it is missing.
    questions : iterable of str
        Questions with coefficients: their names are those of folders.
    size : int
        Bytes of the folder at most.
    texts : bool
        Whether the input of the request is kept, too.

    Attributes
    ----------
    written : Counter
        Rows by question.
    lost : Counter
        Rows that could not be written, by reason: ``"queue"`` (the disk is too slow), ``"size"``
        (the row is longer than a file may be), ``"disk"`` (it is full, say).

    Raises
    ------
    InvalidInputError
        For a question that cannot name a folder, and for a size that is too small.
    OutputError
        For a folder that cannot be written.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        questions: Iterable[str],
        *,
        size: int = MOST,
        texts: bool = False,
    ) -> None:
        self.written = Counter(dict.fromkeys(questions, 0))
        self.lost = Counter({"queue": 0, "size": 0, "disk": 0})
        self.texts = texts
        self._folder, self._size = Path(folder), check_integer("record size", size, at_least=LEAST)
        self._step = self._size // (_FILES * len(self.written) or 1)
        self._rows: deque[_Row] = deque()
        self._added = self._taken = 0  # bytes; each is counted by one thread
        self._files: dict[str, _File] = {}
        self._told: set[str] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="dnip record")
        for question in self.written:
            self._check(question)

    def _check(self, question: str) -> None:
        if not _FOLDER.fullmatch(question):
            raise InvalidInputError(
                f"the question {question!r} cannot be recorded: its name is no name of a folder",
                hint="Use letters, digits, spaces and . _ -, 100 at most, or leave --record out",
            )
        try:
            (self._folder / question).mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=self._folder / question) as file:
                file.write(b"\n")
        except OSError as error:
            raise OutputError(
                f"{self._folder / question} cannot be written: {error.strerror or error}",
                hint="Give another folder with --record",
            ) from error

    def __enter__(self) -> Recorder:
        """Begin to write."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write the rest, and end; a disk that hangs is waited for a few seconds."""
        self._stopped.set()
        self._thread.join(5)

    def add(
        self,
        name: str,
        answer: Mapping[str, Any],
        corrections: Iterable[Correction],
        coefficients: Mapping[str, Coefficients],
        asked: bytes,
    ) -> None:
        """Take the decisions of an answer, as they were before they were corrected.

        Parameters
        ----------
        name : str
            The request id.
        answer : mapping
            As the upstream gave it.
        corrections, coefficients
            As for `dnip.deploying.decisions.correct`.
        asked : bytes
            The body of the request.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        model = answer.get("model")
        model = valid_unicode(model) if isinstance(model, str) else None
        beside = {ID: name, TIME: now, MODEL: model}
        if self.texts:
            beside[INPUT] = _input(asked)
        for before, _, _ in corrections:
            classes = coefficients[before.question].classes
            columns, own = _columns(classes)
            p = (before.probabilities * before.total)[before.ordered(classes)].tolist()
            cells = {**beside, **own, **dict(zip(columns, p, strict=True))}
            row = _Row(before.question, columns, _encode(cells).encode() + b"\n")
            if len(row.line) > self._step:
                self._lose("size", 1, f"a row of {len(row.line):,} bytes")
            elif self._added - self._taken + len(row.line) > _WAITING:
                self._lose("queue", 1, "the disk is too slow")
            else:
                self._added += len(row.line)
                self._rows.append(row)

    def _lose(self, reason: str, n_rows: int, why: str) -> None:
        self.lost[reason] += n_rows
        self._tell(reason, f"what cannot be recorded is left out and counted: {why}")

    def _tell(self, reason: str, text: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            _LOG.warning("%s: %s", self._folder, text, extra={"reason": reason})

    def _run(self) -> None:
        while not self._stopped.wait(_SECONDS):
            self._write_waiting()
        self._write_waiting()
        for file in self._files.values():
            file.raw.close()

    def _write_waiting(self) -> None:
        waiting: dict[tuple[str, tuple[str, ...]], list[bytearray]] = {}
        for _ in range(len(self._rows)):
            question, columns, line = self._rows.popleft()
            self._taken += len(line)
            pieces = waiting.setdefault((question, columns), [bytearray()])
            if len(pieces[-1]) + len(line) > self._step:
                pieces.append(bytearray())
            pieces[-1] += line
        for (question, columns), pieces in waiting.items():
            for lines in pieces:
                self._append(question, columns, lines)

    def _append(self, question: str, columns: tuple[str, ...], lines: bytearray) -> None:
        """Append lines to the file of a question, or to a new one."""
        n_written = 0
        try:
            self._make_room(len(lines))
            file = self._files.get(question)
            if file is None or not file.takes(columns, len(lines), self._step):
                if file is not None:
                    self._files.pop(question).raw.close()
                file = self._files[question] = _File(self._folder / question, columns)
            size = file.size
            try:
                file.append(lines)
            finally:
                n_written = lines.count(b"\n", 0, file.size - size)
        except OSError as error:
            self._lose("disk", lines.count(b"\n") - n_written, error.strerror or str(error))
        self.written[question] += n_written

    def _make_room(self, size: int) -> None:
        """Remove the files that were written to the longest ago, of all processes."""
        found = []
        for path in self._folder.glob("*/record-*.jsonl"):
            with suppress(OSError):  # another process removed it
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, path))
        size += sum(one for _, one, _ in found)
        for _, one, path in sorted(found):
            if size <= self._size:
                break
            self._tell("full", f"it has {self._size:,} bytes; from now on the oldest rows go")
            with suppress(OSError):
                path.unlink()
            size -= one


class _Row(NamedTuple):
    question: str
    columns: tuple[str, ...]
    line: bytes


class _File:
    """A file of this process alone, whose rows have the same columns."""

    def __init__(self, folder: Path, columns: tuple[str, ...]) -> None:
        name = f"record-{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}.jsonl"
        self.raw: FileIO = (folder / name).open("xb", buffering=0)
        self.size = 0
        self._columns = columns

    def takes(self, columns: tuple[str, ...], size: int, most: int) -> bool:
        """Tell whether so many bytes go into it, and it is there and ends as it was left."""
        status = os.fstat(self.raw.fileno())
        as_left = status.st_nlink > 0 and status.st_size == self.size
        return as_left and self._columns == columns and self.size + size <= most

    def append(self, lines: bytearray) -> None:
        """Write lines; what cannot be written whole is cut off again, and an OSError says why."""
        done = 0
        try:
            while done < len(lines):
                done += self.raw.write(lines[done:])
        except OSError:
            done = lines.rfind(b"\n", 0, done) + 1
            with suppress(OSError):
                self.raw.truncate(self.size + done)
                self.raw.seek(self.size + done)
            raise
        finally:
            self.size += done


@lru_cache
def _columns(classes: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of the columns of classes, and what tells the classes where they do not."""
    columns = probability_columns(len(classes))
    if RECORDED.isdisjoint(classes):
        columns = class_columns(classes)
    told = columns == classes or classes == default_classes(len(classes))
    return columns, {} if told else {CLASSES: json.dumps(classes)}


def _input(asked: bytes) -> str | None:
    """Return the input of a request, as a text; other values as JSON."""
    try:
        body: Any = json.loads(asked)
    except (ValueError, RecursionError):
        return None
    found = body.get("input", body.get("state")) if isinstance(body, dict) else None
    return found if found is None or isinstance(found, str) else _encode(found)
