"""Repeated checks of one fit: which look it is, and what of the level is left, kept in a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from dnip.base.errors import InvalidInputError, first_line, shown
from dnip.base.files import atomic_path, read_text
from dnip.base.validation import check_level
from dnip.method.coefficients import Coefficients
from dnip.tables.reading import check_readable


class Look(NamedTuple):
    """One of a series of checks whose levels add up to `alpha`, however many there are.

    All looks compare with one fit, so they depend on each other. A sum of levels bounds the
    probability of a false alarm under any dependence. The i-th look gets 1 / (i·(i + 1)) of alpha.

    Attributes
    ----------
    number : int
        1 for the first.
    alpha : float
        The probability of a false alarm in the whole series that is accepted.

    References
    ----------
    Foster and Stine, "α-investing" (2008), on alpha spending; Tian and Ramdas, "Online control of
    the familywise error rate" (2021).

    Examples
    --------
    >>> looks = [Look(number, 0.06) for number in (1, 2, 3)]
    >>> [(round(look.level, 4), round(look.left, 4)) for look in looks]
    [(0.03, 0.03), (0.01, 0.02), (0.005, 0.015)]
    """

    number: int
    alpha: float

    @property
    def level(self) -> float:
        """The probability of a false alarm in this look."""
        return self.alpha / (self.number * (self.number + 1))

    @property
    def left(self) -> float:
        """What is left of `alpha` for all later looks together."""
        return self.alpha / (self.number + 1)


@contextmanager
def next_look(
    state: Path, table: Path, coefficients: Coefficients, alpha: float = 0.05
) -> Iterator[Look]:
    """Take a look during a block; it counts when the block ends without an error.

    A table that was looked at before has its old look again, and spends nothing.

    Parameters
    ----------
    state : Path
        The file that counts the looks; it is made where there is none.
    table : Path
        The table file, or a folder of them; it is known again by its bytes.
    coefficients : Coefficients
        All looks are at these.
    alpha : float, default=0.05
        Of all looks together.

    Yields
    ------
    Look

    Raises
    ------
    InvalidInputError
        For a file that is damaged, of another version, of other coefficients, or of another alpha;
        and for a table that is a pipe.
    OutputError
        If the file cannot be written, or another process takes a look.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> fitted = Coefficients(["no", "yes"], [30, 15], 30)
    >>> with TemporaryDirectory() as folder:
    ...     for day in ("monday", "tuesday", "monday"):
    ...         table = Path(folder, f"{day}.csv")
    ...         _ = table.write_text(day)
    ...         with next_look(Path(folder, "looks.json"), table, fitted) as look:
    ...             print(day, look.number, f"{look.level:.4f}")
    monday 1 0.0250
    tuesday 2 0.0083
    monday 1 0.0250
    """
    check_level("alpha", alpha)
    known = hashlib.sha256(coefficients.to_json().encode()).hexdigest()
    head = {"format": "dnip-looks", "version": 1, "coefficients": known[:16], "alpha": alpha}
    data = _hash(table)
    with atomic_path(state) as partial:  # no other process can take a look meanwhile
        seen = _read(state, head) if state.exists() else []
        seen = seen if data in seen else [*seen, data]
        yield Look(seen.index(data) + 1, alpha)
        partial.write_text(json.dumps({**head, "looks": seen}, indent=2) + "\n", encoding="utf-8")


def _read(state: Path, head: dict[str, Any]) -> list[str]:
    """Return the hashes of the tables that were looked at."""
    try:
        if state.is_fifo():  # which may never end
            raise ValueError("it is a pipe")
        content = json.loads(read_text(state))
        for name, here in head.items():
            if content[name] != here:
                raise ValueError(f"its {name} is {shown(content[name])}, not {shown(here)}")
        seen: list[str] = content["looks"]
        texts = isinstance(seen, list) and all(isinstance(one, str) for one in seen)
        if not texts or len({*seen}) < len(seen):
            raise ValueError("its looks are not different hashes")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
        raise InvalidInputError(
            f"{state}: the look cannot be counted there: {reason}",
            hint="Looks at other coefficients, or with another alpha, need a file of their own",
        ) from error
    return seen


def _hash(table: Path) -> str:
    """Return a hash of the bytes of a table."""
    check_readable(table)
    if table.is_fifo():
        raise InvalidInputError(
            f"{table} is a pipe, which can be read once only, but is needed twice",
            hint="Write it to a file first",
        )
    files = sorted(p for p in table.rglob("*") if p.is_file()) if table.is_dir() else [table]
    digest = hashlib.sha256()
    for path in files:
        with suppress(FileNotFoundError), path.open("rb") as file:  # a record drops old files
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
