"""A run: the prompts of a plan are scored into a probability table.

What was scored is kept next to the table, by prompt and settings. Every run writes the whole table
anew, from what is kept and the labels, ids and columns of the texts as they are now.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dnip.base import __version__
from dnip.base.errors import (
    BackendError,
    InvalidInputError,
    OutputError,
    counted,
    listed,
    load_optional,
    shown,
    warn,
)
from dnip.base.files import check_writable, read_text, write_text
from dnip.base.validation import flat
from dnip.llm.answers.fill import Fill, fill_unreported, open_decisions
from dnip.llm.prompting.engines import Engine, MissingEndpointError, ScoredRow
from dnip.llm.prompting.engines.servers import UNREAD
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.models import ModelOptions, open_engines
from dnip.llm.prompting.plan import Plan, plan_texts
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.llm.prompting.texts import Source
from dnip.llm.questions import origin_of_run
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.cells import is_storable
from dnip.tables.columns import FALLBACK, ROW, SAMPLES, class_columns
from dnip.tables.formats import format_of
from dnip.tables.origin import LEFT_OUT, QUESTION, metadata_path, warn_of_left_out

# Of an engine's description, what another version of a library changes.
_VERSIONS = ("versions", "torch", "transformers")


def prompt(
    texts: Source,
    *,
    model: str,
    prompt: str | os.PathLike[str] | None = None,
    classes: Sequence[str] | None = None,
    system: str | os.PathLike[str] | None = None,
    task: str | os.PathLike[str] | None = None,
    label: str | None = None,
    id: str | None = None,  # noqa: A002 - as on the command line
    keep: Sequence[str] = (),
    shots: int | str = 0,
    demonstrations: Source | None = None,
    limit: int | None = None,
    seed: int = 0,
    truncate: bool = False,
    fill: str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    served_model: str | None = None,
    endpoint: str | None = None,
    top_logprobs: int | None = None,
    tokenizer: str | None = None,
    key_variable: str | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    extra_body: str | Mapping[str, Any] | None = None,
    votes: int | None = None,
    chain_of_thought: bool = False,
    max_new_tokens: int | None = None,
    scoring: str = Scoring.FIRST,
    dtype: str | None = None,
    device: str | None = None,
    revision: str | None = None,
    batch_tokens: int | None = None,
) -> ProbabilityTable:
    """Ask a language model for the class probabilities of texts, as ``dnip prompt`` does.

    Parameters
    ----------
    texts : path-like, data frame or sequence of dict
        The rows: a file of CSV, JSON lines or Parquet, ``hf:NAME/SPLIT``, a data frame, or
        dictionaries; ``content-free`` for three texts that say nothing.
    model : str
        A folder, a GGUF file, or a name on the Hugging Face hub; or the URL of a server.
    prompt : str or path-like, optional
        A template over the columns, such as ``"{{ text }} Good or bad?"``, or a file of one.
    classes : sequence of str, optional
        What the model is to say to the prompt.
    system : str or path-like, optional
        The system message of a chat, or a file of it.
    task : str or path-like, optional
        In place of prompt and classes: the name of a built-in task, or a TOML file.
    label, id : str, optional
        The columns of labels and ids; by default those called so, where there are any.
    keep : sequence of str
        Further columns for the table.
    shots : int or "balanced", default=0
        How many demonstrations to show, or one of each class.
    demonstrations : as texts, optional
        Where they are drawn from.
    limit : int, optional
        Ask for this many random rows, the same for every seed.
    seed : int, default=0
        Of the draw of demonstrations.
    truncate : bool, default=False
        Shorten the longest field of prompts that exceed the context of a model on this machine.
    fill : {"half", "zero", "ceiling"}, optional
        The probability of a label that the server did not report; by default half of what it can
        be.
    out : path-like, optional
        The table to write. What was scored is kept next to it: the next call asks for new prompts
        only, and writes the labels as they are then. Without it nothing is kept.
    progress : bool, default=True
        Show a bar.
    served_model : str, optional
        The server's name for the model.
    endpoint : {"completions", "chat", "systemone", "decisions"}, optional
        How a prompt is asked: as a text to continue, as a user's message, or as a decision of a
        server.
    top_logprobs, tokenizer, key_variable, concurrency, timeout, retries, votes
        Of a server, as on the command line.
    extra_body : mapping, optional
        More fields for every request.
    chain_of_thought : bool, default=False
        Let the model reason before it answers.
    max_new_tokens : int, optional
        Tokens of an answer, at most.
    scoring, dtype, device, revision, batch_tokens
        Of a model on this machine, as on the command line.

    Returns
    -------
    ProbabilityTable
        What `dnip.fit` takes.

    Raises
    ------
    InvalidInputError
        For texts or settings that break their contract, before anything is asked.
    BackendError
        If the model cannot be reached, or fails.
    """
    given = dict(locals())
    options = ModelOptions(**{name: given[name] for name in ModelOptions.names()})
    options.check(fill=fill, truncate=truncate)
    plan = plan_texts(
        texts,
        prompt=prompt,
        classes=classes,
        system=system,
        task=task,
        label=label,
        id=id,
        keep=keep,
        shots=shots,
        demonstrations=demonstrations,
        seed=seed,
        limit=limit,
        chain_of_thought=chain_of_thought,
    )
    engines = open_engines(options, plan)
    if truncate:
        plan = plan.shortened(partial(engines[0].too_long, task=plan.task))
    with _bar(progress) as show, TemporaryDirectory(prefix="dnip-prompt-") as folder:
        table = Path(folder, "table.csv") if out is None else Path(out)
        summary = run_plan(plan, *engines, out=table, fill=Fill(fill or Fill.HALF), progress=show)
        for note in summary.notes():
            warn(note)
        return ProbabilityTable.read(table, plan.task.classes)


@contextmanager
def _bar(is_shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal or in a notebook; each engine's libraries bring tqdm."""
    auto: Any = load_optional("tqdm.auto", purpose="show a bar (or progress=False)", extra="prompt")
    with auto.tqdm(desc="prompting", unit=" prompts", disable=not is_shown) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


@dataclass(frozen=True)
class RunSummary:
    """What a run came to.

    Attributes
    ----------
    n, n_labelled : int
        Rows in the table; of these, rows with a label.
    n_asked, n_kept : int
        Prompts that were asked now, and prompts that an earlier run had asked.
    n_alike : int
        Rows with the prompt of another row, which were not asked by themselves.
    mean_mass, least_mass : float
        Captured mass: what the model put on all labels together before normalising.
    n_open : int
        Rows whose decision could change with labels that the engine did not report.
    found : str or None
        The endpoint that was found out now, where the one that is tried first is not there.
    left_out : dict
        The rows whose answer tells nothing of the labels, which are not in the table: ``n`` ``of``
        so many, the three commonest ``reasons``, and the names of the ``rows``.
    details : dict
        Sums over rows of the numbers that the engine gave for each, such as fall-backs.
    """

    n: int
    n_labelled: int
    n_asked: int
    n_kept: int
    n_alike: int
    mean_mass: float
    least_mass: float
    n_open: int
    found: str | None
    left_out: dict[str, Any]
    details: dict[str, float]

    def sentence(self, out: str | os.PathLike[str]) -> str:
        """Return what was asked and written."""
        return (
            f"{self.n:,} rows written to {os.fspath(out)}, {self.n_labelled:,} of them with a "
            f"label; {counted(self.n_asked, 'prompt')} asked now, {self.n_kept:,} were there\n"
            f"captured mass {self.mean_mass:.3f} on average, {self.least_mass:.3g} at least"
        )

    def notes(self) -> Iterator[str]:
        """Yield what a user should know of the run, and of answers that are incomplete."""
        if self.found is not None:
            yield (
                f"the server has no completions, so that it was asked as --endpoint {self.found}"
            )
        if not self.n_labelled:
            yield "no row has a label: --label names the column of labels, without a new request"
        details = self.details
        rows, samples = f" of {self.n:,}", f" of {details.get(SAMPLES, 0):,}"
        for text, n, of in (
            ("rows with the prompt of another row, asked once", self.n_alike, ""),
            ("rows whose answer states no label, which are left out", self.left_out["n"], ""),
            ("rows whose decision depends on labels that are not reported", self.n_open, ""),
            ("answers without a label, read at the last token", details.get(FALLBACK), rows),
            ("sampled answers that end in no label", details.get("unmatched"), samples),
        ):
            if n:
                yield f"{text}: {n:,}{of}"


def run_plan(
    plan: Plan,
    *engines: Engine,
    out: str | os.PathLike[str],
    fill: Fill = Fill.HALF,
    progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Score the prompts that were not scored before, and write the table and its metadata.

    What is scored is kept in ``<out>.answers`` as it comes, by prompt and settings: a run that was
    stopped goes on, and labels may change without a request. Rows with the same prompt are asked
    once. The metadata stand in ``<out>.meta.json``.

    Parameters
    ----------
    plan : Plan
    *engines : Engine
        The model. Where there are several, each is asked if a server lacks the endpoint of the one
        before.
    out : path-like
        The table; its suffix names the format.
    fill : Fill, default=Fill.HALF
        What stands for labels that the engine did not report.
    progress : callable, optional
        Receives prompts done and prompts in all.

    Returns
    -------
    RunSummary

    Raises
    ------
    InvalidInputError
        If `out` is a table that no such run has made, or one of other classes; or if what is kept
        next to it is damaged.
    BackendError
        If the model fails; what was scored is kept.
    OutputError
        If an output cannot be written.
    """
    target = Path(out)
    check_table_path(target)
    paths = files_of_run(target)
    _check_own(target, paths, plan.task.classes)
    prompts = plan.prompts
    with open_answers(paths["answers"]) as answers:
        asked = _ask(plan.task, prompts, engines, answers, progress or (lambda *_: None))
        settings = {
            **plan.settings,
            "scoring": asked.engine.scoring.value,
            "fill": fill.value,
            "engine": asked.described,
            "package_version": __version__,
        }
        summary = _write(target, plan, asked, fill)
        warn_of_left_out(target.name, summary.left_out)
        question = asked.engine.question(prompts, plan.task).to_dict()
        content = {
            "settings": settings,
            "summary": vars(summary),
            "origin": origin_of_run(settings),
            LEFT_OUT: summary.left_out,
            QUESTION: question,
        }
        write_text(paths["metadata"], json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return summary


def files_of_run(out: Path) -> dict[str, Path]:
    """Return the files that a run writes, by what they are."""
    answers = out.with_name(f"{out.name}.answers")
    return {"out": out, "metadata": metadata_path(out), "answers": answers}


def check_table_path(out: Path) -> None:
    """Refuse a path at which no table can be written, before any row is scored."""
    format_of(out, to_write=True)
    check_writable(out)


def _check_own(target: Path, paths: dict[str, Path], classes: Sequence[str]) -> None:
    """Refuse to write over a table that no run has made, or one of other classes."""
    if not target.exists():
        return
    held: list[str] | None
    try:
        held = [*json.loads(read_text(paths["metadata"]))["settings"]["task"]["classes"]]
    except (OSError, ValueError, LookupError, TypeError):
        held = [*classes] if paths["answers"].exists() else None
    if held != [*classes]:
        other = "exists, and no `dnip prompt` has made it"
        if held:
            other = f"is of the classes {listed(held)}, not of {listed(classes)}"
        raise InvalidInputError(f"{target} {other}", hint="Give another --out, or delete the table")


@dataclass(frozen=True)
class _Asked:
    """The answers to all prompts, in their order, and how they were come by."""

    engine: Engine
    described: dict[str, Any]
    rows: list[ScoredRow]
    n_asked: int
    n_kept: int
    found: str | None


def _ask(
    task: Task,
    prompts: Sequence[Prompt],
    engines: Sequence[Engine],
    answers: _Answers,
    show: Callable[[int, int], None],
) -> _Asked:
    """Ask for the prompts of which no answer is kept; all other answers are kept ones."""
    keys = [_hash([prompt.text, prompt.turns, prompt.lead, prompt.state]) for prompt in prompts]
    first: dict[str, Prompt] = {}
    for key, prompt in zip(keys, prompts, strict=True):
        first.setdefault(key, prompt)
    described = [_describe(engine, task, answers, first.keys()) for engine in engines]
    ways = [_settings_of(*pair, task) for pair in zip(engines, described, strict=True)]
    # A server that was asked before is asked in the same way.
    begin = next((number for number, way in enumerate(ways) if answers.of(way)), 0)
    for number in range(begin, len(engines)):
        engine, way = engines[number], ways[number]
        known = answers.of(way)
        wanted = [key for key in first if key not in known]
        done = n_kept = len(first) - len(wanted)
        show(done, len(first))
        try:
            for scored in engine.score([first[key] for key in wanted], task) if wanted else ():
                answers.add(way, wanted[scored.row], scored)
                done += 1
                show(done, len(first))
        except MissingEndpointError:
            if answers.of(way) or engine is engines[-1]:
                raise
            continue
        break
    known = answers.of(way)
    if missing := len(first.keys() - known.keys()):
        raise BackendError(
            f"{missing} of {len(first)} prompts were not scored",
            hint="Run the same command again to go on",
            retryable=True,
        )
    found = None if number == begin else described[number]["endpoint"]
    rows = [known[key] for key in keys]
    return _Asked(engine, described[number], rows, len(wanted), n_kept, found)


def _describe(
    engine: Engine, task: Task, answers: _Answers, wanted: Collection[str]
) -> dict[str, Any]:
    """Return what an engine says of itself, as it said before where nothing is left to ask."""
    mark = getattr(engine, "mark", None)
    kept = None if mark is None else answers.description(_hash(mark))
    if kept is not None and answers.of(_settings_of(engine, kept, task)).keys() >= set(wanted):
        return kept
    described = engine.describe()
    if mark is not None:
        answers.describe(_hash(mark), described)
    return described


def _settings_of(engine: Engine, described: Mapping[str, Any], task: Task) -> str:
    """Return a hash of all that scores depend on, next to the prompt."""
    content = {
        "scoring": engine.scoring.value,
        "engine": {name: described[name] for name in described if name not in _VERSIONS},
        "answers": [task.answer(label) for label in range(task.n_classes)],
        "question": asdict(task.decision),
    }
    for name, value in flat(content).items():
        if not is_storable(text := json.dumps(value, ensure_ascii=False)):
            raise InvalidInputError(f"{name} is not valid Unicode: {shown(text)}")
    return _hash(content)


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _write(target: Path, plan: Plan, asked: _Asked, fill: Fill) -> RunSummary:
    kept = [n for n, row in enumerate(asked.rows) if UNREAD not in row.details]
    left_out = _left_out(plan, asked.rows)
    if not kept:
        reasons = [f"{one['reason']}, such as {one['example']}" for one in left_out["reasons"]]
        raise BackendError(
            f"no answer states a label: {listed(reasons)}",
            hint="Look at prompt and answers with --check, and ask for the label alone, first, or "
            "as JSON",
        )
    rows, texts, classes = [asked.rows[n] for n in kept], plan.texts.take(kept), plan.task.classes
    captured = np.array([row.captured for row in rows])
    ceiling = np.array([row.captured if row.ceiling is None else row.ceiling for row in rows])
    # Label words that begin alike are counted twice in a sum.
    captured_mass = np.minimum(captured.sum(axis=1), 1.0)
    # The mean of a word's tokens is not a part of the whole probability.
    table = ProbabilityTable(
        fill_unreported(captured, ceiling, fill),
        ids=None if texts.ids is None else np.array(texts.ids, dtype=object),
        classes=classes,
        mass=None if asked.engine.scoring is Scoring.PER_TOKEN else captured_mass,
    )
    if (mass := table.captured_mass) is not None and mass.worth_telling:
        warn(f"{target.name}: {mass.sentence}")
    known = texts.labels if (texts.labels >= 0).any() else None
    others: dict[str, Sequence[object]] = {} if texts.ids is not None else {ROW: texts.numbers}
    others |= texts.kept
    others |= {
        name: [row.details[name] for row in rows]
        for name in (SAMPLES, FALLBACK)
        if all(name in row.details for row in rows)
    }
    # Next to other columns, p_ shows which are the classes.
    columns = class_columns(classes, marked=bool(texts.kept))
    with open_writer(target) as writer:
        writer.write(table.changed(labels=known, others=others, columns=columns))
    numbers: dict[str, float] = {}
    for row in rows:
        for name, value in row.details.items():
            if isinstance(value, bool | int | float):
                numbers[name] = numbers.get(name, 0) + value
    return RunSummary(
        n=len(rows),
        n_labelled=int((texts.labels >= 0).sum()),
        n_asked=asked.n_asked,
        n_kept=asked.n_kept,
        n_alike=len(asked.rows) - asked.n_asked - asked.n_kept,
        mean_mass=float(captured_mass.mean()),
        least_mass=float(captured_mass.min()),
        n_open=int(open_decisions(captured, ceiling).sum()),
        found=asked.found,
        left_out=left_out,
        details=numbers,
    )


def _left_out(plan: Plan, rows: Sequence[ScoredRow]) -> dict[str, Any]:
    """Return which rows tell nothing of the labels, and why."""
    unread = {n: row.details for n, row in enumerate(rows) if UNREAD in row.details}
    reasons = Counter(details[UNREAD] for details in unread.values())
    first = {details[UNREAD]: n for n, details in reversed(unread.items())}
    return {
        "n": len(unread),
        "of": len(rows),
        "reasons": [
            {
                "reason": why,
                "n": n,
                "example": shown(unread[first[why]].get("said") or plan.texts.name(first[why])),
            }
            for why, n in reasons.most_common(3)
        ],
        "rows": [plan.texts.name(n) for n in unread],
    }


class _Answers:
    """Scored prompts in a SQLite file: by a hash of the settings, and one of the prompt."""

    def __init__(self, path: Path, file: sqlite3.Connection) -> None:
        self._path, self._file = path, file
        self._known: dict[str, dict[str, ScoredRow]] = {}
        file.execute(
            "CREATE TABLE IF NOT EXISTS answers "
            "(settings TEXT, prompt TEXT, content TEXT, PRIMARY KEY (settings, prompt))"
        )
        file.execute("CREATE TABLE IF NOT EXISTS models (mark TEXT PRIMARY KEY, content TEXT)")

    def of(self, settings: str) -> dict[str, ScoredRow]:
        """Return the scored prompts of some settings, by the hash of the prompt."""
        if settings not in self._known:
            query = "SELECT prompt, content FROM answers WHERE settings = ?"
            rows = self._file.execute(query, [settings])
            try:
                contents = [(key, json.loads(text)) for key, text in rows]
                self._known[settings] = {
                    key: ScoredRow(0, np.array(captured), most and np.array(most), details)
                    for key, (captured, most, details) in contents
                }
            except (ValueError, TypeError) as error:
                raise _damaged(self._path, error) from error
        return self._known[settings]

    def add(self, settings: str, prompt: str, scored: ScoredRow) -> None:
        """Keep a scored prompt; it survives the process from here on."""
        ceiling = None if scored.ceiling is None else scored.ceiling.tolist()
        content = json.dumps([scored.captured.tolist(), ceiling, dict(scored.details)])
        self._file.execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", [settings, prompt, content]
        )
        self.of(settings)[prompt] = scored

    def description(self, mark: str) -> dict[str, Any] | None:
        """Return what a model with this mark said of itself, if it did."""
        row = self._file.execute("SELECT content FROM models WHERE mark = ?", [mark]).fetchone()
        return row and dict(json.loads(row[0]))

    def describe(self, mark: str, description: Mapping[str, Any]) -> None:
        """Keep what a model says of itself."""
        content = json.dumps(description)
        self._file.execute("INSERT OR REPLACE INTO models VALUES (?, ?)", [mark, content])

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not next(self._file.execute("SELECT count(*) FROM answers"))[0]


@contextmanager
def open_answers(path: Path) -> Iterator[_Answers]:
    """Open the answers that are kept next to a table; a file without any is deleted in the end.

    Raises
    ------
    InvalidInputError
        If the file is damaged.
    OutputError
        If it cannot be written, or another run has it open.
    """
    is_empty = False
    try:
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as file:
            # One process at a time. A row outlives the process, not the machine: no waits on disks.
            file.executescript("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
            file.executescript("BEGIN IMMEDIATE; COMMIT")
            answers = _Answers(path, file)
            try:
                yield answers
            finally:
                is_empty = answers.is_empty
    except sqlite3.OperationalError as error:
        reason, hint = f"it cannot be written: {error}", "Check the folder, and space on it"
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            reason, hint = "another run is writing this table", "Wait for it, or give another --out"
        raise OutputError(f"{path}: {reason}", hint=hint) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error
    finally:
        if is_empty:  # the run was refused before its first answer
            path.unlink(missing_ok=True)


def _damaged(path: Path, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{path}: damaged, or of another version: {error}",
        hint="Delete it: all prompts are then asked again",
    )
