"""The same prompts in another form: labels in other orders, plain or as a chat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice
from math import factorial

import numpy as np

from dnip.base.errors import BackendError, InvalidInputError
from dnip.base.typing import Floats, Labels
from dnip.prompting.engines.base import Engine
from dnip.prompting.plan import Plan
from dnip.prompting.task import ChatWording, Task

# What stands in a template for something else.
_CODE = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
#: The forms of a prompt: whether it is a chat, and in which wording.
FORMS = {
    "plain": (False, ChatWording()),
    "one message": (True, ChatWording(turns=False)),
    "turns": (True, None),  # the task's own
}


@dataclass(frozen=True)
class Reordered:
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


def in_order(task: Task, order: Sequence[int]) -> Task:
    """Return a task whose wording names label ``order[n]`` where it named label n.

    Examples
    --------
    >>> from dnip.prompting.task_files import load_task
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
        template="".join(part if _CODE.fullmatch(part) else swapped(part) for part in parts),
        chat=replace(task.chat, system=task.chat.system and swapped(task.chat.system)),
        question=replace(asked, instructions=swapped(asked.instructions), criteria=criteria),
    )


def count_flips(plan: Plan, engine: Engine, n_orders: int, decided: Labels) -> list[Reordered]:
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
    found = []
    for order in _orders(task.n_classes, n_orders):
        other = plan.of(in_order(task, order))
        told = [engine.question(one.prompts, one.task) for one in (plan, other)]
        if told[0] == told[1] and plan.prompts[0].text == other.prompts[0].text:
            raise InvalidInputError(
                f"task {task.name} names no two labels in its wording: there is no order to change",
                hint="Name the labels in the instruction, or leave out --orders",
            )
        flips = int((captured(other, engine).argmax(axis=1) != decided).sum())
        found.append(Reordered(tuple(task.classes[n] for n in order), flips))
    return found


def _orders(n: int, most: int) -> list[tuple[int, ...]]:
    """Return different orders of n classes, none of them their own."""
    rng, own = np.random.default_rng(0), tuple(range(n))
    drawn = (tuple(map(int, rng.permutation(n))) for _ in count())
    orders = {own: None, own[::-1]: None}
    enough = min(most + 1, factorial(n) if n < 9 else most + 1)
    while len(orders) < enough:
        orders |= dict.fromkeys(islice(drawn, 1))
    return list(orders)[1:enough]


def mass_of_forms(plan: Plan, engine_of: Callable[[bool], Engine]) -> dict[str, float]:
    """Return the mean captured mass of each form in which a chat model may be asked.

    Parameters
    ----------
    plan : Plan
    engine_of : callable
        Returns the engine for chats, or for plain prompts. A form that it refuses is left out.
    """
    found = {}
    for name, (chat, wording) in FORMS.items():
        asked = plan.of(replace(plan.task, chat=wording or replace(plan.task.chat, turns=True)))
        with suppress(InvalidInputError, BackendError):
            found[name] = float(captured(asked, engine_of(chat)).sum(axis=1).mean())
    return found


def captured(plan: Plan, engine: Engine) -> Floats:
    """Return the probability of each label after each prompt, shape (M, N)."""
    rows = sorted(engine.score(plan.prompts, plan.task), key=lambda row: row.row)
    return np.array([row.captured for row in rows])
