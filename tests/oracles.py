"""Plain twins of what the package computes fast: written from the definitions, loops and all.

Nothing here imports the package, so that no mistake can be shared with it.
"""

import itertools
import math

import numpy as np


def predict(p, indices):
    """The prediction rule; ``argmax`` gives a tie to the lowest class."""
    return np.argmax(np.asarray(indices) * p, axis=1)


def confusion_at(p, labels, indices, mass=None):
    """Counts at weight indices, rows true, columns predicted."""
    n_classes = p.shape[1]
    mass = np.ones(len(p), np.int64) if mass is None else mass
    confusion = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(confusion, (labels, predict(p, indices)), mass)
    return confusion


def first_winning_index(p, rival_score, ties_win, weights):
    """The smallest index, from 1 on, whose product beats the rival's, by looking at all."""
    products = weights * p
    wins = (products > rival_score) | (ties_win & (products == rival_score))
    return int(np.argmax(wins)) + 1 if wins.any() else len(weights) + 1


def class_accuracies(confusion):
    """Recall by class; None for a class without examples."""
    rows = enumerate(np.asarray(confusion))
    return [int(row[i]) / int(row.sum()) if row.sum() > 0 else None for i, row in rows]


def cobias(confusion):
    """Equation 1, pair by pair."""
    present = [a for a in class_accuracies(confusion) if a is not None]
    gaps = [abs(a - b) for a, b in itertools.combinations(present, 2)]
    return math.fsum(gaps) / len(gaps)


def odd_class(confusion, i):
    """The wrong class that i's examples are given most often, lowest on a tie; None if no error."""
    odd = None
    for j, errors in enumerate(confusion[i]):
        if j != i and errors > (0 if odd is None else confusion[i][odd]):
            odd = j
    return odd


def cobias_single(confusion):
    """Appendix A.2; a class is left out where it or its odd class has no accuracy."""
    a = class_accuracies(confusion)
    gaps = []
    for i in range(len(a)):
        odd = odd_class(confusion, i)
        if a[i] is None or (odd is not None and a[odd] is None):
            continue
        gaps.append(0.0 if odd is None else abs(a[odd] - a[i]))
    return math.fsum(gaps) / len(gaps) if gaps else 0.0


def pmi(confusion, mu):
    """PMI of each class with add-μ smoothing on counts."""
    n, m = len(confusion), int(np.sum(confusion))
    values = []
    for j in range(n):
        joint = (confusion[j][j] + mu) / (m + mu * n**2)
        predicted = (sum(confusion[i][j] for i in range(n)) + mu) / (m + mu * n)
        true = (sum(confusion[j][i] for i in range(n)) + mu) / (m + mu * n)
        values.append(math.log(joint / (predicted * true)))
    return values


def objective(
    confusion, beta=0.5, tau=0.0, mu=None, terms=("error", "cobias", "pmi"), gap="pairwise"
):
    """Z = error + β·COBias - τ·ΣPMI (equation 2), or what `terms` keeps of it.

    μ is 0.4·M where it is left out.
    """
    confusion = np.asarray(confusion)
    z = 0.0
    if "error" in terms:
        z += 1 - np.trace(confusion) / confusion.sum()
    if "cobias" in terms:
        z += beta * {"pairwise": cobias, "single": cobias_single}[gap](confusion)
    if "pmi" in terms:
        z -= tau * math.fsum(pmi(confusion, 0.4 * int(confusion.sum()) if mu is None else mu))
    return z


def mean_cost(confusion, costs):
    """What a prediction costs on average."""
    n = len(confusion)
    total = math.fsum(costs[i][j] * int(confusion[i][j]) for i in range(n) for j in range(n))
    return total / int(np.sum(confusion))


def keeps(confusion, raw, max_loss=None, least=None):
    """Whether accuracy and the class accuracies by index are as high as they have to be."""
    accuracies = class_accuracies(confusion)
    if any(accuracies[c] < rate - 1e-9 for c, rate in (least or {}).items()):
        return False
    if max_loss is None:
        return True
    total = int(np.sum(confusion))
    return (np.trace(raw) - np.trace(confusion)) / total <= max_loss + 1e-9


def silenced(confusion, raw):
    """Classes that are never right, though the raw argmax gets some of their rows right."""
    return [c for c in range(len(raw)) if raw[c][c] > 0 and confusion[c][c] == 0]


def every_point(n_classes, scale):
    """All K^N weight vectors."""
    return itertools.product(range(1, scale + 1), repeat=n_classes)


def every_confusion(p, labels, scale, mass=None, held=()):
    """All confusion matrices that K^N weight vectors lead to, each once.

    `scale` is K, or the K weights themselves; classes that are held have the largest.
    """
    weights = np.arange(1, scale + 1) if np.ndim(scale) == 0 else np.asarray(scale)
    choices = [weights[-1:] if c in held else weights for c in range(p.shape[1])]
    points = np.array(list(itertools.product(*choices)))
    predictions = np.unique((points[:, None, :] * p).argmax(axis=2), axis=0)
    mass = np.ones(len(p), np.int64) if mass is None else mass
    for predicted in predictions:
        confusion = np.zeros((p.shape[1], p.shape[1]), np.int64)
        np.add.at(confusion, (labels, predicted), mass)
        yield confusion


def optimum(p, labels, scale, value=objective, may_silence=False):
    """The lowest value over all K^N weight vectors, of those that silence no class."""
    raw = confusion_at(p, labels, [1] * p.shape[1])
    confusions = every_confusion(p, labels, scale)
    return min(value(c) for c in confusions if may_silence or not silenced(c, raw))


def anneal(
    p, labels, scale, rng, t_max=200_000.0, t_min=200.0, chain=None, share=1.0, value=objective
):
    """Algorithm 1 on the M·Z scale: six moves or three no worse ones, or chains of λNK moves.

    A chain also ends when a share of its moves is accepted. Returns the best indices and, per
    temperature, (temperature, generated, accepted, improved).
    """
    n_examples, n_classes = p.shape
    here = [scale] * n_classes
    here_value = value(confusion_at(p, labels, here))
    best, best_value = here, here_value
    levels = []
    temperature = t_max
    while temperature >= t_min:
        most = 6 if chain is None else math.ceil(chain * n_classes * scale)
        enough = 7 if chain is None else math.ceil(share * most)
        if chain is not None:
            drawn = rng.choice(n_classes, most), rng.integers(1, scale, most), rng.random(most)
            drawn = [numbers.tolist() for numbers in drawn]
        generated = accepted = no_worse = improved = 0
        while generated < most and accepted < enough and (chain is not None or no_worse < 3):
            if chain is None:
                c, other = rng.choice(range(n_classes)), rng.integers(1, scale)
            else:
                c, other = drawn[0][generated], drawn[1][generated]
            others = [k for k in range(1, scale + 1) if k != here[c]]
            new = list(here)
            new[c] = others[other - 1]
            new_value = value(confusion_at(p, labels, new))
            delta = n_examples * (new_value - here_value)
            if delta > 0:
                chance = rng.random() if chain is None else drawn[2][generated]
            generated += 1
            if delta <= 0 or chance < math.exp(-delta / temperature):
                accepted += 1
                no_worse += delta <= 0
                improved += delta < 0
                here, here_value = new, new_value
            if here_value < best_value:
                best, best_value = here, here_value
        levels.append((temperature, generated, accepted, improved))
        temperature *= 0.95
    return best, levels
