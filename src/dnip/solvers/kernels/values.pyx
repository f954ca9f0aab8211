"""The objective Z as a function of confusion counts, for the inner loops.

The classes of :mod:`dnip.method.objective` compute the same from rates; tests compare the two.
"""

cimport cython
from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

import numpy as np

#: A point that misses a floor has the value MISSED·(1 + shortfall). That is far above any
#: objective, and the values of all other points are not changed by a single bit.
MISSED = 2.0**1000
cdef double FAR = MISSED


@cython.final
cdef class Values:
    """Z of confusion counts (N, N) of the same examples.

    Parameters
    ----------
    true : ndarray of shape (N,)
        Examples of each class.
    error, recall, f1, cobias, single, tau : float, default=0
        Factors of the error rate, of 1 less the mean recall, of 1 less macro-F1, of the mean gap
        over pairs of classes, of that over odd classes, and of ΣPMI.
    smoothing : float, default=0
        μ, in the unit of the counts.
    costs : ndarray of shape (N, N), optional
        Of true and predicted class.
    floors : ndarray of shape (N,), optional
        Right predictions that are asked for, by class.
    floor : int, default=0
        And of all classes together; needs `floors`.
    called : callable, optional
        Gives Z of counts (N, N), in place of all factors. After an error it is called no more, and
        Z is infinite until the error is raised again, at the end of a call of compiled code.
    """

    def __init__(
        self,
        const int64_t[::1] true not None,
        *,
        double error=0.0,
        double recall=0.0,
        double f1=0.0,
        double cobias=0.0,
        double single=0.0,
        double tau=0.0,
        double smoothing=0.0,
        const double[:, ::1] costs=None,
        const int64_t[::1] floors=None,
        int64_t floor=0,
        called=None,
    ):
        n = true.shape[0]
        self.costs = np.empty((0, 0)) if costs is None else costs
        self.floors = np.empty(0, np.int64) if floors is None else floors
        if self.costs.shape[0] not in (0, n) or self.costs.shape[1] != self.costs.shape[0]:
            raise ValueError(f"costs must have the shape {(n, n)}")
        if self.floors.shape[0] not in (0, n):
            raise ValueError(f"floors must have the shape {(n,)}")
        self.error_rate, self.cobias, self.single, self.tau = error, cobias, single, tau
        self.smoothing, self.floor, self.true, self.n_classes = smoothing, floor, true, n
        self.recall, self.f1 = recall, f1
        counts = np.asarray(true)
        total = counts.sum()
        self.total = total
        with np.errstate(divide="ignore", invalid="ignore"):
            self.pmi_constant = (
                2 * np.log(total + smoothing * n)
                - np.log(total + smoothing * n**2)
                - np.log(counts + smoothing)
            )
        self.correct, self.predicted = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        self.accuracy, self.pmi = np.zeros(n), np.zeros(n)
        self.ranking = np.flatnonzero(counts)
        self.called, self.is_called = called, called is not None
        self.by_class = tau == single == f1 == 0.0 and costs is None and called is None
        self.n_present = self.ranking.shape[0]

    def __call__(self, const int64_t[:, ::1] confusion not None):
        """Return Z."""
        cdef int64_t[::1] predicted = np.empty(self.n_classes, np.int64)
        self._check(confusion)
        sum_columns(&confusion[0, 0], self.n_classes, &predicted[0])
        z = self.value(&confusion[0, 0], &predicted[0])
        self.raise_error()
        return z

    def shortfall(self, const int64_t[:, ::1] confusion not None):
        """Return by how much the counts miss their floors: the sum, in rates."""
        self._check(confusion)
        cdef const int64_t[::1] correct = np.ascontiguousarray(np.diag(confusion))
        return self.missing(&correct[0]) if self.floors.shape[0] > 0 else 0.0

    cdef _check(self, const int64_t[:, ::1] confusion):
        if confusion.shape[0] != self.n_classes or confusion.shape[1] != self.n_classes:
            raise ValueError(f"confusion counts must have the shape {(self.n_classes,) * 2}")

    cdef double value(self, const int64_t *confusion, const int64_t *predicted) noexcept nogil:
        """Return Z (equation 2, as in Objective.__call__) of confusion counts.

        Their column sums are `predicted`.
        """
        cdef int64_t j, correct, n_correct = 0, n_missed = 0
        cdef double z, recalls = 0.0, pmi = 0.0
        for j in range(self.n_classes):
            correct = confusion[j * self.n_classes + j]
            n_correct += correct
            if self.floors.shape[0] > 0:
                n_missed += correct < self.floors[j]
            if correct != self.correct[j] or predicted[j] != self.predicted[j]:
                self.correct[j] = correct
                self.predicted[j] = predicted[j]
                if self.true[j] > 0:
                    self.accuracy[j] = <double>correct / self.true[j]
                if self.tau != 0.0:
                    self.pmi[j] = self.pmi_constant[j] + log(
                        (correct + self.smoothing) / (predicted[j] + self.smoothing)
                    )
            pmi += self.pmi[j]
            recalls += self.accuracy[j]
        if self.floors.shape[0] > 0 and (n_missed > 0 or n_correct < self.floor):
            return FAR * (1.0 + self.missing(&self.correct[0]))
        if self.is_called:
            return self.call(confusion)
        z = self.error_rate * (1.0 - n_correct / self.total) - self.tau * pmi
        if self.recall != 0.0:
            z += self.recall * (1.0 - recalls / self.n_present)
        if self.f1 != 0.0:
            z += self.f1 * (1.0 - self.mean_f1(confusion, predicted))
        if self.costs.shape[0] > 0:
            z += self.cost(confusion) / self.total
        if self.cobias != 0.0:
            z += self.cobias * (self.total_gap() / (self.n_present * (self.n_present - 1) / 2.0))
        if self.single != 0.0:
            z += self.single * self.single_gap(confusion)
        return z

    cdef double call(self, const int64_t *confusion) noexcept with gil:
        """Call the objective with a copy of the counts."""
        if self.error is not None:
            return INFINITY
        counts = np.empty((self.n_classes, self.n_classes), np.int64)
        cdef int64_t[:, ::1] cells = counts
        memcpy(&cells[0, 0], confusion, counts.nbytes)
        try:
            return self.called(counts)
        except BaseException as error:
            self.error = error
            return INFINITY

    cdef int raise_error(self) except -1:
        """Raise the error of a call, if there was one."""
        error, self.error = self.error, None
        if error is not None:
            raise error
        return 0

    cdef double missing(self, const int64_t *correct) noexcept nogil:
        """Return by how much right counts (N,) miss their floors: the sum, in rates."""
        cdef double missing = 0.0
        cdef int64_t n_correct = 0, n_examples = 0, n
        for n in range(self.floors.shape[0]):
            n_correct += correct[n]
            n_examples += self.true[n]
            if correct[n] < self.floors[n]:
                missing += <double>(self.floors[n] - correct[n]) / self.true[n]
        if n_correct < self.floor:
            missing += <double>(self.floor - n_correct) / n_examples
        return missing

    cdef double cost(self, const int64_t *confusion) noexcept nogil:
        """Sum the costs over the examples of confusion counts."""
        cdef double total = 0.0
        cdef int64_t i, j
        for i in range(self.n_classes):
            for j in range(self.n_classes):
                total += self.costs[i, j] * confusion[i * self.n_classes + j]
        return total

    cdef double total_gap(self) noexcept nogil:
        """Sum COBias (equation 1): over ascending A, Σ_{i<j} |A_j - A_i| = Σ_i (2i - n + 1) A_i."""
        cdef int64_t i, j, k, n = self.n_present
        cdef double a, total = 0.0
        for i in range(1, n):  # insertion sort: the last ranking is almost right
            j = self.ranking[i]
            a = self.accuracy[j]
            k = i - 1
            while k >= 0 and self.accuracy[self.ranking[k]] > a:
                self.ranking[k + 1] = self.ranking[k]
                k -= 1
            self.ranking[k + 1] = j
        for i in range(n):
            total += (2 * i - n + 1) * self.accuracy[self.ranking[i]]
        return total

    cdef double mean_f1(self, const int64_t *confusion, const int64_t *predicted) noexcept nogil:
        """Return the mean over classes, true or predicted anywhere, of 2·right / (both)."""
        cdef int64_t j, both, n_averaged = 0
        cdef double total = 0.0
        for j in range(self.n_classes):
            both = self.true[j] + predicted[j]
            if both > 0:
                n_averaged += 1
                total += 2.0 * confusion[j * self.n_classes + j] / both
        return total / n_averaged

    cdef double single_gap(self, const int64_t *confusion) noexcept nogil:
        """Return the mean over classes of |A_odd(i) - A_i|, where both have examples (A.2)."""
        cdef int64_t i, j, odd, most, n_averaged = 0
        cdef double total = 0.0
        for i in range(self.n_classes):
            if self.true[i] == 0:
                continue
            odd = -1
            most = 0
            for j in range(self.n_classes):
                if j != i and confusion[i * self.n_classes + j] > most:
                    most = confusion[i * self.n_classes + j]
                    odd = j
            if odd < 0:
                n_averaged += 1
            elif self.true[odd] > 0:
                n_averaged += 1
                total += fabs(self.accuracy[odd] - self.accuracy[i])
        return total / n_averaged if n_averaged > 0 else 0.0


cdef void sum_columns(const int64_t *confusion, int64_t n, int64_t *predicted) noexcept nogil:
    """Write how often each of n classes is predicted."""
    cdef int64_t i, j
    memset(predicted, 0, n * sizeof(int64_t))
    for i in range(n):
        for j in range(n):
            predicted[j] += confusion[i * n + j]
