"""Give every class of a scikit-learn classifier its due: a small forest on handwritten digits.

Run with ``python examples/sklearn_classifier.py``; it takes a few seconds and downloads nothing.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from dnip import DNIPClassifier
from dnip.metrics import accuracy, class_accuracies, cobias


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X_opt, X_test, y_opt, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

    forest = RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0)
    classifier = DNIPClassifier(forest).fit(X_opt, y_opt)

    before = confusion_matrix(y_test, classifier.estimator_.predict(X_test))
    after = confusion_matrix(y_test, classifier.predict(X_test))

    print("digit  weight  accuracy before  after")
    columns = (classifier.weights_, class_accuracies(before), class_accuracies(after))
    for digit, weight, a, b in zip(classifier.classes_, *columns, strict=True):
        print(f"{digit:5}  {weight:6.2f}  {a:15.3f}  {b:5.3f}")
    print(f"\naccuracy {accuracy(before):.3f} -> {accuracy(after):.3f}")
    print(f"COBias   {cobias(before):.3f} -> {cobias(after):.3f}")
    print(f"worst    {np.nanmin(columns[1]):.3f} -> {np.nanmin(columns[2]):.3f}")


if __name__ == "__main__":
    main()
