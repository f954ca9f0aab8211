"""Audit: which tokens would be scored, and what is wrong with them, before a long run.

Also whether the same prompts say the same in another form: with labels in other orders, plain or as
a chat.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from math import factorial

import numpy as np

from dnip.base.errors import BackendError, InvalidInputError, counted
from dnip.base.typing import Labels
from dnip.llm.prompting.engines.base import Engine, ScoredRow
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.labels import (
    Collision,
    LabelTokens,
    Scoring,
    describe_collision,
    prompt_label_tokens,
)
from dnip.llm.prompting.plan import Plan
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import ChatWording, Task
from dnip.tables.columns import FALLBACK
from dnip.tables.mass import LOW_MASS

#: Beyond this share of answers without a label, chain of thought does not work.
MOST_FALLBACKS = 0.5
# What stands in a template for something else.
_CODE = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
#: The forms of a prompt: whether it is a chat, and in which wording.
FORMS = {
    "plain": (False, ChatWording()),
    "one message": (True, ChatWording(turns=False)),
    "turns": (True, None),  # the task's own
}


@dataclass(frozen=True)
class _Reordered:
    """What another order of the labels came to.

    Attributes
    ----------
    order : tuple of str
        The classes, each where another one stood.
    flips : int
        How many answers are for another class than in the task's own order.
    """

    order: tuple[str, ...]
    flips: int


@dataclass
class _ClassAudit:
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
    mass : float or None
        Mean probability of the label, before normalising; None without an engine.
    """

    name: str
    word: str
    ids: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    scored: tuple[int, ...] = ()
    mass: float | None = None


@dataclass
class Audit:
    """The result of an audit.

    Attributes
    ----------
    scoring : Scoring
    classes : list of _ClassAudit
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
    forms : dict of str to float
        The captured mass of each of `FORMS` of a chat model's prompts.
    orders : list of _Reordered
        How many answers flip with the labels in another order.
    n_measured : int
        Number of prompts on which mass was measured.
    fallbacks : int or None
        How many answers have no label; None if the model does not reason.
    problems : list of str
        Why the labels should not be scored like this, each with a remedy; empty if all is well.
    notes : list of str
        What is worth knowing but no problem.
    """

    scoring: Scoring
    classes: list[_ClassAudit]
    collisions: tuple[Collision, ...] = ()
    split: tuple[int, ...] = ()
    chat: bool = False
    drifted: tuple[int, ...] = ()
    mass: float | None = None
    lowest_mass: float | None = None
    forms: dict[str, float] = field(default_factory=dict)
    orders: list[_Reordered] = field(default_factory=list)
    n_measured: int = 0
    fallbacks: int | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def audit(plan: Plan, engine: Engine, *, orders: int = 0) -> Audit:
    """Check the label tokens of a task, and measure captured mass.

    Parameters
    ----------
    plan : Plan
        A few rows are enough.
    engine : Engine
        Measures captured mass on the prompts, if the labels can be scored. Tokens are looked at
        where it knows the model's tokenizer.
    orders : int, default=0
        In how many other orders of the labels the prompts are asked again.

    Raises
    ------
    InvalidInputError
        If the engine refuses a prompt, or the task names no labels whose order could change.
    BackendError
        If the engine fails.
    """
    task, prompts = plan.task, plan.prompts
    names = zip(task.classes, task.label_words, strict=True)
    chat, tokenizer = getattr(engine, "chat", False), getattr(engine, "tokenizer", None)
    result = Audit(engine.scoring, [_ClassAudit(name, word) for name, word in names], chat=chat)
    if tokenizer is not None:
        _add_tokens(result, task, prompts, tokenizer)
        if not result.classes or (engine.scoring is Scoring.FIRST and result.collisions):
            return result
    scored = _score(plan, engine)
    _add_mass(result, scored)
    if chat and (in_form := getattr(engine, "in_form", None)):
        result.forms = _mass_of_forms(plan, lambda chat: in_form(chat=chat))
    result.orders = count_flips(plan, engine, orders, _decide(scored))
    return result


def _add_tokens(
    result: Audit, task: Task, prompts: Sequence[Prompt], tokenizer: HubTokenizer
) -> None:
    """Look at the tokens of the labels, and compare them with and without the chat template."""
    first, lead = prompts[:1], prompts[0].lead
    try:
        labels = tokenizer.label_tokens(prompts, task, chat=result.chat, lead=lead)
    except InvalidInputError as error:
        result.classes = []
        result.problems.append(str(error))
        return
    result.collisions, result.split = labels.collisions, labels.split
    if result.scoring is Scoring.FIRST:
        result.problems += _first_token_problems(labels, tokenizer)
    other: LabelTokens | None = None  # in the other form of prompt
    try:
        if result.chat:
            other = tokenizer.label_tokens(first, task, lead=lead)
        elif tokenizer.has_chat:
            # One prompt is enough: what the template writes after it is the same for all.
            texts = [text + lead for text in tokenizer.texts(first, chat=True)]
            other = prompt_label_tokens(tokenizer.encode_chat, texts, task)
            result.notes.append(_CHAT_NOTE)
    except InvalidInputError as error:
        if not result.chat:
            reason = "after the prompt in the chat template, labels cannot be scored"
            result.notes.append(f"{reason}: {error}")
    if other is not None:
        result.drifted = tuple(i for i, ids in enumerate(labels.ids) if ids != other.ids[i])
        if result.chat and result.drifted:
            result.notes.append(_CHAT_DRIFT_NOTE)
        elif not result.chat:
            result.problems += [
                f"the label word {labels.words[i]!r} is the tokens {list(labels.ids[i])} after the "
                f"prompt, but {list(other.ids[i])} after the prompt in the chat template. Use the "
                "same form of prompt for scoring and serving, or an answer_prefix that fits both"
                for i in result.drifted
            ]
    for label, audited in enumerate(result.classes):
        audited.ids = labels.ids[label]
        audited.texts = tuple(tokenizer.decode([token]) for token in audited.ids)
        audited.scored = audited.ids[:1] if result.scoring is Scoring.FIRST else audited.ids


def _add_mass(result: Audit, scored: Sequence[ScoredRow]) -> None:
    """Add the captured mass, and how many answers have no label if the model reasons."""
    captured = np.array([row.captured for row in scored])
    mass = captured.sum(axis=1)
    result.mass, result.lowest_mass = float(mass.mean()), float(mass.min())
    result.n_measured = len(scored)
    for audited, shares in zip(result.classes, captured.T, strict=True):
        audited.mass = float(shares.mean())
    if all(FALLBACK in row.details for row in scored):
        result.fallbacks = sum(row.details[FALLBACK] for row in scored)
    if result.fallbacks is not None and result.fallbacks > MOST_FALLBACKS * len(scored):
        result.problems.append(
            f"{result.fallbacks} of {len(scored)} answers hold no label, and their last token "
            "stands for one: allow longer answers with max_new_tokens, show demonstrations, or "
            "score without chain of thought"
        )
    elif result.mass < LOW_MASS and result.scoring is not Scoring.PER_TOKEN:
        result.problems.append(
            f"on {counted(len(scored), 'prompt')} the labels capture {result.mass:.1%} of the "
            "probability on average: the model wants to say something else, which no weight can "
            "mend. Name the label words in the instruction, show demonstrations, or give words "
            "that the model would say"
        )
    n_partial = sum(row.ceiling is not None for row in scored)
    if n_partial:
        result.notes.append(
            f"on {n_partial} of {len(scored)} prompts the server did not report every label, so "
            "that the mass is at least what is shown"
        )


_CHAT_NOTE = (
    "the tokenizer has a chat template, and the prompts are scored without it. If the model will "
    "be served through its chat, score it through its chat too"
)
_CHAT_DRIFT_NOTE = (
    "in the chat template the answers are other tokens than after the bare prompt; coefficients "
    "and logit biases of the one form do not fit the other"
)


def _first_token_problems(labels: LabelTokens, tokenizer: HubTokenizer) -> list[str]:
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


def _score(plan: Plan, engine: Engine) -> list[ScoredRow]:
    """Return the answers to all prompts, in their order."""
    return sorted(engine.score(plan.prompts, plan.task), key=lambda row: row.row)


def _decide(scored: Sequence[ScoredRow]) -> Labels:
    return np.array([row.captured.argmax() for row in scored])


def in_order(task: Task, order: Sequence[int]) -> Task:
    """Return a task whose wording names label ``order[n]`` where it named label n.

    Examples
    --------
    >>> from dnip.llm.prompting.task_files import load_task
    >>> in_order(load_task("agnews"), [3, 2, 1, 0]).instruction
    'Read the news article and name its topic: Technology, Business, Sports or World.'
    """
    other: dict[str, str] = {}
    for names in (task.classes, task.label_words):
        other |= {names[n]: names[m] for n, m in enumerate(order)}
    longest_first = sorted(other, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")

    def swapped(text: str) -> str:
        return pattern.sub(lambda match: other[match[0]], text)

    parts = _CODE.split(task.template)
    asked = task.decision
    criteria = {other[name]: asked.criteria[other[name]] for name in asked.criteria}
    return replace(
        task,
        instruction=swapped(task.instruction),
        template="".join(piece if _CODE.fullmatch(piece) else swapped(piece) for piece in parts),
        chat=replace(task.chat, system=task.chat.system and swapped(task.chat.system)),
        question=replace(asked, instructions=swapped(asked.instructions), criteria=criteria),
    )


def count_flips(plan: Plan, engine: Engine, n_orders: int, decided: Labels) -> list[_Reordered]:
    """Say how many answers flip when labels stand in other orders in the prompt or the request.

    Parameters
    ----------
    plan : Plan
        The prompts in the task's own order.
    engine : Engine
    n_orders : int
        How many other orders: the reverse one, then random ones. Two classes have no more than one.
    decided : ndarray of shape (M,)
        The classes that are decided for in the task's own order.

    Raises
    ------
    InvalidInputError
        If no two labels stand in the wording.
    BackendError
        If the engine fails.
    """
    task = plan.task
    results = []
    for order in _orders(task.n_classes, n_orders):
        other = plan.of(in_order(task, order))
        questions = [engine.question(version.prompts, version.task) for version in (plan, other)]
        if questions[0] == questions[1] and plan.prompts[0].text == other.prompts[0].text:
            raise InvalidInputError(
                f"task {task.name} names no two labels in its wording: there is no order to change",
                hint="Name the labels in the instruction, or leave out --orders",
            )
        flips = int((_decide(_score(other, engine)) != decided).sum())
        results.append(_Reordered(tuple(task.classes[n] for n in order), flips))
    return results


def _orders(n: int, most: int) -> list[tuple[int, ...]]:
    """Return different orders of n classes, none of them their own."""
    rng, identity = np.random.default_rng(0), tuple(range(n))
    drawn = (tuple(map(int, rng.permutation(n))) for _ in count())
    orders = {identity: None, identity[::-1]: None}
    enough = min(most + 1, factorial(n) if n < 9 else most + 1)
    while len(orders) < enough:
        orders |= dict.fromkeys(islice(drawn, 1))
    return list(orders)[1:enough]


def _mass_of_forms(plan: Plan, engine_of: Callable[[bool], Engine]) -> dict[str, float]:
    """Return the mean captured mass of each form in which a chat model may be asked.

    Parameters
    ----------
    plan : Plan
    engine_of : callable
        Returns the engine for chats, or for plain prompts. A form that it refuses is left out.
    """
    masses = {}
    for name, (chat, wording) in FORMS.items():
        asked = plan.of(replace(plan.task, chat=wording or replace(plan.task.chat, turns=True)))
        with suppress(InvalidInputError, BackendError):
            scored = _score(asked, engine_of(chat))
            masses[name] = float(np.mean([row.captured.sum() for row in scored]))
    return masses
