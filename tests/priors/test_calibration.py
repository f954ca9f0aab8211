import numpy as np
import pytest

from dnip.priors import Calibration
from dnip.priors.calibration import log_probabilities

SOUND = {"log_weights": [0.5, -0.5], "sharpness": 0.8, "labels": [3.0, 4.0]}


def test_a_calibration_survives_its_file():
    read = Calibration.from_dict(SOUND, 2)
    assert read.to_dict() == SOUND
    p = np.array([[0.9, 0.1], [0.0, 1.0]])
    odds = (np.maximum(p, 1e-7) * np.exp(SOUND["log_weights"])) ** 0.8
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(read.posterior(log_probabilities(p)), expected)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        SOUND | {"log_weights": [0.5]},
        SOUND | {"log_weights": [0.5, None]},
        SOUND | {"log_weights": ["a", "b"]},
        SOUND | {"labels": [1.0, -1.0]},
        SOUND | {"labels": 3},
        SOUND | {"sharpness": 0},
        SOUND | {"sharpness": "sharp"},
        SOUND | {"sharpness": float("nan")},
        {name: SOUND[name] for name in ("log_weights", "sharpness")},
    ],
)
def test_anything_else_is_refused(content):
    with pytest.raises(ValueError, match=r"missing|number|sharpness"):
        Calibration.from_dict(content, 2)
