"""Which label a text names, and where."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from dnip.base.errors import InvalidInputError
from dnip.base.validation import TwiceError, once

# Where thoughts end, and where they begin.
_END_OF_THOUGHTS = re.compile(
    r"</think(?:ing)?>|\[/THINK\]|<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
_BEGIN_OF_THOUGHTS = re.compile(r"<think(?:ing)?>|\[THINK\]|<\|channel\|>")
# Where a sentence ends; a label before a question mark is not a statement.
_SENTENCE = re.compile(r"[.!?;]\s|[\n。！？]")
_STATEMENT = re.compile(r"\.\s|\n")
# What may stand before a label in its first token: spaces, quotes, brackets, marks of Markdown.
_LEAD = re.compile(rb"(?:[\s\"'`*_~(\[{<>#:=-]|\xe2\x80[\x98\x9c]|\xc2\xab)*")
# What turns the label behind it around.
_NEGATION = re.compile(r"(?i:(?:\bnot?|\bnon|n['’]t)(?:-|\s+)(?:an?\s+|the\s+)?[\"'`*_]*\Z)")
_BETWEEN_WORDS = re.compile(r"[ \t_-]+")
# A name before a label, such as "Answer:".
_NAME = r"\W*?(?:\w[\w ]{0,30}[:=]\W*?)?"
# A longer text is no label by itself.
_LONGEST = 200
_JSON_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[^\s{}\[\],:"]+')


class Mention(NamedTuple):
    """A label within a text.

    Attributes
    ----------
    label : int
    start, end : int
        Where it stands.
    in_json : type or None
        The type of the value that it is, in JSON.
    """

    label: int
    start: int
    end: int
    in_json: type | None = None

    def moved(self, shift: int) -> Mention:
        """Return the same label in a text that begins so much earlier."""
        return self._replace(start=self.start + shift, end=self.end + shift)


class Role(NamedTuple):
    """What a piece of text says of labels.

    Attributes
    ----------
    whole : int or None
        The label that it is.
    begins : frozenset of int
        The labels that it begins.
    is_word : bool
        Whether it is a word of these.
    """

    whole: int | None
    begins: frozenset[int]
    is_word: bool = False


NO_ROLE = Role(None, frozenset())


class _Name(NamedTuple):
    """A way in which a label is written."""

    label: int
    text: str
    key: bytes
    exact: bool

    @property
    def pattern(self) -> str:
        """The pattern of the name, as a group."""
        chunks = [self.text] if self.exact else _BETWEEN_WORDS.split(self.text)
        text = r"[ \t_-]+".join(map(re.escape, chunks))
        before = "" if self.text[0].isspace() else r"(?<!\w)"
        return rf"{before}({text})(?!\w)" if self.exact else rf"{before}((?i:{text}))(?!\w)"


def without_thoughts(text: str) -> str:
    """Return what follows the thoughts of a text; nothing if they do not end.

    Examples
    --------
    >>> without_thoughts("<think>no?</think>yes"), without_thoughts("<think>no, no")
    ('yes', '')
    """
    ends = [match.end() for match in _END_OF_THOUGHTS.finditer(text)]
    if ends:
        return text[ends[-1] :]
    return "" if _BEGIN_OF_THOUGHTS.search(text) else text


@dataclass(frozen=True)
class LabelNames:
    """The names of labels, found in texts.

    - A label counts where it stands alone: no letter, digit or underscore on either side. Of two
      that overlap, the one that begins first counts, and of those the longer.
    - Case does not matter, nor does ``_``, ``-`` or a space between words; both do where labels
      differ in nothing else. A lone letter keeps its case: "a" is an article.
    - In JSON, the one value that is a label is meant.
    - Otherwise it is the last label of the text; or the first, where the text begins with a
      statement that is a label and nothing else.
    - Several may be meant if such a statement and the last label differ, if the last label's
      sentence names another before it, if "not" stands before it, or if several values in JSON are
      labels.

    Parameters
    ----------
    names : tuple of tuple of str
        For each label, the ways in which it is written.
    exact : bool, default=False
        Whether these are the only ways: with this space, in this case.

    Examples
    --------
    >>> names = LabelNames((("good",), ("bad",), ("not good",)))
    >>> [mention.label for mention in names.mentions("The plot is good. All in all: Bad.")]
    [1]
    >>> [mention.label for mention in names.mentions("It is not good.")]
    [2]
    >>> [mention.label for mention in names.mentions("It is good, not bad")]
    [1, 0]
    """

    names: tuple[tuple[str, ...], ...]
    exact: bool = False

    def __post_init__(self) -> None:
        every = [name if self.exact else name.strip() for names in self.names for name in names]
        if not every or not all(every) or len(set(every)) < len(every):
            raise InvalidInputError(
                f"label words must differ, and none may be empty; got {self.names!r}"
            )

    def mentions(self, text: str) -> tuple[Mention, ...]:
        """Return the label that a text names; if several may be meant, two, the last one first."""
        values = self._in_json(text)
        if values is not None:
            return values if len(values) < 2 else values[::-1]
        every = [self._mention(match) for match in self._pattern.finditer(text)]
        if not every:
            return ()
        last, first = every[-1], self._first(text)
        negated = _NEGATION.search(text, 0, last.start) is not None
        if first is not None:
            return (last, first) if negated or first.label != last.label else (first,)
        for mention in reversed(every[:-1]):
            if _SENTENCE.search(text, mention.end, last.start):
                break
            if mention.label != last.label:
                return last, mention
        return (last, last) if negated else (last,)

    def role(self, piece: bytes) -> Role:
        """Return what a piece of text says of labels that it begins with."""
        return self._roles(piece) if len(piece) <= _LONGEST else NO_ROLE

    @cached_property
    def _names(self) -> list[_Name]:
        """The names of all labels, the longest first."""
        pairs = [(label, name) for label, names in enumerate(self.names) for name in names]
        if not self.exact:
            pairs = [(label, name.strip()) for label, name in pairs]
        folded = Counter(_fold(name.encode(errors="surrogatepass")) for _, name in pairs)
        names = []
        for label, text in pairs:
            raw, chunks = text.encode(errors="surrogatepass"), _BETWEEN_WORDS.split(text)
            key = _fold(raw)
            exact = self.exact or len(text) == 1 or not all(chunks) or folded[key] > 1
            names.append(_Name(label, text, raw if exact else key, exact))
        return sorted(names, key=lambda name: -len(name.text))

    @cached_property
    def _roles(self) -> Callable[[bytes], Role]:
        return lru_cache(maxsize=1 << 16)(self._role)

    def _role(self, piece: bytes) -> Role:
        lead = _LEAD.match(piece)
        for begin in range(1 if self.exact or lead is None else lead.end() + 1):
            role = self._role_of(piece[begin:])
            if role is not NO_ROLE:
                return role
        return NO_ROLE

    def _role_of(self, piece: bytes) -> Role:
        if not piece:
            return NO_ROLE
        folded, whole, begins, is_word = _fold(piece), None, set(), False
        for name in self._names:
            text = piece if name.exact else folded
            if len(text) < len(name.key) and name.key.startswith(text):
                begins.add(name.label)
                is_word |= not _begins_word(name.key[len(text) :])
            elif whole is None and not begins and text.startswith(name.key):
                whole = None if _begins_word(text[len(name.key) :]) else name.label
            elif text == name.key:  # it may be the label, or go on to a longer one
                whole = name.label
        if whole is None and not begins:
            return NO_ROLE
        return Role(whole, frozenset(begins), is_word)

    @cached_property
    def _any(self) -> str:
        """The pattern of a label, with a group for each name."""
        return "(?:" + "|".join(name.pattern for name in self._names) + ")"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self._any)

    @cached_property
    def _alone(self) -> re.Pattern[str]:
        return re.compile(rf"{_NAME}{self._any}\W*")

    def _mention(self, match: re.Match[str]) -> Mention:
        group = match.lastindex or 1
        return Mention(self._names[group - 1].label, match.start(group), match.end(group))

    def _first(self, text: str) -> Mention | None:
        """Return the label that a text begins with, as a statement of its own."""
        begin = len(text) - len(text.lstrip())
        end = _STATEMENT.search(text, begin)
        end_of_statement = len(text) if end is None else end.start()
        if end_of_statement - begin > _LONGEST:
            return None
        match = self._alone.fullmatch(text, 0, end_of_statement)
        return None if match is None else self._mention(match)

    def _in_json(self, text: str) -> tuple[Mention, ...] | None:
        """Return the values of a JSON object that are labels; None for another text."""
        begin, end = text.find("{"), text.rfind("}") + 1
        if not 0 <= begin < end:
            return None
        try:
            if not isinstance(json.loads(text[begin:end], object_pairs_hook=once), dict):
                return None
        except TwiceError:
            return ()
        except (ValueError, RecursionError):
            return None
        return tuple(self._values(text, begin, end))

    def _values(self, text: str, begin: int, end: int) -> Iterator[Mention]:
        for match in _JSON_VALUE.finditer(text, begin, end):
            if match[1] is not None or len(match[0]) > _LONGEST:  # a key, or no label
                continue
            value = json.loads(match[0])
            is_text = isinstance(value, str)
            start, stop = match.start() + is_text, match.end() - is_text
            inner = self._alone.fullmatch(text, start, stop)
            if inner is not None:
                yield self._mention(inner)._replace(in_json=type(value))
            elif is_text and value != text[start:stop] and (whole := self._alone.fullmatch(value)):
                yield Mention(self._mention(whole).label, start, stop, str)


def is_lead(piece: bytes) -> bool:
    """Return whether a piece of text holds nothing but marks that may stand before a label."""
    return _LEAD.fullmatch(piece) is not None


def _begins_word(piece: bytes) -> bool:
    letter = piece.decode(errors="ignore")[:1]
    return letter.isalnum() or letter == "_"


def _fold(piece: bytes) -> bytes:
    """Return a piece without its case, and with spaces between words; it may end in a character."""
    text = piece.decode(errors="surrogateescape").casefold()
    return _BETWEEN_WORDS.sub(" ", text).encode(errors="surrogateescape")
