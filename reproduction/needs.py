"""What the models of a run need: time, memory and disk, reckoned from prompts and parameters.

A processor is taken at 40 % of its peak, and its memory at 80 % of its speed. Reading a prompt
takes 2 operations per parameter and token. The instruction and demonstrations are read once per
table. Writing a token of reasoning reads all parameters, for a batch of rows at a time. Besides,
every prompt takes half a millisecond.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reproduction.plan import ModelPlan
    from reproduction.prompt_request import PromptRequest


class Device(NamedTuple):
    """A processor: its peak in operations per second, and bytes per second of its memory."""

    operations: float
    bandwidth: float


#: With bfloat16 on GPUs; a core with float32.
DEVICES = {
    "A100": Device(312e12, 2.0e12),
    "H100": Device(990e12, 3.3e12),
    "CPU core": Device(1e11, 2e10),
}
_OF_PEAK, _OF_BANDWIDTH = 0.4, 0.8
# English text has about 4 characters per token.
_CHARACTERS = 4
# Prompts of a table that are looked at.
_LOOKED_AT = 50
# Seconds of a prompt besides: tokens and labels.
_EACH = 5e-4
# Rows that reason at the same time.
_BATCH = 64
# Beside the weights: activations and the cache of keys and values.
_ROOM = 1.2
# Bytes of a compressed table, for each row and class, and for each row besides.
_PER_CELL, _PER_ROW = 9, 12


class Work(NamedTuple):
    """What a model is asked for in all."""

    rows: int = 0
    tokens: float = 0.0  # to be read
    reasoned: float = 0.0  # tokens to be written, at most
    disk: float = 0.0  # bytes of the tables


def work_of(requests: Iterable[PromptRequest]) -> Work:
    """Count the prompts and the tokens of tables."""
    total = Work()
    for request in requests:
        plan = request.plan()
        shown = plan.prompts[:_LOOKED_AT]
        rows, prefix = len(plan.examples), len(plan.builder.prefix)
        own = sum(len(prompt.text) - prefix for prompt in shown) / max(len(shown), 1)
        written = request.options.max_new_tokens or 0 if request.options.chain_of_thought else 0
        total = Work(
            total.rows + rows,
            total.tokens + (prefix + rows * own) / _CHARACTERS,
            total.reasoned + rows * written,
            total.disk + rows * (_PER_ROW + _PER_CELL * request.task.n_classes),
        )
    return total


def needs_of(model: ModelPlan, requests: Iterable[PromptRequest]) -> dict[str, Any]:
    """Return what a model needs for some tables.

    Returns
    -------
    dict
        ``name``, ``model``, ``prompts``, ``tokens``, ``reasoning_tokens``, ``parameters``,
        ``memory_gb``, ``disk_gb`` and ``hours`` by device; None where the number of parameters is
        not known.
    """
    work = work_of(requests)
    count = model.parameters or _count_parameters(model.model)
    weights = None if count is None else count * _bytes_each(model)
    return {
        "name": model.name,
        "model": model.model,
        "prompts": work.rows,
        "tokens": round(work.tokens),
        "reasoning_tokens": round(work.reasoned),
        "parameters": count,
        "memory_gb": None if weights is None else weights * _ROOM / 1e9,
        "disk_gb": None if weights is None else (weights + work.disk) / 1e9,
        "hours": None
        if weights is None or count is None
        else {name: _hours(device, work, count, weights) for name, device in DEVICES.items()},
    }


def describe_needs(needs: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines for people.

    Examples
    --------
    >>> needs = {"prompts": 500, "tokens": 60_000, "reasoning_tokens": 0, "memory_gb": 0.014}
    >>> needs |= {"name": "small", "model": "models/small", "disk_gb": 0.012, "hours": {"CPU": 9.0}}
    >>> for line in describe_needs(needs):
    ...     print(line)
    small (models/small): 500 prompts, 60,000 tokens
      hours, reckoned: 9 on one CPU
      memory 0.014 GB, disk 0.012 GB
    """
    reasoning = needs["reasoning_tokens"]
    more = f", up to {reasoning:,} tokens of reasoning" if reasoning else ""
    yield (
        f"{needs['name']} ({needs['model']}): {needs['prompts']:,} prompts, "
        f"{needs['tokens']:,} tokens{more}"
    )
    if needs["hours"] is None:
        yield "  how many parameters it has is not known: set parameters in the plan"
        return
    hours = ", ".join(f"{_figure(value)} on one {name}" for name, value in needs["hours"].items())
    yield f"  hours, reckoned: {hours}"
    yield f"  memory {_figure(needs['memory_gb'])} GB, disk {_figure(needs['disk_gb'])} GB"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _bytes_each(model: ModelPlan) -> int:
    """Return the bytes of a parameter; a server's model is taken for one of 16 bits."""
    usual = "float16" if "served_model" in model.options else "float32"
    return 4 if model.options.get("dtype", usual) == "float32" else 2


def _hours(device: Device, work: Work, parameters: float, weights: float) -> float:
    operations = 2 * parameters * (work.tokens + work.reasoned)
    steps = math.ceil(work.reasoned / _BATCH)
    reading = operations / (_OF_PEAK * device.operations) + work.rows * _EACH
    return (reading + steps * weights / (_OF_BANDWIDTH * device.bandwidth)) / 3600


def _count_parameters(model: str | None) -> float | None:
    """Count the parameters of a model in a folder by the headers of its weights."""
    found = list(Path(model).glob("*.safetensors")) if model else []
    sizes = (
        math.prod(entry["shape"])
        for path in found
        for name, entry in _header(path).items()
        if name != "__metadata__"
    )
    return float(sum(sizes)) if found else None


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    return header
