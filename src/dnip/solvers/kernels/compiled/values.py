"""The objective Z (equation 2) as a function of confusion counts, for the inner loops.

:class:`dnip.method.objective.Objective` computes the same from rates; tests compare the two.
"""

import cython

# A point that misses a floor has this value times (1 + shortfall).
MISSED = cython.declare(cython.double, 2.0**1000)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value(confusion: Confusion, predicted: Integers, terms: Terms, memo: Memo) -> cython.double:
    """Z of confusion counts of shape (N, N) whose column sums are `predicted`."""
    n_classes = memo.n_classes
    n_correct: int64_t = 0
    pmi_sum = 0.0
    for j in range(n_classes):
        correct = confusion[j * n_classes + j]
        n_correct += correct
        if correct != memo.correct[j] or predicted[j] != memo.predicted[j]:
            memo.correct[j] = correct
            memo.predicted[j] = predicted[j]
            if memo.true[j] > 0:
                memo.accuracy[j] = cython.cast(cython.double, correct) / memo.true[j]
            if terms.tau != 0.0:
                memo.pmi[j] = memo.pmi_constant[j] + log(
                    (correct + terms.smoothing) / (predicted[j] + terms.smoothing)
                )
        pmi_sum += memo.pmi[j]
    if terms.floors.n_floors > 0:
        missing = shortfall(memo.correct, terms.floors, memo.true)
        if missing > 0.0:
            return MISSED * (1.0 + missing)
    # equation 2, as in Objective.__call__
    z = terms.error * (1.0 - n_correct / memo.total) - terms.tau * pmi_sum
    if terms.n_costs > 0:
        z += cost_of(confusion, terms) / memo.total
    if terms.cobias != 0.0:
        z += terms.cobias * cobias(memo)
    if terms.single != 0.0:
        z += terms.single * cobias_single(confusion, memo)
    return z


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shortfall(correct: Integers, floors: Floors, true: Integers) -> cython.double:
    """By how much correct counts of shape (N,) miss their floors: the sum, in rates."""
    missing = 0.0
    n_correct: int64_t = 0
    n_examples: int64_t = 0
    for n in range(floors.n_floors):
        n_correct += correct[n]
        n_examples += true[n]
        if correct[n] < floors.correct[n]:
            missing += cython.cast(cython.double, floors.correct[n] - correct[n]) / true[n]
    if n_correct < floors.total:
        missing += cython.cast(cython.double, floors.total - n_correct) / n_examples
    return missing


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cost_of(confusion: Confusion, terms: Terms) -> cython.double:
    """Sum the costs of shape (N, N) over the examples of confusion counts."""
    total = 0.0
    for cell in range(terms.n_costs * terms.n_costs):
        total += terms.costs[cell] * confusion[cell]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cobias(memo: Memo) -> cython.double:
    """Equation 1: over ascending A, Σ_{i<j} |A_j - A_i| = Σ_i (2i - n + 1) A_i."""
    ranking, accuracy, n = memo.ranking, memo.accuracy, memo.n_present
    for i in range(1, n):  # insertion sort: the last ranking is almost right
        j = ranking[i]
        a = accuracy[j]
        k = i - 1
        while k >= 0 and accuracy[ranking[k]] > a:
            ranking[k + 1] = ranking[k]
            k -= 1
        ranking[k + 1] = j
    total = 0.0
    for i in range(n):
        total += (2 * i - n + 1) * accuracy[ranking[i]]
    return total / (n * (n - 1) / 2.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cobias_single(confusion: Confusion, memo: Memo) -> cython.double:
    """Appendix A.2: mean over classes of |A_odd(i) - A_i|, where both have examples."""
    n_classes = memo.n_classes
    total = 0.0
    n_averaged = 0
    for i in range(n_classes):
        if memo.true[i] == 0:
            continue
        odd: int64_t = -1
        most: int64_t = 0
        for j in range(n_classes):
            if j != i and confusion[i * n_classes + j] > most:
                most = confusion[i * n_classes + j]
                odd = j
        if odd < 0:
            n_averaged += 1
        elif memo.true[odd] > 0:
            n_averaged += 1
            total += fabs(memo.accuracy[odd] - memo.accuracy[i])
    return total / n_averaged if n_averaged > 0 else 0.0
