"""Label tokens: which tokens stand for each class after a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from dnip.base.errors import InvalidInputError
from dnip.llm.prompting.task import Task

#: A tokenizer, as far as labels go: a text's token ids, special tokens at its start included.
Encode = Callable[[str], Sequence[int]]
#: The text of token ids, for messages.
Decode = Callable[[Sequence[int]], str]

#: Prompts that end in the same letters are taken to be followed by the same label tokens.
_TAIL = 4
#: So many prompts are looked at, at most.
_MOST_PROMPTS = 32


class Scoring(StrEnum):
    """How the probability of a label word of several tokens is read.

    FIRST: its first token that tells it from the other labels. SUM: the whole word, the sum of its
    tokens' log-probabilities. PER_TOKEN: that sum divided by their number. MEAN: the mean
    probability of its tokens at the answer position, as in the authors' code.
    """

    FIRST = "first"
    SUM = "sum"
    PER_TOKEN = "per-token"
    MEAN = "mean"

    @property
    def is_whole(self) -> bool:
        """Whether label words are scored whole."""
        return self in (Scoring.SUM, Scoring.PER_TOKEN)


@dataclass(frozen=True)
class LabelTokens:
    """Token ids of each class's answer, as they follow the prompt.

    Attributes
    ----------
    words : tuple of str
        Label words, for messages.
    ids : tuple of tuple of int
        Per class, the tokens of the answer. The space before a word belongs to the answer.
    merged : int
        So many of the prompt's last tokens become part of the answer's first one, as where a
        prompt ends in a space; the model must then be given the prompt without them.

    Examples
    --------
    >>> LabelTokens(("no", "yes"), ((5,), (8, 2))).split
    (1,)
    """

    words: tuple[str, ...]
    ids: tuple[tuple[int, ...], ...]
    merged: int = 0

    @property
    def first(self) -> tuple[int, ...]:
        """The first token of each class."""
        return tuple(ids[0] for ids in self.ids)

    @property
    def all(self) -> tuple[int, ...]:
        """All tokens of all classes, class by class."""
        return tuple(token for ids in self.ids for token in ids)

    @property
    def split(self) -> tuple[int, ...]:
        """The classes whose answer is more than one token."""
        return tuple(label for label, ids in enumerate(self.ids) if len(ids) > 1)

    def collisions(self, decode: Decode | None = None) -> list[str]:
        """Say which pairs of label words begin with the same token.

        Examples
        --------
        >>> LabelTokens(("Art", "Artist"), ((7,), (7, 9))).collisions()[0]
        "the label words 'Art' and 'Artist' begin with the same token 7, so their first token does \
not separate them"
        """
        found = []
        for (word, one), (other, two) in combinations(zip(self.words, self.first, strict=True), 2):
            if one == two:
                text = "" if decode is None else f" ({decode([one])!r})"
                found.append(
                    f"the label words {word!r} and {other!r} begin with the same token "
                    f"{one}{text}, so their first token does not separate them"
                )
        return found


def label_tokens(encode: Encode, prompt: str, task: Task) -> LabelTokens:
    r"""Find the tokens of every class's answer after one prompt.

    The prompt with its answer is tokenised as one text and compared with the prompt alone: what
    follows the point where they part is the answer. Some tokenizers merge across the boundary;
    then the point lies inside the prompt, and it is the earliest over all classes, so that every
    class is scored after the same tokens.

    Parameters
    ----------
    encode : callable
        From a text to its token ids.
    prompt : str
        Up to where the answer begins.
    task : Task
        Gives the answers.

    Raises
    ------
    InvalidInputError
        If an answer has no token of its own, or two answers have the same tokens.

    Examples
    --------
    >>> from dnip.llm.prompting.task import load_task
    >>> letters = lambda text: [ord(letter) for letter in text]
    >>> label_tokens(letters, "True or false?", load_task("rte")).merged
    0
    >>> words = lambda text: [len(word) for word in text.split(" ")]
    >>> label_tokens(words, "True or false?", load_task("rte")).ids
    ((5,), (4,))
    """
    alone = list(encode(prompt))
    whole = [list(encode(prompt + task.answer(label))) for label in range(task.n_classes)]
    parting = min(_shared(alone, tokens) for tokens in whole)
    ids = tuple(tuple(tokens[parting:]) for tokens in whole)
    for word, answer in zip(task.label_words, ids, strict=True):
        if not answer:
            raise InvalidInputError(
                f"the label word {word!r} has no token of its own after the prompt",
                hint="Give the class a label word that the tokenizer knows",
            )
    for a, b in combinations(range(task.n_classes), 2):
        if ids[a] == ids[b]:
            raise InvalidInputError(
                f"the tokenizer cannot separate the label words {task.label_words[a]!r} and "
                f"{task.label_words[b]!r}: both are the tokens {list(ids[a])}",
                hint="Give one of the classes another label word",
            )
    return LabelTokens(task.label_words, ids, len(alone) - parting)


def prompt_label_tokens(
    encode: Encode, prompts: Sequence[str], task: Task, *, generated: bool = False
) -> LabelTokens:
    """Find the label tokens that hold after all prompts.

    The tokens depend on how a prompt ends. So one prompt of every ending is looked at, up to 32.

    Parameters
    ----------
    encode : callable
        From a text to its token ids.
    prompts : sequence of str
        At least one, each up to where the answer begins.
    task : Task
        Gives the answers.
    generated : bool, default=False
        Whether the model itself writes the end of the prompts, so that no token merges with them.

    Raises
    ------
    InvalidInputError
        As `label_tokens`, and if the tokens differ between prompts.
    """
    endings: dict[str, int] = {}
    for row, text in enumerate(prompts):
        endings.setdefault(text[-_TAIL:], row)
    rows = sorted({*list(endings.values())[: _MOST_PROMPTS - 1], len(prompts) - 1})
    tokens = label_tokens(encode, prompts[rows[0]], task)
    for row in rows[1:]:
        other = label_tokens(encode, prompts[row], task)
        if other != tokens:
            raise InvalidInputError(
                f"the label tokens depend on the prompt: {_difference(tokens, other)} after "
                f"prompts {rows[0]} and {row}",
                hint="End the template with fixed text, such as 'Answer:', and no space",
            )
    return replace(tokens, merged=0) if generated else tokens


def check_first_tokens(labels: LabelTokens, decode: Decode | None = None) -> tuple[int, ...]:
    """Return the one token per class that first-token scoring reads.

    Parameters
    ----------
    labels : LabelTokens
    decode : callable, optional
        Names tokens in the message.

    Raises
    ------
    InvalidInputError
        If two classes begin with the same token.

    Examples
    --------
    >>> check_first_tokens(LabelTokens(("no", "yes"), ((5,), (8, 2))))
    (5, 8)
    >>> check_first_tokens(LabelTokens(("Art", "Artist"), ((7,), (7, 9))))
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: the label words 'Art' and 'Artist' begin with the same token \
7, so their first token does not separate them. Score whole words with sum or per-token, or give \
other label words
    """
    if collisions := labels.collisions(decode):
        raise InvalidInputError(
            "; ".join(collisions),
            hint=f"Score whole words with {Scoring.SUM} or {Scoring.PER_TOKEN}, or give other "
            "label words",
        )
    return labels.first


def _shared(tokens: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two sequences share at their start."""
    pairs = zip(tokens, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(tokens), len(other)))


def _difference(tokens: LabelTokens, other: LabelTokens) -> str:
    """Name the first class whose tokens differ, with both."""
    for word, a, b in zip(tokens.words, tokens.ids, other.ids, strict=True):
        if a != b:
            return f"{word!r} is {list(a)} and {list(b)}"
    return f"{tokens.merged} and {other.merged} tokens of the prompt merge into the answer"
