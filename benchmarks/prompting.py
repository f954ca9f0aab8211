"""Prompting: the engine against a plain batched loop of transformers, on the same prompts.

Processor time of one thread: other work on the machine hardly changes it, and the wall time of
threads that wait for each other it changes tenfold.
"""

from __future__ import annotations

import statistics
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.tables import Table, print_markdown
from dnip.llm.prompting.plan import draw_demonstrations, parse_shots
from dnip.llm.prompting.prompt import Prompt, PromptBuilder
from dnip.llm.prompting.task_files import load_task
from dnip.llm.prompting.texts import read_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.llm.prompting.engines.local import TransformersEngine

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
DATASETS = ROOT / ".." / "shared" / "datasets"

TASKS = ("agnews", "trec")
ROWS, BATCH, REPEATS = 48, 16, 2


def run(_tables: list[Table]) -> None:
    """Print the table; both ways in turn."""
    if not is_ready("prompting"):
        return
    # They take seconds to load, and the other benchmarks do without them.
    import torch  # noqa: PLC0415

    from dnip.llm.prompting.engines import local  # noqa: PLC0415

    torch.set_num_threads(1)
    engine = local.TransformersEngine(MODEL, device="cpu")
    print_markdown(
        f"Prompting, rows per second of processor time ({ROWS} rows, one thread)",
        ["", "plain loop", "ours", "ours / plain"],
        [_compare(engine, task, shots) for task in TASKS for shots in ("1", "balanced")],
    )


def is_ready(name: str) -> bool:
    """Tell whether model, data and library are here; say what is not."""
    if not MODEL.is_file() or not DATASETS.is_dir():
        print(f"{name}: left out, there is no {MODEL} (make model) or no {DATASETS}")
        return False
    if find_spec("transformers") is None:
        print(f"{name}: left out; install it with: pip install '.[transformers]'")
        return False
    return True


def _compare(engine: TransformersEngine, name: str, shots: str) -> list[str]:
    """Return one row of the table."""
    task, prompts = load_task(name), _prompts(name, shots)

    def ours() -> None:
        for _ in engine.score(prompts, task):
            pass

    plain = _plain(engine, prompts)
    ours()  # warms up
    times = [(_seconds(plain), _seconds(ours)) for _ in range(REPEATS)]
    rates = [ROWS / statistics.median(side) for side in zip(*times, strict=True)]
    ratio = statistics.median(one / other for one, other in times)
    return [f"{name}, shots {shots}", *(f"{rate:,.1f}" for rate in rates), f"{ratio:.1f}×"]


def _prompts(name: str, shots: str) -> list[Prompt]:
    task = load_task(name)
    train, test = (
        read_texts(DATASETS / name / f"{split}.jsonl", task) for split in ("train", "test")
    )
    drawn = draw_demonstrations(train, parse_shots(shots), n_classes=task.n_classes, seed=0)
    builder = PromptBuilder(task, [(train.rows[i], int(train.labels[i])) for i in drawn])
    return [builder.prompt(row) for row in test.rows[:ROWS]]


def _plain(engine: TransformersEngine, prompts: list[Prompt]) -> Callable[[], None]:
    """Pad batches on the left, and run the model over whole prompts, as most would write it."""
    import torch  # noqa: PLC0415

    model = engine._model.model

    def score() -> None:
        with torch.inference_mode():
            for begin in range(0, len(prompts), BATCH):
                texts = [prompt.text for prompt in prompts[begin : begin + BATCH]]
                rows = engine.tokenizer.encode_all(texts)
                longest = max(map(len, rows))
                given = [[0] * (longest - len(row)) + list(row) for row in rows]
                mask = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
                tokens, seen = torch.tensor(given), torch.tensor(mask)
                model(tokens, attention_mask=seen, logits_to_keep=1).logits.softmax(-1)

    return score


def _seconds(way: Callable[[], None]) -> float:
    began = time.process_time()
    way()
    return time.process_time() - began
