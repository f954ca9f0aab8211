"""Make the table that `dnip demo` runs on: src/dnip/data/agnews-{opt,test}.csv.gz.

A small text classifier (TF-IDF words and multinomial logistic regression) is trained on a
class-skewed sample of AG News, so that one class starves as it does under a prompted language
model, and scores the standard test split. The tables hold labels and probabilities, no text.

    python tools/make_demo_table.py ../shared/datasets/agnews
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dnip import ProbabilityTable

CLASSES = ("World", "Sports", "Business", "Technology")
#: Training examples per class: the skew that starves Technology.
SAMPLE = (900, 900, 900, 120)
SEED = 0
DATA = Path(__file__).parents[1] / "src" / "dnip" / "data"


def main(dataset: Path) -> None:
    """Train, score the test split, write its two halves."""
    texts, labels = _read(dataset / "train.jsonl")
    test_texts, test_labels = _read(dataset / "test.jsonl")
    rng = np.random.default_rng(SEED)
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(labels == c))[:size] for c, size in enumerate(SAMPLE)]
    )
    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2),
        LogisticRegression(C=10.0, max_iter=1000, random_state=SEED),
    )
    model.fit([texts[i] for i in chosen], labels[chosen])
    probabilities = model.predict_proba(test_texts).round(6)
    table = ProbabilityTable(probabilities, test_labels, classes=CLASSES)
    for name, part in table.split({"opt": 0.5, "test": 0.5}, seed=SEED).items():
        part.write(DATA / f"agnews-{name}.csv.gz")


def _read(path: Path) -> tuple[list[str], np.ndarray]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row["text"] for row in rows], np.array([row["label"] for row in rows])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
