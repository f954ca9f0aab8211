"""What an experiment is, and what it is given back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.presenting.artefacts import Artefact
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources


@dataclass(frozen=True)
class CellResult:
    """What a cell returned, with its labels.

    Attributes
    ----------
    labels : mapping
    result : dict
    seconds : float
        How long the computation took, when it was made.
    """

    labels: Mapping[str, Any]
    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Results:
    """What the cells of one experiment returned, in the order in which it named them.

    Cells that failed are missing; `present` has to do with what there is.

    Examples
    --------
    >>> rows = [CellResult({"task": t, "seed": s}, {"x": 1}, 0.1) for t in "ab" for s in (0, 1)]
    >>> results = Results(tuple(rows))
    >>> results.values("task"), len(results.where(task="a"))
    (('a', 'b'), 2)
    """

    rows: tuple[CellResult, ...]

    def __iter__(self) -> Iterator[CellResult]:
        """Iterate over the cells."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.rows)

    def where(self, **labels: Any) -> Results:  # noqa: ANN401
        """Return the cells with these labels."""
        return Results(
            tuple(
                row
                for row in self.rows
                if all(row.labels.get(name) == value for name, value in labels.items())
            )
        )

    def values(self, label: str) -> tuple[Any, ...]:
        """Return the distinct values of a label, in order of appearance."""
        return tuple(dict.fromkeys(row.labels.get(label) for row in self.rows))

    def numbers(self, *path: str) -> list[float]:
        """Return a number of every cell's result, by the keys that lead to it."""
        found = []
        for row in self.rows:
            value: Any = row.result
            for key in path:
                value = value[key]
            found.append(value)
        return found


class Experiment(Protocol):
    """One table or figure of the paper.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        A line for people.
    paper : str
        Where it stands in the paper, such as ``"Table 2"``.
    prompts : bool
        Whether it must prompt a model itself and has nothing to do on saved tables.
    options : mapping
        What a plan may set under ``[experiments.NAME]``, with the defaults; ``plan.of(self)`` gives
        the values.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    prompts: ClassVar[bool]
    options: ClassVar[Mapping[str, Any]]

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return what to compute; cheap, and the same every time."""
        ...

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return tables, figures, texts and statements of what was computed."""
        ...


def no_such_experiment(name: str, known: Sequence[str]) -> InvalidInputError:
    """Return the error for a name that is no experiment."""
    return InvalidInputError(
        f"there is no experiment {name!r}", hint=f"Name one of {', '.join(known)}, or all"
    )
