from libc.stdint cimport int64_t, uint32_t

from dnip.solvers.kernels.rows cimport Rows
from dnip.solvers.kernels.values cimport Values


cdef struct Box:
    # an interval of weight indices for every class, and what its bound starts from
    int64_t *low  # (N,)
    int64_t *high  # (N,)
    int64_t *confusion  # (N, N) counts of the rows that are settled in it
    double *v  # (N,) multipliers of the accuracies
    double *price  # (N + 1,) of missing the floor of each class, and of all together, in rates


cdef struct Contest:
    # of two classes a < b for a row, or for a share of one
    double threshold  # log ω_a - log ω_b at which a comes ahead of b
    double size  # how many examples it counts as
    double change  # what it adds to the cost where it flips to a
    int64_t crowd  # -1: the row has no third candidate
    uint32_t pair  # a·N + b
    uint32_t true  # the true class
    uint32_t rival  # the entry of the rival, in a crowd
    bint held  # whether the true class is ahead


cdef struct Pair:
    # the contests of two classes a < b
    int64_t a, b
    int64_t first, last  # they are contests first..last - 1, by threshold
    double least, new_least  # minimum of their cost


cdef struct Crowd:
    # a row with three or more candidates
    int64_t first, last  # its wrong classes, in `wrong_classes`
    int64_t stray  # its examples if its true class is not a candidate, 0 for others
    uint32_t true
    double loss  # the least that a wrong prediction costs
    double before, after  # room: sizes of its contests


cdef class Contests:
    cdef Rows rows
    cdef int64_t n
    cdef const double[::1] log_p  # (T,)
    cdef double[::1] share  # (T,) of its row that each rival in a crowd stands for; kept
    # at most as many contests as entries, more than rows: a row may be one with each of its rivals
    cdef int64_t n_contests, n_pairs, n_crowds
    cdef Contest *contest  # by pair and threshold
    cdef Contest *met  # in the order in which they were met
    cdef Pair *pair  # in the order in which they were met
    cdef Crowd *crowd
    cdef uint32_t[::1] wrong_classes  # (T,) of all crowds
    cdef int64_t[::1] most_correct  # (N,) examples of each class that can be predicted right
    cdef int64_t[::1] most_wrong  # (N,) examples that can be predicted as each class and are not
    cdef int64_t[::1] pair_at  # (N²,) room, -1 between two boxes
    cdef double[::1] lowest, highest  # (N,) room: weights
    cdef int64_t[::1] entries  # (N,) room

    cdef int64_t narrow(
        self, Box *box, const uint32_t *source, int64_t n_source, uint32_t *target
    ) noexcept nogil
    cdef int64_t find_open(self, int64_t row) noexcept nogil
    cdef void share_row(self, int64_t row, int64_t n_open, int64_t true) noexcept nogil
    cdef void add(
        self, int64_t row, int64_t entry, int64_t other, double size, int64_t crowd, int64_t rival
    ) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef void shell_sort(self, int64_t first, int64_t last) noexcept nogil
    cdef void share_out(self, double left) noexcept nogil
    cdef void count_classes(self, double *sizes) noexcept nogil


cdef class Bound:
    cdef Contests contests
    cdef const double[::1] log_weight  # (K + 2,)
    cdef int64_t n
    # the linear function with the best bound so far; new_: of the multipliers being tried
    cdef double[::1] reward, penalty  # (N,) what a right and a wrong prediction of each class costs
    cdef double[::1] cost, new_cost  # (C,) of a pair's contests, its ratio at each threshold
    cdef double[::1] correct  # (N,) right counts at the minima
    cdef double[::1] new_v, new_price  # (N,), (N + 1,)
    cdef int64_t[::1] order, block_size  # (N,) room
    cdef double[::1] block_total  # (N,) room

    cdef double climb(
        self, Values terms, double dearest, Box *box, double goal, int64_t n_steps
    ) noexcept nogil
    cdef double gain_of(self, Box *box, int64_t c, int64_t low, int64_t high) noexcept nogil
    cdef void keep_multipliers(self, Box *box) noexcept nogil
    cdef double relax(self, Values terms, Box *box) noexcept nogil
    cdef double price_crowds(self, Values terms) noexcept nogil
    cdef double sweep(self, Values terms, Pair *pair, Box *box) noexcept nogil
    cdef double price_contests(self, Values terms, Pair *pair, double lowest) noexcept nogil
    cdef void count_contests(self, Pair *pair, double turning) noexcept nogil
    cdef double least_single(self, Values terms, Box *box) noexcept nogil
    cdef void take_step(self, Values terms, double dearest, double deficit) noexcept nogil
    cdef double missing_of(self, Values terms, int64_t c) noexcept nogil
    cdef void project(self, Values terms, double radius) noexcept nogil
