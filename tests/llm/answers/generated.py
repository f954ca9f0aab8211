"""Answers of language models, made of templates that say what each of them states.

Written from the rule in docs/import-answers.md and from answers as public logs have them, not from
the reader. `make_answers(n, seed)` gives `Answer`s: plainly stated ones, odd ones (hedges, lists,
corrections), and prose that states nothing.
"""

from __future__ import annotations

import random
from string import Template
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
LETTERS = ("letters", "ten letters")

# In templates, $x is the label, $o and $o2 are others, $r is a reason, $key a key, $cue a cue.
KEYS = ("label", "answer", "category", "class", "sentiment", "rating", "topic")
#: What people and models add after a label: other labels, negations, numbers, article and pronoun.
REASONS = (
    "Only one word sounds $o.",
    "Nothing in it is $o.",
    "It is not $o at all.",
    "A reader might think of $o at first.",
    "A small detail speaks against $o.",
    "$o would need more evidence.",
    "Yes, there is some doubt.",
    "No doubt about it.",
    "The text says so in its first line.",
    "It has 10.5 points, up from 3.",
    "Option $o is smaller.",
    "I used the second law.",
    "There are 3 reasons, and 2 of them are strong.",
    "That is why $o was ruled out.",
    "I don't think it's $o.",
    "One could argue for $o and even for $o2.",
    "The debt is high and the price low.",
    "See line 4 and line 12.",
    "This holds in 95% of the cases.",
    "It's hardly $o.",
)
#: By language: words that announce a label, and how they lead to it.
CUES = {
    "English": (
        "answer option label class classification category topic intent emotion sentiment verdict "
        "decision rating score level choice prediction risk result output",
        (
            *("$cue: $x", "$cue = $x", "$cue → $x", "The $cue is $x", "My $cue is $x"),
            *("Final $cue: $x", "The final $cue is: $x", "The correct $cue is $x"),
            *("The best $cue is $x", "The right $cue is $x", "**$cue:** $x", "**$cue**: $x"),
            *("$cue: **$x**", "$cue: '$x'", '$cue: "$x"', "$cue:\n$x", "So the $cue is $x"),
            *("Therefore, the $cue is $x", "Thus the $cue is $x", "Hence the $cue is $x"),
        ),
    ),
    "German": ("Antwort Kategorie Klasse", ("$cue: $x", "Die $cue ist $x")),
    "French": ("réponse catégorie classe", ("$cue : $x", "La $cue est $x")),
    "Spanish": ("respuesta categoría clase", ("$cue: $x", "La $cue es $x")),
    "Italian": ("risposta categoria classe", ("$cue: $x", "La $cue è $x")),
    "Portuguese": ("resposta categoria classe", ("$cue: $x", "A $cue é $x")),
}
#: What follows a cue with its label, and a label that begins the text.
BEHIND_CUE = ("", ".", "\n", ". $r", ".\n$r", "\n$r", "\n\n$r", "! $r", "; $r", " because $r")
BEHIND_CUE += (" - $r", " — $r")
BEHIND_LABEL = ("", ".", "\n", ". $r", ".\n$r", "\n$r", "\n\n$r", ", because $r", " because $r")
BEHIND_LABEL += (" — $r", " – $r", ".\n\nExplanation: $r", "\nReason: $r")
BEHIND_LABEL += (".\n\n**Explanation:** $r",)
#: Plain statements, by shape; cues and beginnings are made of the above.
PLAIN = {
    "JSON": (
        *('{"$key": "$x"}', '{"$key": "$x", "reason": "$r"}', '{"reason": "$r", "$key": "$x"}'),
        *('```json\n{"$key": "$x"}\n```', '```\n{\n  "reason": "$r",\n  "$key": "$x"\n}\n```'),
        *('{"result": {"$key": "$x"}}', '{"output": {"$key": "$x", "reason": "$r"}}'),
        *('[{"$key": "$x"}]', '{"value": "$x", "confidence": 0.25}'),
    ),
    "cut JSON": (
        '{"$key": "$x", "reason": "$r And',
        '{"$key": "$x", "reason": "',
        '{"$key": "$x", "r',
    ),
    "tag": (
        *("<answer>$x</answer>", "<label>$x</label>\n$r", "$r\n[[$x]]", "$r [RESULT] $x"),
        *("$r\n\\boxed{$x}", "$$\\boxed{$x}$$", "<answer>\n$x\n</answer>\n$r", "$r\n\n**$x**"),
        "**$x**\n\n$r",
    ),
    "cue": (),
    "beginning": ("$x", "$x", "$x", '"$x"', "**$x**", "'$x'", "($x)", "`$x`"),
    "bare": (
        *("$x", "$x.", " $x\n", '"$x"', "I would say $x.", "It is $x.", "This is $x."),
        "I would classify this as $x.",
    ),
}
#: Those of numbers: one with "." and text behind it is numbering.
NUMBERS = {
    "JSON": ('{"$key": $x}', '{"reason": "$r", "$key": $x}', '{"$key": "$x"}'),
    "beginning": ("$x", "**$x**", '"$x"', "$x\n$r", "$x\n\n$r"),
}
STARS = ("I would give it $x stars.", "$x stars", "$x/5", "$x out of 5", "I give it $x out of 5.")
STARS += ("I would rate this $x out of 5.", "It is a $x.")


class Answer(NamedTuple):
    """An answer, and what a careful person reads in it."""

    kind: str  # plain, odd or prose
    text: str
    classes: tuple[str, ...]
    allowed: tuple[str | None, ...]  # what it may be read as: a label, or None for none


def make_answers(n: int, seed: int) -> list[Answer]:
    """Return answers: of each ten, seven plain, two odd, one of prose."""
    rng = random.Random(seed)
    return [(_plain if i % 10 < 7 else _odd if i % 10 < 9 else _prose)(rng) for i in range(n)]


def _labels(rng: random.Random, name: str) -> dict[str, str]:
    """Return a label of a set of classes, and two others."""
    x = rng.choice(CLASSES[name])
    others = [label for label in CLASSES[name] if label != x]
    rng.shuffle(others)
    return {"x": x, "o": others[0], "o2": others[-1]}


def _filled(template: str, **fields: str) -> str:
    return Template(template).substitute(fields)


def _plain(rng: random.Random) -> Answer:
    name = rng.choice(list(CLASSES))
    labels, shape = _labels(rng, name), rng.choice((*PLAIN, "cue", "cue", "beginning"))
    x, reasons = labels["x"], rng.sample(REASONS, rng.choice((1, 1, 1, 2, 3)))
    fields = {"r": _filled(" ".join(reasons), **labels), "key": rng.choice(KEYS), "x": x}
    if shape in ("cue", "beginning") and name not in LETTERS:
        fields["x"] = rng.choice((x, x, x, x.lower(), x.upper()))
    template = rng.choice(PLAIN[shape] or ("",))
    if shape == "cue":
        cues, forms = CUES["English" if rng.random() < 0.6 else rng.choice(list(CUES))]
        said = _filled(rng.choice(forms), cue=rng.choice(cues.split()), x=fields["x"])
        said = (said[0].upper() + said[1:]).replace("$", "$$")
        first = rng.random() < 0.2  # the reason comes first
        template = f"$r\n{said}" if first else said + rng.choice(BEHIND_CUE)
    elif name in NUMERIC and shape in NUMBERS:
        template = rng.choice(NUMBERS[shape])
    elif shape == "beginning":
        template += rng.choice(BEHIND_LABEL)
    elif shape == "bare" and name == "stars":
        template = rng.choice(STARS)
    text = _filled(template, **fields)
    if rng.random() < 0.1:
        thoughts = _filled("It could be $o. The answer is $o2? Let me see.", **labels)
        text = f"<think>\n{thoughts}\n</think>\n\n{text}"
    return Answer("plain", text, CLASSES[name], (x,))


#: Hedges, lists and corrections, with what they may be read as: the label, another, or none.
ODD = (
    ("The answer is $x or $o.", ()),
    ("$x, $o", ()),
    ("$x or $o", ()),
    ("$x/$o", ()),
    ("$x and $o", ()),
    ("Answer: $x? No: $o.", "o"),
    ("Is it $x?", ()),
    ("Label: $x or maybe $o", ()),
    ("$x: 0.2, $o: 0.7", ()),
    ("- $x\n- $o", ()),
    ("1. $x\n2. $o", ()),
    ("Either $x or $o.", ()),
    ("At first $x, then $o.", ()),
    ("Sentiment: $x at first, then $o.", ()),
    ("The answer is not $x.", ()),
    ("Not $x.", ()),
    ("It is anything but $x.", ()),
    ("$x at best.", "x"),
    ("I think the answer is $o. The final answer is $x.", "x"),
    ("The answer is $o. Wait, the answer is $x.", "x"),
    ("The category is $x-like.", "x"),
    ("Somewhere between $x and $o.", ()),
    ("Between $x and $o, I choose $x.", "x"),
    ("The options are $x, $o and $o2.", ()),
    ("Category: $x, $o", ()),
    ("Labels: $x; $o", ()),
    ("$x? Hard to say.", ()),
    ("I'd go with $x.", "x"),
    ("Mostly $x, with a bit of $o.", "x"),
    ("The text is about $x.", "x"),
    ("Probably $x.", "x"),
    ("The verdict: $x, maybe $o", ()),
    ("$x because $o does not fit.", "x"),
    ("$x (not $o)", "x"),
    ("Answer: $x (not $o)", "x"),
    ("I would not say $x.", ()),
    ("The answer is neither $x nor $o.", ()),
    ("My answer is no $x.", ()),
    ("The prediction is no better than $x.", ()),
    ("The answer is $x's opposite.", ()),
)


def _odd(rng: random.Random) -> Answer:
    name = rng.choice(list(CLASSES))
    labels, (template, readings) = _labels(rng, name), rng.choice(ODD)
    text, allowed = _filled(template, **labels), {None, *(labels[one] for one in readings)}
    if name == "yes" and "no" in text.lower().replace(":", "").split():
        allowed.add("no")  # "No:" and "no better" name a class of these
    if template == "$x/$o" and name in NUMERIC and labels["o"] == CLASSES[name][-1]:
        allowed.add(labels["x"])  # n of the highest
    return Answer("odd", text, CLASSES[name], tuple(allowed))


PROSE = (
    "I do not think it is $x.",
    "$x would be an exaggeration.",
    "It is far from $x.",
    "One would hardly call that $x.",
    "There are signs of $x as well as of $o.",
    "A passage like this can be read in many ways, $x among them.",
    "I cannot help with that.",
    "The text mentions $x once and $o twice.",
    "$x is what the author wants to avoid.",
    "We need more context to rule out $x.",
    "Some say $x while others say $o.",
    "As an AI, I have no opinion about $x.",
    "It depends on what you mean by $x.",
    "If it were longer, $x might fit.",
    "This can't be called $x.",
    "Whether it is $x remains open.",
)


def _prose(rng: random.Random) -> Answer:
    # "I", "A" and "other" are words, too
    name = rng.choice([name for name in CLASSES if name not in (*LETTERS, "pieces", "intents")])
    text = _filled(rng.choice(PROSE), **_labels(rng, name))
    return Answer("prose", text, CLASSES[name], (None,))
