"""Coefficients that follow their files: never half of one."""

import pytest

from dnip import Coefficients, DNIPWarning
from dnip.deploying.sidecar.watched import WatchedCoefficients

FIRST = Coefficients(["a", "b"], [2, 1], 2)
SECOND = Coefficients(["a", "b"], [1, 2], 2)


def test_a_damaged_or_missing_file_leaves_the_coefficients_as_they_were(tmp_path):
    path = tmp_path / "topic.json"
    FIRST.save(path)
    watched = WatchedCoefficients({"topic": path})
    half = SECOND.to_json()[:40]
    for spoil in (lambda: path.write_text(half), path.unlink):
        spoil()
        with pytest.warns(DNIPWarning, match=r"topic\.json.*'topic' keeps the coefficients"):
            current = watched.current()
        assert current["topic"].weights.tolist() == [1, 0.5]
        watched.current()  # told once
    SECOND.save(path)
    assert watched.current()["topic"].weights.tolist() == [0.5, 1]
