import pytest

from dnip.base.errors import InvalidInputError
from dnip.prompting.votes import Ballot, count_votes

MOODS = ("good", "bad", "not good")


@pytest.mark.parametrize(
    ("words", "text", "vote"),
    [
        (MOODS, "good", 0),
        (MOODS, "good at first, then bad", 1),
        (MOODS, "bad, no: good.", 0),
        (MOODS, "**Good**", 0),
        (MOODS, "BAD", 1),
        (MOODS, "it is not good", 2),
        (MOODS, "not good, but good", 0),
        (MOODS, "goodness", None),
        (MOODS, "good_bad", None),
        (MOODS, "", None),
        (("a.b", "a"), "a.b", 0),
        (("a.b", "a"), "axb", None),
        (("us", "US"), "us or US", 1),
        (("us", "US"), "Us", None),
        (("1", "10"), "10", 1),
        (("+", "-"), "so: -", 1),
        (("straße", "weg"), "STRASSE oder Straße", 0),
    ],
)
def test_the_last_label_word_is_the_vote(words, text, vote):
    assert Ballot(words).read(text) == vote


def test_shares_are_of_all_samples():
    tally = count_votes(["yes", None, "no", "who knows", "yes"], ("no", "yes"))
    assert tally.shares == pytest.approx([0.2, 0.4])
    assert (tally.samples, tally.unmatched) == (5, 2)


def test_ties_stay_ties():
    assert count_votes(["yes", "no"], ("no", "yes")).shares.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("words", [(), ("a", ""), ("a", "a "), ("a", "  ")])
def test_words_that_cannot_be_told_apart_are_refused(words):
    with pytest.raises(InvalidInputError, match="must differ"):
        Ballot(words)


def test_no_samples_are_refused():
    with pytest.raises(InvalidInputError, match="no samples"):
        count_votes([], ("a", "b"))
