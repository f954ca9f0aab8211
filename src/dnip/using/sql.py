"""A SQL query over a table with one column per class."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from dnip.base.errors import InvalidInputError
from dnip.method.coefficients import Coefficients
from dnip.tables.cells import ROW_SUM_TOLERANCE
from dnip.tables.columns import DEFERRED, PREDICTION, class_columns, probability_columns
from dnip.using.exports import Export, split_names

DialectName: TypeAlias = Literal["duckdb", "sqlite", "postgresql", "spark", "bigquery", "snowflake"]

# Arguments of one call: older versions of SQLite take at most 127.
_MOST_ARGUMENTS = 100
# Whole numbers up to here are exact in double precision.
_EXACT = 1 << 53
# Names that the query uses beside those of the table.
_NAMES = DEFERRED, PREDICTION, "dnip_largest", "dnip_total", "dnip_table", "dnip_own"
# No share of a winner is as small; and a whole number over two powers of two holds what is larger.
_LEAST = 2.0**-50
# What a text in quotes may not hold as it is: a backslash escapes in some databases, in some a
# quote has to be escaped by it, and Spark replaces ${NAME} anywhere in a query.
_SPECIAL = "\\'$"


class Dialect(NamedTuple):
    """How a database writes what the query needs.

    Attributes
    ----------
    mark : str
        The mark around identifiers.
    banned : str
        What an identifier cannot be or hold, as a regular expression.
    escape : str
        One character within a text in quotes, of its code point.
    number : str
        A whole number in double precision.
    greatest : str
        The function that returns the largest of its arguments.
    but : str
        What follows ``*`` to leave a column out; empty where there is no such thing.
    lateral : bool
        Whether the largest product is best found by a lateral join.
    """

    mark: str
    banned: str
    escape: str
    number: str
    greatest: str = "GREATEST"
    but: str = ""
    lateral: bool = False

    def text(self, text: str) -> str:
        r"""Return a text as an expression; what cannot be seen, or quoted, becomes code points.

        Examples
        --------
        >>> print(DIALECTS["duckdb"].text("it's"), "and", DIALECTS["spark"].text("it's"))
        'it' || CHR(39) || 's' and 'it\U00000027s'
        >>> print(DIALECTS["sqlite"].text("a" + chr(10) + "b"))
        'a' || CHAR(10) || 'b'
        """
        letters = (
            letter
            if letter.isprintable() and letter not in _SPECIAL
            else self.escape.format(ord(letter))
            for letter in text
        )
        return f"'{''.join(letters)}'"

    def identifier(self, name: str) -> str:
        """Return the name of a column or a table, quoted.

        Raises
        ------
        InvalidInputError
            For an empty name, and characters that cannot be seen or that the database refuses.
        """
        if not name or not name.isprintable() or re.search(self.banned, name):
            raise InvalidInputError(
                f"{name!r:.200} is not a name for a table or a column",
                hint="Give names of characters that can be seen, and that the database takes",
            )
        return self.mark + name.replace(self.mark, self.mark * 2) + self.mark

    def largest(self, terms: list[str]) -> str:
        """Return the largest of some expressions."""
        separator = ",\n    "
        return f"{self.greatest}(\n    {separator.join(terms)})"

    def double(self, value: float) -> str:
        """Return a weight as an expression whose value is that very double.

        Databases differ in how they round 0.1, and few read a whole number of a hundred digits. A
        small one times or over powers of two is exact in all.

        Examples
        --------
        >>> DIALECTS["spark"].double(30.0), DIALECTS["spark"].double(0.75)
        ('30e0', '(3e0 / 4)')
        >>> DIALECTS["sqlite"].double(2.0**54)
        '(CAST(9007199254740992 AS DOUBLE PRECISION) * 2)'
        """
        numerator, denominator = value.as_integer_ratio()
        doublings = max(0, numerator.bit_length() - _EXACT.bit_length())
        whole = self.number.format(numerator >> doublings)
        steps = _powers(" * ", doublings) + _powers(" / ", denominator.bit_length() - 1)
        return f"({whole}{steps})" if steps else whole


def _in_groups(terms: Sequence[str], write: Callable[[list[str]], str]) -> str:
    """Return terms written together, a hundred at a time and then what came of them."""
    left = list(terms)
    while len(left) > 1:
        starts = range(0, len(left), _MOST_ARGUMENTS)
        groups = [left[start : start + _MOST_ARGUMENTS] for start in starts]
        left = [write(group) if len(group) > 1 else group[0] for group in groups]
    return left[0]


def _powers(operator: str, exponent: int) -> str:
    """Return steps by powers of two, of which each is a whole number that is exact."""
    most = _EXACT.bit_length() - 1
    steps = [most] * (exponent // most) + [exponent % most]
    return "".join(f"{operator}{1 << step}" for step in steps if step)


#: Of the SQL standard. DuckDB and SQLite have columns without being asked: where one of them is
#: missing, no error would say so.
_STANDARD = Dialect(
    mark='"',
    banned=r"(?i)\A(rowid|_rowid_|oid)\Z",
    escape="' || CHR({}) || '",
    number="CAST({} AS DOUBLE PRECISION)",
)
_BACKTICKS = Dialect(mark="`", banned=r"\$\{", escape="\\U{:08x}", number="{}e0")

DIALECTS: dict[DialectName, Dialect] = {
    "duckdb": _STANDARD._replace(but="EXCLUDE"),
    "sqlite": _STANDARD._replace(escape="' || CHAR({}) || '", greatest="MAX"),
    "postgresql": _STANDARD,
    "spark": _BACKTICKS._replace(lateral=True),
    "bigquery": _BACKTICKS._replace(banned=r"[\\`]", but="EXCEPT"),
    "snowflake": _STANDARD._replace(but="EXCLUDE"),
}


@dataclass(frozen=True)
class Sql(Export):
    """A query that adds the column ``prediction``, the class name, to a table.

    Coefficients with thresholds add ``deferred``, too. A row with a NULL among its probabilities
    has NULL in both. So has a row that does not sum to 1, where all rows of the fit did: it may be
    of a class that they do not know. A table that has a column of that name already is refused by
    the database: the name is ambiguous then.

    SQL
    ---
    dialect
        The database that runs the query.
    table_name : NAME
        The table of probabilities; dots separate parts of its name.
    columns : A,B,C
        Its probability columns, in the order of the classes. [default: the names of the classes,
        as `dnip` writes tables; p0,p1,… where they have none, or no fit is recorded]

    Examples
    --------
    >>> from dnip import Coefficients
    >>> print(Sql("sqlite").render(Coefficients(["no", "yes"], [30, 15], 30)))
    -- Decisions equal those of dnip apply for rows of doubles that sum to 1 within 0.001.
    -- No column of the table may be called "prediction".
    SELECT
      "dnip_table".*,
      CASE WHEN ("dnip_table"."p0" IS NOT NULL AND "dnip_table"."p1" IS NOT NULL) THEN CASE MAX(
        "dnip_table"."p0" * CAST(30 AS DOUBLE PRECISION),
        "dnip_table"."p1" * CAST(15 AS DOUBLE PRECISION))
        WHEN "dnip_table"."p0" * CAST(30 AS DOUBLE PRECISION) THEN 'no'
        WHEN "dnip_table"."p1" * CAST(15 AS DOUBLE PRECISION) THEN 'yes'
      END END AS "prediction"
    FROM "probabilities" AS "dnip_table"
      CROSS JOIN (SELECT 1 AS "prediction") AS "dnip_own"
    WHERE "prediction" = 1;
    <BLANKLINE>
    """

    suffixes = (".sql",)

    dialect: DialectName = "duckdb"
    table_name: str = "probabilities"
    columns: str | None = None

    def _render(self, coefficients: Coefficients) -> str:
        """Return the query.

        Raises
        ------
        InvalidInputError
            For names that are no identifiers, or too few of them.
        """
        dialect, defer = DIALECTS[self.dialect], coefficients.defer
        deferred, prediction, best, total, source, own = map(dialect.identifier, _NAMES)
        # qualified: SQLite takes a missing column in quotes for a text
        cells = [f"{source}.{dialect.identifier(name)}" for name in self._columns_of(coefficients)]
        products = _products(cells, coefficients.multipliers.tolist(), dialect)
        values = {best: _in_groups(products, dialect.largest)}
        if defer is not None:
            values[total] = f"({' + '.join(products)})"  # in the order of the classes, as apply
        # others than these two kinds compute the operand of CASE once
        value = values
        if dialect.but or dialect.lateral:
            value = {name: name if dialect.but else f"{own}.{name}" for name in values}

        texts = map(dialect.text, coefficients.classes)
        results = {prediction: _case(value[best], products, texts)}
        if defer is not None:
            limits = (dialect.double(t if t > _LEAST else 0.0) for t in defer.thresholds.tolist())
            limit = _case(value[best], products, limits)
            results[deferred] = f"{value[best]} / NULLIF({value[total]}, 0) < {limit}"
        data = coefficients.fit.data
        is_whole = data is not None and bool(data.sums_to_one)
        known = _known(cells, is_whole=is_whole)
        chosen = ",\n  ".join(
            f"CASE WHEN {known} THEN {text} END AS {name}" for name, text in results.items()
        )
        # a name that the table has, too, is ambiguous in WHERE
        names = [*results, *(values if dialect.but else ())]
        head = [f"{self.promise}."]
        if is_whole:
            head.append(
                f"Rows that do not sum to 1 within {ROW_SUM_TOLERANCE} have NULL: all of the fit "
                "did, so a class may be missing."
            )
        head.append(f"No column of the table may be called {' or '.join(names)}.")
        query = self._select(chosen, values, names, dialect)
        return "".join(f"-- {line}\n" for line in head) + f"{query};\n"

    def _columns_of(self, coefficients: Coefficients) -> Sequence[str]:
        """Return the names of the probability columns."""
        if self.columns is not None:
            return split_names(self.columns, coefficients.classes, "--columns")
        if coefficients.fit.data is not None:
            return class_columns(coefficients.classes)
        return probability_columns(len(coefficients.classes))

    def _select(
        self, chosen: str, values: dict[str, str], names: list[str], dialect: Dialect
    ) -> str:
        """Return the statement that gives all columns, and what is chosen from some values."""
        *_, source, own = map(dialect.identifier, _NAMES)
        made = [f"{text} AS {name}" for name, text in values.items()]
        extra = [f"1 AS {name}" for name in names] + made * dialect.lateral
        table = (
            f"FROM {'.'.join(map(dialect.identifier, self.table_name.split('.')))} AS {source}\n"
            f"  CROSS JOIN {'LATERAL ' * dialect.lateral}(SELECT {', '.join(extra)}) AS {own}\n"
            f"WHERE {' AND '.join(f'{name} = 1' for name in names)}"
        )
        if not dialect.but:
            return f"SELECT\n  {source}.*,\n  {chosen}\n{table}"
        return (
            f"SELECT\n  * {dialect.but} ({', '.join(values)}),\n  {chosen}\n"
            f"FROM (\nSELECT {source}.*, {', '.join(made)}\n{table}\n) AS {source}"
        )


def _products(cells: Sequence[str], weights: Sequence[float], dialect: Dialect) -> list[str]:
    """Return probabilities times weights, from 1 on: no product is too small for PostgreSQL."""
    doublings = max(0, 1 - math.frexp(min(weights))[1])
    return [
        f"{cell} * {dialect.double(math.ldexp(weight, doublings))}"
        for cell, weight in zip(cells, weights, strict=True)
    ]


def _case(largest: str, products: Sequence[str], outcomes: Iterable[str]) -> str:
    """Return the outcome of the lowest of the classes with the largest product."""
    whens = zip(products, outcomes, strict=True)
    cases = "".join(f"    WHEN {product} THEN {outcome}\n" for product, outcome in whens)
    return f"CASE {largest}\n{cases}  END"


def _known(cells: Sequence[str], *, is_whole: bool) -> str:
    """Return whether a row can be decided: some databases pass over a NULL among products."""
    if is_whole:  # a sum with a NULL is NULL
        total = _in_groups(cells, lambda group: f"({' + '.join(group)})")
        return f"ABS({total} - 1) <= {ROW_SUM_TOLERANCE}"
    return _in_groups(
        [f"{cell} IS NOT NULL" for cell in cells], lambda group: f"({' AND '.join(group)})"
    )
