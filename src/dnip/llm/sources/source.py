"""What a source of answers is: how an answer is recognised, and what is read of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from shlex import join
from typing import Any, Self, TypeAlias

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Floats
from dnip.llm.answers.reader import LabelReader, reader_of
from dnip.llm.answers.stating import SEVERAL

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
        Which question of an answer to read; empty where there may be one only.
    on, label : str or None
        The names under which answers hold their ids and labels, where they are given.
    own_labels : bool
        Whether gold labels in the answers are read.
    keep : sequence of str
        The names of what is carried into the table.
    only : sequence of str
        A model, or the first letters of a fingerprint, or COLUMN=VALUE: others are left out.
    voting : bool
        Whether the texts of answers are kept, all those to one row together.
    by_character : bool
        Whether log-likelihoods of choices are divided by the lengths of their texts.
    key, last
        How labels are read, as for `dnip.llm.answers.stating.Rule`.
    """

    classes: tuple[str, ...]
    names: tuple[str, ...]
    question: str = ""
    on: str | None = None
    label: str | None = None
    own_labels: bool = True
    keep: Sequence[str] = ()
    only: Sequence[str] = ()
    voting: bool = False
    by_character: bool = False
    key: str | None = None
    last: bool = False

    @property
    def only_values(self) -> dict[str, str]:
        """The values of columns that rows must have."""
        pairs = (only.partition("=") for only in self.only if "=" in only)
        return {column: value for column, _, value in pairs}

    @property
    def reader(self) -> LabelReader:
        """What reads the answers."""
        return reader_of(self.names, self.classes, self.key, last=self.last)

    def called(self, options: Iterable[str]) -> tuple[str, ...]:
        """Return what the classes are called among options; `names` if these are other options.

        Examples
        --------
        >>> wanted = Wanted(("ham", "spam"), ("h", "s"))
        >>> wanted.called(["s", "h"]), wanted.called(["Spam", "Ham"])
        (('h', 's'), ('Ham', 'Spam'))
        """
        options = tuple(options)
        for fold in (str, _fold):
            known = {fold(option): option for option in options}
            for names in (self.names, self.classes):
                if len(known) == len(options) and {*map(fold, names)} == known.keys():
                    return tuple(known[fold(name)] for name in names)
        return self.names


def _fold(name: str) -> str:
    return name.casefold().removeprefix("__label__")  # of fastText


#: Why answers are left out, in words, and what to do where all are.
LOST = {
    "refused": ("the model refuses", "Change the prompt, or give other rows"),
    "failed": ("the request failed", "Send the requests again, or give other files"),
    "several": ("several labels are stated", "Ask for one label, alone or first"),
    "unstated": (
        "no label is stated",
        "Say with --map how the answers name the classes; or ask for the label alone, or first, or "
        "as JSON, and give --key for a key of it",
    ),
    "silent": ("there are no probabilities", "Ask again with logprobs=True, top_logprobs=20"),
}


class LeftOutError(Exception):
    """An answer that shows nothing, so that it is left out.

    Parameters
    ----------
    kind : str
        One of `LOST`.
    why, hint : str, optional
        In words, and what to do where all answers are left out.
    said : str, optional
        Its text, where that is why.
    """

    def __init__(self, kind: str, why: str = "", hint: str | None = None, said: str = "") -> None:
        super().__init__(kind)
        words, remedy = LOST[kind]
        self.kind, self.why, self.hint, self.said = kind, why or words, hint or remedy, said

    @classmethod
    def unread(cls, reason: str, said: str, key: str | None) -> Self:
        """Return the error for a text that states no label, or several."""
        if reason == SEVERAL:
            return cls("several", said=said)
        if key is None:
            return cls("unstated", said=said)
        why = f"no key {key} whose value is a label"
        return cls("unstated", why, "Give --key the name of another key", said)


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
    names_none : bool
        Whether the answer is one token that is no label, so that this token is read.
    label : object
        Its gold label, None where the answer holds none.
    columns : tuple of str
        The columns of a table that the scores were read from.
    logarithms : bool
        Whether these hold log-probabilities.
    """

    scores: Floats
    ceiling: Floats | None = None
    mass: float | None = None
    names_none: bool = False
    label: object = None
    columns: tuple[str, ...] = ()
    logarithms: bool = False


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
        From an answer and what is wanted to a `Row`. It raises LeftOutError or SilentError for an
        answer that shows nothing, and InvalidInputError or BackendError for a damaged one; the
        caller adds where it lies.
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
    read: Callable[[Answer, Wanted], Row]
    questions: Callable[[Answer], Sequence[str]] = field(default=lambda _: ("",))
    texts: Callable[[Answer], Mapping[str, Sequence[str | None]]] = field(default=lambda _: {})
    takes_first: bool = False


# A name that ends in a number, such as LABEL_0.
_NUMBERED = re.compile(r"\D*([0-9]{1,9})")


def other_options(options: Sequence[str], wanted: Wanted) -> InvalidInputError:
    """Return the error for options that are not the classes."""
    hint = "Name every option with --classes, or give its class another name with --map"
    if len(options) == len(wanted.classes):
        if all(map(_NUMBERED.fullmatch, options)):  # they may come by score
            options = sorted(options, key=lambda option: int(_NUMBERED.findall(option)[0]))
        hint += f": if that is their order, {as_map(wanted.classes, options)}"
    return InvalidInputError(
        f"the options are {listed(options) or 'none'}, but the classes are {listed(wanted.names)}",
        hint=hint,
    )


def as_map(classes: Sequence[str], names: Sequence[str]) -> str:
    """Return the options that give each class the name of a column or an option, to be typed.

    Examples
    --------
    >>> as_map(["ham", "a b"], ["p_ham", "p_b"])
    "--map ham=p_ham --map 'a b=p_b'"
    """
    pairs = [f"{name}={other}" for name, other in zip(classes, names, strict=True)]
    return join([word for pair in pairs for word in ("--map", pair)])


def as_number(value: object, name: str) -> float:
    """Return a number, which may be written as a text: with a decimal comma, or in per cent.

    Raises
    ------
    InvalidInputError
        For anything else; whether it is finite is checked later.

    Examples
    --------
    >>> as_number("-812,3", "ham"), as_number("12.5 %", "ham")
    (-812.3, 0.125)
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise TypeError
        return float(value) if not isinstance(value, str) else _from_text(value)
    except (TypeError, ValueError, OverflowError):
        what = "is not a number"
        if isinstance(value, str) and _THOUSANDS.fullmatch(value.strip()):
            what = "may be a thousand or a fraction: write it without a comma, or with a point"
        hint = "Give a number in every row, or leave the row out"
        if isinstance(value, list | dict):
            hint = "Write a row for each answer: to_json(path, orient='records', lines=True)"
        raise InvalidInputError(f"{name}: {value!r:.60} {what}", hint=hint) from None


_THOUSANDS = re.compile(r"\+?[1-9]\d{0,2},\d{3}")
_DECIMAL_COMMA = re.compile(r"([+-]?\d*),(\d+(?:e[+-]?\d+)?)", re.IGNORECASE)


def _from_text(text: str) -> float:
    number = text.strip().replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", "")
    if "_" in number or _THOUSANDS.fullmatch(number):
        raise ValueError
    whole = number.removesuffix("%").rstrip()
    return float(_DECIMAL_COMMA.sub(r"\1.\2", whole)) / (1 if whole == number else 100)
