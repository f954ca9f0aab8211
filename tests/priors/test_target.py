"""A class mix as a user names it, and as it is reported."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.priors import TargetPrior, check_prior, is_estimate, read_prior

CLASSES = ("ham", "spam", "a=b")


@cases(
    ("uniform", [1 / 3, 1 / 3, 1 / 3]),
    ("0.5,0.25,0.25", [0.5, 0.25, 0.25]),
    (" 0.5, 0.25 ,0.25", [0.5, 0.25, 0.25]),
    ("spam=0.25,ham=0.5,a=b=0.25", [0.5, 0.25, 0.25]),
    ("spam=0.25, ham = 0.75, a=b=0", [0.75, 0.25, 0]),
    ("0.333,0.333,0.333", [1 / 3, 1 / 3, 1 / 3]),
)
def test_what_a_command_line_may_say(text, shares):
    np.testing.assert_allclose(read_prior(text, CLASSES), shares, rtol=1e-12)


@pytest.mark.parametrize("content", [{"spam": 0.3, "a=b": 0.2, "ham": 0.5}, [0.5, 0.3, 0.2]])
def test_a_file(tmp_path, content):
    path = tmp_path / "mix.JSON"
    path.write_text(json.dumps(content))
    np.testing.assert_allclose(read_prior(str(path), CLASSES), [0.5, 0.3, 0.2])


@cases(
    ("0.5,0.3,0.1", "sum to 0.9, not 1"),
    ("0.6,0.5,-0.1", "share of class a=b is -0.1"),
    ("0.5,nan,0.5", "share of class spam is nan"),
    ("0.5,0.5", "2 shares for 3 classes: ham, spam, a=b"),
    ("ham=0.5,spam=0.5", "no share is given for class a=b"),
    ("ham=0.5,eggs=0.5", "no class eggs; the classes are ham, spam, a=b"),
    ("ham=0.5,ham=0.5", "class ham appears twice"),
    ("ham=0.5,0.5", "'0.5' is not NAME=SHARE"),
    ("ham=half,spam=0.5", "'half' is not a number"),
    ("", "'' is not a number"),
    ("ham=1,spam=0,a=b=0", "all rows are of class ham"),
    ("0,0,0", "sum to 0"),
    ("no.json", "no.json cannot be read: No such file"),
)
def test_what_it_may_not(text, told):
    with pytest.raises(InvalidInputError, match="target prior") as refused:
        read_prior(text, CLASSES)
    assert told in refused.value.message
    assert refused.value.hint


@cases(
    ("{", "not valid JSON"),
    ("0.5", "no mix"),
    ('["a", 1, 2]', "not numbers"),
    ('{"ham": [1], "spam": 0, "a=b": 0}', "not numbers"),
    ("[[0.5, 0.5, 0]]", "no share|3 shares"),
    (f"[{'9' * 400}, 0, 0]", "not numbers"),
)
def test_files_that_hold_no_mix(tmp_path, content, told):
    path = tmp_path / "mix.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=told):
        read_prior(str(path), CLASSES)


def test_python_takes_mappings_arrays_and_a_word():
    np.testing.assert_array_equal(check_prior("uniform", ["a", "b"]), [0.5, 0.5])
    np.testing.assert_array_equal(check_prior({"b": 0.75, "a": 0.25}, ["a", "b"]), [0.25, 0.75])
    given_shares = np.array([0.25, 0.75])
    assert check_prior(given_shares, ["a", "b"]) is not given_shares
    with pytest.raises(InvalidInputError, match="'estimate' is no class mix"):
        check_prior("estimate", ["a", "b"])
    assert is_estimate("estimate")
    assert not any(map(is_estimate, (None, "uniform", {"a": 1.0}, given_shares)))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_shares_sum_to_1_whatever_is_accepted(shares):
    names = [f"c{i}" for i in range(len(shares))]
    try:
        found = check_prior(shares, names)
    except InvalidInputError:
        assert abs(sum(shares) - 1) > 1.9e-3 or sum(share > 0 for share in shares) < 2
    else:
        assert found.sum() == pytest.approx(1)
        np.testing.assert_array_equal(found > 0, np.array(shares) > 0)


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
