"""Drift: how often `dnip check` says that coefficients no longer fit, rightly and wrongly.

    python -m benchmarks drift changes

The sketch of one part of a table is compared with other rows (`docs/monitoring.md`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.prompting import DATASETS, MODEL, is_ready
from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.typing import Floats, Integers, Labels
from dnip.method.kept import Sketch

if TYPE_CHECKING:
    from dnip.llm.prompting.engines.local import TransformersEngine
    from dnip.llm.prompting.task import Task

ALPHA = 0.05
DRAWS = 60
#: Rows of the fit, and new ones; None for all there are, halved.
SIZES = ((100, 100), (500, 100), (500, 500), (1_000, 500), None)
NEW_ROWS = 500
MOVED = 0.2

#: Tasks of the small model, minutes each, and rows of each.
TASKS = ("agnews",)
PROMPTED_ROWS = 1_500


def run(tables: list[Table]) -> None:
    """Print false alarms, and how often changes are noticed."""
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        header = ["table", *["halves" if n is None else f"{n[0]:,} → {n[1]:,}" for n in SIZES]]
        rows = crew.map(_false_alarms, tables)
        print_markdown(f"False alarms without labels, {DRAWS} draws", header, list(rows))
        header = ["table", "one class gains 20 points", "20 points go from few to one"]
        rows = crew.map(_mixes, tables)
        print_markdown(f"Other class mixes noticed at {NEW_ROWS} rows", header, list(rows))


def _p(table: ProbabilityTable) -> Floats:
    return table.labelled().probabilities


def _noticed(old: Floats, new: Floats) -> bool:
    return Sketch.of(old).compare(new).p_value <= ALPHA


def _parts(n_rows: int, sizes: tuple[int, int] | None, seed: int) -> tuple[Integers, Integers]:
    """Return the rows of a fit and new ones, none in both."""
    first, second = sizes or (n_rows // 2, n_rows // 2)
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[:first], order[first : first + second]


def _false_alarms(table: Table) -> list[str]:
    p = _p(table.opt)
    cells = []
    for sizes in SIZES:
        parts = (_parts(len(p), sizes, seed) for seed in range(DRAWS))
        cells.append(_rate([_noticed(p[old], p[new]) for old, new in parts]))
    return [table.name, *cells]


def _mixes(table: Table) -> list[str]:
    opt = table.opt.labelled()
    assert opt.labels is not None
    p, labels = opt.probabilities, opt.labels
    cells = []
    for change in (_gained, _moved):
        noticed = []
        for seed in range(DRAWS):
            rng = np.random.default_rng(seed)
            old, rest = _parts(len(p), None, seed)
            mix = change(np.bincount(labels, minlength=opt.n_classes) / len(p), rng)
            new = rest[_draw(labels[rest], mix, NEW_ROWS, rng)]
            noticed.append(_noticed(p[old], p[new]))
        cells.append(_rate(noticed))
    return [table.name, *cells]


def _gained(shares: Floats, rng: np.random.Generator) -> Floats:
    """Give one class 20 points more, from all others in proportion."""
    c = rng.integers(len(shares))
    mix: Floats = shares * (1 - MOVED / (1 - shares[c]))
    mix[c] = shares[c] + MOVED
    return mix


def _moved(shares: Floats, rng: np.random.Generator) -> Floats:
    """Move 20 points to one class, from as few others as have them."""
    goal, *others = rng.permutation(len(shares)).tolist()
    mix, left = shares.copy(), MOVED
    for c in others:
        taken = min(left, mix[c])
        mix[c] -= taken
        mix[goal] += taken
        left -= taken
    return mix


def _draw(labels: Labels, mix: Floats, size: int, rng: np.random.Generator) -> Integers:
    """Draw rows of a class mix; a row is drawn twice only where a class has too few."""
    drawn = []
    for c, n in enumerate(rng.multinomial(size, mix)):
        rows = np.flatnonzero(labels == c)
        drawn.append(rng.choice(rows, n, replace=n > len(rows)))
    return np.concatenate(drawn)


def changes(_tables: list[Table]) -> None:
    """Print how often changes of the prompt and of the precision are noticed."""
    if not is_ready("changes"):
        return
    engines = {name: _engine(bits) for name, bits in (("", None), ("int8", 8), ("int4", 4))}
    rows = [row for name in TASKS for row in _changes(name, engines)]
    header = ["change", f"noticed at {NEW_ROWS} rows", "with captured mass", "same argmax"]
    print_markdown(f"Changes of prompt and model, {DRAWS} draws", header, rows)


def _changes(name: str, engines: dict[str, TransformersEngine]) -> Iterator[list[str]]:
    """Yield a row for each change of a task's prompt or of the model."""
    from dnip.llm.prompting.task_files import load_task  # noqa: PLC0415

    task = load_task(name)
    own = partial(_table, engines[""], task, name)
    other = replace(task, template=task.template.replace(":", " =", 1))
    ways: dict[str, Callable[[], tuple[ProbabilityTable, Floats]]] = {
        "nothing": own,
        "int8 weights": partial(_table, engines["int8"], task, name),
        "int4 weights": partial(_table, engines["int4"], task, name),
        "another template": partial(_table, engines[""], other, name),
        "no instruction": partial(_table, engines[""], replace(task, instruction=""), name),
        "another demonstration": partial(own, seed=1),
        "no demonstration": partial(own, shots=0),
        "4 demonstrations": partial(own, shots=4),
    }
    base = own()
    for way, make in ways.items():
        yield [f"{name}: {way}", *_against(*base, *make())]


def _against(
    base: ProbabilityTable, base_mass: Floats, other: ProbabilityTable, other_mass: Floats
) -> Iterator[str]:
    """Yield how often a table is noticed not to be the other one, on different texts."""
    assert base.ids is not None
    assert other.ids is not None
    place = {name: row for row, name in enumerate(other.ids.tolist())}
    both = [(row, place[name]) for row, name in enumerate(base.ids.tolist()) if name in place]
    here, there = np.array(both).T
    p, q = base.probabilities[here], other.probabilities[there]
    mass, new_mass = base_mass[here], other_mass[there]
    alone, with_mass = [], []
    for seed in range(DRAWS):
        old, new = _parts(len(p), (len(p) - NEW_ROWS, NEW_ROWS), seed)
        alone.append(_noticed(p[old], q[new]))
        sketch = Sketch.of(p[old], mass=mass[old])
        with_mass.append(sketch.compare(q[new], new_mass[new]).p_value <= ALPHA)
    yield _rate(alone)
    yield _rate(with_mass)
    yield f"{np.mean(p.argmax(axis=1) == q.argmax(axis=1)):.1%}"


def _engine(bits: int | None) -> TransformersEngine:
    """Load the small model, its weights rounded to so many bits, row by row."""
    import torch  # noqa: PLC0415

    from dnip.llm.prompting.engines.local import TransformersEngine  # noqa: PLC0415

    engine = TransformersEngine(MODEL, device="cpu")
    if bits is None:
        return engine
    with torch.no_grad():
        for module in engine._model.model.model.modules():
            if isinstance(module, torch.nn.Linear):
                steps = 2 ** (bits - 1) - 1
                size = module.weight.abs().amax(dim=1, keepdim=True) / steps
                module.weight.copy_((module.weight / size).round() * size)
    return engine


def _table(
    engine: TransformersEngine, task: Task, name: str, *, shots: int | str = 1, seed: int = 0
) -> tuple[ProbabilityTable, Floats]:
    """Prompt a model; return probabilities and captured mass."""
    from dnip.llm.prompting.plan import make_plan  # noqa: PLC0415
    from dnip.llm.prompting.texts import read_texts  # noqa: PLC0415

    test, train = (
        read_texts(DATASETS / name / f"{split}.jsonl", task) for split in ("test", "train")
    )
    shown = train if shots else None
    plan = make_plan(task, test, shown, shots=shots, seed=seed, limit=PROMPTED_ROWS)
    plan = plan.shortened(lambda prompts: engine.too_long(prompts, task))
    captured = np.empty((len(plan.prompts), task.n_classes))
    for scored in engine.score(plan.prompts, task):
        captured[scored.row] = scored.captured
    mass = captured.sum(axis=1)
    ids = [plan.texts.name(row) for row in range(len(plan.texts))]
    return ProbabilityTable(captured / mass[:, None], ids=ids, classes=task.classes), mass


def _rate(noticed: list[bool]) -> str:
    return f"{np.mean(noticed):.1%}"
