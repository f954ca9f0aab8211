"""Tables and sentences on a terminal of 80 columns."""

import pytest
from rich.cells import cell_len

from dnip.presenting.artefacts import Column, Table
from dnip.presenting.terminal import WIDTH, to_text, wrapped

COLUMNS = [Column("class"), Column("rows"), Column("rate", 3), Column("taken for")]


def lines(*names):
    rows = [(name, 9, 0.5, other) for name, other in zip(names, reversed(names), strict=True)]
    return to_text(Table("", "", COLUMNS, rows)).splitlines()


@pytest.mark.parametrize("name", ["x" * 10_000, "正" * 100, "🦊" * 50])
def test_long_names_are_cut_where_the_table_would_be_too_wide(name):
    header, first, second = lines("short", name)
    assert max(map(cell_len, (header, first, second))) == WIDTH
    assert second.count("…") == 1
    assert second.split()[-3:-1] == ["9", "0.500"] or second.split()[1:3] == ["9", "0.500"]


def test_names_of_a_few_letters_are_never_cut():
    rows = [("of 12 letter", *[0.5] * 15)]
    text = to_text(Table("", "", [Column("class"), *[Column("rate", 3)] * 15], rows))
    assert "of 12 letter  0.500" in text


def test_wide_letters_take_two_columns():
    header, first, second = lines("正正", "ab")
    assert header.index("rows") + 3 == first.index("9") + 2 == second.index("9")


def test_sentences_are_wrapped_between_words_and_paths_stay_whole():
    path = "folder-of-results/" * 6
    text = wrapped(f"{'some words ' * 10}\n\nwritten: {path}")
    assert max(map(len, text.split("\n\n")[0].splitlines())) <= WIDTH
    assert text.split("\n")[-1] == path
