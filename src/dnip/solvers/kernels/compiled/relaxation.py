"""A lower bound of the objective over a box, by Lagrangian relaxation.

Inside a box, Z (equation 2) is at least a linear function of the confusion counts. Each term has a
linear bound, and the multipliers choose among them:

- the error is linear, and so is a mean cost;
- COBias (equation 1) is the largest Σ_i v_i·A_i over all v of a permutohedron. Its corners are
  β/pairs times the permutations of (n-1, n-3, ..., 1-n). Any v in it gives a bound;
- -PMI_j is log(1 + w/(c + μ)) plus constants, for c right and w wrong predictions of class j. It is
  convex in c and concave in w, so a plane that is below it at the least and at the most w is below
  it everywhere;
- a point that misses no floor has floor - count ≤ 0 for each of them. Any price of at least 0 on
  what is missing keeps the bound below the Z of such points.

A linear function of counts is a sum over rows. An open row is a contest of two classes and depends
on the ratio of their weights alone. So the minimum over the box is at least the sum, over pairs of
classes, of the minima over their ratio; `sweep` finds each of them.

A row with several rivals is shared out. It costs at least its cheapest wrong prediction, less what
a right one saves; and that is saved only where the true class is ahead of every rival. To ask that
of one rival alone bounds the saving from above, and so does any mean of this over the rivals. Their
parts in the mean add up to 1; each is a contest with that rival, for so much of the row.

Four things then raise the bound: subgradient steps on v, higher prices of the floors that are
missed, larger parts for the rivals that are ahead, and planes that touch at the counts of the
minima.

With prices of at most 1 and nothing else, the same function bounds the least shortfall of a box.
"""

import cython

# How far the planes move toward the counts of the last minima.
PULL = cython.declare(cython.double, 0.4)
# What is left of the part of a rival that the true class beats, after a full step. No part is less
# than the smallest one, so that none is lost for ever.
FADE = cython.declare(cython.double, 0.6)
SMALLEST = cython.declare(cython.double, 1e-4)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def between(x: cython.double, low: cython.double, high: cython.double) -> cython.double:
    """Return the number from `low` to `high` that is nearest to x."""
    x = x if x > low else low
    return x if x < high else high


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def rate(part: int64_t, whole: int64_t) -> cython.double:
    """Divide two counts."""
    return cython.cast(cython.double, part) / whole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def raise_bound(
    relaxation: Relaxation,
    box: Box,
    confusion: Confusion,
    multipliers: Multipliers,
    goal: cython.double,
) -> cython.double:
    """Bound Z over a box from below; improve the multipliers until the bound reaches `goal`.

    Points that miss floors are left out of it. `confusion` counts the rows that the box settles.
    """
    terms, relaxed = relaxation.terms, relaxation.relaxed
    best = -INFINITY
    stride = 1.0
    v, price = relaxed.new_v, relaxed.new_price
    n_classes = multipliers.n_classes
    memcpy(v, multipliers.v, n_classes * 8)
    for n in range(n_classes + 1):
        given = multipliers.price[n]
        price[n] = given if given < relaxation.dearest else relaxation.dearest
    has_floors: cython.bint = terms.floors.n_floors > 0
    single = terms.single * least_single(relaxation, confusion) if terms.single > 0 else 0.0
    for _ in range(relaxation.n_steps):
        bound = single + relax(relaxation, box, confusion, multipliers)
        if bound > best:
            best = bound
            keep_multipliers(relaxation.contests, multipliers, relaxed)
        else:
            stride *= 1.0 - 1.0 / sqrt(2.0 * relaxation.n_steps)
        if best >= goal:
            break
        share_out(relaxation.contests, relaxed, FADE**stride)
        if terms.cobias > 0 or has_floors:
            take_step(relaxation, stride * (goal - bound))
        if terms.tau > 0:
            for n in range(n_classes):
                multipliers.correct[n] += PULL * (relaxed.correct[n] - multipliers.correct[n])
                multipliers.wrong[n] += PULL * (relaxed.wrong[n] - multipliers.wrong[n])
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_multipliers(contests: Contests, multipliers: Multipliers, relaxed: Relaxed) -> cython.void:
    """Keep the multipliers of the best bound so far, and its parts contest by contest."""
    memcpy(multipliers.v, relaxed.new_v, multipliers.n_classes * 8)
    memcpy(multipliers.price, relaxed.new_price, (multipliers.n_classes + 1) * 8)
    n_pairs = contests.n_pairs[0]
    memcpy(relaxed.least, relaxed.new_least, n_pairs * 8)
    n_contests = contests.start[n_pairs]
    memcpy(relaxed.value, relaxed.new_value, n_contests * 8)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def share_out(contests: Contests, relaxed: Relaxed, left: cython.double) -> cython.void:
    """Give less of a crowd to rivals that its true class beats, and so more to the others."""
    before, after = relaxed.before, relaxed.after
    for crowd in range(contests.n_crowds[0]):
        before[crowd] = after[crowd] = 0.0
    n_contests = contests.start[contests.n_pairs[0]]
    for x in range(n_contests):
        if contests.kind[x] % KINDS >= TRUE_A_CROWDED:
            before[contests.crowd[x]] += contests.size[x]
            after[contests.crowd[x]] += contests.size[x] * (left if relaxed.held[x] else 1.0)
    for x in range(n_contests):
        # what it costs where the true class is as well off wrong does not depend on the parts
        if contests.kind[x] % KINDS >= TRUE_A_CROWDED and relaxed.change[x] != 0.0:
            crowd, rival = contests.crowd[x], contests.rival[x]
            factor = before[crowd] / after[crowd] * (left if relaxed.held[x] else 1.0)
            contests.size[x] *= factor
            part = contests.part[rival] * factor
            contests.part[rival] = part if part > SMALLEST else SMALLEST


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def relax(
    relaxation: Relaxation, box: Box, confusion: Confusion, multipliers: Multipliers
) -> cython.double:
    """Minimise the linear function of the new multipliers over the box, pair by pair."""
    terms, memo = relaxation.terms, relaxation.memo
    contests, relaxed = relaxation.contests, relaxation.relaxed
    n_classes = box.n_classes
    v, reward, penalty = relaxed.new_v, relaxed.reward, relaxed.penalty
    floors, price = terms.floors, relaxed.new_price
    bound = terms.error
    if terms.n_costs > 0:
        bound += cost_of(confusion, terms) / memo.total
    for n in range(n_classes):
        right = confusion[n * n_classes + n]
        reward[n] = -terms.error / memo.total
        penalty[n] = 0.0
        if terms.cobias > 0 and memo.true[n] > 0:
            reward[n] += v[n] / memo.true[n]
        if floors.n_floors > 0:
            reward[n] -= price[n_classes] / memo.total
            if memo.true[n] > 0:
                reward[n] -= price[n] / memo.true[n]
                bound += price[n] * (cython.cast(cython.double, floors.correct[n]) / memo.true[n])
        if terms.tau > 0:
            wrong: int64_t = 0
            for i in range(n_classes):
                if i != n:
                    wrong += confusion[i * n_classes + n]
            most_right, most_wrong = contests.most_correct[n], contests.most_wrong[n]
            slope = slope_of(
                between(multipliers.correct[n], right, most_right) + terms.smoothing,
                between(multipliers.wrong[n], wrong, most_wrong),
            )
            lower = below(slope, wrong, right, most_right, terms.smoothing)
            if most_wrong > wrong:
                upper = below(slope, most_wrong, right, most_right, terms.smoothing)
                penalty[n] = terms.tau * (upper - lower) / (most_wrong - wrong)
            reward[n] += terms.tau * slope
            bound += terms.tau * (lower - memo.pmi_constant[n])
            relaxed.wrong[n] = wrong
        relaxed.correct[n] = right
        bound += reward[n] * right
    if floors.n_floors > 0:
        bound += price[n_classes] * (floors.total / memo.total)
    bound += price_crowds(relaxation)
    for q in range(contests.n_pairs[0]):
        bound += sweep(q, relaxation, box)
    return bound


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slope_of(correct: cython.double, wrong: cython.double) -> cython.double:
    """Return the derivative of log(1 + wrong/correct) by `correct`."""
    return -wrong / (correct * (correct + wrong))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def below(
    slope: cython.double,
    wrong: cython.double,
    least: cython.double,
    most: cython.double,
    smoothing: cython.double,
) -> cython.double:
    """Minimum of log(1 + wrong/(c + μ)) - slope·c over c from `least` to `most`."""
    c = most
    if wrong > 0 and slope < 0:
        # where the derivative is `slope`: (c + μ)² + wrong·(c + μ) + wrong/slope = 0
        c = 0.5 * (sqrt(wrong * wrong - 4 * wrong / slope) - wrong) - smoothing
    elif slope < 0:
        c = least
    c = between(c, least, most)
    return log((c + wrong + smoothing) / (c + smoothing)) - slope * c


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def least_single(relaxation: Relaxation, confusion: Confusion) -> cython.double:
    """COBias_single is at least this: no class is nearer to an odd one than their intervals are."""
    contests, memo = relaxation.contests, relaxation.memo
    n = memo.n_present
    if n < memo.n_classes:
        return 0.0  # an odd class without examples takes its class out of the mean
    total = 0.0
    for i in range(n):
        if contests.most_correct[i] == memo.true[i]:
            continue  # it may have no error, and so no odd class
        closest = INFINITY
        for j in range(n):
            if j != i:
                above = rate(confusion[i * n + i], memo.true[i]) - rate(
                    contests.most_correct[j], memo.true[j]
                )
                under = rate(confusion[j * n + j], memo.true[j]) - rate(
                    contests.most_correct[i], memo.true[i]
                )
                apart = above if above > under else under
                apart = apart if apart > 0.0 else 0.0
                closest = apart if apart < closest else closest
        total += closest
    return total / n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_step(relaxation: Relaxation, deficit: cython.double) -> cython.void:
    """Take Polyak's subgradient step: as far as closes the deficit of a linear bound."""
    terms, memo, relaxed = relaxation.terms, relaxation.memo, relaxation.relaxed
    present = memo.ranking
    n, n_classes = memo.n_present, memo.n_classes
    floors, v, price = terms.floors, relaxed.new_v, relaxed.new_price
    square = 1e-12
    mean = 0.0
    if terms.cobias > 0:
        for x in range(n):
            mean += relaxed.correct[present[x]] / memo.true[present[x]] / n
        for x in range(n):
            off = relaxed.correct[present[x]] / memo.true[present[x]] - mean
            square += off * off
    if floors.n_floors > 0:
        for c in range(n_classes + 1):
            missing = missing_of(c, floors, memo, relaxed)
            if missing > 0 or price[c] > 0:
                square += missing * missing
        for c in range(n_classes + 1):
            raised = price[c] + deficit / square * missing_of(c, floors, memo, relaxed)
            price[c] = between(raised, 0.0, relaxation.dearest)
    if terms.cobias > 0:
        for x in range(n):
            c = present[x]
            v[c] += deficit / square * (relaxed.correct[c] / memo.true[c] - mean)
        project(v, memo, terms.cobias / (n * (n - 1) / 2.0), relaxed)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def missing_of(c: int64_t, floors: Floors, memo: Memo, relaxed: Relaxed) -> cython.double:
    """By what rate the counts of a relaxation miss the floor of a class, or that of all."""
    if c == memo.n_classes:
        correct = 0.0
        for n in range(memo.n_classes):
            correct += relaxed.correct[n]
        return (floors.total - correct) / memo.total
    true = cython.cast(cython.double, memo.true[c])
    return (floors.correct[c] - relaxed.correct[c]) / true if true > 0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def project(v: Floats, memo: Memo, radius: cython.double, relaxed: Relaxed) -> cython.void:
    """Project onto the permutohedron: isotonic regression of the sorted v minus its corner."""
    n, present = memo.n_present, memo.ranking
    order, total, size = relaxed.order, relaxed.block_total, relaxed.block_size  # v descending
    for x in range(n):
        at: int64_t = x
        while at > 0 and v[order[at - 1]] < v[present[x]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = present[x]
    n_blocks: int64_t = 0
    for x in range(n):
        total[n_blocks] = v[order[x]] - radius * (n - 1 - 2 * x)
        size[n_blocks] = 1
        n_blocks += 1
        while (
            n_blocks > 1
            and total[n_blocks - 2] * size[n_blocks - 1] <= total[n_blocks - 1] * size[n_blocks - 2]
        ):
            n_blocks -= 1
            total[n_blocks - 1] += total[n_blocks]
            size[n_blocks - 1] += size[n_blocks]
    at = 0
    for block in range(n_blocks):
        for _ in range(size[block]):
            v[order[at]] -= total[block] / size[block]
            at += 1
