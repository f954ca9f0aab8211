"""Densities of probabilities: Gaussian kernels that stay within 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Floats

# Points of the grid, and of the finer one on which samples are binned before they are smoothed.
POINTS, _FINER = 201, 20
# Bandwidth of samples that are all alike, and least bandwidth of any.
_LEAST_BANDWIDTH = 0.005


def density(samples: Floats) -> Floats:
    """Return the density of samples in 0..1 at 201 even points, with Scott's bandwidth.

    What a kernel would put beyond 0 or 1 is mirrored back, so the curve holds all of the mass.

    Parameters
    ----------
    samples : ndarray of shape (M,)
        At least one.

    Returns
    -------
    ndarray of shape (201,)

    Examples
    --------
    >>> import numpy as np
    >>> curve = density(np.array([0.2, 0.4, 0.9]))
    >>> round(float(np.trapezoid(curve, dx=1 / 200)), 2)
    1.0
    """
    spread = float(np.std(samples, ddof=1)) if len(samples) > 1 else 0.0
    bandwidth = max(spread * len(samples) ** -0.2, _LEAST_BANDWIDTH)
    step = 1 / ((POINTS - 1) * _FINER)
    n_bins = (POINTS - 1) * _FINER + 1
    # each sample is shared by the two nearest of the fine points, in proportion to nearness
    place = np.clip(samples, 0, 1) / step
    left = np.minimum(place.astype(np.int64), n_bins - 2)
    share = place - left
    mass = np.bincount(left, 1 - share, n_bins) + np.bincount(left + 1, share, n_bins)
    mirrored = np.concatenate([mass, mass[-2:0:-1]])  # and so on without end: a period of 2
    mirrored[[0, n_bins - 1]] *= 2  # the ends are their own images
    frequencies = np.fft.rfftfreq(len(mirrored), step)
    smooth = np.exp(-2 * (np.pi * bandwidth * frequencies) ** 2)
    wide = np.fft.irfft(np.fft.rfft(mirrored) * smooth, len(mirrored))
    inner = wide[:n_bins:_FINER]
    return np.asarray(np.maximum(inner, 0) / (len(samples) * step))
