"""Measure a language model on the built-in tasks the plain way: full forward passes, no cache.

python tools/evaluate_small_model.py --model models/small --data DIR --out figures.json

Class probabilities are those of the label words' tokens at the answer position, normalised; what
they sum to before is the captured mass. Rows are drawn from the test split and demonstrations from
the training split, by seed. Where prompts would not fit the model's context, all fields of that
task are cut after the same number of words, and the number is shown. Two plain answers stand beside
it: that of the test rows' largest class, and a logistic regression of TF-IDF words and word pairs
that is trained on the whole training split.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from transformers import AutoModelForCausalLM, AutoTokenizer

from dnip.metrics import accuracy, class_accuracies, cobias, confusion_matrix
from dnip.prompting.data import load_examples
from dnip.prompting.plan import draw_demonstrations
from dnip.prompting.prompt import PromptBuilder
from dnip.prompting.task_files import built_in_tasks, load_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from dnip.prompting.data import Examples
    from dnip.prompting.task import Task

#: Words that are kept of a field, tried from the left until all prompts fit.
CUTS = (100_000, 300, 240, 180, 140, 110, 80, 60, 40)
BATCH_TOKENS = 6000


@dataclass(frozen=True)
class Figures:
    """What was measured for a task and a number of demonstrations."""

    task: str
    shots: int
    rows: int
    majority: float
    tf_idf: float
    accuracy: float
    cobias: float
    captured_mass: float
    class_accuracies: dict[str, float | None]
    predicted: dict[str, int]
    field_words: int | None


def cut_row(row: Mapping[str, object], words: int, task: Task) -> dict[str, str]:
    """Return the task's fields, each cut after a number of words."""
    return {f: " ".join(str(row[f]).split(" ")[:words]) for f in task.fields}


def label_token(tokenizer: PreTrainedTokenizerBase, prompt: str, answer: str) -> int:
    """Return the token that follows a prompt where the answer begins."""
    before, after = tokenizer(prompt)["input_ids"], tokenizer(prompt + answer)["input_ids"]
    return int(after[len(before)])


def fitting_prompts(
    task: Task,
    demonstrations: Sequence[tuple[Mapping[str, object], int]],
    rows: Sequence[Mapping[str, object]],
    tokenizer: PreTrainedTokenizerBase,
    context: int,
) -> tuple[list[list[int]], str, int | None]:
    """Return token ids of all prompts, the first prompt's text, and the words kept of a field."""
    for words in CUTS:
        shown = [(cut_row(row, words, task), label) for row, label in demonstrations]
        builder = PromptBuilder(task, shown)
        texts = [builder.prompt(cut_row(row, words, task)).text for row in rows]
        ids = tokenizer(texts, verbose=False)["input_ids"]
        if max(map(len, ids)) < context:
            return ids, texts[0], None if words == CUTS[0] else words
    raise SystemExit(f"task {task.name}: prompts do not fit into {context} tokens")


def score(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], labels: Sequence[int]
) -> np.ndarray:
    """Return the probabilities of label tokens after each prompt: rows by classes, as they are.

    Prompts of similar length share a batch, padded on the right; the last real position is read.
    """
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    result = np.empty((len(prompts), len(labels)))
    while order:
        size = max(1, BATCH_TOKENS // len(prompts[order[min(len(order), 64) - 1]]))
        batch, order = order[:size], order[size:]
        width = max(len(prompts[i]) for i in batch)
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        for row, i in enumerate(batch):
            ids[row, : len(prompts[i])] = torch.tensor(prompts[i])
        ends = torch.tensor([len(prompts[i]) - 1 for i in batch])
        with torch.inference_mode():
            states = model.base_model(ids, use_cache=False).last_hidden_state
            logits = model.lm_head(states[torch.arange(len(batch)), ends])
        result[batch] = torch.softmax(logits.double(), -1)[:, list(labels)].numpy()
    return result


def tf_idf_accuracy(train: Examples, test: Examples, task: Task) -> float:
    """Return the test accuracy of a logistic regression of TF-IDF words and word pairs."""
    train_texts, test_texts = (
        ["\n".join(str(row[field]) for field in task.fields) for row in split.rows]
        for split in (train, test)
    )
    classifier = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        LogisticRegression(C=10.0, max_iter=2000),
    ).fit(train_texts, train.labels)
    return round(float(classifier.score(test_texts, test.labels)), 4)


def measure(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Task,
    splits: tuple[Examples, Examples],
    shots: int,
    seed: int,
    tf_idf: float,
) -> Figures:
    """Score one task with a number of demonstrations."""
    train, test = splits
    chosen = draw_demonstrations(train, shots, n_classes=task.n_classes, seed=seed)
    demonstrations = [(train.rows[i], int(train.labels[i])) for i in chosen]
    prompts, text, words = fitting_prompts(
        task, demonstrations, test.rows, tokenizer, model.config.max_position_embeddings
    )
    tokens = [label_token(tokenizer, text, task.answer(c)) for c in range(task.n_classes)]
    scores = score(model, prompts, tokens)
    predictions = scores.argmax(axis=1)
    confusion = confusion_matrix(test.labels, predictions, task.n_classes)
    classes = class_accuracies(confusion)
    counts = np.bincount(predictions, minlength=task.n_classes)
    return Figures(
        task=task.name,
        shots=shots,
        rows=len(test),
        majority=round(float(np.bincount(test.labels).max() / len(test)), 4),
        tf_idf=tf_idf,
        accuracy=round(float(accuracy(confusion)), 4),
        cobias=round(float(cobias(confusion)), 4),
        captured_mass=round(float(scores.sum(axis=1).mean()), 4),
        class_accuracies={
            n: None if np.isnan(a) else round(float(a), 3)
            for n, a in zip(task.classes, classes, strict=True)
        },
        predicted={n: int(c) for n, c in zip(task.classes, counts, strict=True)},
        field_words=words,
    )


def show(figures: Figures) -> str:
    """Return a row of a Markdown table."""
    classes = ", ".join(
        f"{n} –" if a is None else f"{n} {a:.2f}" for n, a in figures.class_accuracies.items()
    )
    note = "" if figures.field_words is None else f" (fields cut to {figures.field_words} words)"
    return (
        f"| {figures.task} | {figures.shots} | {figures.rows} | {figures.majority:.3f} "
        f"| {figures.tf_idf:.3f} | {figures.accuracy:.3f} | {figures.cobias:.3f} "
        f"| {figures.captured_mass:.3f} | {classes}{note} |"
    )


def main() -> None:
    """Measure every built-in task and print a Markdown table."""
    parser = argparse.ArgumentParser(description="Measure a language model on the built-in tasks.")
    parser.add_argument("--model", default="models/small")
    parser.add_argument("--data", type=Path, required=True, help="one folder per built-in task")
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    parser.add_argument("--rows", type=int, default=500, help="test rows per task at most")
    parser.add_argument("--shots", type=int, nargs="+", default=[0, 1, 5])
    parser.add_argument("--tasks", nargs="+", default=list(built_in_tasks()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(
        arguments.model, local_files_only=True, dtype=torch.float32
    ).eval()
    print(
        "| task | shots | rows | majority | TF-IDF | accuracy | COBias | captured mass | by class |"
    )
    print("|" + " --- |" * 9)
    measured = []
    for name in arguments.tasks:
        task = load_task(name)
        train, test = (load_examples(arguments.data / name, s, task) for s in ("train", "test"))
        number = min(arguments.rows, len(test))
        chosen = np.random.default_rng(arguments.seed).permutation(len(test))[:number]
        splits = (train, test.take(sorted(chosen.tolist())))
        tf_idf = tf_idf_accuracy(*splits, task)
        for shots in arguments.shots:
            measured.append(measure(model, tokenizer, task, splits, shots, arguments.seed, tf_idf))
            print(show(measured[-1]), flush=True)
    if arguments.out:
        content = json.dumps([asdict(figures) for figures in measured], indent=1)
        arguments.out.write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
