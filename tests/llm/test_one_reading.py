"""Whatever the shape of an answer, import and coefficients decide as dnip.correct does."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import dnip
import sidecars
from dnip import Coefficients
from dnip.llm.sources import read_answers

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
    ("", "I thought of {other}. In the end: ", "!"),
    ("<think>It is {other}, or {label}.</think>\n", "", ""),
    ("<think>{label}</think>", "(", ")"),
    ("", '{{"reason": "It is not {other}, I think.", "label": "', '"}}'),
    ("", '{{"label": "', '", "reason": "It is not {other}."}}'),
    ("", "```json\n{{\"label\": \"", "\"}}\n```"),
)


def pieces(data, text):
    """A text as tokens of bytes, some of which hold half a character."""
    raw, cut = text.encode(), [0]
    while cut[-1] < len(raw):
        cut.append(min(len(raw), cut[-1] + data.draw(st.integers(1, 6))))
    return [raw[begin:end] for begin, end in zip(cut, cut[1:], strict=False)]


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
    spelt = tree.spelling(label)
    places = [[(raw, 1.0)] for raw in pieces(data, thoughts + before)]
    places += tree.places(label)
    places += [[(raw, 1.0)] for raw in pieces(data, after)]
    chosen = [*pieces(data, ""), *(place[0][0] for place in places)]
    assert b"".join(chosen).decode() == thoughts + before + label + after, spelt
    content = [
        {**entry(*place[0]), "top_logprobs": [entry(*one) for one in [*place, (b"~", 1e-9)]]}
        for place in places
    ]
    body = sidecars.completion(before + label + after)
    body["choices"][0]["logprobs"] = {"content": content}
    return body, labels, label, tree.probabilities(label)


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
        for place in range(len(spelt)):
            alive = {
                one: tokens
                for one in self.p
                if (tokens := self.spelling(one))[:place] == spelt[:place]
            }
            total, top = sum(self.p[one] for one in alive), {}
            for one, tokens in alive.items():
                token = tokens[place] if place < len(tokens) else b"<end>"
                top[token] = top.get(token, 0.0) + self.p[one] / total
            chosen = spelt[place]
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


COUNT = {"answers": 0, "told": 0}


@given(answers(), st.data())
def test_import_and_coefficients_decide_as_correct_does(made, data):
    body, labels, label, p = made
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(labels), max_size=len(labels)))
    fitted = Coefficients(list(labels), weights, 9)
    try:
        corrected = dnip.correct(body, coefficients=fitted)
    except dnip.InvalidInputError as error:
        with pytest.raises(dnip.InvalidInputError):
            read_answers([body], list(labels))
        assume("begins several" not in str(error) and "does not begin" not in str(error))
        raise
    table, summary = read_answers([body], list(labels))
    decided = labels[int(fitted.apply(table.probabilities).argmax())]
    COUNT["answers"] += 1
    wanted = json.dumps(body).replace(label, "")
    assert summary.several == () and wanted
    text = corrected["choices"][0]["message"]["content"]
    frame = body["choices"][0]["message"]["content"]
    assert text in {frame[: i] + decided + frame[i + len(label) :] for i in range(len(frame))}
    if all(value is not None for value in p.values()):
        COUNT["told"] += 1
        np.testing.assert_allclose(table.probabilities[0], [p[one] for one in labels], atol=1e-6)
