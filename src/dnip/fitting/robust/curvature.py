"""The second derivatives of the smooth estimator's loss, solved whole or, for many classes, not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Floats

# Up to so many classes, the matrix is made and solved; beyond them, its products with vectors are
# enough (conjugate gradients), for its size grows with their square.
_MOST_CLASSES = 500
_MAX_ROUNDS = 200
# Part of the first residual at which a solution is near enough: Newton's method corrects the rest.
_NEAR = 1e-8


class Curvature(NamedTuple):
    """The matrix [[corner, edge], [edge, diag(diagonal) - weightedᵀ·q]], positive definite.

    Where `held`, the first parameter stays: its step is 0.
    """

    corner: float
    edge: Floats  # (N,)
    diagonal: Floats  # (N,)
    weighted: Floats  # (M, N) q, times the weight of each row
    q: Floats  # (M, N)
    held: bool

    def solve(self, gradient: Floats, deadline: float | None = None) -> Floats:
        """Return the matrix's inverse times a vector of shape (N + 1,).

        After `deadline`, a ``time.perf_counter`` reading, it is what is known by then: still a
        direction in which the loss falls.
        """
        if len(self.edge) > _MOST_CLASSES:
            return self._approach(gradient, deadline)
        free = slice(int(self.held), None)
        step = np.zeros(len(gradient))
        step[free] = np.linalg.solve(self._whole()[free, free], gradient[free])
        return step

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant, without the first row and column if `held`."""
        n_rows, n_classes = self.q.shape
        if n_classes <= max(_MOST_CLASSES, n_rows):
            free = slice(int(self.held), None)
            return float(np.linalg.slogdet(self._whole()[free, free])[1])
        # det(D - WᵀQ) = det(D)·det(1 - Q·D⁻¹·Wᵀ), a matrix of the few rows
        inner = np.eye(n_rows) - (self.q / self.diagonal) @ self.weighted.T
        found = np.log(self.diagonal).sum() + np.linalg.slogdet(inner)[1]
        if not self.held:
            beside = self._replace(held=True)._approach(np.concatenate(([0.0], self.edge)), None)
            found += np.log(self.corner - self.edge @ beside[1:])
        return float(found)

    def _whole(self) -> Floats:
        n_classes = len(self.edge)
        whole = np.empty((n_classes + 1, n_classes + 1))
        whole[0, 0] = self.corner
        whole[0, 1:] = whole[1:, 0] = self.edge
        whole[1:, 1:] = np.diag(self.diagonal) - self.weighted.T @ self.q
        return whole

    def _times(self, x: Floats) -> Floats:
        rest = self.diagonal * x[1:] - (self.q @ x[1:]) @ self.weighted
        if self.held:
            return np.concatenate(([0.0], rest))
        first = self.corner * x[0] + self.edge @ x[1:]
        return np.concatenate(([first], rest + self.edge * x[0]))

    def _approach(self, gradient: Floats, deadline: float | None) -> Floats:
        """Solve by conjugate gradients, each parameter scaled by its own curvature."""
        scale = np.concatenate(([self.corner], self.diagonal))
        residual = gradient.copy()
        if self.held:
            residual[0] = 0.0
        found = np.zeros(len(gradient))
        direction = residual / scale
        size = first = float(residual @ direction)
        for _ in range(_MAX_ROUNDS):
            if size <= _NEAR**2 * first:
                break
            moved = self._times(direction)
            length = size / float(direction @ moved)
            found += length * direction
            residual -= length * moved
            if deadline is not None and time.perf_counter() >= deadline:
                break
            scaled = residual / scale
            before, size = size, float(residual @ scaled)
            direction = scaled + size / before * direction
        return found
