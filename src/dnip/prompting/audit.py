"""Audit: what will be scored, and what is wrong with it, before compute is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dnip.errors import InvalidInputError
from dnip.prompting.engines.base import Scoring
from dnip.prompting.labels import (
    Collision,
    LabelTokens,
    common_label_tokens,
    describe_collision,
    label_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.prompting.engines.base import Engine
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task
    from dnip.typing import Floats

#: Below this mean captured mass, most of what the model wants to say is no label.
LOW_MASS = 0.1


class Tokenizer(Protocol):
    """What an audit asks of a tokenizer; `HubTokenizer` is one."""

    def encode(self, text: str) -> list[int]:
        """Return a text's token ids, those of special tokens at its start included."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids."""
        ...

    @property
    def has_chat(self) -> bool:
        """Whether there is a chat template."""
        ...

    def chat(self, prompt: str) -> str:
        """Return a prompt as the user's turn of a chat, up to where the answer begins."""
        ...

    def encode_chat(self, text: str) -> list[int]:
        """Return the token ids of a chat, whose special tokens stand in the text."""
        ...


@dataclass(frozen=True)
class ClassAudit:
    """What is scored for one class.

    Attributes
    ----------
    name, word : str
        Class and label word.
    ids : tuple of int
        All tokens of its answer.
    texts : tuple of str
        The text of each.
    scored : tuple of int
        Those of `ids` that the scoring reads: the first, or all.
    chat_ids : tuple of int or None
        Tokens of the same answer after the prompt in the tokenizer's chat template; None without
        one.
    mass : float or None
        Mean probability of the label, before normalising; None where no engine was given.
    """

    name: str
    word: str
    ids: tuple[int, ...]
    texts: tuple[str, ...]
    scored: tuple[int, ...]
    chat_ids: tuple[int, ...] | None = None
    mass: float | None = None


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    scoring : Scoring
    classes : tuple of ClassAudit
        Empty where the labels have no tokens to score; the problem says why.
    collisions : tuple of Collision
        Pairs of classes that begin with the same token, whatever the scoring.
    split : tuple of int
        Classes whose answer is more than one token.
    drifted : tuple of int
        Classes whose tokens change in the chat template.
    mass : float or None
        Mean captured mass, the probability on all labels together; None without an engine.
    lowest_mass : float or None
        The least of a row.
    n_measured : int
        Prompts on which mass was measured.
    problems : tuple of str
        Why these labels should not be scored so, each with a remedy; empty if all is well.
    notes : tuple of str
        What is worth knowing and no problem.
    """

    scoring: Scoring
    classes: tuple[ClassAudit, ...] = ()
    collisions: tuple[Collision, ...] = ()
    split: tuple[int, ...] = ()
    drifted: tuple[int, ...] = ()
    mass: float | None = None
    lowest_mass: float | None = None
    n_measured: int = 0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def audit(
    task: Task,
    prompts: Sequence[Prompt],
    tokenizer: Tokenizer,
    scoring: Scoring,
    *,
    engine: Engine | None = None,
) -> Audit:
    """Check the label tokens of a task, and measure captured mass.

    Parameters
    ----------
    task : Task
    prompts : sequence of Prompt
        A few, as they will be scored; at least one.
    tokenizer : Tokenizer
        Of the model that will score them.
    scoring : Scoring
    engine : Engine, optional
        Measures captured mass on the prompts, where the labels can be scored at all.

    Returns
    -------
    Audit

    Raises
    ------
    InvalidInputError
        If there is no prompt, or the engine refuses one.
    BackendError
        If the engine fails.
    """
    if not prompts:
        raise InvalidInputError("an audit needs at least one prompt")
    texts = [prompt.text for prompt in prompts]
    try:
        labels = common_label_tokens(tokenizer.encode, texts, task)
    except InvalidInputError as error:
        return Audit(scoring, problems=(str(error),))
    problems = _first_token_problems(labels, tokenizer) if scoring is Scoring.FIRST else []
    collide = scoring is Scoring.FIRST and labels.collisions
    captured = None if engine is None or collide else _measure(engine, prompts, task, scoring)
    chat, notes = _chat_labels(tokenizer, texts[0], task)
    drifted = _drifted(labels, chat)
    problems += [_drift(labels, chat, label) for label in drifted if chat is not None]
    mass = None if captured is None else float(captured.sum(axis=1).mean())
    if mass is not None and mass < LOW_MASS and scoring is not Scoring.PER_TOKEN:
        problems.append(_low_mass(mass, len(prompts)))
    return Audit(
        scoring=scoring,
        classes=tuple(
            ClassAudit(
                name=task.classes[label],
                word=word,
                ids=ids,
                texts=tuple(tokenizer.decode([token]) for token in ids),
                scored=ids[:1] if scoring is Scoring.FIRST else ids,
                chat_ids=None if chat is None else chat.ids[label],
                mass=None if captured is None else float(captured[:, label].mean()),
            )
            for label, (word, ids) in enumerate(zip(labels.words, labels.ids, strict=True))
        ),
        collisions=labels.collisions,
        split=labels.split,
        drifted=drifted,
        mass=mass,
        lowest_mass=None if captured is None else float(captured.sum(axis=1).min()),
        n_measured=0 if captured is None else len(prompts),
        problems=tuple(problems),
        notes=tuple(notes),
    )


_CHAT_NOTE = (
    "the tokenizer has a chat template, and the prompts are scored without it. If the model will "
    "be served through its chat, score it through its chat too"
)


def _first_token_problems(labels: LabelTokens, tokenizer: Tokenizer) -> list[str]:
    """Name collisions and split words, which first-token scoring cannot or half reads."""
    remedy = f"Score whole words with {Scoring.SUM} or {Scoring.PER_TOKEN}"
    collisions = [
        f"{describe_collision(labels, pair, tokenizer.decode)}. {remedy}, or give other words"
        for pair in labels.collisions
    ]
    split = [
        f"the label word {labels.words[label]!r} is {len(labels.ids[label])} tokens, and its first "
        f"one, {tokenizer.decode(labels.ids[label][:1])!r}, may begin other words too. {remedy}, "
        "or give a word of one token"
        for label in labels.split
    ]
    blank = [
        f"the first token of the label word {labels.words[label]!r} is empty or a mere space: "
        f"{tokenizer.decode([token])!r}. {remedy}"
        for label, token in enumerate(labels.first)
        if not tokenizer.decode([token]).strip()
    ]
    return collisions + blank + split


def _measure(engine: Engine, prompts: Sequence[Prompt], task: Task, scoring: Scoring) -> Floats:
    """Return the captured probabilities, shape (number of prompts, N)."""
    captured = np.zeros((len(prompts), task.n_classes))
    for scored in engine.score(prompts, task, scoring):
        captured[scored.row] = scored.captured
    return captured


def _chat_labels(
    tokenizer: Tokenizer, text: str, task: Task
) -> tuple[LabelTokens | None, list[str]]:
    """Return the answers' tokens after a prompt in a chat, None without one; and notes on it.

    One prompt does: what follows it in the template is the same for all.
    """
    if not tokenizer.has_chat:
        return None, []
    try:
        return label_tokens(tokenizer.encode_chat, tokenizer.chat(text), task), [_CHAT_NOTE]
    except InvalidInputError as error:
        return None, [f"after the prompt in the chat template, labels cannot be scored: {error}"]


def _drifted(labels: LabelTokens, chat: LabelTokens | None) -> tuple[int, ...]:
    if chat is None:
        return ()
    pairs = zip(labels.ids, chat.ids, strict=True)
    return tuple(label for label, (plain, wrapped) in enumerate(pairs) if plain != wrapped)


def _drift(labels: LabelTokens, chat: LabelTokens, label: int) -> str:
    return (
        f"the label word {labels.words[label]!r} is the tokens {list(labels.ids[label])} after the "
        f"prompt, but {list(chat.ids[label])} after the prompt in the chat template. Use the same "
        "form of prompt for scoring and serving, or an answer_prefix that fits both"
    )


def _low_mass(mass: float, n_prompts: int) -> str:
    return (
        f"on {n_prompts} prompts the labels capture {mass:.1%} of the probability on average: the "
        "model wants to say something else, which no weight can mend. Name the label words in the "
        "instruction, show demonstrations, or give words that the model would say"
    )
