"""Four classes of which one has most rows: what to do about the others.

Run with ``python examples/skewed_classes.py``; it takes a few seconds and downloads nothing.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from dnip import DNIPClassifier
from dnip.metrics import accuracy, balanced_accuracy, cobias, worst_class_accuracy


def main() -> None:
    X, y = make_classification(
        4000,
        20,
        n_informative=6,
        n_classes=4,
        weights=[0.8, 0.12, 0.06, 0.02],
        class_sep=0.8,
        random_state=0,
    )
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

    # Over-sampling: every class drawn until it has as many rows as the largest.
    rng = np.random.default_rng(0)
    most = np.bincount(y).max()
    rows = np.concatenate([rng.choice(np.flatnonzero(y == label), most) for label in range(4)])

    ways = {
        "plain": LogisticRegression().fit(X, y),
        "class_weight": LogisticRegression(class_weight="balanced").fit(X, y),
        "over-sampling": LogisticRegression().fit(X[rows], y[rows]),
        "DNIPClassifier": DNIPClassifier(LogisticRegression()).fit(X, y),
    }
    print("                balanced accuracy  accuracy  COBias  worst class")
    for name, classifier in ways.items():
        counts = confusion_matrix(y_test, classifier.predict(X_test))
        print(
            f"{name:<14}  {balanced_accuracy(counts):17.3f}  {accuracy(counts):8.3f}  "
            f"{cobias(counts):6.3f}  {worst_class_accuracy(counts):11.3f}"
        )


if __name__ == "__main__":
    main()
