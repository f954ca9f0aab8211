"""Classes: their names, the labels that name them, and the columns that are theirs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, listed, shown, warn
from dnip.base.typing import Booleans, Integers, Labels, Probabilities
from dnip.tables.cells import Cells, Location, check_scalars, check_vector, is_missing, is_storable

#: The label of a row without one.
UNLABELLED = -1

# A matrix of so many classes takes 128 MB, and a fit holds four.
_MOST_CLASSES = 4_000

#: The column of labels, and what messages call a label.
LABEL = "label"
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")
_MOST_DIGITS = 18

# The probability that chance alone speaks for another order of columns, at most.
_CHANCE = 1e-6

# What of all that can be gained beyond chance another order must reach; twice as much with two or
# three classes, for a model that mistakes one for another in most rows looks like another order.
_LEAST_GAIN = 0.3

# What this order may reach of that.
_MOST_LEFT = 0.25

# So many classes and rows are looked at.
_ORDERED_CLASSES, _ORDERED_ROWS = 300, 50_000
_TINY = 1e-9


def default_classes(n_classes: int) -> tuple[str, ...]:
    """Return the names of classes that have none: their indices.

    Examples
    --------
    >>> default_classes(3)
    ('0', '1', '2')
    """
    return tuple(map(str, range(n_classes)))


def check_classes(classes: Sequence[str]) -> tuple[str, ...]:
    """Return class names: at least two, none empty, none twice.

    Examples
    --------
    >>> check_classes(["World", "Sports"])
    ('World', 'Sports')
    """
    if isinstance(classes, str | Set) or not isinstance(classes, Iterable):  # a set has no order
        raise InvalidInputError(
            f"classes must be a sequence of names; got {classes!r}",
            hint="Give a list, such as ['negative', 'positive']",
        )
    names = tuple(str(name) for name in classes)
    if len(names) < 2:
        raise InvalidInputError(
            f"at least 2 classes are needed; got {len(names)}: {', '.join(names) or 'none'}"
        )
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InvalidInputError(
            f"class names must differ; {', '.join(twice)} appear twice",
            hint="Give every class a name of its own",
        )
    if not all(name.strip() and is_storable(name) for name in names):
        raise InvalidInputError(
            f"class names must not be empty, and be valid Unicode without NUL; got {names!r}"
        )
    return names


def names_of(
    n_columns: int, classes: Sequence[str] | None, source: str = "probabilities"
) -> tuple[str, ...]:
    """Return a name for each column of probabilities: its number where none are given.

    Examples
    --------
    >>> names_of(2, None), names_of(2, ["no", "yes"])
    (('0', '1'), ('no', 'yes'))
    """
    names = check_classes(list(map(str, range(n_columns))) if classes is None else classes)
    if len(names) != n_columns:
        raise InvalidInputError(
            f"{source}: there are {n_columns} columns of probabilities, but {len(names)} classes: "
            f"{listed(names)}",
            hint="Name every class once, in the order of the columns, also those that no label has "
            "(in Python: classes=[...]); coefficients serve the classes of their fit only",
        )
    return names


def check_several_classes(
    present: Booleans, classes: Sequence[str], source: str = "labels", also: str = ""
) -> None:
    """Refuse rows of fewer than two classes, between which there is no gap.

    Parameters
    ----------
    present : ndarray of shape (N,)
        Whether each class counts.
    classes : sequence of str
    source : str, default="labels"
        The table, for the message.
    also : str, optional
        What a class needs beside labelled rows, for the message.

    Raises
    ------
    InvalidInputError
        If fewer than two classes count, or there are too many to count errors between them.
    """
    check_countable(len(classes))
    counted = np.flatnonzero(present)
    if not len(counted):
        raise InvalidInputError(
            f"{source}: no row has a label{also}",
            hint="Add a column `label` with the class of each row (in Python: y); those of "
            "answers are joined by `dnip import FILE --labels LABELS`",
        )
    if len(counted) < 2:
        raise InvalidInputError(
            f"{source}: only one class, {classes[counted[0]]}, has labelled rows{also}, but COBias "
            "compares at least 2 classes",
            hint="Label rows of other classes too",
        )


def check_countable(n_classes: int) -> int:
    """Return a number of classes that is not too large for counts by true and predicted class.

    Examples
    --------
    >>> check_countable(100)
    100
    """
    if n_classes > _MOST_CLASSES:
        raise InvalidInputError(
            f"{n_classes:,} classes; fits and evaluations count the rows of each true and "
            f"predicted class, for at most {_MOST_CLASSES:,} classes",
            hint="Keep the columns of classes that have labelled rows: others are not fitted",
        )
    return n_classes


def labels_of_columns(
    probabilities: Probabilities,
    labels: ArrayLike,
    classes: Sequence[str] | None,
    name: str = "labels",
    *,
    unlabelled: bool = True,
) -> tuple[Labels, tuple[str, ...]]:
    """Return the class index of each row, and the class of each column.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : array-like of shape (M,)
        As for :func:`read_labels`.
    classes : sequence of str or None
        None where the columns have no names: then they are numbers, or the sorted labels.
    name : str, default="labels"
        What messages call the labels.
    unlabelled : bool, default=True
        Whether there may be rows without a label.

    Raises
    ------
    InvalidInputError
        For labels of another length, or of no class, and for columns that could be any, or for
        whose order the labels do not speak at all.

    Warns
    -----
    DNIPWarning
        Where columns without names are taken for labels that are names.

    Examples
    --------
    >>> labels_of_columns(np.array([[0.75, 0.25], [0.5, 0.5]]), [7, None], ["5", "7"])
    (array([ 1, -1]), ('5', '7'))
    """
    n_rows, n_columns = probabilities.shape
    location = Location(name)
    # a list may hold None beside texts, which numpy would make a text
    cells = check_vector(name, labels, n_rows, None if hasattr(labels, "dtype") else np.object_)
    names = sorted_labels(cells, n_columns, location) if classes is None else tuple(classes)
    indices = read_labels(cells, names, location, unlabelled=unlabelled)
    may_be_names = classes is None and cells.dtype.kind not in "biuf"
    if may_be_names and any(isinstance(label, str) and label for label in cells.tolist()):
        known = indices != UNLABELLED
        check_order(probabilities[known], indices[known], names)
    return indices, names


def sorted_labels(
    labels: Cells, n_columns: int, location: Location | None = None
) -> tuple[str, ...]:
    """Return the classes of columns without a name: their numbers, or the sorted labels.

    Labels that are among 0..N-1 are the numbers of columns, and others are the classes in sorted
    order, as in scikit-learn. -1 is a row without a label, unless it is one of N labels.

    Raises
    ------
    InvalidInputError
        For names that are not N.

    Examples
    --------
    >>> sorted_labels(["spam", None, "ham"], 2), sorted_labels([0, 1], 3), sorted_labels([5, 7], 2)
    (('ham', 'spam'), ('0', '1', '2'), ('5', '7'))
    """
    cells = labels.tolist() if isinstance(labels, np.ndarray) else labels
    check_scalars(cells, LABEL, location or Location("labels"))
    known = {_python_value(cell) for cell in set(cells) if not is_missing(cell) and cell != ""}
    if len(known) != n_columns:
        known -= {UNLABELLED}
    numbers = [value for value in known if isinstance(value, int | float)]
    numbered = len(numbers) == len(known) and not any(isinstance(value, bool) for value in known)
    whole = all(isinstance(value, int) for value in numbers)
    among = numbered and whole and all(0 <= value < n_columns for value in numbers)
    if among or not whole or (numbered and len(known) != n_columns):
        return default_classes(n_columns)  # the reader names the row that holds another
    names = list(map(str, sorted(known, key=_number_or_text)))
    return names_of(n_columns, names)


def _python_value(label: Any) -> Any:  # noqa: ANN401 - what a user holds
    """Return a whole number as one of Python: numbers of a column with gaps are floats."""
    value = label.item() if isinstance(label, np.generic) else label
    is_number = isinstance(value, float | Decimal) and math.isfinite(value)
    return int(value) if is_number and value == int(value) else value


def _number_or_text(label: Any) -> tuple[float, str]:  # noqa: ANN401 - what a user holds
    return (label, "") if isinstance(label, int | float) else (math.inf, str(label))


def check_order(probabilities: Probabilities, labels: Labels, classes: Sequence[str]) -> None:
    """Say that columns without names are taken for the sorted labels, or refuse that.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    classes : sequence of str
        The sorted labels.

    Raises
    ------
    InvalidInputError
        Where the labels speak overwhelmingly for another order, as `better_order` says.
    """
    taken = f"the columns of probabilities are taken for the sorted labels, {listed(classes, 20)}"
    better = better_order(probabilities, labels)
    if better is None:
        warn(f"{taken}, as in scikit-learn; classes=[...] gives another order")
        return
    order = [classes[c] for c in better]
    raise InvalidInputError(
        f"{taken}, as in scikit-learn, but the labels speak for the order {listed(order, 20)}",
        hint="Give classes=[...], the class of each column in order",
    )


def better_order(probabilities: Probabilities, labels: Labels) -> Integers | None:
    """Return the class that each column speaks for, where that is overwhelmingly another.

    Columns are first made equally probable on average, as weights would make them, and each row is
    decided. A column speaks for the class whose rows it is decided for most often; where two speak
    for one, they tell nothing. The mean class accuracy of that order, and of this one, are compared
    with chance, 1/N. The former must be far above it, by Hoeffding's inequality over all N! orders,
    and by so much that no model is as wrong; the latter must be no better than chance.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.

    Returns
    -------
    ndarray of shape (N,) or None
        None where the labels do not speak for another order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.5, 0.5, 0.5], 200)
    >>> y = p.argmax(axis=1)
    >>> better_order(p, y) is None, better_order(p[:, [2, 0, 1]], y)
    (True, array([2, 0, 1]))
    """
    step = max(1, -(-len(labels) // _ORDERED_ROWS))
    probabilities, labels = probabilities[::step], labels[::step]
    n_classes = probabilities.shape[1]
    sizes = np.bincount(labels, minlength=n_classes)
    if n_classes > _ORDERED_CLASSES or not sizes.all():
        return None
    scores = np.log(np.maximum(probabilities, _TINY))
    decided = (scores - scores.mean(axis=0)).argmax(axis=1)
    counts = np.bincount(labels * n_classes + decided, minlength=n_classes**2)
    rates = counts.reshape(n_classes, n_classes) / sizes[:, None]
    class_of = rates.argmax(axis=0)
    if len(np.unique(class_of)) < n_classes:
        return None
    gained, gained_here = (
        (rates[order, np.arange(n_classes)].mean() * n_classes - 1) / (n_classes - 1)
        for order in (class_of, np.arange(n_classes))
    )
    spread = math.sqrt((1 / sizes).sum() / 2) / n_classes
    unlikely = spread * math.sqrt(math.lgamma(n_classes + 1) - math.log(_CHANCE))
    least = max(_LEAST_GAIN * (1 + (n_classes < 4)), unlikely * n_classes / (n_classes - 1))
    return class_of if gained >= least and gained_here <= _MOST_LEFT * gained else None


def read_labels(
    labels: Cells,
    classes: Sequence[str],
    location: Location | None = None,
    *,
    numbered: bool = True,
    unlabelled: bool = True,
) -> Labels:
    """Return the class index of each label, -1 for a row without one: all labels are read here.

    None, NaN, `pandas.NA` and an empty text are rows without a label, and so is -1 unless it is the
    name of a class. A label that is the name of a class is that class; so is one in other letter
    case, where no other class differs in case only. 3.0 is the class 3. Any other whole number is
    the index of a class, counted from 0. Where a class name is itself a whole number other than its
    index, such numbers are refused: they could mean either.

    Parameters
    ----------
    labels : sequence of length M
        Texts, numbers, or what stands for a row without a label.
    classes : sequence of str
        Class names.
    location : Location, optional
        How to name a row in a message.
    numbered : bool, default=True
        Whether a number can be an index: not where the order of the classes means nothing.
    unlabelled : bool, default=True
        Whether there may be rows without a label.

    Raises
    ------
    InvalidInputError
        For the first label that is of no class.

    Examples
    --------
    >>> read_labels(["Sports", "1.0", 0, "", None, -1], ["World", "Sports"])
    array([ 1,  1,  0, -1, -1, -1])
    >>> read_labels([1, 5.0, "5"], ["1", "5"])
    array([0, 1, 1])
    """
    location = location or Location("labels")
    plain = [_plain(name) for name in classes]
    odd = next((name for n, name in enumerate(classes) if _is_other_number(plain[n], n)), None)
    indexed = numbered and odd is None
    indices = _plain_indices(labels, len(classes)) if indexed else None
    if indices is None:
        cells = labels.tolist() if isinstance(labels, np.ndarray) else labels
        check_scalars(cells, LABEL, location)
        index_of = {str(n): n for n in range(len(classes))} if indexed else {}
        once = Counter(plain)
        index_of |= {name: n for n, name in enumerate(plain) if once[name] == 1}
        index_of |= {"": UNLABELLED} | ({} if "-1" in plain else {"-1": UNLABELLED})
        index_of |= {name: n for n, name in enumerate(classes)}
        times = Counter(name.casefold() for name in classes)
        folded = {name.casefold(): n for n, name in enumerate(classes)}
        folded = {name: n for name, n in folded.items() if times[name] == 1}
        # There are few different cells; each is read once.
        known = {cell: _index(cell, index_of, folded) for cell in set(cells)}
        if None in known.values():
            row = next(row for row, cell in enumerate(cells) if known[cell] is None)
            where = location.named(row, LABEL)
            raise _unknown(str(cells[row]), where, classes, odd, numbered=numbered)
        indices = np.fromiter(map(known.__getitem__, cells), np.int64, len(cells))
    if not unlabelled and (bare := indices == UNLABELLED).any():
        raise InvalidInputError(
            f"{location.named(int(np.argmax(bare)), LABEL)}: the row has no label",
            hint="Leave out the rows without a label",
        )
    return indices


def read_indices(values: ArrayLike, n_rows: int, n_classes: int, name: str) -> Labels:
    """Return class indices, one in each row, shape (M,).

    Examples
    --------
    >>> read_indices([0, 1.0], 2, 2, "predictions")
    array([0, 1])
    """
    cells = check_vector(name, values, n_rows)
    return read_labels(cells, default_classes(n_classes), Location(name), unlabelled=False)


def _plain_indices(labels: Cells, n_classes: int) -> Labels | None:
    """Return an array of class indices, or None where it is another or holds something else."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iuf":
        return None
    if labels.dtype.kind == "f":
        labels = np.where(np.isnan(labels), UNLABELLED, labels)
    sound = (labels >= UNLABELLED) & (labels < n_classes) & (labels == np.floor(labels))
    return labels.astype(np.int64, copy=False) if sound.all() else None


def _index(label: object, index_of: dict[str, int], folded: dict[str, int]) -> int | None:
    """Return the class index of a label, -1 if it is missing, None if it is of no class.

    Parameters
    ----------
    label : object
    index_of : dict
        The index of every name, as it is written.
    folded : dict
        The index of every name in small letters that is that of one class alone.
    """
    if is_missing(label):
        return UNLABELLED
    text = str(label)
    bare = text.strip()
    found = next((index_of[name] for name in (text, bare, _plain(bare)) if name in index_of), None)
    return folded.get(bare.casefold()) if found is None else found


def _plain(text: str) -> str:
    """Return a whole number as people write it, "3" for "3.0"; another text as it is."""
    match = _WHOLE_NUMBER.fullmatch(text)
    # int() refuses thousands of digits; no class has 18.
    return str(int(match[1])) if match and len(match[1]) <= _MOST_DIGITS else text


def _is_other_number(plain: str, index: int) -> bool:
    """Tell whether the name of a class is a whole number other than its index."""
    return plain != str(index) and bool(_WHOLE_NUMBER.fullmatch(plain))


def _unknown(
    text: str, where: str, classes: Sequence[str], odd: str | None, *, numbered: bool
) -> InvalidInputError:
    """Return the error for a label that is of no class."""
    names = listed(classes, most=10)
    hint = f"The classes are {names}; if labels call them otherwise, {name_classes()} in order"
    if not numbered:
        message = f"is none of the columns {names}, which were taken for the classes"
        hint = f"Write one of these; where labels are numbers, {name_classes(classes)} in order"
    elif not _WHOLE_NUMBER.fullmatch(text.strip()):
        message = "is neither a class name nor a class index"
    elif odd is not None:
        message = "is not a class name, and as an index it would be ambiguous: the class name "
        message += f"{odd!r} is a number too"
    else:
        message = f"is a class index outside 0..{len(classes) - 1}"
        hint += "; a row without a label has an empty cell (NaN or '')"
    return InvalidInputError(f"{where}: {shown(text)} {message}", hint=hint)


def labelled_twice(source: str, name: str) -> InvalidInputError:
    """Return the error for labels beside a table that holds some."""
    return InvalidInputError(
        f"{source} holds labels of its own, but {name} was given too",
        hint=f"Leave {name} out; coefficients are given by their name: coefficients=...",
    )


def name_classes(names: Sequence[str] = ("A", "B", "C")) -> str:
    """Return advice to name some classes."""
    some = ",".join(names[:8]) + ",..." * (len(names) > 8)
    return f"name the classes with --classes {some} (in Python: classes=[...])"
