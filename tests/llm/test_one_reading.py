"""Whatever the shape of an answer, import and coefficients decide as dnip.correct and serve do."""

import json
import random
import re
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

import dnip
import sidecars
from cases import cases
from dnip import Coefficients
from dnip.llm.answers.answer import read_completion
from dnip.llm.answers.reader import reader_of
from dnip.llm.answers.stating import NONE, SEVERAL
from dnip.llm.serving.chat import PassedError, correct_chat
from dnip.llm.sources import read_answers
from generated import CLASSES, make_answers
from statements import CASES

#: Labels that stand in one another, begin alike, or hold characters of several bytes.
SETS = (
    ("ham", "spam"),
    ("Relevant", "Not relevant"),
    ("spam", "not_spam", "unsure"),
    ("positive", "very positive", "negative", "very negative"),
    ("Agree", "Strongly agree", "Disagree", "Strongly disagree"),
    ("Home", "Home & Kitchen", "Garden"),
    ("A", "B", "C"),
    ("1", "2", "10"),
    ("日本", "日曜", "月"),
    ("Café", "Cafeteria", "Bar"),
)
#: What stands around a label: thoughts in the tokens, what is said before it, and after it.
FRAMES = (
    ("", "", ""),
    ("", "", "."),
    ("", "Answer: ", ""),
    ("", "**", "**"),
    ("", '"', '"'),
    ("", "I thought of {other}. Final answer: ", "!"),
    ("", "", ". It is not that {other} is said."),
    ("", "", "\n\nThe word {other} is there, but not meant."),
    ("", "The best answer is **", "**, because {other} is too much."),
    ("", "Das Ergebnis ist: ", ". Nicht: {other}."),
    ("", "Hm. <answer>", "</answer>"),
    ("<think>It is {other}, or {label}.</think>\n", "", ""),
    ("<think>{label}</think>", "(", ")"),
    ("", '{{"reason": "It is not {other}, I think.", "label": "', '"}}'),
    ("", '{{"label": "', '", "reason": "It is not {other}."}}'),
    ("", '```json\n{{"label": "', '"}}\n```'),
)


#: The token that ends an answer.
END = b"<end>"


def pieces(data, text):
    """A text as tokens of bytes, some of which hold half a character."""
    raw, cut = text.encode(), [0]
    while cut[-1] < len(raw):
        cut.append(min(len(raw), cut[-1] + data.draw(st.integers(1, 6))))
    return [raw[begin:end] for begin, end in pairwise(cut)]


def entry(raw, p):
    """A token as services report it."""
    text = raw.decode(errors="replace")
    return {"token": text, "bytes": list(raw), "logprob": float(np.log(p))}


@st.composite
def answers(draw):
    """An answer, its classes, and the probability of each label."""
    data = draw(st.data())
    labels = data.draw(st.sampled_from(SETS))
    label, other = data.draw(st.permutations(labels))[:2]
    thoughts, before, after = (
        part.format(label=label, other=other) for part in data.draw(st.sampled_from(FRAMES))
    )
    tree = Tree(data, labels)
    places = [[(raw, 1.0)] for raw in [*pieces(data, thoughts), *pieces(data, before)]]
    *spelt, (_, *longer) = tree.places(label)
    end = [*pieces(data, after), END][: -1 if after else None]
    left = 1 - sum(p for _, p in longer)
    places += [*spelt, [(end[0], left), *longer], *([(raw, 1.0)] for raw in end[1:])]
    content = [
        {**entry(*place[0]), "top_logprobs": [entry(*one) for one in [*place, (b"~", 1e-9)]]}
        for place in places
    ]
    body = sidecars.completion(before + label + after)
    body["choices"][0]["logprobs"] = {"content": content}
    return body, labels, (before, after), tree.probabilities(label)


class Tree:
    """How a tokenizer writes labels, and what a model says of each token.

    A label is written in tokens that depend on it alone, but labels that begin with the same
    characters begin with the same tokens.
    """

    def __init__(self, data, labels):
        self.p = dict(zip(labels, data.draw(shares(len(labels))), strict=True))
        self.cuts = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))

    def spelling(self, label):
        raw, tokens, n = label.encode(), [], 0
        while raw:
            size = self.cuts[n % len(self.cuts)]
            tokens.append(raw[:size])
            raw, n = raw[size:], n + 1
        return tokens

    def places(self, label):
        """The tokens of a label, each with the others there; the chosen one first."""
        spelt, out = self.spelling(label), []
        for place in range(len(spelt) + 1):
            alive = {
                one: tokens
                for one in self.p
                if (tokens := self.spelling(one))[:place] == spelt[:place]
            }
            total, top = sum(self.p[one] for one in alive), {}
            for one, tokens in alive.items():
                token = tokens[place] if place < len(tokens) else END
                top[token] = top.get(token, 0.0) + self.p[one] / total
            chosen = spelt[place] if place < len(spelt) else END
            out.append([(chosen, top.pop(chosen)), *top.items()])
        return out

    def probabilities(self, label):
        """Of the labels that the tokens tell apart; None for those that they do not."""
        spelt = self.spelling(label)
        told = {}
        for one, p in self.p.items():
            own = self.spelling(one)
            place = next((i for i, (a, b) in enumerate(zip(own, spelt)) if a != b), len(spelt))  # noqa: B905
            alike = [o for o in self.p if self.spelling(o)[: place + 1] == own[: place + 1]]
            told[one] = p if len(alike) == 1 or one == label else None
        return told


def shares(n):
    return st.lists(st.integers(1, 50), min_size=n, max_size=n).map(
        lambda counts: [count / sum(counts) for count in counts]
    )


@given(answers(), st.data())
def test_import_and_coefficients_decide_as_correct_does(made, data):
    body, labels, (before, after), p = made
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(labels), max_size=len(labels)))
    fitted = Coefficients(list(labels), weights, 9)
    plain = sidecars.completion(labels[0], (labels[0], dict.fromkeys(labels, 1 / len(labels))))
    plain["id"] = "plain"
    table, summary = read_answers([body, plain], list(labels))
    if None in p.values() and summary.left_out:
        assert (summary.left_out, len(summary.silent)) == ((1,), 1)
        with pytest.raises(dnip.InvalidInputError, match="begins several labels"):
            dnip.correct(body, coefficients=fitted)
        return
    corrected = dnip.correct(body, coefficients=fitted)
    assert (summary.left_out, summary.n_nameless) == ((), 0)
    decided = fitted.predict(table.probabilities)[0]
    assert corrected["choices"][0]["message"]["content"] == before + decided + after
    if None not in p.values():
        np.testing.assert_allclose(table.probabilities[0], [*p.values()], atol=1e-6)


def spelt(text, labels, rng=None):
    """An answer whose tokens are its words, at each of which all labels are reported."""
    parts = [1 if rng is None else rng.randint(1, 9) for _ in labels]
    top = {name: 0.5 * part / sum(parts) for name, part in zip(labels, parts, strict=True)}
    words = [word for word in re.split(r"(?<!\w)(?=\w)|(?<=\w)(?!\w)|(?<=</think>)", text) if word]
    return sidecars.completion(text, *((word, top | {word: 0.5}) for word in words))


@cases(*[case for case in CASES if case[1].strip() and len({*map(str.strip, case[0])}) > 1])
def test_every_door_reads_the_label_that_is_stated(labels, text, expected):
    """Nothing else reads labels: votes, prompts, imports and corrections state the same."""
    body, n = spelt(text, labels), len(labels)
    label = labels.index(expected) if expected in labels else None
    assert reader_of(labels).vote(read_completion(body)) == label
    plain = sidecars.completion(labels[0], (labels[0], dict.fromkeys(labels, 1 / n)))
    plain |= {"id": "plain"}
    imported = read_answers([body, plain], list(labels)).summary
    counts = (len(imported.several), len(imported.unstated) + imported.n_nameless)
    if label is None:
        assert sum(counts) == 1
        assert imported.several == () or expected == SEVERAL
    else:
        assert counts == (0, 0)
    try:
        _, found = correct_chat(body, Coefficients(list(labels), [1] * n, 1))
    except PassedError as error:
        read = error.reason
    else:
        read = found.before.choice
    assert read in (expected, {NONE: "label", SEVERAL: "several"}.get(expected, "tokens"))


@pytest.mark.parametrize("name", CLASSES)
def test_import_decides_as_correct_and_as_serve_over_http(name, tmp_path):
    pytest.importorskip("aiohttp")
    classes, rng, n_changed = CLASSES[name], random.Random(name), 0
    texts = [one.text for one in make_answers(700, seed=3) if one.classes == classes]
    bodies = [{**spelt(text, classes, rng), "id": str(i)} for i, text in enumerate(texts)]
    fitted = Coefficients(list(classes), [(9, 1, 3, 6)[i % 4] for i in range(len(classes))], 9)
    fitted.save(tmp_path / "chat.json")
    sidecars.FITTED.save(tmp_path / "topic.json")
    table, summary = read_answers(bodies, list(classes))
    decided = iter(fitted.predict(table.probabilities))
    upstream = sidecars.Upstream()
    files = {"chats": {"chat": tmp_path / "chat.json"}}
    serving = sidecars.serving(upstream.url, tmp_path / "topic.json", **files)
    served = []
    with closing(upstream), serving as (_, port):
        for body in bodies:
            upstream.answer = sidecars.reply(body)
            served.append(sidecars.ask(port, "/v1/chat/completions", body=ASKED)[1])
    for i, (text, body, content) in enumerate(zip(texts, bodies, served, strict=True)):
        label = None if i + 1 in summary.left_out else next(decided)
        new = corrected(body, fitted)
        assert text_of(json.loads(content)) == new
        check_only_the_label_changed(text, new, classes, label)
        n_changed += new != text
    assert n_changed > len(texts) / 10


ASKED = json.dumps({"messages": [{"role": "user", "content": "?"}]}).encode()


def text_of(body):
    return body["choices"][0]["message"]["content"]


def corrected(body, fitted):
    """The text that dnip.correct writes; the old one where no label is stated, or none is told."""
    try:
        return text_of(dnip.correct(body, coefficients=fitted))
    except dnip.InvalidInputError:
        return text_of(body)


def check_only_the_label_changed(old, new, classes, label):
    """All characters outside the stated label are the old ones, and the label is the decided."""
    mentions = reader_of(classes).state(old).mentions
    if label is None or not mentions:  # import reads an only token, whatever it is
        assert new == old
        assert label is None or re.fullmatch(r"\w+", old)
        return
    cuts = [0, *(cut for one in mentions for cut in (one.start, one.end)), len(old)]
    outside = [re.escape(old[a:b]) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    match = re.fullmatch("(.+?)".join(outside), new, re.DOTALL)
    assert match is not None
    if new == old:
        assert classes[mentions[0].label] == label
    else:
        assert {written.casefold() for written in match.groups()} == {label.casefold()}
