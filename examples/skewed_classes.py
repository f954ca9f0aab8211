"""
A scikit-learn classifier on skewed classes
===========================================

Four classes, and most rows are of one. A plain classifier neglects the rare ones. This example
compares class weights, over-sampling and :class:`~dnip.DNIPClassifier`.
"""

# %%
# The data: 80, 12, 6 and 2 % of 4,000 rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from dnip import ClassAccuracyDisplay, DNIPClassifier
from dnip.metrics import accuracy, balanced_accuracy, cobias, worst_class_accuracy

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

# %%
# Over-sampling draws rows of every class until it has as many as the largest.

rng = np.random.default_rng(0)
most = np.bincount(y).max()
rows = np.concatenate([rng.choice(np.flatnonzero(y == label), most) for label in range(4)])

ways = {
    "plain": LogisticRegression().fit(X, y),
    "class_weight": LogisticRegression(class_weight="balanced").fit(X, y),
    "over-sampling": LogisticRegression().fit(X[rows], y[rows]),
    "DNIPClassifier": DNIPClassifier(LogisticRegression()).fit(X, y),
}

# %%
# COBias is the mean gap between the accuracies of two classes: 0 if all are equally right. The
# plain classifier has the highest accuracy, because it nearly always answers the first class. The
# worst class tells what that costs.

print("                accuracy  COBias  balanced accuracy  worst class")
for name, classifier in ways.items():
    counts = confusion_matrix(y_test, classifier.predict(X_test))
    print(
        f"{name:<14}  {accuracy(counts):8.3f}  {cobias(counts):6.3f}  "
        f"{balanced_accuracy(counts):17.3f}  {worst_class_accuracy(counts):11.3f}"
    )

# %%
# Class weights do as well here, so try them first. ``DNIPClassifier`` also helps a classifier that
# takes no weights, or that cannot be fitted again.
#
# Every class before and after, on rows that no classifier has seen:

ClassAccuracyDisplay.from_estimator(ways["DNIPClassifier"], X_test, y_test)
plt.show()
