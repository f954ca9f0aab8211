# Needs: pip install '.[plot,sklearn]'
"""
DNIP beside matrix scaling, and after it
========================================

Matrix scaling is a logistic regression on log-probabilities. It has a number for every pair of
classes, where DNIP has one per class. It is often more accurate, and leaves a wider gap between
classes. This example compares the two, and puts DNIP on top of matrix scaling.
"""

# %%
# Two tables of news that SmolLM2-135M-Instruct sorted: 500 rows to fit on, 1,000 to score on.
# Matrix scaling is made of scikit-learn's own parts. With balanced weights all classes count alike.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dnip import DNIPClassifier, ProbabilityTable
from dnip.metrics import accuracy, cobias, confusion_matrix, worst_class_accuracy

folder = Path("examples" if Path("examples").exists() else ".")
opt, test = (ProbabilityTable.read(folder / f"{name}.csv") for name in ("opt", "test"))


def log(probabilities: np.ndarray) -> np.ndarray:
    """Return log-probabilities; a probability may have been rounded to 0."""
    return np.log(np.maximum(probabilities, 1e-12))


scaling = make_pipeline(
    FunctionTransformer(log), LogisticRegression(class_weight="balanced", solver="newton-cholesky")
)

# %%
# DNIP needs the probabilities that matrix scaling gives to rows that it was not fitted on, or it
# would trust them too much. ``DNIPClassifier`` makes them by cross-validation, in five folds. Then
# it fits matrix scaling on all rows.

ways = {
    "DNIP": DNIPClassifier(),
    "matrix scaling": scaling,
    "DNIP on matrix scaling": DNIPClassifier(scaling),
}

# %%
# COBias is the mean gap between the accuracies of two classes. Fitted on the first table, scored on
# the second:

predicted = {"most probable class": test.probabilities.argmax(axis=1)}
for name, way in ways.items():
    predicted[name] = way.fit(opt.probabilities, opt.labels).predict(test.probabilities)

print("                        accuracy  COBias  worst class")
for name, classes in predicted.items():
    counts = confusion_matrix(test.labels, classes, test.n_classes)
    scores = accuracy(counts), cobias(counts), worst_class_accuracy(counts)
    print(f"{name:22}  {scores[0]:8.3f}  {scores[1]:6.3f}  {scores[2]:11.3f}")
    plt.plot(scores[1], scores[0], "o", label=name)

# %%
# Up and left is better. On other tables both together may be no better than DNIP alone:
# ``python -m benchmarks together`` measures five more.

plt.gca().set(xlabel="COBias", ylabel="accuracy")
plt.legend(frameon=False)
plt.show()
