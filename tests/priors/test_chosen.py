import numpy as np

from dnip.priors import PriorEstimate, TargetPrior


def test_a_line_names_all_of_few_classes_and_the_most_frequent_of_many():
    few = TargetPrior(np.array([0.25, 0.75]), effective_rows=8.5)
    assert few.sentence(["a", "b"]) == "target prior: a 0.250, b 0.750"
    assert few.to_dict(["a", "b"]) == {
        "source": "given",
        "shares": {"a": 0.25, "b": 0.75},
        "effective_rows": 8.5,
    }
    many = TargetPrior(np.r_[np.full(9, 0.05), 0.55])
    said = many.sentence([f"c{i}" for i in range(10)])
    assert said.startswith("target prior: c9 0.550, c0 0.050")
    assert said.endswith(", and 2 more")


def test_an_estimate_is_told_with_its_interval_and_rows():
    shares = np.array([0.25, 0.75])
    target = TargetPrior(shares, PriorEstimate(shares, shares - 0.125, shares + 0.125, 4_000))
    assert target.sentence(["a", "b"]) == (
        "target prior, estimated from 4,000 rows: "
        "a 0.250 (0.125 to 0.375), b 0.750 (0.625 to 0.875)"
    )
    assert target.to_dict(["a", "b"])["low"] == {"a": 0.125, "b": 0.625}
    assert target.to_dict(["a", "b"])["source"] == "estimate"
