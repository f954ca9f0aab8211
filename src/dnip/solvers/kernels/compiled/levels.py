"""The weights of a scale by position 1..K, and where one of them first wins a row.

A weight wins if it is above a quotient: the rival's product divided by the class's probability.
The quotient is rounded, so it only says where to look; products decide, under the tie rule of the
prediction itself. On a linear scale the quotient is a position. On any other scale it falls into a
*bucket*, the leading bits of its float64. A bucket is so narrow that only one weight in it is in
doubt.
"""

import cython

#: One number, as a float64 and as its bits.
Bits = cython.union(number=cython.double, bits=uint64_t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weights_at(levels: Levels, indices: Floats, n_classes: int64_t, weights: Floats) -> cython.void:
    """Write the weights at positions of shape (N,)."""
    for n in range(n_classes):
        weights[n] = levels.weight[cython.cast(int64_t, indices[n])]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def by_quotient(
    p: cython.double, rival_score: cython.double, ties_win: cython.bint, levels: Levels
) -> uint32_t:
    """Decide by two products: rounding moves the quotient by less than one position."""
    k = floor(rival_score / p)  # infinite for tiny p: only the result is an integer
    k = k if k > 1.0 else 1.0
    score = k * p
    wins: cython.bint = (score > rival_score) | (ties_win & (score == rival_score))
    next_score = (k + 1.0) * p
    next_wins: cython.bint = (next_score > rival_score) | (ties_win & (next_score == rival_score))
    k += (0.0 if wins else 1.0) + (0.0 if next_wins else 1.0)
    highest = levels.size + 1.0
    return cython.cast(uint32_t, k if k < highest else highest)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def bucket(quotient: cython.double, levels: Levels) -> uint32_t:
    """Return the bucket of a quotient."""
    number: Bits
    quotient = quotient if quotient > levels.least else levels.least
    number.number = quotient if quotient < levels.most else levels.most
    return cython.cast(
        uint32_t, (number.bits >> levels.shift) - cython.cast(uint64_t, levels.first)
    )


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def decide(
    place: uint32_t,
    p: cython.double,
    rival_score: cython.double,
    ties_win: cython.bint,
    levels: Levels,
) -> uint32_t:
    """Decide by one product: a bucket leaves one weight in doubt."""
    k: uint32_t = levels.lowest[place]
    score = levels.weight[k] * p  # not a number where p is 0, at K + 1
    loses: cython.bint = score < rival_score
    ties: cython.bint = score == rival_score
    return k + cython.cast(uint32_t, loses | (ties & (not ties_win)))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_winning_index(
    p: cython.double, rival_score: cython.double, ties_win: cython.bint, levels: Levels
) -> uint32_t:
    """Smallest k in 1..K whose weight times p beats `rival_score`; K + 1 if there is none."""
    if levels.n_buckets == 0:
        return by_quotient(p, rival_score, ties_win, levels)
    return decide(bucket(rival_score / p, levels), p, rival_score, ties_win, levels)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_winning_indices(
    p: Floats,
    rival_score: Floats,
    rival: SmallIntegers,
    c: int64_t,
    levels: Levels,
    slot: SmallIntegers,
    n: int64_t,
) -> cython.void:
    """Fill `slot` with the first winning index of class `c` in each of n rows."""
    if levels.n_buckets == 0:
        for i in range(n):
            slot[i] = by_quotient(p[i], rival_score[i], c < rival[i], levels)
    else:
        for i in range(n):  # a loop without look-ups, which compiles to vector code
            slot[i] = bucket(rival_score[i] / p[i], levels)
        for i in range(n):
            slot[i] = decide(slot[i], p[i], rival_score[i], c < rival[i], levels)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def nearest(weight: cython.double, levels: Levels) -> cython.double:
    """Return the position of the nearest weight: by ratio if the steps of the scale are ratios."""
    if levels.n_buckets == 0:
        k = rint(weight)
    else:
        place = first_winning_index(1.0, weight, True, levels)
        k = cython.cast(cython.double, place)
        below, above = levels.weight[place - 1], levels.weight[place]
        if weight * weight < below * above:
            k -= 1.0
    k = k if k > 1.0 else 1.0
    return k if k < levels.size else cython.cast(cython.double, levels.size)
