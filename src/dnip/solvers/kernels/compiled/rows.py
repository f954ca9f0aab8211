"""Rows laid out for search: settled rows counted once, the candidates of open rows listed."""

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey(
    p: Floats,
    labels: Integers,
    counts: Integers,
    n_rows: int64_t,
    n_classes: int64_t,
    span: cython.double,
    is_open: Booleans,
    class_size: Integers,
    settled: Confusion,
) -> cython.void:
    """Mark open rows, add their candidates to the class sizes, and count the settled rows."""
    for m in range(n_rows):
        row = p + m * n_classes
        top: int64_t = 0
        for n in range(1, n_classes):
            if row[n] > row[top]:
                top = n
        count: int64_t = 0
        for n in range(n_classes):
            count += span * row[n] >= row[top]
        is_open[m] = count > 1 and counts[m] > 0
        if count == 1:
            settled[labels[m] * n_classes + top] += counts[m]
        elif counts[m] > 0:
            for n in range(n_classes):
                class_size[n] += span * row[n] >= row[top]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_sparse(
    p: Floats,
    is_open: Booleans,
    n_table_rows: int64_t,
    span: cython.double,
    rows: Rows,
    class_end: Integers,
    filled: int64_t,
) -> int64_t:
    """List the candidates of the open rows of a part of a table; return how many are filled.

    `filled` open rows are in `rows` already, and `class_end` says where each class goes on.
    """
    n_classes = rows.n_classes
    entry = rows.row_start[filled]
    for m in range(n_table_rows):
        if not is_open[m]:
            continue
        row = p + m * n_classes
        top = row[0]
        for n in range(1, n_classes):
            top = row[n] if row[n] > top else top
        for n in range(n_classes):
            if span * row[n] >= top:
                rows.row_class[entry] = cython.cast(uint32_t, n)
                rows.row_p[entry] = row[n]
                rows.class_row[class_end[n]] = cython.cast(uint32_t, filled)
                rows.class_p[class_end[n]] = row[n]
                class_end[n] += 1
                entry += 1
        filled += 1
        rows.row_start[filled] = entry
    return filled
