"""Table 5: answers after a chain of thought, against plain ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.evaluation import evaluate
from dnip.experiments.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.experiments.artefacts import Artefact
    from dnip.experiments.experiment import Results
    from dnip.experiments.plan import Plan
    from dnip.experiments.sources import Sources
    from dnip.tables import ProbabilityTable


class ChainOfThoughtAgainstPlain:
    """1-shot answers after reasoning, against plain ones on the same rows."""

    name: ClassVar[str] = "cot"
    title: ClassVar[str] = "Chain of thought against plain 1-shot"
    paper: ClassVar[str] = "Table 5"
    prompts: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Any]] = {"rows": 0, "max_new_tokens": 64}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return one cell per task and seed."""
        return [
            Cell(
                self.name,
                source.plain.labels,
                compare_answers,
                {"reasoned": source.test, "plain": source.plain_test},
            )
            for source in sources.reasoned
        ]

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return the paper's table."""
        return []


def compare_answers(reasoned: ProbabilityTable, plain: ProbabilityTable) -> dict[str, Any]:
    """Score answers after reasoning and without it."""
    return {
        "reasoned": evaluate([reasoned]).to_dict()["raw"],
        "plain": evaluate([plain]).to_dict()["raw"],
        "n": len(reasoned),
    }
