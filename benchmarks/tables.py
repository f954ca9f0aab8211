"""The tables to measure on, and how to print what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dnip import ProbabilityTable
from dnip.comparing.demonstration import bundled_table

SHARED = Path(__file__).parents[1] / ".." / "shared" / "tables"

#: What tables are called in print.
NAMES = {
    "sst2__unnamed-llm": "SST-2, unnamed model",
    "agnews": "AG News",
    "emotion4__llama-2-13b__base_icl1": "emotions, Llama-2-13B, base",
    "emotion4__llama-2-13b__task_icl1": "emotions, Llama-2-13B, task",
    "emotion4__mistral-7b__task_icl1": "emotions, Mistral-7B",
    "emotion4__qwen-1_8b__base_icl1": "emotions, Qwen-1.8B",
    "emotion4__qwen-7b__task_icl1": "emotions, Qwen-7B",
    "mmlu16__llama-13b__gptprompt0": "MMLU, LLaMA-13B",
    "cifar100__densenet-bc-100": "CIFAR-100",
    "cifar10__lenet-5": "CIFAR-10",
    "20news__cleanlab": "20 Newsgroups",
}


class Table(NamedTuple):
    """One table, cut in two halves."""

    name: str
    opt: ProbabilityTable
    test: ProbabilityTable


def load(folder: Path) -> list[Table]:
    """Return the bundled table and those of a folder, fewest classes first."""
    tables = [Table("agnews (bundled)", bundled_table("opt"), bundled_table("test"))]
    for opt in folder.glob("*/opt.csv.gz"):
        halves = (ProbabilityTable.read(opt.parent / f"{half}.csv.gz") for half in ("opt", "test"))
        tables.append(Table(opt.parent.name, *halves))
    return sorted(tables, key=lambda table: (table.opt.n_classes, table.name))


def print_markdown(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a heading and a table; the first column is text, the others are numbers."""
    lines = [
        f"\n### {title}\n",
        f"| {' | '.join(header)} |",
        f"|{'|'.join([' --- ', *[' ---: '] * (len(header) - 1)])}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    text = "\n".join(lines)
    for folder, name in NAMES.items():
        text = text.replace(folder, name)
    print(text, flush=True)
