"""Answers of language models, made by a generator that knows what each of them states.

Written from the rule in docs/import-answers.md and from answers as public logs have them, not from
the reader. `make_answers(n, seed)` gives `Answer`s: plainly stated ones, odd ones (hedges, lists,
corrections, numbers in other forms), and prose that states nothing.
"""

from __future__ import annotations

import json
import random
from typing import NamedTuple

#: Sets of classes as people have them: words, letters, numbers, one a piece of another.
CLASSES = {
    "sentiment": ("Positive", "Neutral", "Negative"),
    "yes": ("yes", "no"),
    "letters": ("A", "B", "C", "D"),
    "ten letters": tuple("ABCDEFGHIJ"),
    "stars": ("1", "2", "3", "4", "5"),
    "signs": ("-1", "0", "1"),
    "halves": ("0.5", "1.0", "1.5", "2.0"),
    "topics": ("World", "Sports", "Business", "Science and Technology"),
    "pieces": ("news", "sports news", "local sports news", "other"),
    "intents": ("refund_request", "billing", "bug-report", "other"),
    "emotions": ("joy", "sadness", "anger", "fear"),
    "risk": ("low", "medium", "high"),
}
NUMERIC = ("stars", "signs", "halves")

#: Words that announce a label, and how they lead to it, by language.
CUES = {
    "English": (
        [
            "answer",
            "option",
            "label",
            "class",
            "classification",
            "category",
            "topic",
            "intent",
            "emotion",
            "sentiment",
            "verdict",
            "decision",
            "rating",
            "score",
            "level",
            "choice",
            "prediction",
            "risk",
            "result",
            "output",
        ],
        (
            "{cue}: {x}",
            "{cue} = {x}",
            "{cue} → {x}",
            "The {cue} is {x}",
            "My {cue} is {x}",
            "Final {cue}: {x}",
            "The final {cue} is: {x}",
            "The correct {cue} is {x}",
            "**{cue}:** {x}",
            "**{cue}**: {x}",
            "{cue}: **{x}**",
            "{cue}: '{x}'",
            '{cue}: "{x}"',
            "{cue}:\n{x}",
            "So the {cue} is {x}",
            "Therefore, the {cue} is {x}",
            "Thus the {cue} is {x}",
            "Hence the {cue} is {x}",
            "The best {cue} is {x}",
            "The right {cue} is {x}",
        ),
    ),
    "German": (["Antwort", "Kategorie", "Klasse"], ("{cue}: {x}", "Die {cue} ist {x}")),
    "French": (["réponse", "catégorie", "classe"], ("{cue} : {x}", "La {cue} est {x}")),
    "Spanish": (["respuesta", "categoría", "clase"], ("{cue}: {x}", "La {cue} es {x}")),
    "Italian": (["risposta", "categoria", "classe"], ("{cue}: {x}", "La {cue} è {x}")),
    "Portuguese": (["resposta", "categoria", "classe"], ("{cue}: {x}", "A {cue} é {x}")),
}

#: What people and models add after a label: other labels, negations, numbers, article and pronoun.
REASONS = (
    "Only one word sounds {o}.",
    "Nothing in it is {o}.",
    "It is not {o} at all.",
    "A reader might think of {o} at first.",
    "I looked for signs of {o} and found none.",
    "There are 3 reasons, and 2 of them are strong.",
    "I used the second law.",
    "A small detail speaks against {o}.",
    "{o} would need more evidence.",
    "Yes, there is some doubt.",
    "No doubt about it.",
    "The text says so in its first line.",
    "It has 10.5 points, up from 3.",
    "Unlike {o}, it fits well.",
    "Option {o} is smaller.",
    "That is why {o} was ruled out.",
    "The author never says {o}.",
    "It cannot be called {o}.",
    "I don't think it's {o}.",
    "One could argue for {o} and even for {o2}.",
    "The debt is high and the price low.",
    "See line 4 and line 12.",
    "This holds in 95% of the cases.",
    "It's hardly {o}.",
)
JOINTS_SENTENCE = (
    ". {r}",
    ".\n{r}",
    "\n{r}",
    "\n\n{r}",
    "! {r}",
    "; {r}",
    " because {r}",
    " - {r}",
    " — {r}",
)
JOINTS_BEGINNING = (
    ". {r}",
    ".\n{r}",
    "\n{r}",
    "\n\n{r}",
    ", because {r}",
    " — {r}",
    " – {r}",
    " because {r}",
    ".\n\nExplanation: {r}",
    "\nReason: {r}",
    ".\n\n**Explanation:** {r}",
)


class Answer(NamedTuple):
    """An answer, and what a careful person reads in it."""

    shape: str
    kind: str  # plain, odd or prose
    text: str
    classes: tuple[str, ...]
    stated: str | None  # the label, None where none is stated
    allowed: tuple[str | None, ...]  # what an odd one may be read as


def make_answers(n: int, seed: int) -> list[Answer]:
    """Return answers: of each ten, seven plain, two odd, one of prose."""
    rng = random.Random(seed)
    return [(_plain if i % 10 < 7 else _odd if i % 10 < 9 else _prose)(rng) for i in range(n)]


def _pick(rng: random.Random) -> tuple[str, tuple[str, ...], str, str, str]:
    """Return a set of classes, a label of it and two others."""
    name = rng.choice(list(CLASSES))
    classes = CLASSES[name]
    x = rng.choice(classes)
    others = [c for c in classes if c != x]
    rng.shuffle(others)
    return name, classes, x, others[0], others[-1]


def _reason(rng: random.Random, o: str, o2: str) -> str:
    return " ".join(
        rng.choice(REASONS).format(o=o, o2=o2) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))
    )


def _cased(rng: random.Random, x: str) -> str:
    return rng.choice((x, x, x, x.lower(), x.upper())) if len(x) > 1 else x


def _with(rng: random.Random, joints: tuple[str, ...], r: str) -> str:
    if not r:
        return rng.choice(("", ".", "\n"))
    joint = rng.choice(joints)
    if "because" in joint or "—" in joint or "–" in joint or " - " in joint or joint == "; {r}":
        r = r[0].lower() + r[1:] if r[:2] not in ("I ", "I'") else r
    return joint.format(r=r)


def _plain(rng: random.Random) -> Answer:
    name, classes, x, o, o2 = _pick(rng)
    r, shape = _reason(rng, o, o2), rng.choice(_SHAPES)
    text = _PLAIN[shape](rng, name, x, r)
    if rng.random() < 0.1:
        text = f"<think>\nIt could be {o}. The answer is {o2}? Let me see.\n</think>\n\n{text}"
    return Answer(shape, "plain", text, classes, x, (x,))


def _json_label(rng: random.Random, name: str, x: str, r: str) -> str:
    key = rng.choice(("label", "answer", "category", "class", "sentiment", "rating", "topic"))
    value = float(x) if name in NUMERIC and rng.random() < 0.4 else x
    content = {key: value}
    if r:
        content = {key: value, "reason": r} if rng.random() < 0.5 else {"reason": r, key: value}
    if rng.random() < 0.15:
        content = {"result": content} if rng.random() < 0.5 else {"output": content}
    text = json.dumps(content, indent=rng.choice((None, 2)), ensure_ascii=False)
    return rng.choice(("{}", "{}", "```json\n{}\n```", "```\n{}\n```", "[{}]")).replace("{}", text)


def _json_cut(rng: random.Random, name: str, x: str, r: str) -> str:
    key = rng.choice(("label", "answer", "category"))
    whole = json.dumps({key: x, "reason": (r or "It says so.") + " And then there is more."})
    return whole[: rng.randrange(whole.index("reason") + 12, len(whole) - 3)]


def _json_other_key(rng: random.Random, name: str, x: str, r: str) -> str:
    return json.dumps({rng.choice(("prediction_text", "value", "tag")): x, "confidence": 0.25})


def _tag(rng: random.Random, name: str, x: str, r: str) -> str:
    form = rng.choice(
        (
            "<answer>{x}</answer>",
            "<label>{x}</label>",
            "[[{x}]]",
            "[RESULT] {x}",
            "\\boxed{{{x}}}",
            "$\\boxed{{{x}}}$",
            "<answer>\n{x}\n</answer>",
            "**{x}**",
        )
    )
    tag = form.format(x=x)
    if form == "**{x}**":
        return f"{tag}\n\n{r}" if rng.random() < 0.5 or not r else f"{r}\n\n{tag}"
    if not r:
        return tag
    return rng.choice((f"{r}\n{tag}", f"{tag}\n{r}", f"{r} {tag}"))


def _cue(rng: random.Random, name: str, x: str, r: str) -> str:
    language = "English" if rng.random() < 0.6 else rng.choice(list(CUES)[1:])
    cues, forms = CUES[language]
    text = rng.choice(forms).format(
        cue=rng.choice(cues), x=_cased(rng, x) if name not in ("letters", "ten letters") else x
    )
    text = text[0].upper() + text[1:]
    if r and rng.random() < 0.3:  # the reason first
        return f"{r}{rng.choice((' ', chr(10), chr(10) * 2))}{text}{rng.choice(('', '.'))}"
    return text + _with(rng, JOINTS_SENTENCE, r)


def _beginning(rng: random.Random, name: str, x: str, r: str) -> str:
    if name in ("signs", "halves", "stars"):  # a number with "." and text behind it is numbering
        return rng.choice(("{x}", "**{x}**", '"{x}"', "{x}\n{r}", "{x}\n\n{r}")).format(x=x, r=r)
    mark = rng.choice(("{x}", "{x}", "{x}", '"{x}"', "**{x}**", "'{x}'", "({x})", "`{x}`"))
    return mark.format(x=_cased(rng, x)) + _with(rng, JOINTS_BEGINNING, r)


def _bare(rng: random.Random, name: str, x: str, r: str) -> str:
    if name == "stars":
        return rng.choice(
            (
                "I would give it {x} stars.",
                "{x} stars",
                "{x}/5",
                "{x} out of 5",
                "I would rate this {x} out of 5.",
                "I give it {x} out of 5.",
                "It is a {x}.",
            )
        ).format(x=x)
    return rng.choice(
        (
            "{x}",
            "{x}.",
            " {x}\n",
            '"{x}"',
            "I would say {x}.",
            "It is {x}.",
            "This is {x}.",
            "I would classify this as {x}.",
        )
    ).format(x=x)


_PLAIN = {
    "JSON": _json_label,
    "cut JSON": _json_cut,
    "JSON, other key": _json_other_key,
    "tag": _tag,
    "cue": _cue,
    "beginning": _beginning,
    "bare": _bare,
}

# Cues and beginnings are the most frequent.
_SHAPES = (*_PLAIN, "cue", "cue", "beginning")

_ODD = (
    # text, allowed readings: x the first label, o another
    ("The answer is {x} or {o}.", ()),
    ("{x}, {o}", ()),
    ("{x} or {o}", ()),
    ("{x}/{o}", ()),
    ("{x} and {o}", ()),
    ("Answer: {x}? No: {o}.", "o"),
    ("Is it {x}?", ()),
    ("Label: {x} or maybe {o}", ()),
    ("{x}: 0.2, {o}: 0.7", ()),
    ("- {x}\n- {o}", ()),
    ("1. {x}\n2. {o}", ()),
    ("Either {x} or {o}.", ()),
    ("At first {x}, then {o}.", ()),
    ("Sentiment: {x} at first, then {o}.", ()),
    ("The answer is not {x}.", ()),
    ("Not {x}.", ()),
    ("It is anything but {x}.", ()),
    ("{x} at best.", "x"),
    ("I think the answer is {o}. The final answer is {x}.", "x"),
    ("The answer is {o}. Wait, the answer is {x}.", "x"),
    ("The category is {x}-like.", "x"),
    ("Somewhere between {x} and {o}.", ()),
    ("Between {x} and {o}, I choose {x}.", "x"),
    ("The options are {x}, {o} and {o2}.", ()),
    ("Category: {x}, {o}", ()),
    ("Labels: {x}; {o}", ()),
    ("{x}? Hard to say.", ()),
    ("I'd go with {x}.", "x"),
    ("Mostly {x}, with a bit of {o}.", "x"),
    ("The text is about {x}.", "x"),
    ("Probably {x}.", "x"),
    ("The verdict: {x}, maybe {o}", ()),
    ("{x} because {o} does not fit.", "x"),
    ("{x} (not {o})", "x"),
    ("Answer: {x} (not {o})", "x"),
    ("I would not say {x}.", ()),
    ("The answer is neither {x} nor {o}.", ()),
    ("My answer is no {x}.", ()),
    ("The prediction is no better than {x}.", ()),
    ("The answer is {x}'s opposite.", ()),
)
_ODD_NUMBERS = {
    "stars": (
        ("4/10", None),
        ("10.5", None),
        ("Score 0.3", None),
        ("1,000", None),
        ("3:0", None),
        ("Score: 3-4", None),
        ("3–4", None),
        ("80%", None),
        ("Rating: 12", None),
        ("1. Late. 2. Rude. Score: 4", "4"),
        ("Score: 4.5", None),
        ("-3", None),
        ("2024", None),
        ("3rd", None),
        ("4e2", None),
    ),
    "signs": (
        ("−1", "-1"),
        ("–1", "-1"),
        ("Score: −1", "-1"),
        ("The score is -1.", "-1"),
        ("0.95", None),
        ("Probability: 0.95", None),
        ("-0.5", None),
        ("+1", "1"),
        ("10", None),
        ("Answer: -10", None),
    ),
    "halves": (
        ("5", None),
        ("0.55", None),
        ("1", "1.0"),
        ("Score: 1.5", "1.5"),
        ("11.0", None),
        ("1.05", None),
        ("Rating: .5", "0.5"),
    ),
}


def _odd(rng: random.Random) -> Answer:
    name, classes, x, o, o2 = _pick(rng)
    if name in _ODD_NUMBERS and rng.random() < 0.6:
        text, stated = rng.choice(_ODD_NUMBERS[name])
        return Answer("odd number", "odd", text, classes, stated, (None, stated))
    text, reading = rng.choice(_ODD)
    named = {"x": x, "o": o}
    allowed = (None, *(named[c] for c in reading))
    if name == "yes":  # "No:" and "no better" name a class of these
        allowed = (*allowed, "no") if "no" in text.lower().split() or "No:" in text else allowed
    if text == "{x}/{o}" and name in NUMERIC and o == classes[-1]:  # n of the highest
        allowed = (None, x)
    return Answer("odd", "odd", text.format(x=x, o=o, o2=o2), classes, None, allowed)


_PROSE = (
    "I do not think it is {x}.",
    "{x} would be an exaggeration.",
    "It is far from {x}.",
    "One would hardly call that {x}.",
    "There are signs of {x} as well as of {o}.",
    "A passage like this can be read in many ways, {x} among them.",
    "I cannot help with that.",
    "The text mentions {x} once and {o} twice.",
    "{x} is what the author wants to avoid.",
    "We need more context to rule out {x}.",
    "Some say {x} while others say {o}.",
    "As an AI, I have no opinion about {x}.",
    "It depends on what you mean by {x}.",
    "If it were longer, {x} might fit.",
    "This can't be called {x}.",
    "Whether it is {x} remains open.",
)


def _prose(rng: random.Random) -> Answer:
    name, classes, x, o, _ = _pick(rng)
    if name in ("ten letters", "letters", "pieces"):  # "I", "A" and "other" are words, too
        name, classes = "sentiment", CLASSES["sentiment"]
        x, o = rng.sample(classes, 2)
    return Answer("prose", "prose", rng.choice(_PROSE).format(x=x, o=o), classes, None, (None,))
