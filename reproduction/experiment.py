"""What an experiment is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from dnip.base.toml_models import TomlModel, check_table
from dnip.presenting.artefacts import Figure, Table
from reproduction.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reproduction.cell import CellFunction
    from reproduction.plan import ReproductionPlan
    from reproduction.results import Results
    from reproduction.sources import Source, Sources


class Text(NamedTuple):
    """A paragraph of Markdown; text of others in it has gone through `escaping.markdown`."""

    markdown: str


class Claim(NamedTuple):
    """Something that the paper says, and whether these runs bear it out.

    Attributes
    ----------
    claim : str
        What is said, in one sentence.
    paper, ours : str
        The figures.
    holds : bool or None
        None where these runs cannot tell.
    """

    claim: str
    paper: str
    ours: str
    holds: bool | None


#: What an experiment makes of its results.
Artefact: TypeAlias = Table | Figure | Text | Claim


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
        """Return tables, figures, texts and claims from what was computed."""

    def cell(
        self,
        function: CellFunction,
        source: Source,
        labels: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        test: bool = True,
        chains: float = 0,
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
        chains : float, default=0
            Fits by the paper's annealing, as for `Cell`.
        """
        tables = {"opt": source.opt, "test": source.test} if test else {"opt": source.opt}
        shared = {"dev_share": self.plan.dev_share}
        of_source = {**source.labels, **labels}
        return Cell(self.name, of_source, function, tables, {**shared, **settings}, chains)
