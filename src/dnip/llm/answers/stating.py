r"""Which label an answer states, and where: one rule, of five levels.

1. JSON: the value of a key, or the only value that is a label. It decides by itself.
2. A tag: ``<answer>X</answer>``, ``[[X]]``, ``[RESULT] X``, ``\boxed{X}``, a bold line.
3. A cue: a listed word that opens a line or a sentence, a sign, and the label.
4. The beginning: the text begins with the label.
5. Bare: the label, and nothing else but words that say nothing.

What levels 2 to 4 find must agree, and no cue, wherever it stands, may name another label; or else
the last cue says that it is final. Behind a cue and at the beginning a label counts only where it
ends, and not as the first item of a list. Prose is not understood, and so it is not read.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dnip.base.errors import InvalidInputError

# --- thoughts: what stands before the answer ---
_END_OF_THOUGHTS = re.compile(
    r"</think(?:ing)?>|\[/THINK\]|<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
)
_BEGIN_OF_THOUGHTS = re.compile(r"<think(?:ing)?>|\[THINK\]|<\|channel\|>")

# --- marks of bold, quotes and chat templates do not count; an underscore or an apostrophe
# within a word does ---
_MARKS = re.compile(
    r"[*`\"“”„«»‹›‘]|(?<![^\W_])_+|_+(?![^\W_])|(?<![^\W_])['’]|['’](?![^\W_])|<\|\w{1,30}\|>|</s>"
)

# --- cues: [article] [adjective] noun [adjective], a sign, the label ---
_ARTICLE = (
    r"the|my|die|der|das|meine?|la mia|il mio|a minha|o meu|la|le|el|il|lo|ma|mon|mi|mia|mio|"
    r"minha|meu|a|o"
)
_ADJECTIVE = (
    r"final|right|correct|best|overall|predicted|richtige|korrekte|beste|endgültige|finale|bonne|"
    r"meilleure?|correcte|mejor|correct[ao]|giust[ao]|migliore|corrett[ao]|melhor|cert[ao]|corret[ao]"
)
_NOUN = (
    r"answer|option|label|class|classification|category|topic|intent|emotion|sentiment|verdict|"
    r"decision|rating|score|level|choice|prediction|risk|result|output|"
    # German
    r"antwort|klasse|klassifi(?:kation|zierung)|kategorie|thema|absicht|stimmung|urteil|"
    r"entscheidung|bewertung|punktzahl|stufe|auswahl|wahl|vorhersage|risiko|ergebnis|ausgabe|"
    # French
    r"r[ée]ponse|[ée]tiquette|classe|cat[ée]gorie|sujet|th[èe]me|intention|[ée]motion|d[ée]cision|"
    r"note|[ée]valuation|niveau|choix|pr[ée]diction|risque|r[ée]sultat|sortie|"
    # Spanish
    r"respuesta|opci[óo]n|etiqueta|clase|clasificaci[óo]n|categor[íi]a|tema|intenci[óo]n|"
    r"emoci[óo]n|sentimiento|veredicto|decisi[óo]n|calificaci[óo]n|valoraci[óo]n|puntuaci[óo]n|"
    r"nivel|elecci[óo]n|predicci[óo]n|riesgo|resultado|salida|"
    # Italian
    r"risposta|opzione|etichetta|classificazione|categoria|argomento|intento|intenzione|emozione|"
    r"sentimento|verdetto|decisione|valutazione|voto|punteggio|livello|scelta|previsione|rischio|"
    r"risultato|"
    # Portuguese
    r"resposta|op[çc][ãa]o|r[óo]tulo|classifica[çc][ãa]o|t[óo]pico|inten[çc][ãa]o|emo[çc][ãa]o|"
    r"veredito|decis[ãa]o|avalia[çc][ãa]o|nota|pontua[çc][ãa]o|n[íi]vel|escolha|previs[ãa]o|risco|"
    r"sa[íi]da"
)
_SIGN = r"(?:\s*(?:[:：=]|→|[-=]>)|\s+(?:is|ist|lautet|est|es|[éè])(?!\w)\s*[:：]?)\s*|[ \t]*\n\s*"
_CUE = re.compile(  # on lower case: without its case it takes ten times as long
    rf"\b(?=[^\W\d_])(?P<phrase>(?:(?:{_ARTICLE})\s+|l['’]\s?)?(?:(?:{_ADJECTIVE})\s+){{0,2}}"
    rf"(?:{_NOUN})(?:\s+(?:{_NOUN}))?(?:\s+(?:{_ADJECTIVE}))?)(?:{_SIGN})"
)
_FINAL = re.compile(r"\b(?:finale?|endgültige)\b", re.IGNORECASE)
# What may stand between the sign and the label, as in "the answer is option B".
_FILLER = re.compile(rf"(?:(?:an?|{_ARTICLE})\s+|l['’])?(?:(?:{_NOUN})\s+)?", re.IGNORECASE)
# What stands directly before a cue that opens a line or a sentence.
_LINE = re.compile(r"(?:\A|\n)\s*(?:(?:[-+•–—]|#+|>+|\d{1,3}[.)])\s+)*[(\[{]*\Z")
_OPENING = re.compile(
    rf"{_LINE.pattern[:-2]}\Z|(?:[.!?;…]\s|[。！？；])\s*[(\[{{]*\Z"
    r"|(?<!\w)(?:so|therefore|thus|hence),?\s+\Z",
    re.IGNORECASE,
)

# --- where a label ends: nothing else ends it ---
_WHY = re.compile(r"\s*\b(?:because|since)\b", re.IGNORECASE)
_NO_WORD = re.compile(rf"{_WHY.pattern}|\s+(?:and|or)\b", re.IGNORECASE)
_END = re.compile(
    rf"""(?P<line> [ \t]*(?:\Z|[\r\n]) )
    | (?P<stop> \.(?![\w.]|(?<=\bno\.)[ ]\d) | [!](?!\s*\?) | [。！] )
    | (?P<comma> [;,，；、] )
    | (?P<colon> [ \t]*[:：](?!\s*(?:(?:yes|no|true|false)\b|[-+−]?\d)) )
    | (?P<bracket> [ \t]*[)\]}}>]+ )
    | [ \t]+[(\[{{]
    | (?P<dash> [ \t]+[-–—]+[ \t]+ | [ \t]*— )
    | {_WHY.pattern}""",
    re.IGNORECASE | re.VERBOSE,
)
_BEGINNING = re.compile(r"\s*(?:[#>]+\s+)*[(\[{]{0,4}\s?")
_OPEN = re.compile(r"\s{0,9}[(\[{]{0,4}\s?")

# --- lists: what stands between two items, and what may begin the second one ---
_BETWEEN = re.compile(
    r"[ \t]*(?:\([^()\n]*\)|\[[^\[\]\n]*\]|[)\]}>]|[-+]?\d[\d.,]*[ \t]*%?(?!\w)|[.,;:!，；：。]"
    r"|[-–—]+)[ \t]*"
)
_JOINT = re.compile(
    r"[ \t]*\(?(?:(?:and|or|but|to|then|maybe|perhaps|possibly|also|nor|no(?=,)|und|oder|aber|et|"
    r"ou|(?-i:y|ed?))(?!\w),?[ \t]*)+",
    re.IGNORECASE,
)
_DOUBT = re.compile(r"\b(?:or|maybe|perhaps|possibly|oder|ou)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;]\s|[\n。！？]")
# A correction: the answer thinks again, and names another label.
_AGAIN = re.compile(
    r"(?:[\n.!?;,)—–-])\s*(?:(?:oh|no|but|hmm?|well),?\s+)*"
    r"(?:wait|actually|correction|on (?:second|closer) \w+|scratch that|sorry|i mean|or rather|"
    r"hm+|edit|update|let me (?:re\w+|correct)|i (?:was|am) wrong|that(?: is| was|'s) wrong|"
    r"i take that back|(?:just )?kidding)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:this|that|which)(?: is| was|['’]s) (?:wrong|incorrect|not (?:right|correct))\b",
    re.IGNORECASE,
)

# --- tags, and words that say nothing ---
_TAG = re.compile(
    rf"<(?P<name>(?:(?:{_ADJECTIVE})[_ -])?(?:{_NOUN})(?:[_ -](?:{_NOUN}))?)>"
    r"|(?P<pair>\[\[)|\[RESULT\]|(?P<boxed>\\boxed\{)\s*(?:\\(?:text|mathrm|textbf|mathbf)\{)?",
    re.IGNORECASE,
)
_BOLD_LINE = re.compile(r"^[ \t]*(\*\*|__)(?P<body>[^\n*]+?)\1[.!]?[ \t]*$", re.MULTILINE)
_WORD = (
    r"[\s,!;:()\[\]{}\0]|\.(?!\.)|(?<![^\n])\s*(?:[-+•]|#+)\s|\bno\.(?=\s*\0)"
    r"|\b(?:i['’]d|it['’]s|i|would|say|give|rate|classify|it|this|is|an?|the|as|my|option)\b"
)
# The label is \0; the noun of a cue may stand before it, without a sign.
_QUIET = re.compile(rf"(?:{_WORD}|\b(?:{_NOUN})\b)*\0(?:{_WORD})*", re.IGNORECASE)

# --- numbers are taken whole, with what belongs to them ---
_NUMBER = r"[-+−–－﹣]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s?%)?"
_UNIT = r"(?:\s+(?:stars?|points?)(?!\w))?"
_WHOLE_NUMBER = re.compile(
    rf"(?<![\w.$€£])(?<!\d[,:/])(?<![\w)][-−–])(?<![-+−–][ ])(?P<number>{_NUMBER}){_UNIT}"
    rf"(?:(?:\s*/\s*|\s+out\s+of\s+)(?P<most>\d+(?:\.\d+)?){_UNIT})?"
    r"(?!\w|[.,:]\d|\s*/|\s?%|[ \t]*[-–−—][ \t]*\d)",
    re.IGNORECASE,
)
_MINUS = str.maketrans("−–－﹣", "----")
_NUMBERING = re.compile(r"[.)][ \t]*[^\s.)]")

# What stands between the words of a label.
WORD_BREAKS = re.compile(r"[ \t_-]+")

# --- JSON ---
_JSON_BEGIN = re.compile(r'\{\s*["}]|\[\s*["{]')
_JSON_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\]:,])'
    r"|(?P<bare>-?\d[\d.eE+-]*|true|false|null)(?=[\s,\]}]))",
    re.DOTALL,
)
_JSON_CUE = re.compile(
    rf"(?:(?:{_ARTICLE}|{_ADJECTIVE})_)*(?:{_NOUN})(?:_(?:{_NOUN}))*(?:_(?:{_ADJECTIVE}))?",
    re.IGNORECASE,
)
_BETWEEN_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[-_\s]+")
_DECODER = json.JSONDecoder(strict=False)
# Objects in one another: more are hostile.
_DEEPEST = 50

# A longer text is no label, and says more than one.
_LONGEST = 200
# So far a sentence is looked at, and so far back what opens it.
_FAR, _BACK = 1000, 60

#: Why an answer states no label.
NONE, SEVERAL, NO_KEY = "no label", "several labels", "no key"


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


class Statement(NamedTuple):
    """What a text states.

    Attributes
    ----------
    mentions : tuple of Mention
        Where the one label is stated, in order; none if no label is.
    reason : str
        Why none is: `NONE`, `SEVERAL` or `NO_KEY`; else empty.
    """

    mentions: tuple[Mention, ...] = ()
    reason: str = ""


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


class _Token(NamedTuple):
    """A label in a page: `start` to `end`, with what belongs to it up to `stop`."""

    label: int
    start: int
    end: int
    stop: int
    is_number: bool = False

    def is_word(self, text: str) -> bool:
        """Whether it is the pronoun or the article: "I" and "A" before a word in lower case."""
        if text[self.start : self.end] not in ("I", "A"):
            return False
        behind = text[self.stop :][:_BACK]
        follows = behind.lstrip(" \t")[:1].islower() and not _NO_WORD.match(behind)
        return follows or behind.startswith(("'", "’"))


class _Cue(NamedTuple):
    """A label behind a cue: whether the cue says that it is final, and opens a statement."""

    token: _Token
    is_final: bool
    states: bool


@dataclass(frozen=True)
class Rule:
    """Finds the label that a text states.

    A label counts without its case, and with ``_``, ``-`` or a space between its words, unless
    labels differ in nothing else; a lone letter keeps its case. Of two labels that overlap, the
    one that begins first counts, and of those the longer. Numbers are compared by value.

    Parameters
    ----------
    names : tuple of tuple of str
        For each label, the ways in which it is written.
    exact : bool, default=False
        Whether case counts.
    key : str, optional
        The key of JSON whose value is the label; a text without it states none.
    last : bool, default=False
        Whether of a text without JSON, tag and cue the last sentence is read: its only label.

    Examples
    --------
    >>> rule = Rule((("good",), ("bad",), ("not good",)))
    >>> text = "The sentiment is **not good**. Nothing bad, though."
    >>> [mention] = rule.state(text).mentions
    >>> mention.label, text[mention.start : mention.end]
    (2, 'not good')
    >>> rule.state("Sentiment: good, bad").reason, rule.state("It was almost good.").reason
    ('several labels', 'no label')
    """

    names: tuple[tuple[str, ...], ...]
    exact: bool = False
    key: str | None = None
    last: bool = False

    def __post_init__(self) -> None:
        every = [name if self.exact else name.strip() for names in self.names for name in names]
        if not every or not all(map(str.strip, every)) or len(set(every)) < len(every):
            raise InvalidInputError(
                f"label words must differ, and none may be empty; got {self.names!r}"
            )

    def state(self, text: str) -> Statement:
        """Return the label that a text states. Its thoughts were left out before."""
        roots = _json_in(text)
        values = [mention for root in roots for mention in self._values_of(text, root)]
        if values or self.key is not None:
            return _agreed(values) if values else Statement((), NO_KEY)
        page = _Page(_without(roots, text), self._labels.marks)
        statement = self._around(page)
        mentions = page.original(statement.mentions)
        if mentions is None:  # marks stand within the label
            return Statement((), NONE)
        return Statement(mentions, statement.reason)

    # --- level 1 ---
    def _values_of(self, text: str, root: _Node) -> Iterator[Mention]:
        """Yield the values of JSON that are labels: those of the key, or else of cues, or any."""
        if self.key is None:
            yield from self._labels_of(text, root, is_cued=not root.is_object)
            return
        for path, node in root.inner():
            if self.key in (path, path.rpartition(".")[2]):
                yield from self._labels_of(text, node, is_cued=True)

    def _labels_of(self, text: str, node: _Node, *, is_cued: bool) -> Iterator[Mention]:
        """Yield the labels of a value; of a list of several, only where it answers a cue."""
        if node.items is None:
            yield from self._value(text, node)
        elif node.is_object:
            cued = [item for name, item in node.items if _is_cue(name)]
            for item in cued or [item for _, item in node.items]:
                yield from self._labels_of(text, item, is_cued=bool(cued))
        elif len(node.items) == 1 or is_cued:
            for _, item in node.items:
                yield from self._labels_of(text, item, is_cued=is_cued)

    def _value(self, text: str, node: _Node) -> Iterator[Mention]:
        """Yield the label that a value is."""
        if node.end - node.start > _LONGEST:
            return
        written = text[node.start : node.end]
        try:
            value = _DECODER.decode(written)
        except ValueError:
            return
        kind = float if type(value) is int else type(value)
        start, end = (node.start + 1, node.end - 1) if kind is str else (node.start, node.end)
        page = _Page(value if kind is str else written, self._labels.marks)
        token = self._labels.at(page.text, _skip(_OPEN, page.text, 0))
        if token is None or page.text[token.stop :].strip(" \t\r\n.!)]}>"):
            return
        if (mentions := page.original([_mention(token)])) is None:
            return
        if kind is not str or value == text[start:end]:
            start, end = start + mentions[0].start, start + mentions[0].end
        yield Mention(token.label, start, end, kind)

    # --- levels 2 to 5 ---
    def _around(self, page: _Page) -> Statement:
        text = page.text
        cues = [*self._cued(text)]
        stated = [cue.token for cue in cues if cue.states] + [*self._tagged(page)]
        if self.last and not stated:
            return self._in_last_sentence(text)
        first = self._labels.at(text, _skip(_BEGINNING, text, 0))
        if first is not None and self._ends(text, first, begins=True):
            stated.append(first)
        cued = [cue.token for cue in cues]
        if cues and cues[-1].is_final and cues[-1].states:
            stated = [token for token in stated if token.label == cued[-1].label]
            is_several = False
        else:
            is_several = len({token.label for token in (*stated, *cued)}) > 1
            is_several |= first is not None and self._is_listed(text, first)
        is_several |= any(self._has_next(text, token) for token in stated or cued)
        is_several |= bool(stated) and self._thinks_again(text, stated)
        if is_several:
            return Statement((), SEVERAL)
        return _agreed(map(_mention, stated)) if stated else self._bare(text)

    def _tagged(self, page: _Page) -> Iterator[_Token]:
        """Yield the labels in tags."""
        text = page.text
        for match in _TAG.finditer(text):
            token = self._labels.at(text, _skip(_OPEN, text, match.end()))
            if token is None:
                continue
            rest = text[token.stop :][:_BACK].lstrip(" \t\r\n.)")
            if match["name"]:
                is_closed = not rest or rest.lower().startswith(f"</{match['name'].lower()}>")
            elif match["pair"] or match["boxed"]:
                is_closed = rest.startswith("]]" if match["pair"] else "}")
            else:
                is_closed = self._ends(text, token)
            if is_closed:
                yield token
        for begin, end in page.bold_lines:
            token = self._labels.at(text, begin)
            if token is not None and not text[token.stop : end].strip(" \t.!"):
                yield token

    def _cued(self, text: str) -> Iterator[_Cue]:
        """Yield the labels behind cues, wherever these stand, and whether they state them."""
        for match in _CUE.finditer(_lower(text)):
            plain, filled = match.end(), _skip(_FILLER, text, match.end())
            tokens = (self._labels.at(text, _skip(_OPEN, text, at)) for at in (plain, filled))
            token = next((one for one in tokens if one and not one.is_word(text)), None)
            if token is not None:
                begin = match.start()
                is_first = text[begin - 1 : begin] in ("", "\n")
                opens = is_first or _OPENING.search(text, max(0, begin - _BACK), begin) is not None
                states = opens and self._ends(text, token)
                yield _Cue(token, _FINAL.search(match["phrase"]) is not None, states)

    def _bare(self, text: str) -> Statement:
        """Return the one label of a text that says nothing else."""
        if len(text) > _LONGEST:
            return Statement((), NONE)
        tokens, rest, at = [*self._labels.all(text)], "", 0
        for token in tokens:
            rest, at = f"{rest}{text[at : token.start]}\0", token.stop
        if not tokens or not _QUIET.fullmatch(rest + text[at:]):
            return Statement((), NONE)
        return _agreed(map(_mention, tokens))

    def _in_last_sentence(self, text: str) -> Statement:
        """Return the last label of the last sentence, if it is the only one there."""
        begin = max((end.end() for end in _SENTENCE.finditer(text.rstrip())), default=0)
        tokens = [*self._labels.all(text, begin)]
        found = _agreed(map(_mention, tokens))
        return found._replace(mentions=found.mentions[-1:])

    # --- where a label ends, and what is a list ---
    def _ends(self, text: str, token: _Token, *, begins: bool = False) -> bool:
        """Return whether a label ends where it stands."""
        end = _END.match(text, token.stop)
        if end is None:
            return False
        if end["bracket"] is not None and not _WHY.match(text, end.end()):
            behind = text[end.end() :][:_BACK]
            if behind.lstrip(" \t")[:1].islower() or behind[:1] in tuple("?/-'’"):
                return False
        if token.is_number and _NUMBERING.match(text, token.stop):
            return _LINE.search(text, max(0, token.start - _BACK), token.start) is None
        if begins and text[token.start : token.end] == "I":  # "I, for one"
            return end.lastgroup not in ("comma", "colon", "dash")
        return True

    def _has_next(self, text: str, token: _Token) -> bool:
        """Return whether another label follows as the next item of a list."""
        sentence = _SENTENCE.search(text, token.stop, token.stop + _FAR)
        stop = token.stop + _FAR if sentence is None else sentence.start()
        joint = _JOINT.match(text, token.stop)
        if joint is not None and self._names_other(text, token, joint.end(), stop):
            return True
        at = token.stop
        while (between := _BETWEEN.match(text, at)) is not None:
            at = between.end()
            joint = _JOINT.match(text, at)
            if joint is not None and _DOUBT.search(joint[0]):
                return self._names_other(text, token, joint.end(), max(stop, at + _BACK))
            for begin in (at, joint.end() if joint else at):
                other = self._labels.at(text, _skip(_OPEN, text, begin))
                if other is None or other.label == token.label:
                    continue
                if self._ends(text, other) or _JOINT.match(text, other.stop):
                    return True
        if (line := re.compile(r"[ \t.,;!)\]]*\n\s*").match(text, token.stop)) is not None:
            other = self._labels.at(text, line.end())
            if other is not None and other.label != token.label:
                return re.compile(r"[ \t.,;!)\]]*(?:\n|\Z)").match(text, other.stop) is not None
        return False

    def _is_listed(self, text: str, first: _Token) -> bool:
        """Return whether a later line or sentence begins with another label in the same form."""
        end = _END.match(text, first.stop)
        mark = text[first.stop : first.stop + 1] if end is None else end[0].strip()[:1]
        if self._has_next(text, first):
            return True
        if mark != ":" and not self._ends(text, first):
            return False
        for other in self._others(text, first, first.stop, len(text)):
            form = _END.match(text, other.stop)
            theirs = text[other.stop : other.stop + 1] if form is None else form[0].strip()[:1]
            begins = _OPENING if mark else _LINE
            if theirs == mark:
                before = max(0, other.start - _BACK)
                if mark in (":", ")") or begins.search(text, before, other.start):
                    return True
        return False

    def _thinks_again(self, text: str, stated: Sequence[_Token]) -> bool:
        """Return whether the answer denies itself, or goes on to another label by such words."""
        last = max(stated, key=lambda token: token.start)
        if _DENIED.search(text, last.stop, last.stop + _BACK):
            return True
        again = _AGAIN.search(text, last.stop)
        return again is not None and self._names_other(text, last, again.end(), len(text))

    def _names_other(self, text: str, token: _Token, begin: int, end: int) -> bool:
        return next(self._others(text, token, begin, end), None) is not None

    def _others(self, text: str, token: _Token, begin: int, end: int) -> Iterator[_Token]:
        return (one for one in self._labels.all(text, begin, end) if one.label != token.label)

    @cached_property
    def _labels(self) -> _Labels:
        return _Labels.of(self.names, exact=self.exact)


def _agreed(mentions: Iterator[Mention] | Sequence[Mention]) -> Statement:
    """Return what mentions of one label state, each once."""
    every = sorted({mention.start: mention for mention in mentions}.values(), key=lambda m: m.start)
    if len({mention.label for mention in every}) != 1:
        return Statement((), SEVERAL if every else NONE)
    return Statement(tuple(every))


def _mention(token: _Token) -> Mention:
    return Mention(token.label, token.start, token.end)


def _lower(text: str) -> str:
    """Return a text in lower case, of the same length."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower()[0] for c in text)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


class _Page:
    """A text without the marks that do not count."""

    def __init__(self, text: str, marks: re.Pattern[str]) -> None:
        kept, at = [], 0
        self._places: list[int] = []  # where each character of the page stands in the text
        for begin, end in [*(mark.span() for mark in marks.finditer(text)), (len(text),) * 2]:
            kept.append(text[at:begin])
            self._places.extend(range(at, begin))
            at = end
        self.text, self._whole = "".join(kept), text

    def original(self, mentions: Sequence[Mention]) -> tuple[Mention, ...] | None:
        """Return where labels stand in the whole text; None if marks stand within one."""
        moved = []
        for mention in mentions:
            begin, end = self._places[mention.start], self._places[mention.end - 1] + 1
            if end - begin != mention.end - mention.start:
                return None
            moved.append(mention._replace(start=begin, end=end))
        return tuple(moved)

    @property
    def bold_lines(self) -> Iterator[tuple[int, int]]:
        """Where lines stand that are bold as a whole."""
        for match in _BOLD_LINE.finditer(self._whole):
            begin, end = match.span("body")
            yield bisect_left(self._places, begin), bisect_left(self._places, end)


@dataclass(frozen=True)
class _Labels:
    """Labels as they are written in texts.

    Attributes
    ----------
    marks : re.Pattern
        The marks that do not count; none where labels are made of them.
    numbers : dict
        The labels that are numbers, by value; none if two have the same one.
    words : re.Pattern or None
        The other labels, the longest first, with a group for each.
    word_labels : list of int
        The labels of these groups.
    """

    marks: re.Pattern[str]
    numbers: dict[tuple[float, bool], int]
    words: re.Pattern[str] | None
    word_labels: list[int]

    @classmethod
    def of(cls, names: Sequence[Sequence[str]], *, exact: bool) -> _Labels:
        """Return how labels with these names are written."""
        whole = {(name.strip(), label) for label, ways in enumerate(names) for name in ways}
        bare = {(_MARKS.sub("", name).strip(), label) for name, label in whole}
        n_bare = len({name for name, _ in bare} - {""})
        is_plain = n_bare == len({name for name, _ in whole})
        pairs = sorted(bare if is_plain else whole, key=lambda pair: (-len(pair[0]), pair))
        numeric = [pair for pair in pairs if re.fullmatch(_NUMBER, pair[0])]
        numbers = {_value(name): label for name, label in numeric}
        if len(numbers) < len(numeric):
            numbers, numeric = {}, []
        folded = Counter(WORD_BREAKS.sub(" ", name.casefold()) for name, _ in pairs)
        words = [pair for pair in pairs if pair not in numeric]
        patterns = []
        for name, _ in words:
            chunks, key = WORD_BREAKS.split(name), WORD_BREAKS.sub(" ", name.casefold())
            is_exact = exact or len(name) == 1 or not all(chunks) or folded[key] > 1
            body = re.escape(name) if is_exact else WORD_BREAKS.pattern.join(map(re.escape, chunks))
            before = r"(?<![\w])(?<!\d[.,])" if name[0].isdigit() else r"(?<!\w)"
            after = r"(?!\w|[.,]\d)" if name[-1].isdigit() else r"(?!\w)"
            patterns.append(f"{before}({body if is_exact else f'(?i:{body})'}){after}")
        return cls(
            _MARKS if is_plain else re.compile(r"(?!)"),
            numbers,
            re.compile("|".join(patterns)) if patterns else None,
            [label for _, label in words],
        )

    def at(self, text: str, place: int) -> _Token | None:
        """Return the label that begins at a place: the longest one."""
        number, word = self._number_at(text, place), None
        if self.words is not None and (match := self.words.match(text, place)) is not None:
            label = self.word_labels[(match.lastindex or 1) - 1]
            word = _Token(label, place, match.end(), match.end())
        if number is None or word is None:
            return number or word
        return max(number, word, key=lambda token: token.end)

    def all(self, text: str, begin: int = 0, end: int | None = None) -> Iterator[_Token]:
        """Yield all labels of a text, one behind the other; not the pronoun, nor the article."""
        stop = len(text) if end is None else end
        while begin < stop and (match := self._any.search(text, begin, stop)) is not None:
            token = self.at(text, match.start())
            begin = max(match.end(), match.start() + 1) if token is None else token.stop
            if token is not None and not token.is_word(text):
                yield token

    def _number_at(self, text: str, place: int) -> _Token | None:
        match = _WHOLE_NUMBER.match(text, place) if self.numbers else None
        if match is None:
            return None
        label, most = self.numbers.get(_value(match["number"])), match["most"]
        if label is None or (most is not None and _value(most) != max(self.numbers)):
            return None
        return _Token(label, place, match.end("number"), match.end(), is_number=True)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        """The pattern of whatever may be a label."""
        kinds = [] if self.words is None else [self.words.pattern]
        kinds += [rf"(?<!\w){_NUMBER}|(?<=\w[-–−]){_NUMBER}"] if self.numbers else []
        return re.compile("|".join(kinds))


def _value(number: str) -> tuple[float, bool]:
    """Return the value of a number, and whether it is in per cent."""
    plain = number.translate(_MINUS).replace(",", "")
    return float(plain.rstrip("% ")), plain.endswith("%")


@dataclass
class _Node:
    """A value of JSON: `items` with their keys, or none for a text, a number or a word."""

    start: int
    end: int
    items: list[tuple[str, _Node]] | None = None
    is_object: bool = False

    def inner(self, path: str = "") -> Iterator[tuple[str, _Node]]:
        """Yield all values within, each with its keys, ``a.b``."""
        for name, node in self.items or ():
            inner = f"{path}.{name}".strip(".") if self.is_object else path
            if self.is_object:
                yield inner, node
            yield from node.inner(inner)


def _is_cue(key: str) -> bool:
    return len(key) < _LONGEST and bool(_JSON_CUE.fullmatch(_BETWEEN_WORDS.sub("_", key)))


def _json_in(text: str) -> list[_Node]:
    """Return the objects and lists of JSON in a text; the last one may be cut off."""
    roots, at = [], 0
    while (begin := _JSON_BEGIN.search(text, at)) is not None:
        root, at = _read_json(text, begin.start())
        roots += [] if root is None else [root]
    return roots


def _without(roots: Sequence[_Node], text: str) -> str:
    """Return a text with spaces for JSON that holds no label: what is around it may state one."""
    kept, at = [], 0
    for root in roots:
        kept += [text[at : root.start], " " * (root.end - root.start)]
        at = root.end
    return "".join([*kept, text[at:]])


def _read_json(text: str, begin: int) -> tuple[_Node | None, int]:
    """Return the value that begins at a place, None if it is not JSON, and where it ends."""
    root = _Node(begin, len(text), [])
    open_, key, wants = [root], "", "value"
    at = begin
    while (match := _JSON_TOKEN.match(text, at)) is not None:
        at, mark, start = match.end(), match["mark"], match.end() - len(match[0].lstrip())
        node = open_[-1]
        items = node.items if node.items is not None else []
        if mark in ("{", "[") and wants == "value" and len(open_) < _DEEPEST:
            inner = _Node(start, len(text), [], is_object=mark == "{")
            items.append((key, inner))
            open_.append(inner)
            wants, key = ("key" if mark == "{" else "value"), ""
        elif mark is not None and mark in "}]" and wants != "colon" and node is not root:
            if node.is_object != (mark == "}"):
                return None, at
            open_.pop().end = at
            wants, key = "comma", ""
            if len(open_) == 1:
                return root.items[0][1], at  # type: ignore[index]
        elif mark == "," and wants == "comma":
            wants = "key" if node.is_object else "value"
        elif mark == ":" and wants == "colon":
            wants = "value"
        elif match["text"] and wants == "key":
            key, wants = match["text"][1:-1], "colon"
        elif mark is None and wants == "value":
            items.append((key, _Node(start, at)))
            wants, key = "comma", ""
        else:
            return None, at
    if '"' in text[at:].lstrip()[1:]:
        return None, at + 1
    if wants == "value" and open_[-1].items is not None:
        open_[-1].items.append((key, _Node(at, at)))  # it is cut off
    return root.items[0][1] if root.items else None, len(text)
