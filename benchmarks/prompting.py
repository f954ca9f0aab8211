"""Prompting: the engine against the authors' way and against bare forward passes.

Processor time of one thread: other work on the machine hardly changes it, and the wall time of
threads that wait for each other it changes tenfold.
"""

from __future__ import annotations

import statistics
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.tables import Table, print_markdown
from dnip.prompting.data import load_examples
from dnip.prompting.plan import draw_demonstrations
from dnip.prompting.prompt import Prompt, PromptBuilder
from dnip.prompting.task_files import load_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.prompting.engines.transformers_engine import TransformersEngine

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "models" / "small"
DATASETS = ROOT / ".." / "shared" / "datasets"
DATA = DATASETS / "agnews"

ROWS = 256
#: Of ours and of the bare passes, in turn; the authors' way, the slowest, runs once among them.
REPEATS = 4
#: Tokens of a batch that the bare passes may choose from.
BATCHES = (256, 512, 1024, 2048, 4096)


def run(_tables: list[Table]) -> None:
    """Print the table; every way on the same prompts, in turn."""
    if not is_ready("prompting"):
        return
    # They take seconds to load, and the other benchmarks do without them.
    import torch  # noqa: PLC0415

    from dnip.prompting.engines import transformers_engine  # noqa: PLC0415

    torch.set_num_threads(1)
    engine = transformers_engine.TransformersEngine(MODEL, device="cpu")
    print_markdown(
        f"Prompting, rows per second of processor time (agnews, {ROWS} rows, one thread)",
        ["", "authors' way", "ours", "limit", "ours / authors'", "ours / limit", "limit's batch"],
        [_compare(engine, shots) for shots in (1, 5)],
    )


def is_ready(name: str) -> bool:
    """Tell whether model, data and library are here; say what is not."""
    if not MODEL.is_dir() or not DATASETS.is_dir():
        print(f"{name}: left out, there is no {MODEL} or no {DATASETS}")
        return False
    if find_spec("transformers") is None:
        print(f"{name}: left out; install it with: pip install '.[transformers]'")
        return False
    return True


def _compare(engine: TransformersEngine, shots: int) -> list[str]:
    """Return one row of the table."""
    prompts = _prompts(shots)
    task = load_task("agnews")

    def ours() -> None:
        for _ in engine.score(prompts, task):
            pass

    bare = _bare(engine, prompts)
    ours()  # warms up, as the search for the best size does for the bare passes
    best = min(BATCHES, key=lambda tokens: min(_seconds(lambda: bare(tokens)) for _ in range(2)))
    times = _in_turn(ours, lambda: bare(best))
    authors = _seconds(_authors_way(prompts))
    times += _in_turn(ours, lambda: bare(best))
    own, limit = (statistics.median(side) for side in zip(*times, strict=True))
    return [
        f"{shots}-shot",
        *(f"{ROWS / seconds:,.0f}" for seconds in (authors, own, limit)),
        f"{authors / own:.1f}×",
        f"{statistics.median(b / a for a, b in times):.2f}",
        f"{best:,}",
    ]


def _prompts(shots: int) -> list[Prompt]:
    task = load_task("agnews")
    train, test = (load_examples(DATA, split, task) for split in ("train", "test"))
    numbers = draw_demonstrations(train, shots, n_classes=task.n_classes, seed=0)
    builder = PromptBuilder(task, [(train.rows[i], int(train.labels[i])) for i in numbers])
    return [builder.prompt(row) for row in test.rows[:ROWS]]


def _authors_way(prompts: list[Prompt]) -> Callable[[], None]:
    """Generate one token, then run the whole prompt again for all logits; two rows at a time."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    tokenizer: Any = AutoTokenizer.from_pretrained(MODEL, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model: Any = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()

    def score() -> None:
        with torch.inference_mode():
            for begin in range(0, len(prompts), 2):
                texts = [prompt.text for prompt in prompts[begin : begin + 2]]
                batch = tokenizer(texts, return_tensors="pt", padding=True)
                given = {k: batch[k] for k in ("input_ids", "attention_mask")}
                model.generate(
                    **given, max_new_tokens=1, do_sample=False, pad_token_id=tokenizer.pad_token_id
                )
                model(**given).logits.softmax(-1)

    return score


def _bare(engine: TransformersEngine, prompts: list[Prompt]) -> Callable[[int], None]:
    """Run the model over tokens that lie ready, behind a cached prefix, and nothing else."""
    import torch  # noqa: PLC0415

    from dnip.prompting.engines.batches import pad, plan, shared_length  # noqa: PLC0415
    from dnip.prompting.engines.causal_lm import fork  # noqa: PLC0415

    model = engine._model.model
    tokens = engine.tokenizer.encode_all([prompt.text for prompt in prompts])
    shared = shared_length(tokens)
    with torch.inference_mode():
        cache = model(torch.tensor([tokens[0][:shared]]), use_cache=True).past_key_values
    own = [row[shared:] for row in tokens]
    batches = {
        budget: [
            torch.tensor(pad([own[i] for i in batch])[0])
            for batch in plan([len(row) for row in own], budget)
        ]
        for budget in BATCHES
    }

    def score(budget: int) -> None:
        with torch.inference_mode():
            for batch in batches[budget]:
                model(batch, past_key_values=fork(cache, len(batch)), logits_to_keep=1)

    return score


def _in_turn(one: Callable[[], None], other: Callable[[], None]) -> list[tuple[float, float]]:
    """Time two ways in turn; seconds of both per repeat."""
    return [(_seconds(one), _seconds(other)) for _ in range(REPEATS)]


def _seconds(way: Callable[[], None]) -> float:
    began = time.process_time()
    way()
    return time.process_time() - began
