"""Audit: what will be scored, and what is wrong with it, before compute is spent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
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
        All tokens of its answer; empty where no tokenizer was given.
    texts : tuple of str
        The text of each.
    scored : tuple of int
        Those of `ids` that the scoring reads: the first, or all.
    chat_ids : tuple of int or None
        Tokens of the answer after the prompt in the tokenizer's chat template; None without one.
    mass : float or None
        Mean probability of the label, before normalising; None where no engine was given.
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
        Empty where the labels have no tokens to score; the problem says why.
    collisions : tuple of Collision
        Pairs of classes that begin with the same token, whatever the scoring.
    split : tuple of int
        Classes whose answer is more than one token.
    chat : bool
        Whether the prompts are scored in the chat template.
    drifted : tuple of int
        Classes whose tokens in the chat template are others than outside.
    mass : float or None
        Mean captured mass, the probability on all labels together; None without an engine.
    lowest_mass : float or None
        The least of a row.
    n_measured : int
        Prompts on which mass was measured.
    fallbacks : int or None
        Of these, prompts whose answer holds no label; None where the model does not reason.
    problems : tuple of str
        Why these labels should not be scored so, each with a remedy; empty if all is well.
    notes : tuple of str
        What is worth knowing and no problem.
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
        A few, as they will be scored; at least one.
    tokenizer : Tokenizer or None
        Of the model that will score them; without, only captured mass is looked at.
    scoring : Scoring
    engine : Engine, optional
        Measures captured mass on the prompts, where the labels can be scored at all.
    chat : bool, default=False
        The prompts are scored in the tokenizer's chat template.

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
    return _with_mass(tokens, list(engine.score(prompts, task, scoring)))


def _audit_tokens(
    task: Task, prompts: Sequence[Prompt], tokenizer: Tokenizer, scoring: Scoring, chat: bool
) -> Audit:
    texts, lead = [prompt.text for prompt in prompts], prompts[0].lead
    try:
        labels = prompt_label_tokens(tokenizer, texts, task, chat=chat, lead=lead)
    except InvalidInputError as error:
        return Audit(scoring, chat=chat, problems=(str(error),))
    problems = _first_token_problems(labels, tokenizer) if scoring is Scoring.FIRST else []
    if chat:
        in_chat: LabelTokens | None = labels
        drifted = _drifted(labels, _plain_labels(tokenizer, texts[0] + lead, task))
        notes = [_CHAT_DRIFT_NOTE] if drifted else []
    else:
        in_chat, notes = _chat_labels(tokenizer, texts[0], task, lead)
        drifted = _drifted(labels, in_chat)
        problems += [_drift(labels, in_chat, label) for label in drifted if in_chat is not None]
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
    """Add the captured mass, and how many answers hold no label where the model reasons."""
    captured = np.array([row.captured for row in scored])
    n_partial = sum(row.ceiling is not None for row in scored)
    reasoned = all(FALLBACK in row.details for row in scored)
    fallbacks = sum(row.details[FALLBACK] for row in scored) if reasoned else None
    rows = captured.sum(axis=1)
    captured_mass = float(rows.mean())
    problems = list(tokens.problems)
    if fallbacks is not None and fallbacks > MOST_FALLBACKS * len(rows):
        problems.append(_no_label(fallbacks, len(rows)))
    elif captured_mass < LOW_MASS and tokens.scoring is not Scoring.PER_TOKEN:
        problems.append(_low_mass(captured_mass, len(rows)))
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
        notes=(*tokens.notes, *[_partial(n_partial, len(rows))] * (n_partial > 0)),
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


def _chat_labels(
    tokenizer: Tokenizer, text: str, task: Task, lead: str
) -> tuple[LabelTokens | None, list[str]]:
    """Return the answers' tokens after a prompt in a chat, None without one; and notes on it.

    One prompt does: what follows it in the template is the same for all.
    """
    if not tokenizer.has_chat:
        return None, []
    try:
        in_chat = tokenizer.chat(text) + lead
        return label_tokens(tokenizer.encode_chat, in_chat, task), [_CHAT_NOTE]
    except InvalidInputError as error:
        return None, [f"after the prompt in the chat template, labels cannot be scored: {error}"]


def _plain_labels(tokenizer: Tokenizer, text: str, task: Task) -> LabelTokens | None:
    try:
        return label_tokens(tokenizer.encode, text, task)
    except InvalidInputError:  # what cannot be scored plainly may be scored in the chat
        return None


def _drifted(labels: LabelTokens, other: LabelTokens | None) -> tuple[int, ...]:
    """Return the classes whose tokens in the other form of prompt are others."""
    if other is None:
        return ()
    pairs = zip(labels.ids, other.ids, strict=True)
    return tuple(label for label, (own, theirs) in enumerate(pairs) if own != theirs)


def _drift(labels: LabelTokens, chat: LabelTokens, label: int) -> str:
    return (
        f"the label word {labels.words[label]!r} is the tokens {list(labels.ids[label])} after the "
        f"prompt, but {list(chat.ids[label])} after the prompt in the chat template. Use the same "
        "form of prompt for scoring and serving, or an answer_prefix that fits both"
    )


def _partial(n_partial: int, n_prompts: int) -> str:
    return (
        f"on {n_partial} of {n_prompts} prompts the server did not report every label, so that the "
        "mass is at least what is shown"
    )


def _no_label(fallbacks: int, n_prompts: int) -> str:
    return (
        f"{fallbacks} of {n_prompts} answers hold no label, and their last token stands for one: "
        "allow longer answers with max_new_tokens, show demonstrations, or score without chain of "
        "thought"
    )


def _low_mass(captured_mass: float, n_prompts: int) -> str:
    return (
        f"on {n_prompts} prompts the labels capture {captured_mass:.1%} of the probability on "
        "average: the model wants to say something else, which no weight can mend. Name the label "
        "words in the instruction, show demonstrations, or give words that the model would say"
    )
