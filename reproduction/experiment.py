"""What an experiment is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.base.toml_models import TomlModel, check_table
from reproduction.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reproduction.artefacts import Artefact
    from reproduction.cell import CellFunction
    from reproduction.plan import ReproductionPlan
    from reproduction.results import Results
    from reproduction.sources import Source, Sources


class Experiment(ABC):
    """One table or figure of the paper: its cells, and what it makes of their results.

    Parameters
    ----------
    plan : ReproductionPlan
        Its table ``[experiments.NAME]`` sets the options.

    Attributes
    ----------
    name : str
        The name on the command line.
    title : str
        A line for people.
    paper : str
        The place in the paper, such as ``"Table 2"``.
    prompts : bool
        Whether the experiment needs a model to prompt, so that saved tables do not do.
    options : Options

    Raises
    ------
    InvalidInputError
        If the plan has unknown or wrong options for the experiment.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    prompts: ClassVar[bool] = False

    class Options(TomlModel):
        """What a plan may set under ``[experiments.NAME]``, with the defaults."""

    options: Options

    def __init__(self, plan: ReproductionPlan) -> None:
        self.plan = plan
        given = plan.experiments.get(self.name, {})
        keys = ("experiments", self.name)
        self.options = check_table(self.Options, given, f"plan {plan.name}", keys)

    @abstractmethod
    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return what to compute; quick, and the same at every call."""

    @abstractmethod
    def present(self, results: Results) -> Sequence[Artefact]:
        """Return tables, figures, texts and statements from what was computed."""

    def cell(
        self,
        function: CellFunction,
        source: Source,
        labels: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        test: bool = True,
    ) -> Cell:
        """Return a cell on the opt table of a source, and by default on its test table.

        Parameters
        ----------
        function : callable
            See `Cell`.
        source : Source
        labels : mapping
            Labels beside those of the source.
        settings : mapping
            Settings beside the plan's ``dev_share``.
        test : bool, default=True
        """
        tables = {"opt": source.opt, "test": source.test} if test else {"opt": source.opt}
        shared = {"dev_share": self.plan.dev_share}
        return Cell(
            self.name, {**source.labels, **labels}, function, tables, {**shared, **settings}
        )
