"""Tables in LaTeX and CSV: nothing lost, nothing breaks out of its cell."""

import csv
import io

from hypothesis import given

from dnip.presenting.artefacts import Column, Spread, Table
from reproduction.formats import to_csv, to_latex
from strategies import result_tables, unescaped


@given(result_tables())
def test_latex_has_balanced_braces_and_the_same_number_of_cells_on_every_line(table):
    text = to_latex(table)
    assert unescaped(text, "{") == unescaped(text, "}")
    lines = [line for line in text.split("\n") if line.endswith(r"\\")]
    plain = [line for line in lines if "multicolumn" not in line]
    assert {unescaped(line, "&") for line in plain} <= {len(table.columns) - 1}
    for special in "%$#_^~":
        stray = unescaped(text, special)
        assert stray == 0 or special in "%$", special  # resizebox ends in %, symbols stand in $


@given(result_tables())
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
