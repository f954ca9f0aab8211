"""Tables that prompting has to make: what each depends on, and how it is made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dnip.prompting.engines.base import Scoring
from dnip.prompting.model_options import ModelOptions
from dnip.prompting.models import load_model, open_model
from dnip.prompting.plan import make_plan
from dnip.prompting.run import metadata_path, run_plan
from dnip.prompting.task import load_task
from dnip.studies.reproduction.cell import TableRef, content_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.prompting.engines.transformers_engine import TransformersEngine
    from dnip.prompting.plan import Plan as PromptPlan

# Words that are kept of a demonstration's fields, as many as leave room in the context.
_CUTS = (None, 200, 150, 100, 75, 50, 35, 25, 15, 10)
# The most of the context that instruction and demonstrations may take.
_PREFIX_SHARE = 2 / 3
# Files of a model beyond this size are known by size, beginning and end.
_WHOLE = 64 * 2**20
_EDGE = 2**20


@dataclass(frozen=True)
class PromptRequest:
    """One table that a model is to be asked for.

    Attributes
    ----------
    task : str
        A built-in name, or the path of a task file.
    data : str
        The folder of the task's data.
    split : {"train", "test"}
    shots, seed, limit
        As for :func:`dnip.prompting.plan.make_plan`.
    options : ModelOptions
    truncate : bool
        Whether to shorten prompts that do not fit into the model's context.
    rows : int
        How many rows the table is to have, about.
    path : str
        Where the table is to stand.
    """

    task: str
    data: str
    split: str
    shots: int | str
    seed: int
    limit: int | None
    options: ModelOptions
    truncate: bool
    rows: int
    path: str

    @property
    def model(self) -> str:
        """The model's folder, name or address."""
        return self.options.model

    @property
    def is_made(self) -> bool:
        """Whether the table is there, whole: its metadata are written last."""
        table = Path(self.path)
        return table.is_file() and metadata_path(table).is_file()

    def make(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        """Prompt the model, or go on where an earlier run was stopped; return the run's summary."""
        plan = make_plan(
            load_task(self.task),
            self.data,
            split=self.split,
            shots=self.shots,
            seed=self.seed,
            limit=self.limit,
            chain_of_thought=self.options.chain_of_thought,
        )
        opened = open_model(
            self.options, plan.task, plan.prompts, stop=plan.builder.stop, load=_kept_model
        )
        if self.truncate and not self.options.is_server:
            plan = _fitted(plan, cast("TransformersEngine", opened.engine))
        summary = run_plan(
            plan, opened.engine, scoring=Scoring.FIRST, out=self.path, progress=progress
        )
        return summary.to_dict()


def _fitted(plan: PromptPlan, engine: TransformersEngine) -> PromptPlan:
    """Cut demonstrations, then rows, until every prompt fits into the model's context."""
    for words in _CUTS:
        shown = plan if words is None else _with_short_demonstrations(plan, words)
        prefix = len(engine.tokenizer.encode(shown.builder.prefix))
        if engine.context is None or prefix <= _PREFIX_SHARE * engine.context:
            break
    room = engine.answer_tokens(shown.prompts, shown.task, Scoring.FIRST)
    return shown.shortened(partial(engine.too_long, answer_tokens=room))


def _with_short_demonstrations(plan: PromptPlan, words: int) -> PromptPlan:
    """Keep so many words of every field of the demonstrations."""
    shown = [
        ({**row, **{f: " ".join(str(row[f]).split()[:words]) for f in plan.task.fields}}, label)
        for row, label in plan.builder.demonstrations
    ]
    builder = replace(plan.builder, demonstrations=shown)
    return replace(plan, builder=builder, settings={**plan.settings, "demonstration_words": words})


def request_table(
    folder: Path,
    *,
    task: str,
    data: Path,
    data_hash: str,
    split: str,
    shots: int | str,
    seed: int,
    limit: int | None,
    rows: int,
    options: ModelOptions,
    model_hash: str,
    truncate: bool,
) -> tuple[TableRef, PromptRequest]:
    """Return a table's reference and the request that makes it."""
    loaded = load_task(task)
    key = content_key(
        {
            "task": asdict(loaded),
            "data": data_hash,
            "split": split,
            "shots": shots,
            "seed": seed,
            "limit": limit,
            "model": model_hash,
            "options": {**asdict(options), "model": None},
            "truncate": truncate,
            "libraries": {} if options.is_server else _libraries("torch", "transformers"),
            "package_version": version("dnip"),
        }
    )
    way = "-reasoned" if options.chain_of_thought else ""
    name = f"{loaded.name}-{shots}-shot{way}-seed{seed}-{split}"
    path = str(folder / f"{name}-{key[:12]}.csv.gz")
    request = PromptRequest(
        task, str(data), split, shots, seed, limit, options, truncate, rows, path
    )
    return TableRef(name, key, path, rows, loaded.classes), request


def hash_model(options: ModelOptions) -> str:
    """Return a hash of what is known of a model without loading it.

    Of a folder: its files' names and contents; of a large file, its size, first and last megabyte.
    Of a name on the hub or a server: the name and revision.
    """
    folder = Path(options.model)
    if options.is_server or not folder.is_dir():
        return content_key(
            {"name": options.served_model or options.model, "revision": options.revision}
        )
    return hash_files(sorted(path for path in folder.iterdir() if path.is_file()))


def hash_files(paths: list[Path]) -> str:
    """Return the SHA-256 of files, names included."""
    parts = {}
    for path in paths:
        with path.open("rb") as file:
            size = path.stat().st_size
            if size <= _WHOLE:
                parts[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
                continue
            begin = file.read(_EDGE)
            file.seek(-_EDGE, 2)
            parts[path.name] = hashlib.sha256(begin + file.read()).hexdigest() + f" {size}"
    return content_key(parts)


def _libraries(*names: str) -> dict[str, str | None]:
    """Return installed versions, None for what is missing."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _kept_model(model: str, **settings: Any) -> TransformersEngine:  # noqa: ANN401
    """Load a model, or take the one that this process used last."""
    return _last_model(model, json.dumps(settings, sort_keys=True))


@lru_cache(maxsize=1)
def _last_model(model: str, settings: str) -> TransformersEngine:
    return load_model(model, **json.loads(settings))
