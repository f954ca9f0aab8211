"""Tables in CSV: nothing lost."""

import csv
import io

from hypothesis import given

from dnip.presenting.artefacts import Spread
from reproduction.formats import to_csv
from strategies import result_tables


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
