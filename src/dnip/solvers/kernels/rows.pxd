from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef class Levels:
    cdef readonly int64_t size  # K
    cdef readonly double span  # largest ratio of two weights, with room for rounding
    cdef readonly object weights  # the same as `weight`, for Python
    cdef const double[::1] weight  # (K + 2,) at positions 1..K; 0 before, infinite after
    cdef bint linear  # whether the weights are 1..K
    cdef const uint16_t[::1] lowest  # (B,) least position that may win, by bucket
    cdef int64_t shift  # bits of a float64 that do not tell its bucket
    cdef int64_t first  # the leading bits of the first bucket
    cdef double least, most  # quotients below or above share the first or the last bucket

    cdef void find_winning(
        self, const double *p, const double *rival_score, const uint32_t *rival, int64_t c,
        int64_t n, uint32_t *position
    ) noexcept nogil
    cdef double nearest(self, double weight) noexcept nogil
    cdef double height(self, double index) noexcept nogil
    cdef int64_t middle(self, double total, int64_t n) noexcept nogil


cdef class Flips:
    cdef readonly int64_t n_classes, n
    cdef readonly bint shared
    cdef readonly object fields  # the arrays below
    cdef uint32_t[::1] position  # (F,) ascending
    cdef uint32_t[::1] true  # (F,) label of the flipping rows, unless they are shared
    cdef uint32_t[::1] rival, winner  # (F,) class that they leave, and that they go to
    cdef int64_t[::1] gain  # (F,) how many examples they count as; if shared, of the winner
    cdef int64_t[::1] loss  # (F,) if shared: how many examples of the rival

    cdef void walk(
        self, int64_t origin, int64_t target, int64_t *confusion, int64_t *predicted
    ) noexcept nogil
    cdef int64_t beyond(self, int64_t index) noexcept nogil
    cdef void apply(
        self, int64_t first, int64_t end, int64_t sign, int64_t *confusion, int64_t *predicted
    ) noexcept nogil


# what of a row matters on a line: its rival, its follower and the class of the line
cdef struct Standing:
    double best, p_follower, p  # the rival's product; -1 where there is none
    int64_t rival, follower


cdef class Rows:
    cdef readonly Levels levels
    cdef readonly Flips flips
    cdef readonly int64_t n_rows, n_classes, n_cells
    cdef const uint32_t[::1] label  # (R,) true class
    cdef const int64_t[::1] counts  # (R,) how many examples the row counts as
    cdef readonly bint is_shared, is_dense
    cdef const int64_t[:, ::1] shares  # (R, N) counts of each class, or (R, 0)
    cdef uint8_t[::1] follows  # (N,) whether a class stands at the middle of the leaders
    cdef const int64_t[::1] leaders
    cdef readonly int64_t n_followers
    cdef int64_t[:, ::1] settled  # (N, N) counts of the settled rows
    # dense: the probabilities of each class
    cdef const double[:, ::1] columns  # (N, R)
    # sparse: T entries of a row and a class that can win it, by row and by class
    cdef readonly const int64_t[::1] row_start  # (R + 1,) where each row's entries start
    cdef const uint32_t[::1] row_class  # (T,) ascending within a row
    cdef readonly const double[::1] row_p  # (T,)
    cdef const int64_t[::1] class_start  # (N + 1,)
    cdef const uint32_t[::1] class_row  # (T,) ascending within a class
    cdef const double[::1] class_p  # (T,)
    # room, for a block of rows or for all that a class can win
    cdef double[::1] weight  # (N,)
    cdef uint32_t[::1] rival, position, target
    cdef double[::1] score
    cdef uint64_t[::1] code, spare  # a position and what flips there, to be sorted
    cdef double[::1] middle_weight  # (K + 2,) of followers, by the index of the class of the line

    cdef _lay_out_dense(self, p, is_open)
    cdef _lay_out_sparse(self, p, is_open, class_size)
    cdef _make_room(self, int64_t n_flips)
    cdef void weigh(self, const double *indices) noexcept nogil
    cdef double total(self, const double *indices, int64_t but) noexcept nogil
    cdef void put(self, int64_t r, int64_t winner, int64_t *confusion) noexcept nogil
    cdef void count_at(self, const double *indices, int64_t *confusion) noexcept nogil
    cdef void flip(self, const double *indices, int64_t c) noexcept nogil
    cdef void lead(self, int64_t c, int64_t first, int64_t n) noexcept nogil
    cdef void flip_dense(self, int64_t c) noexcept nogil
    cdef void flip_sparse(self, int64_t c) noexcept nogil
    cdef void sort(self, int64_t n) noexcept nogil
    cdef void fill(self, int64_t i, int64_t r, uint32_t rival, uint32_t winner) noexcept nogil
    cdef void flip_following(self, const double *indices, int64_t c) noexcept nogil
    cdef int64_t winner_at(self, int64_t k, int64_t c, const Standing *row) noexcept nogil


cdef int check_indices(const double[::1] indices, int64_t n_classes, Levels levels) except -1
