r"""Train the project's own small language model from scratch.

python tools/train_small_model.py --data DIR --work DIR --out models/small

`--data` holds one folder per built-in task, each with a ``train.jsonl`` or ``train.csv``. Only the
training splits are read, and a few of their rows are held back for a learning curve. The model is a
Llama-architecture causal language model with its own byte-level BPE tokenizer. It learns to
continue prompts made by `dnip.prompting.prompt` for every built-in task. Prompts have 0 to 5
demonstrations drawn at random, so the class skew of the data stays in the model. Some prompts leave
the instruction out or name the fields in other words.

The default budget is 90 minutes. Progress is kept in ``--work``: run the same command again after a
kill, and it goes on. ``--minutes`` follows the clock, so two runs may do different numbers of
steps; ``--steps`` fixes the number and repeats a run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Threads that spin while they wait starve each other on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dnip.prompting.data import load_examples
from dnip.prompting.prompt import PromptBuilder
from dnip.prompting.task_files import built_in_tasks, load_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.prompting.data import Examples
    from dnip.prompting.task import Task

BOS, EOS, PAD = "<s>", "</s>", "<pad>"
#: Share of training sequences per task: more where rows are many or hard, less where they are long
#: and few.
SHARES = {
    "agnews": 0.19,
    "dbpedia": 0.15,
    "ddi": 0.22,
    "pubmedqa": 0.04,
    "rte": 0.08,
    "sst5": 0.19,
    "trec": 0.13,
}
#: From which share of the budget on, which shares of sequences with 0, 1, … 5 demonstrations: what
#: an example says is learned on its own first, then among others.
STAGES = ((0.0, (1.0,)), (0.25, (0.6, 0.2, 0.2)), (0.5, (0.34, 0.2, 0.13, 0.1, 0.1, 0.13)))
#: Other names for the fields of a prompt.
OTHER_FIELDS = ("Article", "Description", "Sentence", "Abstract", "Premise", "Review", "Question")
#: Shares of prompts as the task words them, without the instruction, and with other field names.
WORDINGS = (0.8, 0.1, 0.1)


@dataclass(frozen=True)
class Settings:
    """What a run is made of; a resumed run must have the same.

    Attributes
    ----------
    seed : int
        Of initial weights, of the choice of rows and demonstrations, of the order of batches.
    minutes : float
        Budget of training time, used where `steps` is 0.
    steps : int
        Number of optimiser steps; 0 to follow the clock.
    vocabulary, hidden, layers, heads, intermediate, context : int
        Sizes of tokenizer and model.
    batch_tokens : int
        Tokens of a batch, padding included.
    pool : int
        Sequences that are drawn, sorted by length and cut into batches together.
    max_tokens : int
        Longest training sequence; demonstrations are left out until it fits.
    field_words : int
        Words that are kept of a field while training.
    learning_rate, weight_decay, warm_up : float
        Of AdamW; `warm_up` is a share of the budget, a cosine follows.
    language_weight, language_share : float
        Weight of the language-model loss, and the share of positions on which it is taken.
    guide_weight : float
        Weight of the guide's loss; see `Learner`.
    bag_epochs, embedding_scale : int, float
        Rounds of the classifier that the embeddings start from, and their standard deviation.
    dropout : float
        Share of the tokens whose embedding is left out of a training step.
    held_back : int
        Rows of a training split that are kept for the learning curve, at most a twentieth of it.
    measures : int
        Number of points on the learning curve.
    """

    seed: int = 0
    minutes: float = 90.0
    steps: int = 0
    vocabulary: int = 8192
    hidden: int = 256
    layers: int = 4
    heads: int = 4
    intermediate: int = 640
    context: int = 1024
    batch_tokens: int = 2048
    pool: int = 512
    max_tokens: int = 640
    field_words: int = 90
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.05
    warm_up: float = 0.03
    language_weight: float = 0.1
    language_share: float = 0.15
    guide_weight: float = 1.0
    bag_epochs: int = 4
    embedding_scale: float = 0.1
    dropout: float = 0.1
    held_back: int = 100
    measures: int = 12


@dataclass(frozen=True)
class Corpus:
    """A task, its training split and the rows held back from it."""

    task: Task
    train: Examples
    held_back: Examples
    first_class: int

    def wording(self, rng: np.random.Generator) -> Task:
        """Return the task in a wording drawn at random."""
        drawn = rng.choice(len(WORDINGS), p=WORDINGS)
        if drawn == 0:
            return self.task
        if drawn == 1:
            return replace(self.task, instruction="")
        template = self.task.template
        for name in OTHER_FIELDS:
            template = template.replace(f"{name}: {{{{", "Text: {{")
        return replace(self.task, template=template)


@dataclass(frozen=True)
class TrainingSequence:
    """One text to learn from.

    Attributes
    ----------
    ids : list of int
        Its tokens.
    answers : list of int
        Positions whose next token is the answer of a demonstration or of the row.
    classes : list of int
        Per position, the class of the example that it is part of, counted over all tasks; -1 in
        instructions and after answers.
    """

    ids: list[int]
    answers: list[int]
    classes: list[int]


def load_corpora(data: Path, settings: Settings) -> dict[str, Corpus]:
    """Return every built-in task with its training split, cut in two."""
    corpora = {}
    classes = 0
    for name in built_in_tasks():
        task = load_task(name)
        rows = load_examples(data / name, "train", task)
        order = np.random.default_rng([settings.seed, 4]).permutation(len(rows)).tolist()
        held_back = min(settings.held_back, len(rows) // 20)
        train, held = rows.take(order[held_back:]), rows.take(order[:held_back])
        corpora[name] = Corpus(task, train, held, classes)
        classes += task.n_classes
    return corpora


def shorten(row: Mapping[str, Any], words: int, task: Task) -> dict[str, str]:
    """Return the task's fields, each cut after a number of words."""
    return {field: cut(str(row[field]), words) for field in task.fields}


def cut(text: str, words: int) -> str:
    """Return a text as it is, or its first words."""
    parts = text.split(" ")
    return text if len(parts) <= words else " ".join(parts[:words])


def assemble(
    task: Task, rows: Sequence[tuple[Mapping[str, Any], int]]
) -> tuple[str, list[tuple[int, int]]]:
    """Return a prompt with its answer, and where every example and its answer begin in it.

    The last row is the example, those before it are its demonstrations.
    """
    *demonstrations, (row, label) = rows
    bare = PromptBuilder(task)
    text = PromptBuilder(task, demonstrations).prompt(row).text
    spans = []
    end = len(bare.prefix)
    for shown, answer in rows:
        spans.append((end, end + len(bare.prompt(shown).example)))
        end = spans[-1][1] + len(task.answer(answer) + task.separator)
    if spans[-1][1] != len(text):
        raise ValueError(f"task {task.name}: answers are not where its template says")
    return text + task.answer(label), spans


def train_tokenizer(corpora: Mapping[str, Corpus], vocabulary: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer in which every label word is one token.

    Words are split as GPT-2 does. Label words are repeated until they are merged first.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BOS, EOS, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(tokenizer_texts(corpora), trainer)
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
            ),
        ]
    )
    for corpus in corpora.values():
        for label in range(corpus.task.n_classes):
            ids = tokenizer.encode(corpus.task.answer(label), add_special_tokens=False).ids
            if len(ids) != 1:
                raise ValueError(f"label word {corpus.task.answer(label)!r} is {len(ids)} tokens")
    return tokenizer


def tokenizer_texts(corpora: Mapping[str, Corpus], repeats: int = 1000) -> Iterator[str]:
    """Yield the text of the training splits and the label words, over and over."""
    for corpus in corpora.values():
        task = corpus.task
        builder = PromptBuilder(task)
        for row, label in zip(corpus.train.rows, corpus.train.labels, strict=True):
            yield task.separator + builder.prompt(row).example + task.answer(int(label))
        words = "".join(task.answer(label) for label in range(task.n_classes))
        yield from (task.instruction + words for _ in range(repeats))


def draw_pool(
    corpora: Mapping[str, Corpus], tokenizer: Tokenizer, settings: Settings, number: int, stage: int
) -> list[TrainingSequence]:
    """Return training sequences; seed, number and stage decide which."""
    rng = np.random.default_rng([settings.seed, number])
    names = rng.choice(list(SHARES), settings.pool, p=list(SHARES.values()))
    return [draw_sequence(corpora[n], tokenizer, settings, STAGES[stage][1], rng) for n in names]


def draw_sequence(
    corpus: Corpus,
    tokenizer: Tokenizer,
    settings: Settings,
    shares: Sequence[float],
    rng: np.random.Generator,
) -> TrainingSequence:
    """Return a prompt of random rows, with as many demonstrations as fit."""
    shots = int(rng.choice(len(shares), p=shares))
    rows = [
        (
            shorten(corpus.train.rows[i], settings.field_words, corpus.task),
            int(corpus.train.labels[i]),
        )
        for i in rng.choice(len(corpus.train), shots + 1, replace=False)
    ]
    task = corpus.wording(rng)
    while True:
        text, spans = assemble(task, rows)
        encoding = tokenizer.encode(text)
        if len(encoding.ids) < settings.max_tokens or len(rows) == 1:
            break
        rows = rows[1:]
    classes = [-1] * len(encoding.ids)
    answers = []
    for (begin, end), (_, label) in zip(spans, rows, strict=True):
        # The token of an answer holds its leading space; the one before it must predict it.
        first, last = encoding.char_to_token(begin), encoding.char_to_token(end + 1) - 1
        classes[first : last + 1] = [corpus.first_class + label] * (last + 1 - first)
        answers.append(last)
    ids = [*encoding.ids, tokenizer.token_to_id(EOS)][: settings.max_tokens]
    answers = [a for a in answers if a < settings.max_tokens - 1]
    return TrainingSequence(ids, answers, [*classes, -1][: settings.max_tokens])


def cut_into_batches(
    pool: list[TrainingSequence], settings: Settings, number: int
) -> list[list[TrainingSequence]]:
    """Return batches of sequences of similar length, in random order."""
    batches: list[list[TrainingSequence]] = []
    batch: list[TrainingSequence] = []
    for sequence in sorted(pool, key=lambda s: len(s.ids)):
        if batch and (len(batch) + 1) * len(sequence.ids) > settings.batch_tokens:
            batches.append(batch)
            batch = []
        batch.append(sequence)
    batches.append(batch)
    order = np.random.default_rng([settings.seed, number, 1]).permutation(len(batches))
    return [batches[i] for i in order]


def learn_embeddings(
    corpora: Mapping[str, Corpus], tokenizer: Tokenizer, settings: Settings
) -> torch.Tensor:
    """Return token embeddings of a bag-of-words classifier of the training splits.

    The classifier is a linear map of the mean embedding of an example's tokens, as in fastText. It
    takes seconds, and spares the model the many steps in which it would find out which words tell.
    """
    ids, classes, allowed = bags(corpora, tokenizer, settings)
    torch.manual_seed(settings.seed)
    words = torch.nn.EmbeddingBag(tokenizer.get_vocab_size(), settings.hidden)
    torch.nn.init.normal_(words.weight, std=0.02)
    head = torch.nn.Linear(settings.hidden, allowed.shape[1])
    optimizer = torch.optim.Adam([*words.parameters(), *head.parameters()], lr=5e-3, fused=True)
    rng = np.random.default_rng([settings.seed, 3])
    order = np.concatenate([rng.permutation(len(ids)) for _ in range(settings.bag_epochs)])
    batches = np.array_split(order, len(order) // 128)
    for number, rows in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * (1 - number / len(batches))
        offsets = np.cumsum([0, *(len(ids[i]) for i in rows[:-1])])
        tokens = torch.tensor([token for i in rows for token in ids[i]])
        logits = head(words(tokens, torch.from_numpy(offsets))) + allowed[rows]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, classes[rows]).backward()
        optimizer.step()
    weight = words.weight.detach()
    return weight * (settings.embedding_scale / weight.std())


def bags(
    corpora: Mapping[str, Corpus], tokenizer: Tokenizer, settings: Settings
) -> tuple[list[list[int]], torch.Tensor, torch.Tensor]:
    """Return tokens and class of all training rows, and what bars each from other tasks' classes.

    Classes are counted over all tasks.
    """
    n_classes = sum(corpus.task.n_classes for corpus in corpora.values())
    texts: list[str] = []
    classes: list[int] = []
    barred: list[torch.Tensor] = []
    for corpus in corpora.values():
        builder = PromptBuilder(corpus.task)
        bar = torch.full((n_classes,), -1e4)
        bar[corpus.first_class : corpus.first_class + corpus.task.n_classes] = 0
        for row, label in zip(corpus.train.rows, corpus.train.labels, strict=True):
            texts.append(builder.prompt(shorten(row, settings.field_words, corpus.task)).example)
            classes.append(corpus.first_class + int(label))
            barred.append(bar)
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [e.ids for e in encodings], torch.tensor(classes), torch.stack(barred)


def make_model(tokenizer: Tokenizer, settings: Settings) -> LlamaForCausalLM:
    """Return the model with random weights."""
    torch.manual_seed(settings.seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=settings.hidden,
            intermediate_size=settings.intermediate,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            num_key_value_heads=settings.heads,
            max_position_embeddings=settings.context,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.token_to_id(BOS),
            eos_token_id=tokenizer.token_to_id(EOS),
            pad_token_id=tokenizer.token_to_id(PAD),
        )
    )


class Learner(torch.nn.Module):
    """The model with a guide, which is thrown away after training.

    The guide tells at every position of an example, from what has been read of it, to which class
    it belongs. An answer alone is one lesson in fifty tokens; the guide gives one per token, and
    makes each token look at its own example.
    """

    def __init__(self, model: LlamaForCausalLM, n_classes: int) -> None:
        super().__init__()
        self.model = model
        self.guide = torch.nn.Linear(model.config.hidden_size, n_classes)

    def losses(
        self, batch: Sequence[TrainingSequence], settings: Settings, seed: Sequence[int]
    ) -> torch.Tensor:
        """Return mean losses: on answers, of the guide, on a random share of the other tokens.

        Sequences are padded on the right; attention looks only left, so padding needs no mask. The
        vocabulary's logits are computed only where a loss is taken. Products are in bfloat16,
        weights and losses in float32.
        """
        width = max(len(s.ids) for s in batch)
        ids = torch.full((len(batch), width), self.model.config.pad_token_id)
        classes = torch.full((len(batch), width), -1)
        answer = torch.zeros((len(batch), width), dtype=torch.bool)
        other = torch.zeros((len(batch), width), dtype=torch.bool)
        rng = np.random.default_rng(seed)
        for row, sequence in enumerate(batch):
            length = len(sequence.ids)
            ids[row, :length] = torch.tensor(sequence.ids)
            classes[row, :length] = torch.tensor(sequence.classes)
            other[row, : length - 1] = torch.from_numpy(
                rng.random(length - 1) < settings.language_share
            )
            answer[row, sequence.answers] = True
        other &= ~answer
        guided = classes >= 0
        with torch.autocast("cpu", torch.bfloat16):
            tokens = self.model.get_input_embeddings()(ids)
            kept = torch.from_numpy(rng.random((len(batch), width, 1)) >= settings.dropout)
            states = self.model.model(
                inputs_embeds=tokens * kept, use_cache=False
            ).last_hidden_state
            logits = self.model.lm_head(torch.cat([states[answer], states[other]]))
            guesses = self.guide(states[guided])
        following = torch.roll(ids, -1, dims=1)
        targets = torch.cat([following[answer], following[other]])
        losses = torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none")
        guide = torch.nn.functional.cross_entropy(guesses.float(), classes[guided])
        count = int(answer.sum())
        return torch.stack([losses[:count].mean(), guide, losses[count:].mean()])


def make_optimizer(learner: Learner, settings: Settings) -> torch.optim.AdamW:
    """Return AdamW; vectors and embeddings do not decay."""
    matrices = [p for n, p in learner.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in learner.named_parameters() if p.ndim != 2 or "embed" in n]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)


def rate(progress: float, settings: Settings) -> float:
    """Return the learning rate after a share of the budget: linear warm-up, then a cosine."""
    if progress < settings.warm_up:
        return settings.learning_rate * (0.02 + 0.98 * progress / settings.warm_up)
    done = (progress - settings.warm_up) / (1 - settings.warm_up)
    return settings.learning_rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(done, 1.0))))


@dataclass
class State:
    """How far a run has come."""

    step: int = 0
    pool: int = 0
    batch: int = 0
    stage: int = 0
    seconds: float = 0.0
    tokens: int = 0
    answers: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)

    def progress(self, settings: Settings) -> float:
        """Return the share of the budget that is spent."""
        if settings.steps:
            return self.step / settings.steps
        return self.seconds / (60 * settings.minutes)


def save_checkpoint(
    path: Path, state: State, learner: Learner, optimizer: torch.optim.AdamW, settings: Settings
) -> None:
    """Write all that a run needs to go on, whole or not at all."""
    partial = path.with_suffix(".partial")
    content = {
        "state": asdict(state),
        "settings": asdict(settings),
        "learner": learner.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(content, partial)
    partial.replace(path)


def load_checkpoint(
    path: Path, learner: Learner, optimizer: torch.optim.AdamW, settings: Settings
) -> State:
    """Return where a run stood, after filling learner and optimiser; a fresh state without one."""
    if not path.exists():
        return State()
    content = torch.load(path, weights_only=True)
    if content["settings"] != asdict(settings):
        raise SystemExit(f"{path}: made with other settings; give another --work or the same ones")
    learner.load_state_dict(content["learner"])
    optimizer.load_state_dict(content["optimizer"])
    return State(**content["state"])


def train(
    learner: Learner,
    tokenizer: Tokenizer,
    corpora: Mapping[str, Corpus],
    settings: Settings,
    checkpoint: Path,
) -> State:
    """Train until the budget is spent; print how it goes, keep a checkpoint every minute."""
    optimizer = make_optimizer(learner, settings)
    state = load_checkpoint(checkpoint, learner, optimizer, settings)
    learner.train()
    saved = reported = time.monotonic()
    recent: list[list[float]] = []
    while state.progress(settings) < 1:
        last = time.monotonic()
        if state.batch == 0:
            state.stage = sum(state.progress(settings) >= begin for begin, _ in STAGES) - 1
        pool = draw_pool(corpora, tokenizer, settings, state.pool, state.stage)
        batches = cut_into_batches(pool, settings, state.pool)
        while state.batch < len(batches) and state.progress(settings) < 1:
            recent.append(step(learner, optimizer, batches[state.batch], settings, state))
            now = time.monotonic()
            state.seconds += now - last
            last = now
            if now - reported > 15:
                print(report(state, recent, settings), flush=True)
                recent, reported = [], now
            if state.progress(settings) * settings.measures >= len(state.curve) + 1:
                state.curve.append(held_back_accuracies(learner, tokenizer, corpora, state))
                print(state.curve[-1], flush=True)
            if now - saved > 60:
                save_checkpoint(checkpoint, state, learner, optimizer, settings)
                saved = now
        if state.batch == len(batches):
            state.pool, state.batch = state.pool + 1, 0
    save_checkpoint(checkpoint, state, learner, optimizer, settings)
    return state


@torch.inference_mode()
def held_back_accuracies(
    learner: Learner, tokenizer: Tokenizer, corpora: Mapping[str, Corpus], state: State
) -> dict[str, float]:
    """Return the accuracy on the rows held back of each task, without demonstrations."""
    point: dict[str, float] = {"step": state.step, "seconds": round(state.seconds)}
    learner.eval()
    for name, corpus in corpora.items():
        task, builder = corpus.task, PromptBuilder(corpus.task)
        words = [
            tokenizer.encode(task.answer(c), add_special_tokens=False).ids[0]
            for c in range(task.n_classes)
        ]
        right = 0
        for row, label in zip(corpus.held_back.rows, corpus.held_back.labels, strict=True):
            ids = tokenizer.encode(builder.prompt(row).text).ids
            logits = learner.model(torch.tensor([ids]), logits_to_keep=1).logits[0, -1]
            right += int(logits[words].argmax()) == int(label)
        point[name] = round(right / len(corpus.held_back), 3)
    learner.train()
    return point


def report(state: State, losses: Sequence[Sequence[float]], settings: Settings) -> str:
    """Return a line on how the run stands."""
    answer, guide, language = np.mean(losses, axis=0)
    return (
        f"step {state.step}  {state.seconds:.0f} s  {state.tokens} tokens  answers {answer:.3f}  "
        f"guide {guide:.3f}  language {language:.3f}  budget {state.progress(settings):.1%}"
    )


def step(
    learner: Learner,
    optimizer: torch.optim.AdamW,
    batch: Sequence[TrainingSequence],
    settings: Settings,
    state: State,
) -> list[float]:
    """Take one step of the optimiser; return the losses."""
    for group in optimizer.param_groups:
        group["lr"] = rate(state.progress(settings), settings)
    losses = learner.losses(batch, settings, [settings.seed, state.step, 2])
    weights = torch.tensor([1.0, settings.guide_weight, settings.language_weight])
    optimizer.zero_grad()
    (losses * weights).sum().backward()
    torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
    optimizer.step()
    state.step += 1
    state.batch += 1
    state.tokens += sum(len(s.ids) for s in batch)
    state.answers += sum(len(s.answers) for s in batch)
    return losses.tolist()


def save_model(
    model: LlamaForCausalLM, tokenizer: Tokenizer, settings: Settings, state: State, out: Path
) -> None:
    """Write model (half precision), tokenizer and the record of the run."""
    model.to(torch.float16).save_pretrained(out)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        model_max_length=settings.context,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(out)
    use_common_tokenizer_class(out / "tokenizer_config.json")
    record = {
        "settings": asdict(settings),
        "done": asdict(state),
        "parameters": sum(p.numel() for p in model.parameters()),
        "torch": torch.__version__,
    }
    (out / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def use_common_tokenizer_class(path: Path) -> None:
    """Name the tokenizer's class as transformers 4 and other readers know it too."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config.pop("backend", None)
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def parse_arguments() -> tuple[argparse.Namespace, Settings]:
    """Return the folders and the settings of a run."""
    parser = argparse.ArgumentParser(description="Train the project's own small language model.")
    parser.add_argument("--data", type=Path, required=True, help="one folder per built-in task")
    parser.add_argument("--work", type=Path, required=True, help="checkpoint and tokenizer")
    parser.add_argument("--out", type=Path, default=Path("models/small"))
    parser.add_argument("--threads", type=int, default=2)
    for name, default in asdict(Settings()).items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=type(default), default=default, help=f"{default}")
    arguments = parser.parse_args()
    return arguments, Settings(**{n: getattr(arguments, n) for n in asdict(Settings())})


def main() -> None:
    """Train, or go on training, and save."""
    arguments, settings = parse_arguments()
    torch.set_num_threads(arguments.threads)
    arguments.work.mkdir(parents=True, exist_ok=True)
    corpora = load_corpora(arguments.data, settings)
    kept = arguments.work / "tokenizer.json"
    if not kept.exists():
        train_tokenizer(corpora, settings.vocabulary).save(str(kept))
    tokenizer = Tokenizer.from_file(str(kept))
    model = make_model(tokenizer, settings)
    if not (arguments.work / "checkpoint.pt").exists():
        start = learn_embeddings(corpora, tokenizer, settings)
        model.get_input_embeddings().weight.data.copy_(start)
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    learner = Learner(model, sum(corpus.task.n_classes for corpus in corpora.values()))
    state = train(learner, tokenizer, corpora, settings, arguments.work / "checkpoint.pt")
    save_model(model, tokenizer, settings, state, arguments.out)
    print(f"{arguments.out}: {state.step} steps, {state.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
