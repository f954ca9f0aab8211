"""What a source of answers is: how an answer is recognised, and what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Floats

#: An answer, as parsed from JSON.
Answer: TypeAlias = Any


@dataclass(frozen=True)
class Wanted:
    """What is looked for in every answer.

    Attributes
    ----------
    classes : tuple of str
        Class names of the table.
    names : tuple of str
        What the answers call the classes, in the same order: options, label words or columns.
    question : str
        Which question of an answer to read.
    own_labels : bool
        Whether gold labels in the answers are read.
    by_character : bool
        Whether log-likelihoods of choices are divided by the lengths of their texts.
    """

    classes: tuple[str, ...]
    names: tuple[str, ...]
    question: str = ""
    own_labels: bool = True
    by_character: bool = False


@dataclass(frozen=True, eq=False)
class Row:
    """What one answer says of the classes.

    Attributes
    ----------
    scores : ndarray of shape (N,)
        Probability of each class, before rows are normalised; 0 for one that was not reported.
    ceiling : ndarray of shape (N,) or None
        The most that each can be; None where all were reported.
    mass : float or None
        What the model gave to all classes together, where it is known.
    names_none, names_several : bool
        Whether the answer names no class, so that its first token is read; or several, so that it
        is left out.
    row_id, label : object
        The row's id and gold label, None where the answer holds none.
    where : str
        Where the answer lies, for messages.
    number : int
        Which of all answers it is, from 0.
    texts : list
        The answers to the row, where their votes are counted; None for a refusal.
    """

    scores: Floats
    ceiling: Floats | None = None
    mass: float | None = None
    names_none: bool = False
    names_several: bool = False
    row_id: object = None
    label: object = None
    where: str = ""
    number: int = 0
    texts: list[str | None] = field(default_factory=list)


@dataclass(frozen=True)
class Source:
    """A kind of answers.

    Attributes
    ----------
    name : str
        What ``--from`` calls it.
    title : str
        What messages call it.
    recognises : callable
        Says whether a value, as parsed from JSON, is an answer of this kind.
    read : callable
        From an answer and what is wanted to a `Row`, None for a refusal. It raises
        InvalidInputError or BackendError for a damaged answer; the caller adds where it lies.
    questions : callable, optional
        The names of the questions that an answer holds.
    texts : callable, optional
        The texts that are votes, by question; None for a refusal.
    takes_first : bool, default=False
        Whether the first question is read where there are several and none is asked for.
    """

    name: str
    title: str
    recognises: Callable[[Answer], bool]
    read: Callable[[Answer, Wanted], Row | None]
    questions: Callable[[Answer], Sequence[str]] = field(default=lambda _: ("",))
    texts: Callable[[Answer], Mapping[str, Sequence[str | None]]] = field(default=lambda _: {})
    takes_first: bool = False


def other_options(options: Sequence[str], wanted: Wanted) -> InvalidInputError:
    """Return the error for options that are not the classes."""
    return InvalidInputError(
        f"the options are {listed(options) or 'none'}, but the classes are {listed(wanted.names)}",
        hint="Name every option with --classes, or give its class another name with --map",
    )


def as_number(value: object, name: str) -> float:
    """Return a number, which may be written as a text.

    Raises
    ------
    InvalidInputError
        For anything else; whether it is finite is checked later.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{name}: {value!r:.60} is not a number") from None
