"""Audit: which tokens would be scored, and what is wrong with them, before a long run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError, counted
from dnip.prompting.engines.base import FALLBACK, Scoring
from dnip.prompting.labels import (
    Collision,
    LabelTokens,
    describe_collision,
    label_tokens,
    prompt_label_tokens,
)
from dnip.tables.captured_mass import LOW_MASS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.prompting.engines.base import Engine, ScoredRow
    from dnip.prompting.labels import Tokenizer
    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task

#: Beyond this share of answers without a label, chain of thought does not work.
MOST_FALLBACKS = 0.5


@dataclass(frozen=True)
class ClassAudit:
    """What is scored for one class.

    Attributes
    ----------
    name, word : str
        Class and label word.
    ids : tuple of int
        All tokens of its answer; empty without a tokenizer.
    texts : tuple of str
        The text of each token.
    scored : tuple of int
        The tokens that are scored: the first one, or all.
    chat_ids : tuple of int or None
        Tokens of the answer after the prompt in the chat template; None without a template.
    mass : float or None
        Mean probability of the label, before normalising; None without an engine.
    """

    name: str
    word: str
    ids: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    scored: tuple[int, ...] = ()
    chat_ids: tuple[int, ...] | None = None
    mass: float | None = None


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    scoring : Scoring
    classes : tuple of ClassAudit
        Empty if the labels have no tokens to score; `problems` says why.
    collisions : tuple of Collision
        Pairs of classes whose answers begin with the same token.
    split : tuple of int
        Classes whose answer is more than one token.
    chat : bool
        Whether the prompts are scored in the chat template.
    drifted : tuple of int
        Classes whose tokens differ with and without the chat template.
    mass : float or None
        Mean captured mass, the probability on all labels together; None without an engine.
    lowest_mass : float or None
        The lowest captured mass of a prompt.
    n_measured : int
        Number of prompts on which mass was measured.
    fallbacks : int or None
        How many answers have no label; None if the model does not reason.
    problems : tuple of str
        Why the labels should not be scored like this, each with a remedy; empty if all is well.
    notes : tuple of str
        What is worth knowing but no problem.
    """

    scoring: Scoring
    classes: tuple[ClassAudit, ...] = ()
    collisions: tuple[Collision, ...] = ()
    split: tuple[int, ...] = ()
    chat: bool = False
    drifted: tuple[int, ...] = ()
    mass: float | None = None
    lowest_mass: float | None = None
    n_measured: int = 0
    fallbacks: int | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def audit(
    task: Task,
    prompts: Sequence[Prompt],
    tokenizer: Tokenizer | None,
    scoring: Scoring,
    *,
    engine: Engine | None = None,
    chat: bool = False,
) -> Audit:
    """Check the label tokens of a task, and measure captured mass.

    Parameters
    ----------
    task : Task
    prompts : sequence of Prompt
        At least one; a few are enough.
    tokenizer : Tokenizer or None
        The model's tokenizer. Without it, only captured mass is measured.
    scoring : Scoring
    engine : Engine, optional
        Measures captured mass on the prompts, if the labels can be scored.
    chat : bool, default=False
        Whether the prompts are scored in the chat template.

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
    tokens = Audit(scoring, tuple(map(ClassAudit, task.classes, task.label_words)), chat=chat)
    if tokenizer is not None:
        tokens = _audit_tokens(task, prompts, tokenizer, scoring, chat)
    unscorable = not tokens.classes or (scoring is Scoring.FIRST and tokens.collisions)
    if engine is None or unscorable:
        return tokens
    return _with_mass(tokens, list(engine.score(prompts, task)))


def _audit_tokens(
    task: Task, prompts: Sequence[Prompt], tokenizer: Tokenizer, scoring: Scoring, chat: bool
) -> Audit:
    """Look at the tokens of the labels, and compare them with and without the chat template."""
    texts, lead = [prompt.text for prompt in prompts], prompts[0].lead
    try:
        labels = prompt_label_tokens(tokenizer, texts, task, chat=chat, lead=lead)
    except InvalidInputError as error:
        return Audit(scoring, chat=chat, problems=(str(error),))
    problems = _first_token_problems(labels, tokenizer) if scoring is Scoring.FIRST else []
    notes: list[str] = []
    other: LabelTokens | None = None  # in the other form of prompt
    try:
        if chat:
            other = label_tokens(tokenizer.encode, texts[0] + lead, task)
        elif tokenizer.has_chat:
            # One prompt is enough: what the template writes after it is the same for all.
            other = label_tokens(tokenizer.encode_chat, tokenizer.chat(texts[0]) + lead, task)
            notes.append(_CHAT_NOTE)
    except InvalidInputError as error:
        if not chat:
            reason = "after the prompt in the chat template, labels cannot be scored"
            notes.append(f"{reason}: {error}")
    pairs = [] if other is None else list(zip(labels.ids, other.ids, strict=True))
    drifted = tuple(label for label, (own, theirs) in enumerate(pairs) if own != theirs)
    if chat and drifted:
        notes.append(_CHAT_DRIFT_NOTE)
    elif not chat:
        problems += [
            f"the label word {labels.words[label]!r} is the tokens {list(pairs[label][0])} after "
            f"the prompt, but {list(pairs[label][1])} after the prompt in the chat template. Use "
            "the same form of prompt for scoring and serving, or an answer_prefix that fits both"
            for label in drifted
        ]
    in_chat = labels if chat else other
    return Audit(
        scoring=scoring,
        classes=tuple(
            ClassAudit(
                name=task.classes[label],
                word=word,
                ids=ids,
                texts=tuple(tokenizer.decode([token]) for token in ids),
                scored=ids[:1] if scoring is Scoring.FIRST else ids,
                chat_ids=None if in_chat is None else in_chat.ids[label],
            )
            for label, (word, ids) in enumerate(zip(labels.words, labels.ids, strict=True))
        ),
        collisions=labels.collisions,
        split=labels.split,
        chat=chat,
        drifted=drifted,
        problems=tuple(problems),
        notes=tuple(notes),
    )


def _with_mass(tokens: Audit, scored: Sequence[ScoredRow]) -> Audit:
    """Add the captured mass, and how many answers have no label if the model reasons."""
    captured = np.array([row.captured for row in scored])
    rows = captured.sum(axis=1)
    captured_mass = float(rows.mean())
    reasoned = all(FALLBACK in row.details for row in scored)
    fallbacks = sum(row.details[FALLBACK] for row in scored) if reasoned else None
    problems, notes = list(tokens.problems), list(tokens.notes)
    if fallbacks is not None and fallbacks > MOST_FALLBACKS * len(rows):
        problems.append(
            f"{fallbacks} of {len(rows)} answers hold no label, and their last token stands for "
            "one: allow longer answers with max_new_tokens, show demonstrations, or score without "
            "chain of thought"
        )
    elif captured_mass < LOW_MASS and tokens.scoring is not Scoring.PER_TOKEN:
        problems.append(
            f"on {counted(len(rows), 'prompt')} the labels capture {captured_mass:.1%} of the "
            "probability on average: the model wants to say something else, which no weight can "
            "mend. Name the label words in the instruction, show demonstrations, or give words "
            "that the model would say"
        )
    n_partial = sum(row.ceiling is not None for row in scored)
    if n_partial:
        notes.append(
            f"on {n_partial} of {len(rows)} prompts the server did not report every label, so that "
            "the mass is at least what is shown"
        )
    return replace(
        tokens,
        classes=tuple(
            replace(one, mass=float(captured[:, label].mean()))
            for label, one in enumerate(tokens.classes)
        ),
        mass=captured_mass,
        lowest_mass=float(rows.min()),
        n_measured=len(rows),
        fallbacks=fallbacks,
        problems=tuple(problems),
        notes=tuple(notes),
    )


_CHAT_NOTE = (
    "the tokenizer has a chat template, and the prompts are scored without it. If the model will "
    "be served through its chat, score it through its chat too"
)
_CHAT_DRIFT_NOTE = (
    "in the chat template the answers are other tokens than after the bare prompt; coefficients "
    "and logit biases of the one form do not fit the other"
)


def _first_token_problems(labels: LabelTokens, tokenizer: Tokenizer) -> list[str]:
    """Describe collisions, blank tokens and split words, which first-token scoring misreads."""
    remedy = f"Score whole words with {Scoring.SUM} or {Scoring.PER_TOKEN}"
    problems = [
        f"{describe_collision(labels, pair, tokenizer.decode)}. {remedy}, or give other words"
        for pair in labels.collisions
    ]
    firsts = [tokenizer.decode([token]) for token in labels.first]
    problems += [
        f"the first token of the label word {word!r} is empty or a mere space: {first!r}. {remedy}"
        for word, first in zip(labels.words, firsts, strict=True)
        if not first.strip()
    ]
    problems += [
        f"the label word {labels.words[label]!r} is {len(labels.ids[label])} tokens, and its first "
        f"one, {firsts[label]!r}, may begin other words too. {remedy}, or give a word of one token"
        for label in labels.split
    ]
    return problems
