"""A chain of annealing: moves of one class at a time, at one temperature."""

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_chain(
    setup: Setup,
    here: Walk,
    moves: Moves,
    n_examples: cython.double,
    temperature: cython.double,
    most_accepted: int64_t,
) -> int64_t:
    """Make moves, one after another, until so many of the walk are accepted; return how many.

    The temperature is on the scale of M·Z.
    """
    indices, n_classes, room = here.indices, here.n_classes, setup.workspace
    for i in range(moves.n_moves):
        if here.accepted[0] >= most_accepted:
            return i
        c = moves.classes[i]
        before = indices[c]
        indices[c] = moves.others[i] + (1.0 if moves.others[i] >= before else 0.0)
        weights_at(setup.levels, indices, n_classes, room.weights)
        count(setup.rows, room.weights, room.confusion)
        sum_columns(room.confusion, n_classes, room.predicted)
        reached = value(room.confusion, room.predicted, setup.terms, setup.memo)
        delta = n_examples * (reached - here.value[0])
        # the appendix's sign; the listing prints exp(Δz/T), which accepts everything
        if not (delta <= 0.0 or moves.chances[i] < exp(-delta / temperature)):
            indices[c] = before
            continue
        here.accepted[0] += 1
        here.improved[0] += delta < 0.0
        here.value[0] = reached
        if reached < here.best_value[0]:
            here.best_value[0] = reached
            memcpy(here.best, indices, n_classes * 8)
    return moves.n_moves
