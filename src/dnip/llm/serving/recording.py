"""What the upstream said, kept: raw probabilities, in a folder for each question."""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.files import check_writable, make_folder, valid_unicode
from dnip.base.validation import check_integer
from dnip.llm.decisions import Decision
from dnip.llm.questions import Question, user_text
from dnip.llm.serving.reports import LOG
from dnip.tables.columns import ID, MASS, class_columns
from dnip.tables.origin import QUESTION

try:
    import fcntl
except ImportError:  # Windows: there, two sidecars do not share a folder
    fcntl = None  # type: ignore[assignment]

#: The size of a folder of records, in bytes: the least, and that by default.
LEAST, MOST = 10_000_000, 1_000_000_000

# Seconds between two writes, and files of a full folder for each question.
_SECONDS, _FILES = 0.5, 16

# Rows that are made into lines before answers have their turn.
_AT_ONCE = 50

# Bytes that are looked through at a time for the end of a line.
_BLOCK = 65536

# So many ids of the last answers are known again.
_MOST_NAMES = 100_000

#: The header of the request id.
ID_HEADER = "x-request-id"

# What a client may choose for the id of a request, and names of questions that name folders.
_NAME = re.compile(r"[!-~](?:[ -~]{0,198}[!-~])?")
_FOLDER = re.compile(r"\w(?:[\w .-]{0,98}[\w-])?")


class Said(NamedTuple):
    """What a model said to a question, before it was corrected.

    Attributes
    ----------
    decision : Decision
    classes : tuple of str
        In the order of the columns.
    question : Question or None
        What was asked, of whatever model, where it is known.
    """

    decision: Decision
    classes: tuple[str, ...]
    question: Question | None = None


@dataclass(frozen=True)
class Answered:
    """An answer as the upstream gave it, as it leaves, and what is recorded of it."""

    raw: dict[str, Any]
    changed: dict[str, Any]
    said: list[Said] = field(default_factory=list)


class Recorder:
    """Appends raw probabilities to ``FOLDER/QUESTION/record-*.jsonl``, which are read as one table.

    A row waits in memory; a thread writes twice a second. The name of a full file gets the
    time, and the oldest one goes. Files and new folders are the owner's alone. Where a file ends
    in half a line, as after a loss of power, that is cut off at the start.

    Parameters
    ----------
    folder : Path
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
        Rows that are not there, by reason: ``"queue"`` (the disk is too slow, or the row is very
        long), ``"disk"`` (it is full, say), ``"half"`` (half a line at the end of a file).

    Raises
    ------
    InvalidInputError
        For a question that cannot name a folder, and for a size that is too small.
    OutputError
        For a folder that cannot be written.
    """

    def __init__(
        self, folder: Path, questions: Iterable[str], *, size: int = MOST, texts: bool = False
    ) -> None:
        self.written = Counter(dict.fromkeys(questions, 0))
        self.lost = Counter({"queue": 0, "disk": 0, "half": 0})
        self.texts = texts
        self._folder, most = folder, check_integer("record size", size, at_least=LEAST)
        self._step = most // _FILES // max(1, len(self.written))  # bytes, also of what waits
        self._rows: deque[_Row] = deque()
        self._added = self._taken = 0  # bytes; each is counted by one thread
        self._warned: set[str] = set()
        self._names: dict[str, None] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="dnip record")
        for question in self.written:
            if not _FOLDER.fullmatch(question):
                raise InvalidInputError(
                    f"the question {question!r} cannot be recorded: it is not the name of a folder",
                    hint="Use letters, digits, spaces, . _ and -, or leave --record out",
                )
            made = self._made(question)
            check_writable(made / "record.jsonl")
            for path in made.glob("record-*.jsonl"):
                self._cut(path)

    def __enter__(self) -> Recorder:
        """Begin to write."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write the rest, and end; a disk that hangs is waited for a few seconds."""
        self._stopped.set()
        self._thread.join(5)

    def request_id(self, clients: str | None, answer: Mapping[str, Any]) -> str:
        """Return the id of a request: the client's, the answer's own, or a new one.

        One that an upstream gives to several answers is none.
        """
        if clients is not None and _NAME.fullmatch(clients):
            return clients
        name = answer.get("id")
        if isinstance(name, str) and _NAME.fullmatch(name) and name not in self._names:
            self._names[name] = None
            if len(self._names) > _MOST_NAMES:
                del self._names[next(iter(self._names))]
            return name
        return f"{random.getrandbits(128):032x}"

    def add(self, name: str, answered: Answered, asked: bytes) -> None:
        """Take the decisions of an answer, as they were before they were corrected.

        Parameters
        ----------
        name : str
            The request id.
        answered : Answered
        asked : bytes
            The body of the request.
        """
        model, now = str(answered.raw.get("model") or ""), time.time()
        text = asked if self.texts else None
        for said in answered.said:
            weight = 1000 + 100 * len(said.classes) + len(text or b"")
            if self._added - self._taken + weight > self._step:
                self._lose("queue", 1, "the disk is too slow, or a row too long")
            else:
                self._added += weight
                self._rows.append(_Row(name, now, model, said, text, weight))

    def _run(self) -> None:
        while not self._stopped.wait(_SECONDS):
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        waiting: dict[Path, bytearray] = {}
        for count in range(len(self._rows)):
            if count % _AT_ONCE == _AT_ONCE - 1:
                time.sleep(0.001)  # answers come first
            row = self._rows.popleft()
            waiting.setdefault(self._folder / row.file, bytearray()).extend(row.line())
            self._taken += row.weight
        for path, lines in waiting.items():
            self._append(path, lines)

    def _made(self, question: str) -> Path:
        """Return the folder of a question; it is made for the owner alone where it is missing."""
        return make_folder(make_folder(self._folder, 0o700) / question, 0o700)

    def _append(self, path: Path, lines: bytearray) -> None:
        """Append lines; an unwritten rest leaves no half line, unlike that of a log handler."""
        done = 0
        try:
            self._made(path.parent.name)  # somebody may have moved it
            if path.exists() and path.stat().st_size + len(lines) > self._step:
                self._rotate(path)
            with open(path, "ab", buffering=0, opener=_for_the_owner) as file:
                _lock(file)
                size = file.seek(0, os.SEEK_END)
                try:
                    while done < len(lines):
                        done += file.write(lines[done:])
                except OSError:
                    done = lines.rfind(b"\n", 0, done) + 1
                    file.truncate(size + done)
                    raise
        except OSError as error:
            self._lose("disk", lines.count(b"\n", done), error.strerror or str(error))
        self.written[path.parent.name] += lines.count(b"\n", 0, done)

    def _cut(self, path: Path) -> None:
        """Cut off half a line at the end of a file, which a loss of power leaves."""
        try:
            with path.open("r+b") as file:
                _lock(file)
                size = end = file.seek(0, os.SEEK_END)
                while end > 0:
                    start = max(0, end - _BLOCK)
                    file.seek(start)
                    if (newline := file.read(end - start).rfind(b"\n")) >= 0:
                        end = start + newline + 1
                        break
                    end = start
                if end < size:
                    file.truncate(end)
                    self.lost["half"] += 1
                    self._warn("half", f"half a line at the end of {path.name} is cut off")
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror or error}") from error

    def _rotate(self, path: Path) -> None:
        path.replace(path.with_suffix(f".{datetime.now(UTC):%Y%m%dT%H%M%S%f}.jsonl"))
        for old in sorted(path.parent.glob(f"{path.stem}.*.jsonl"))[: 1 - _FILES]:
            self._warn("full", "it is full; now the oldest rows go")
            old.unlink(missing_ok=True)  # another sidecar may have done it

    def _lose(self, reason: str, n_rows: int, why: str) -> None:
        self.lost[reason] += n_rows
        self._warn(reason, f"what cannot be recorded is left out and counted: {why}")

    def _warn(self, reason: str, text: str) -> None:
        if reason not in self._warned:
            self._warned.add(reason)
            LOG.warning("%s: %s", self._folder, text, extra={"reason": reason})


class _Row(NamedTuple):
    """A decision that waits: to make a line of it takes longer than to keep it."""

    name: str
    time: float
    model: str
    said: Said
    asked: bytes | None
    weight: int  # bytes, about

    @property
    def file(self) -> str:
        """Where it is written: other columns are other files."""
        decision, classes, _ = self.said
        columns = [*classes, decision.mass is None, self.asked is None]
        mark = zlib.crc32(json.dumps(columns).encode())
        return f"{decision.question}/record-{mark:08x}.jsonl"

    def line(self) -> bytes:
        """Return the line of the file."""
        decision, classes, question = self.said
        p = decision.probabilities[decision.ordered(classes)] * decision.total
        now = datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds")
        cells: dict[str, Any] = {ID: self.name, "time": now, "model": valid_unicode(self.model)}
        asked = None if question is None else question.of_model(self.model or None)
        cells["form"] = None if asked is None else asked.answer or asked.form
        cells[QUESTION] = None if asked is None else json.dumps(asked.to_dict())
        cells |= zip(class_columns(classes, marked=True), p.tolist(), strict=True)
        cells |= {} if decision.mass is None else {MASS: decision.mass}
        cells |= {} if self.asked is None else {"input": _input(self.asked)}
        return json.dumps(cells).encode() + b"\n"


def _lock(file: IO[bytes]) -> None:
    """Keep other sidecars from a file until it is closed: they may share a folder."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)


def _for_the_owner(path: str, flags: int) -> int:
    """Open a file that, where it is new, nobody but its owner can read."""
    return os.open(path, flags, 0o600)


def _input(asked: bytes) -> str:
    """Return the input of a request, as a text; other values as JSON."""
    body: Any = None
    with suppress(ValueError, RecursionError):
        body = json.loads(asked)
    body = body if isinstance(body, dict) else {}
    if "messages" in body:
        return user_text(body["messages"])
    content = body.get("input", body.get("state", ""))
    return content if isinstance(content, str) else json.dumps(content)
