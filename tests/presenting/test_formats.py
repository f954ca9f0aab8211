"""Tables in four formats: nothing lost, nothing breaks out of its cell."""

import csv
import io
import math
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnip.base.escaping import printable
from dnip.presenting.artefacts import Column, Spread, Table
from dnip.presenting.formats import show, to_csv, to_html, to_latex, to_markdown

WILD = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
).filter(str.strip)
VALUES = (
    st.none()
    | st.integers(-9999, 9999)
    | st.floats(-9, 9)
    | st.builds(Spread, st.floats(-9, 9), st.none() | st.floats(0, 9))
)


@st.composite
def tables(draw):
    width = draw(st.integers(2, 5))
    columns = [
        Column(
            draw(WILD), draw(st.integers(0, 3)), draw(st.booleans()), draw(st.sampled_from("ab"))
        )
        for _ in range(width)
    ]
    line = st.tuples(WILD, *[VALUES] * (width - 1))
    rows = draw(st.lists(line | WILD, min_size=1, max_size=5))
    return Table("t", draw(WILD), columns, rows)


def unescaped(text, character):
    return text.replace("\\\\", "").replace(f"\\{character}", "").count(character)


@given(tables())
def test_markdown_has_the_same_number_of_cells_on_every_line(table):
    lines = to_markdown(table).split("\n")
    assert len(lines) == len(table.rows) + 2
    assert {unescaped(line, "|") for line in lines} == {len(table.columns) + 1}


@given(tables())
def test_latex_has_balanced_braces_and_the_same_number_of_cells_on_every_line(table):
    text = to_latex(table)
    assert unescaped(text, "{") == unescaped(text, "}")
    lines = [line for line in text.split("\n") if line.endswith(r"\\")]
    plain = [line for line in lines if "multicolumn" not in line]
    assert {unescaped(line, "&") for line in plain} <= {len(table.columns) - 1}
    for special in "%$#_^~":
        stray = unescaped(text, special)
        assert stray == 0 or special in "%$", special  # resizebox ends in %, symbols stand in $


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.lines, self.texts = set(), [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.lines.append(0)
        if tag in ("td", "th"):
            self.lines[-1] += int(dict(attributes).get("colspan", 1))

    def handle_data(self, data):
        self.texts.append(data)


@given(tables())
def test_html_spans_all_columns_and_holds_no_other_element(table):
    cells = Cells()
    cells.feed(to_html(table))
    assert set(cells.lines) == {len(table.columns)}
    allowed = {"table", "caption", "thead", "tbody", "tr", "th", "td", "small", "b"}
    assert cells.tags <= allowed
    assert printable(table.title) in "".join(cells.texts)


@given(tables())
def test_csv_keeps_every_number_in_full(table):
    lines = list(csv.reader(io.StringIO(to_csv(table), newline="")))
    assert len({len(line) for line in lines}) == 1
    rows = [row for row in table.rows if not isinstance(row, str)]
    assert len(lines) == 1 + len(rows)
    for line, row in zip(lines[1:], rows, strict=True):
        spreads = [v for v in row if isinstance(v, Spread)]
        numbers = [v for v in row if isinstance(v, int | float)]
        for number in [*numbers, *(s.mean for s in spreads)]:
            assert str(number) in line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (-0.0004, "0.0"),
        (-0.428, "−42.8"),
        (math.nan, "–"),
        (math.inf, "–"),
        (None, "–"),
        (True, "1"),
        (-1234, "−1,234"),
        (12.345, "1,234.5"),
        (Spread(0.5), "50.0"),
        (Spread(0.5, 0.0), "50.0 ± 0.0"),
    ],
)
def test_numbers_as_they_are_shown(value, shown):
    assert show(value, Column("rate", percent=True)) == shown


def test_paper_layout_in_latex():
    columns = [
        Column("Model"),
        Column("AGN", percent=True, group="Accuracy"),
        Column("DBP", percent=True, group="Accuracy"),
        Column("AGN", percent=True, group="COBias"),
    ]
    rows = [
        "ICL",
        ("A & B_1", Spread(0.521, 0.054), None, -0.1),
        "DNIP",
        ("All", 0.7, 0.8, 0.9),
    ]
    table = Table("main", "Test scores (%)", columns, rows, caption="Means of 100 % of μ.")
    assert to_latex(table).split("\n") == [
        r"\begin{table}[ht]",
        r"\centering",
        r"\begin{tabular}{@{}lrrr@{}}",
        r"\toprule",
        r" & \multicolumn{2}{c}{Accuracy} & \multicolumn{1}{c}{COBias} \\",
        r"\cmidrule(lr){2-3} \cmidrule(lr){4-4}",
        r"Model & AGN & DBP & AGN \\",
        r"\midrule",
        r"\multicolumn{4}{c}{\textit{ICL}} \\",
        r"\midrule",
        r"A \& B\_1 & 52.1\textsubscript{5.4} & -- & $-$10.0 \\",
        r"\midrule",
        r"\multicolumn{4}{c}{\textit{DNIP}} \\",
        r"\midrule",
        r"All & 70.0 & 80.0 & 90.0 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\caption{Test scores (\%). Means of 100 \% of $\mu$}",
        r"\label{tab:main}",
        r"\end{table}",
    ]


def test_wide_tables_are_scaled_to_the_text():
    columns = [Column(str(c)) for c in range(12)]
    text = to_latex(Table("wide", "", columns, [range(12)]))
    assert r"\resizebox{\textwidth}{!}{%" in text
    assert r"\end{tabular}}" in text
