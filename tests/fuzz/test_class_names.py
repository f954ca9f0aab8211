"""Class names that someone chose to do harm, or that just look odd."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import fuzzed, run, workshop
from mutations import TEXTS, texts

names = st.one_of(
    st.lists(texts, min_size=2, max_size=3, unique=True),
    st.lists(st.sampled_from(TEXTS), min_size=2, max_size=3),
)
FIT = ["--robust", "off", "--no-evidence", "--effort", "0.01"]
QUICK = [
    ["evaluate", "{}"],
    ["fit", "{}", *FIT, "--json", "--out", "o.json"],
    ["fit", "{}", *FIT],
]
SLOW = [
    ["evaluate", "{}", "--picture", "o.svg"],
    ["evaluate", "{}", "--picture", "o.png"],
    ["evaluate", "{}", "--picture", "o.pdf"],
    ["pareto", "{}", "--effort", "0.01", "--folder", "o", "--choose", "knee"],
    ["tune", "{}", "--betas", "1", "--taus", "0", "--out", "o.json"],
]


def try_names(line, classes):
    p = np.random.default_rng(0).dirichlet(np.ones(len(classes)), 12)
    labels = p.argmax(axis=1)
    rows = [
        json.dumps({"label": int(y), **{f"p{n}": v for n, v in enumerate(row)}})
        for y, row in zip(labels, p.tolist(), strict=True)
    ]
    with workshop({"t.jsonl": "\n".join(rows)}):
        by_option = ["--classes", ",".join(classes)]
        run(*[one.format("t.jsonl") for one in line], *by_option, outputs=("o",))
    with workshop():
        np.savez("t.npz", probabilities=p, labels=labels, classes=np.array(classes))
        run(*[one.format("t.npz") for one in line], outputs=("o",))


@fuzzed(6)
@given(st.sampled_from(QUICK), names)
def test_tables_and_fits(line, classes):
    try_names(line, classes)


@fuzzed(2)
@given(st.sampled_from(SLOW), names)
def test_pictures_and_reports(line, classes):
    try_names(line, classes)
