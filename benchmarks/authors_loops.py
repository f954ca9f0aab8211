"""The annealing of the authors' code as plain Python loops: a yardstick, not the product.

It follows the structure of the authors' public code: every row is reweighted class by class and
decided by ``np.argmax`` of a list, errors and predictions are counted in a loop, COBias is a double
loop over classes, and the objective is M·Z. A worse move that is accepted does not count toward the
three accepted moves that end a temperature.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Annealed:
    """What the loops found, and how many objective values it took."""

    indices: list[int]
    value: float
    evaluations: int


def anneal(
    probabilities: list[list[float]],
    labels: list[int],
    *,
    scale: int = 30,
    beta: float = 2.7,
    tau: float = 0.2,
    smoothing: float = 4000.0,
    seed: int = 0,
    note: Callable[[list[int], float], None] = lambda _indices, _value: None,
) -> Annealed:
    """Run the schedule of the authors' code once; `note` is called with every point and its Z."""
    chance = random.Random(seed)
    n_examples, n_classes = len(probabilities), len(probabilities[0])
    # ξ in place of ξ/K: the factor cancels, and 1/K rounds away some ties of the tables
    weights = [float(k + 1) for k in range(scale)]
    class_sizes = [labels.count(c) for c in range(n_classes)]

    def objective(indices: list[int]) -> float:
        predictions = [_decide(row, indices, weights) for row in probabilities]
        errors = 0
        class_errors = [0] * n_classes
        predicted = [0] * n_classes
        for label, prediction in zip(labels, predictions, strict=True):
            predicted[prediction] += 1
            if label != prediction:
                class_errors[label] += 1
                errors += 1
        pmi = 0.0
        accuracies = [0.0] * n_classes
        for c in range(n_classes):
            correct = class_sizes[c] - class_errors[c]
            accuracies[c] = correct / class_sizes[c]
            joint = (correct + smoothing) / (n_examples + smoothing * n_classes**2)
            share = (predicted[c] + smoothing) / (n_examples + smoothing * n_classes)
            size = (class_sizes[c] + smoothing) / (n_examples + smoothing * n_classes)
            pmi += np.log(joint / (share * size))
        gaps = pairs = 0.0
        for i in range(n_classes - 1):
            for j in range(i + 1, n_classes):
                gaps += abs(accuracies[i] - accuracies[j])
                pairs += 1
        value = errors + beta * n_examples * gaps / pairs - tau * n_examples * pmi
        note([k + 1 for k in indices], float(value) / n_examples)
        return value

    current = [scale - 1] * n_classes
    current_value = objective(current)
    best, best_value = current, current_value
    evaluations = 1
    temperature = 200_000.0
    while temperature >= 200.0:
        generated = accepted = 0
        while generated < 6 and accepted < 3:
            new = list(current)
            c = chance.randrange(n_classes)
            new[c] = chance.choice([k for k in range(scale) if k != current[c]])
            new_value = objective(new)
            generated += 1
            evaluations += 1
            if new_value <= current_value:
                accepted += 1
                current, current_value = new, new_value
                if new_value < best_value:
                    best, best_value = new, new_value
            elif chance.random() < math.exp((current_value - new_value) / temperature):
                current, current_value = new, new_value
        temperature *= 0.95
    return Annealed([k + 1 for k in best], float(best_value) / n_examples, evaluations)


def _decide(row: list[float], indices: list[int], weights: list[float]) -> int:
    return int(np.argmax([row[n] * weights[indices[n]] for n in range(len(row))]))
