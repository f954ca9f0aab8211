"""What each column of a table holds, in a file or a data frame, and the classes that it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from shlex import join

from dnip.base.errors import InvalidInputError, listed
from dnip.tables.cells import CellLocation, ForeignError, check_several_columns, is_number
from dnip.tables.labels import LABEL, check_classes, default_classes, names_of

ID = "id"
PREDICTION = "prediction"
DEFERRED = "deferred"
MASS = "mass"

#: Which row of its source a row is, counted from 1, where it has no id.
ROW = "row"

#: How many answers vote shares are of, and 1 where a model's answer holds no label, else 0.
SAMPLES = "samples"
FALLBACK = "fallback"

#: The mark of corrected probabilities: the hash of the coefficients. Answers hold it, too.
CORRECTED = "dnip_corrected_by"

#: How the ids of rows begin whose text says nothing, which contextual calibration divides by.
CONTENT_FREE = "content-free"

#: Key of the metadata of Parquet under which class names travel, as a JSON list.
CLASSES_METADATA = b"dnip.classes"

#: What columns hold that mean the same in every table; None stands for the name of a class.
KINDS = {
    LABEL: None,
    PREDICTION: None,
    **dict.fromkeys((ID, ROW, CORRECTED), str),
    **dict.fromkeys((SAMPLES, FALLBACK, DEFERRED), int),
    MASS: float,
}
RESERVED = frozenset(KINDS)

_NUMBERED = re.compile(r"p[0-9]+")

# What stands before the names of classes that a column cannot bear alone.
_PREFIX = "p_"

#: What people call the column of labels, too.
LABEL_LIKE = frozenset({"label", "labels", "y", "y_true", "target", "gold"})


@dataclass(frozen=True)
class Asked:
    """Columns that a caller asks for, next to those that mean the same in every table.

    Parameters
    ----------
    group : str, optional
        What rows belong to, such as a user with several texts.
    weight : str, optional
        How much rows count.
    by : str, optional
        What rows are compared by, such as their language.
    others : bool, default=False
        Whether to carry all columns that mean nothing here.
    """

    group: str | None = None
    weight: str | None = None
    by: str | None = None
    others: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are named, each once."""
        named = (self.group, self.weight, self.by)
        return tuple(dict.fromkeys(name for name in named if name is not None))


#: No columns but those of every table.
NOTHING = Asked()


@dataclass(frozen=True)
class Layout:
    """What the columns of a table hold.

    Parameters
    ----------
    source : str
        The file, for messages.
    classes : tuple of str
        Class names.
    probabilities : tuple of str
        Names of the class columns, in the order of `classes`.
    names : tuple of str
        Names of all columns, in the order of the file.
    from_header : bool, default=False
        Whether all columns that mean nothing else were taken for the classes.
    asked : Asked
        The columns that the caller asks for.
    """

    source: str
    classes: tuple[str, ...]
    probabilities: tuple[str, ...]
    names: tuple[str, ...]
    from_header: bool = False
    asked: Asked = NOTHING

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that mean nothing here."""
        known = {*RESERVED - {ROW}, *self.probabilities, *self.asked.names}
        return tuple(name for name in self.names if name not in known)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers: the class columns, then mass where present."""
        return (*self.probabilities, *[MASS] * (MASS in self.names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read: id, label and mark where present, then those of numbers."""
        return (*[name for name in (ID, LABEL, CORRECTED) if name in self.names], *self.numbers)

    def wanted(self, numbers: Collection[str]) -> tuple[str, ...]:
        """Return the columns to read; of those that mean nothing here, all, or those of numbers."""
        spare = [name for name in self.others if self.asked.others or name in numbers]
        return tuple(dict.fromkeys((*self.columns, *self.asked.names, *spare)))

    def location(self, first_row: int = 0) -> CellLocation:
        """Return how messages name cells, where row 0 of a run is this row of the file."""
        return CellLocation(self.source, self.numbers, first_row)


def class_columns(classes: Sequence[str], *, marked: bool = False) -> tuple[str, ...]:
    """Return the names of the class columns to write: those of the classes, or p0, p1, ...

    The latter for classes that are indices. Where a name is another number, or could be read as
    something else, `p_` stands before all: it is taken away again when the table is read.

    Parameters
    ----------
    classes : sequence of str
    marked : bool, default=False
        Write `p_` in any case, next to columns that could be taken for classes.

    Examples
    --------
    >>> class_columns(["bad", "good"]), class_columns(["1", "5"]), class_columns(["0", "1"])
    (('bad', 'good'), ('p_1', 'p_5'), ('p0', 'p1'))
    """
    if tuple(classes) == default_classes(len(classes)):
        return probability_columns(len(classes))
    if marked or any(map(_is_odd, classes)):
        return tuple(f"{_PREFIX}{name}" for name in classes)
    return tuple(classes)


def plain_name(name: str) -> str:
    """Return the name of a column without the spaces around it, but for those of a class."""
    return name.lstrip() if name.lstrip().startswith(_PREFIX) else name.strip()


def _is_odd(name: str) -> bool:
    known = name in RESERVED or name.lower() in LABEL_LIKE or _NUMBERED.fullmatch(name)
    return bool(known) or name != name.strip() or name.startswith(_PREFIX) or is_number(name)


def probability_columns(n_classes: int) -> tuple[str, ...]:
    """Return the names of the class columns, as this package writes them.

    Examples
    --------
    >>> probability_columns(3)
    ('p0', 'p1', 'p2')
    """
    return tuple(f"p{index}" for index in range(n_classes))


def resolve_columns(
    names: Sequence[str],
    *,
    classes: tuple[str, ...] | None,
    source: str,
    stored: object = None,
    asked: Asked = NOTHING,
) -> Layout:
    """Decide what each column holds.

    The class columns are those of `classes`: by name, alone or after `p_`; or `p0`, `p1`, ... in
    any order; or `0`, `1`, ... Where no classes are known, they are `p0`, `p1`, ..., else those
    that begin with `p_`, else every column that is not reserved. The reserved ones are `label`,
    `id` and `mass`, each of which may be absent, and what this package writes for others to read.

    Parameters
    ----------
    names : sequence of str
        Column names in the order of the file.
    classes : tuple of str or None
        Class names, if known.
    source : str
        The file, for messages.
    stored : list of str, optional
        Class names that the file carries next to its columns.
    asked : Asked, optional
        Columns that the caller asks for; none of them is a class.

    Raises
    ------
    InvalidInputError
        For a column that appears twice, is missing or leaves a doubt, for fewer than 2 classes, and
        for other classes than the file's own.

    Examples
    --------
    >>> layout = resolve_columns(["label", "p1", "p0"], classes=None, source="opt.csv")
    >>> layout.probabilities, layout.classes
    (('p0', 'p1'), ('0', '1'))
    >>> resolve_columns(["bad", "good"], classes=("good", "bad"), source="opt.csv").probabilities
    ('good', 'bad')
    >>> resolve_columns(["id", "bad", "good", "label"], classes=None, source="opt.csv").classes
    ('bad', 'good')
    """
    check_names(names, source)
    for name in asked.names:
        if name not in names or name == LABEL:
            there = _listed([column for column in names if column != LABEL])
            raise InvalidInputError(
                f"{name} is no column of {source} to divide or weigh rows by; the columns are "
                f"{there}",
                hint="Name one of these",
            )
    classes = _own_classes(stored, classes, source)
    free = [name for name in names if name not in RESERVED and name not in asked.names]
    numbered = probability_columns(sum(bool(_NUMBERED.fullmatch(name)) for name in names))
    from_header = classes is None and not numbered
    if from_header:
        marked = [name for name in free if name.startswith(_PREFIX)]
        columns = tuple(marked if len(marked) > 1 else free)
        if _is_row(names):
            hint = "The first line must name the columns: label,p0,p1,..."
            raise _refused("there are no class columns p0, p1, ...", names, source, hint)
        if "" in columns or len(columns) < 2:
            hint = "Give a column of probabilities for each class; `dnip import` makes a table of "
            hint += "answers and of other files"
            what = "there are no class columns p0, p1, ..."
            raise _refused(what, names, source, hint, ForeignError)
        classes = check_classes([plain_name(name).removeprefix(_PREFIX) for name in columns])
    elif classes is None:
        columns, classes = numbered, default_classes(len(numbered))
    else:
        columns = _columns_of(classes, names, numbered, source)
    if columns == numbered and (missing := [name for name in columns if name not in names]):
        hint = "Number the class columns from p0 without a gap"
        raise _refused(f"column {missing[0]} is missing", names, source, hint)
    check_several_columns(len(columns), source)
    layout = Layout(source, classes, columns, tuple(names), from_header, asked)
    for name in free if from_header else layout.others:
        if name.lower() in LABEL_LIKE and LABEL not in names:
            hint = "Rename it to label if it holds the gold labels, or drop it"
            raise _refused(f"column {name} is not known", names, source, hint, ForeignError)
    return layout


def _columns_of(
    classes: tuple[str, ...], names: Sequence[str], numbered: tuple[str, ...], source: str
) -> tuple[str, ...]:
    """Return the columns of known classes, which are called in one of four ways.

    A column that means the same in every table is no class. Numbers are columns of classes that
    are no numbers themselves.
    """
    held = {plain_name(name): name for name in names} | {name: name for name in names}
    ways = [tuple(f"{_PREFIX}{name}" for name in classes)]
    if RESERVED.isdisjoint(classes):
        ways.append(classes)
    if len(numbered) == len(classes):
        ways.append(numbered)
    numbers = default_classes(sum(name.isdecimal() for name in names))
    if len(numbers) == len(classes) and not any(map(is_number, classes)):
        ways.append(numbers)
    for way in ways:
        if all(name in held for name in way):
            return tuple(held[name] for name in way)
    if numbered:
        names_of(len(numbered), classes, source)
        return numbered
    missing = next(name for name in classes if name not in held or name in RESERVED)
    if missing in RESERVED:
        what = f"the name {missing} is reserved and cannot be that of a class column"
        hint = f"Rename the class, or put p_ before all class columns, as in p_{missing}"
        raise _refused(what, names, source, hint)
    what = f"column {missing} of the classes {_listed(classes)} is missing"
    hint = "Call each column by the name of its class, or number them p0, p1, ..."
    raise _refused(what, names, source, hint)


def _is_row(names: Sequence[str]) -> bool:
    """Tell whether a header is a row of numbers, but for 0, 1, ..., or has a decimal point."""
    numbers = [name for name in names if is_number(name)]
    if tuple(names) == default_classes(len(names)):
        return False
    return len(numbers) == len(names) > 0 or any("." in name for name in numbers)


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse a column that appears twice."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InvalidInputError(
            f"{source}: column {_shown(twice[0])} appears twice",
            hint="Give every column a name of its own",
        )


def _refused(
    what: str,
    names: Sequence[str],
    source: str,
    hint: str,
    kind: type[InvalidInputError] = InvalidInputError,
) -> InvalidInputError:
    """Return the one error for columns: what is wrong, which there are, and what to do."""
    return kind(f"{source}: {what}; the columns are {_listed(names)}", hint=hint)


def import_line(
    source: str, classes: Sequence[str] = ("A", "B", "C"), label: str | None = None
) -> str:
    """Return the command that makes a table of a file, in another one.

    Examples
    --------
    >>> import_line("a b.csv", ["ham", "spam"])
    "dnip import 'a b.csv' --classes ham,spam --out opt.csv"
    >>> import_line("opt.csv", label="truth")
    'dnip import opt.csv --classes A,B,C --label truth --out table.csv'
    """
    labels = [] if label in (None, LABEL) else ["--label", str(label)]
    out = "table.csv" if PurePath(source).name == "opt.csv" else "opt.csv"
    return join(["dnip", "import", source, "--classes", ",".join(classes), *labels, "--out", out])


def _shown(name: str) -> str:
    return name or "'' (without a name)"


def _listed(names: Sequence[str]) -> str:
    return listed([_shown(name) for name in names]) or "none"


def _own_classes(
    stored: object, wanted: tuple[str, ...] | None, source: str
) -> tuple[str, ...] | None:
    """Return the class names of a file, its own or those given."""
    if stored is None:
        return wanted
    try:
        names = check_classes(stored if isinstance(stored, list) else [])
    except InvalidInputError as error:
        raise InvalidInputError(f"{source}: {error.message}", hint=error.hint) from error
    if wanted is not None and names != wanted:
        raise InvalidInputError(
            f"{source}: the classes in the file are {', '.join(names)}, but {', '.join(wanted)} "
            "were given",
            hint="Leave the class names out, or give them as the file does, in its order",
        )
    return names
