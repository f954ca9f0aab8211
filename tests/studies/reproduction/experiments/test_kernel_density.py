"""Densities equal SciPy's on mirrored samples."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from dnip.studies.reproduction.experiments.kernel_density import POINTS, density

GRID = np.linspace(0, 1, POINTS)


@pytest.mark.parametrize("n", [2, 17, 3000])
@pytest.mark.parametrize("shape", [(2, 5), (0.3, 0.4)])
def test_equals_scipy_with_what_is_beyond_the_ends_mirrored_back(n, shape):
    samples = np.random.default_rng(n).beta(*shape, size=n)
    smooth = gaussian_kde(samples)  # Scott's rule, too
    expected = sum(smooth(GRID + shift) + smooth(-GRID + shift) for shift in (0, 2, -2, 4, -4))
    assert density(samples) == pytest.approx(expected, abs=2e-4 * expected.max())


@pytest.mark.parametrize("samples", [[0.0], [1.0], [0.5, 0.5, 0.5], [0.0, 1.0]])
def test_holds_all_mass_even_of_samples_that_are_alike(samples):
    curve = density(np.array(samples))
    assert np.trapezoid(curve, GRID) == pytest.approx(1, abs=1e-6)
    assert (curve >= 0).all()
