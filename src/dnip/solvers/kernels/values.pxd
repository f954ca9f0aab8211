from libc.stdint cimport int64_t


cdef class Values:
    # factors of the terms; 0 leaves a term out
    cdef double error_rate, recall, f1, cobias, single, tau, smoothing
    cdef const double[:, ::1] costs  # (N, N) of true and predicted class, or (0, 0)
    cdef const int64_t[::1] floors  # (N,) right counts that are asked for, or (0,)
    cdef int64_t floor  # of all classes together
    cdef int64_t n_classes, n_present
    cdef const int64_t[::1] true  # (N,) examples of each class
    cdef double total
    cdef const double[::1] pmi_constant  # (N,) the part of PMI_j that no prediction changes
    # what one evaluation reuses from the one before, because few classes change between two
    cdef int64_t[::1] correct, predicted  # (N,) counts that the following were computed for
    cdef double[::1] accuracy, pmi  # (N,)
    cdef int64_t[::1] ranking  # classes with examples, in ascending order of accuracy
    cdef bint by_class  # whether Z depends on the right counts alone
    cdef object called, error  # what gives Z in place of all terms, and its first error
    cdef bint is_called

    cdef _check(self, const int64_t[:, ::1] confusion)
    cdef double value(self, const int64_t *confusion, const int64_t *predicted) noexcept nogil
    cdef double missing(self, const int64_t *correct) noexcept nogil
    cdef double cost(self, const int64_t *confusion) noexcept nogil
    cdef double total_gap(self) noexcept nogil
    cdef double call(self, const int64_t *confusion) noexcept with gil
    cdef int raise_error(self) except -1
    cdef double mean_f1(self, const int64_t *confusion, const int64_t *predicted) noexcept nogil
    cdef double single_gap(self, const int64_t *confusion) noexcept nogil


cdef void sum_columns(const int64_t *confusion, int64_t n, int64_t *predicted) noexcept nogil
