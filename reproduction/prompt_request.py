"""Tables that prompting has to make: what each depends on, and how it is made."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import DNIPError
from dnip.presenting.results import write_json
from dnip.prompting.engines.hub import commit_of, find_files
from dnip.prompting.engines.transformers_engine import TransformersEngine
from dnip.prompting.models import ModelOptions, load_model, open_model
from dnip.prompting.plan import make_plan
from dnip.prompting.run import run_plan
from dnip.tables.provenance import metadata_path
from reproduction.cell import TableRef
from reproduction.fingerprints import hash_files, hash_values, installed_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dnip.prompting.plan import Plan
    from dnip.prompting.task import Task
    from dnip.tables import ProbabilityTable

#: The key of a table's metadata that holds how long the model took for each prompt.
SECONDS = "seconds_per_prompt"
# Words that are kept in each field of a demonstration: as many as leave room in the context.
_CUTS = (None, 200, 150, 100, 75, 50, 35, 25, 15, 10)
# The most of the context that instruction and demonstrations may take.
_PREFIX_SHARE = 2 / 3


@dataclass(frozen=True)
class PromptRequest:
    """One table that a model is to be asked for.

    Attributes
    ----------
    folder : Path
        The folder of the table.
    task : Task
    data : Path
        The folder of the task's data.
    data_hash : str
    split : {"train", "test"}
    shots, seed, limit
        As for :func:`dnip.prompting.plan.make_plan`.
    rows : int
        How many rows the table will have at most.
    options : ModelOptions
    model_hash : str
        See `hash_model`.
    truncate : bool
        Whether to shorten prompts that do not fit into the model's context.
    """

    folder: Path
    task: Task
    data: Path
    data_hash: str
    split: str
    shots: int | str
    seed: int
    limit: int | None
    rows: int
    options: ModelOptions
    model_hash: str
    truncate: bool

    @cached_property
    def table(self) -> TableRef:
        """The table, named by what its content depends on."""
        local = () if self.options.is_server else ("torch", "transformers")
        key = hash_values(
            {
                "task": asdict(self.task),
                "data": self.data_hash,
                "split": self.split,
                "shots": self.shots,
                "seed": self.seed,
                "limit": self.limit,
                "model": self.model_hash,
                "options": {**asdict(self.options), "model": None},
                "truncate": self.truncate,
                "libraries": installed_versions(*local),
                "package_version": version("dnip"),
            }
        )
        way = "-reasoned" if self.options.chain_of_thought else ""
        name = f"{self.task.name}-{self.shots}-shot{way}-seed{self.seed}-{self.split}"
        path = self.folder / f"{name}-{key[:12]}.csv.gz"
        return TableRef(name, key, str(path), self.rows, self.task.classes)

    @property
    def model(self) -> str:
        """The model's folder, name or address."""
        return self.options.model

    @property
    def is_made(self) -> bool:
        """Whether the table is complete: its metadata are written last."""
        path = Path(self.table.path)
        return path.is_file() and metadata_path(path).is_file()

    def plan(self) -> Plan:
        """Return the prompts."""
        return make_plan(
            self.task,
            self.data,
            split=self.split,
            shots=self.shots,
            seed=self.seed,
            limit=self.limit,
            chain_of_thought=self.options.chain_of_thought,
        )

    def make(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        """Prompt the model, or go on where an earlier run stopped; return the run's summary."""
        plan = self.plan()
        # As in the paper, an answer may run on past where it should end; it is counted.
        engine = open_model(self.options, mark=plan.builder.stop, load=_load_once)
        if self.truncate and isinstance(engine, TransformersEngine):
            plan = _fitted(plan, engine)
        began = time.perf_counter()
        summary = run_plan(plan, engine, out=self.table.path, progress=progress)
        seconds = (time.perf_counter() - began) / max(1, summary.n - summary.n_resumed)
        path = metadata_path(Path(self.table.path))
        write_json(path, {**json.loads(path.read_text(encoding="utf-8")), SECONDS: seconds})
        return summary.to_dict()


def metadata_of(table: ProbabilityTable) -> dict[str, Any]:
    """Return the metadata of a table that was prompted for; none of others."""
    path = metadata_path(Path(table.source))
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _fitted(plan: Plan, engine: TransformersEngine) -> Plan:
    """Shorten demonstrations, then rows, until every prompt fits into the model's context."""
    for words in _CUTS:
        shown = plan if words is None else _with_short_demonstrations(plan, words)
        prefix = len(engine.tokenizer.encode(shown.builder.prefix))
        if engine.context is None or prefix <= _PREFIX_SHARE * engine.context:
            break
    return shown.shortened(partial(engine.too_long, task=shown.task))


def _with_short_demonstrations(plan: Plan, words: int) -> Plan:
    """Keep the first words of every field of the demonstrations."""
    shown = [
        ({**row, **{f: " ".join(str(row[f]).split()[:words]) for f in plan.task.fields}}, label)
        for row, label in plan.builder.demonstrations
    ]
    builder = replace(plan.builder, demonstrations=shown)
    return replace(plan, builder=builder, settings={**plan.settings, "demonstration_words": words})


def hash_model(options: ModelOptions) -> str:
    """Return a hash of what is known of a model without loading it.

    For a folder these are its files; for a name on the hub or a server, the name, the revision, and
    the commit that they mean.
    """
    folder = Path(options.model)
    if options.is_server or not folder.is_dir():
        name = options.served_model or options.model
        commit = None if options.is_server else current_commit(name, options.revision)
        return hash_values({"name": name, "revision": options.revision, "commit": commit})
    return hash_files(sorted(path for path in folder.iterdir() if path.is_file()))


def current_commit(name: str, revision: str | None = None) -> str | None:
    """Return the commit that a name on the hub means now, None where nobody can tell."""
    with suppress(DNIPError):
        return commit_of(find_files(name, "model", ("config.json",), revision=revision))
    return None


def check_models(requests: Iterable[PromptRequest]) -> None:
    """Raise why, if none of the models can be had. A run can do without one of several.

    Raises
    ------
    InvalidInputError, BackendError
        As `find_files`, for the first model.
    """
    reasons = []
    for options in {one.model: one.options for one in requests}.values():
        if options.is_server:
            return
        try:
            find_files(options.model, "model", ("config.json",), revision=options.revision)
        except DNIPError as error:
            reasons.append(error)
        else:
            return
    if reasons:
        raise reasons[0]


def _load_once(model: str, **settings: Any) -> TransformersEngine:  # noqa: ANN401
    """Load a model, or return the one that this process used last."""
    return _last_model(model, json.dumps(settings, sort_keys=True))


@lru_cache(maxsize=1)
def _last_model(model: str, settings: str) -> TransformersEngine:
    return load_model(model, **json.loads(settings))
