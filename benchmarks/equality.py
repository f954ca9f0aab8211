"""Equality: the engine against one prompt at a time, on texts of every built-in task."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.prompting import DATASETS, MODEL, is_ready
from benchmarks.tables import Table, print_markdown
from dnip.prompting.plan import make_plan
from dnip.prompting.task_files import built_in_tasks, load_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.base.typing import Floats
    from dnip.prompting.plan import Plan

SHOTS = (0, 1, 5)
ROWS = 200
#: Room for PubMedQA with five demonstrations; rotary positions go on as far as one likes.
CONTEXT = 8192


def run(_tables: list[Table]) -> None:
    """Print the largest difference of a class probability, per architecture and shots."""
    if not is_ready("equality"):
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [_measure(name, path) for name, path in _models(Path(folder))]
    print_markdown(
        f"Largest difference of a class probability ({ROWS} prompts of each of the seven tasks)",
        ["architecture", *(f"{shots}-shot" for shots in SHOTS)],
        rows,
    )


def _models(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield models/small with a longer context, and two tiny models of large random weights."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    small = shutil.copytree(MODEL, folder / "small")
    config = json.loads((small / "config.json").read_text())
    config["max_position_embeddings"] = CONTEXT
    (small / "config.json").write_text(json.dumps(config))
    yield "Llama (models/small)", small

    vocabulary = config["vocab_size"]
    tiny = {
        "GPT-2 (random)": transformers.GPT2Config(
            vocab_size=vocabulary, n_embd=64, n_layer=3, n_head=4, n_positions=CONTEXT
        ),
        "Gemma 3 (random)": transformers.Gemma3TextConfig(
            vocab_size=vocabulary,
            hidden_size=64,
            intermediate_size=128,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            query_pre_attn_scalar=16,
            max_position_embeddings=CONTEXT,
            sliding_window=64,
            num_hidden_layers=3,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        ),
    }
    for name, settings in tiny.items():
        torch.manual_seed(0)
        model: Any = transformers.AutoModelForCausalLM.from_config(settings)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0, 0.25)
        path = folder / name
        model.save_pretrained(path)
        transformers.AutoTokenizer.from_pretrained(MODEL).save_pretrained(path)
        yield name, path


def _measure(name: str, path: Path) -> list[str]:
    """Return one row of the table."""
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    from dnip.prompting.engines.transformers_engine import TransformersEngine  # noqa: PLC0415

    engine = TransformersEngine(path, device="cpu")
    plain = _Plain(
        AutoModelForCausalLM.from_pretrained(path, dtype="float32").eval(),
        AutoTokenizer.from_pretrained(path),
    )
    cells = [name]
    for shots in SHOTS:
        largest = 0.0
        for task in built_in_tasks():
            plan = make_plan(load_task(task), DATASETS / task, shots=shots, limit=ROWS)
            captured = np.empty((len(plan.examples), plan.task.n_classes))
            for row in engine.score(plan.prompts, plan.task):
                captured[row.row] = row.captured
            found = captured / captured.sum(axis=1, keepdims=True)
            largest = max(largest, float(abs(found - plain.score(plan)).max()))
        cells.append(f"{largest:.1e}")
    return cells


class _Plain(NamedTuple):
    """One prompt at a time: full forward, no cache, no batching, float32."""

    model: Any
    tokenizer: Any

    def score(self, plan: Plan) -> Floats:
        """Return the class probabilities of every prompt; shape (M, N)."""
        import torch  # noqa: PLC0415

        rows = []
        for prompt in plan.prompts:
            tokens = self.tokenizer(prompt.text)["input_ids"]
            whole = [prompt.text + plan.task.answer(label) for label in range(plan.task.n_classes)]
            firsts = [self.tokenizer(text)["input_ids"][len(tokens)] for text in whole]
            with torch.inference_mode():
                logits = self.model(torch.tensor([tokens]), use_cache=False).logits
            captured = logits[0, -1].softmax(-1)[firsts].double().numpy()
            rows.append(captured / captured.sum())
        return np.array(rows)
