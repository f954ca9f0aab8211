"""Table 5: answers after a chain of thought, against plain ones."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from dnip.presenting.artefacts import Column, Spread, Table
from dnip.prompting.engines.base import FALLBACK, RUN_ON
from reproduction.cell import Cell
from reproduction.degenerate import never_predicted
from reproduction.experiment import Artefact, Claim, Experiment
from reproduction.methods import raw_scores
from reproduction.naming import short_task
from reproduction.prompt_request import metadata_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Value
    from dnip.tables import ProbabilityTable
    from reproduction.results import Results
    from reproduction.sources import Sources

# Below so many rows of a task, the change is mostly chance.
_LEAST_ROWS = 200


def compare_answers(reasoned: ProbabilityTable, plain: ProbabilityTable) -> dict[str, Any]:
    """Score answers after reasoning and without it.

    And count the answers without a label, and those that run on past an empty line.
    """
    details = metadata_of(reasoned)["summary"]["details"]
    return {
        "n": len(reasoned),
        "reasoned": raw_scores(reasoned),
        "plain": raw_scores(plain),
        "fallbacks": details.get(FALLBACK, 0) / len(reasoned),
        "run_on": details.get(RUN_ON, 0) / len(reasoned),
    }


class ChainOfThought(Experiment):
    """1-shot answers after reasoning, against plain ones on the same rows."""

    name = "cot"
    title = "Chain of thought against plain 1-shot"
    paper = "Table 5"
    prompts = True

    class Options(Experiment.Options):
        """The most test rows, 0 for all of the plan, and the most tokens of an answer."""

        rows: int = Field(0, ge=0)
        max_new_tokens: int = Field(64, ge=0)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell per task and seed."""
        return [
            Cell(
                self.name,
                source.plain.labels,
                compare_answers,
                {"reasoned": source.test, "plain": source.plain_test},
            )
            for source in sources.reasoned(self.options.rows, self.options.max_new_tokens)
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return the paper's table for each model, and what the paper says of it."""
        found: list[Artefact] = []
        for name, cells in results.by_model(self.name):
            found.append(_table(cells, name, self.options.max_new_tokens))
            found.append(_statement(cells, trained=self.plan.opt_split == "test"))
        return found


def _table(cells: Results, name: str, tokens: int) -> Table:
    rows = []
    for task in (*cells.values("task"), None):
        some = cells if task is None else cells.where(task=task)
        values: list[Value] = ["All" if task is None else short_task(task)]
        for metric in ("accuracy", "cobias"):
            after = some.numbers("reasoned", metric)
            values.append(fmean(after) if task is None else Spread.of(after))
            values.append(fmean(after) - some.mean("plain", metric))
        values.append(some.mean("fallbacks"))
        values.append(some.mean("run_on"))
        reasoned = [row.result["reasoned"] for row in some]
        values.append(None if task is None else never_predicted(reasoned))
        values.insert(1, round(some.mean("n")))
        rows.append(values)
    first = cells.rows[0]
    return Table(
        name,
        f"{ChainOfThought.title}, {first.labels['model']}",
        [
            Column("1-shot + CoT"),
            Column("Rows"),
            Column("Accuracy", percent=True),
            Column("Δ", percent=True, group="accuracy"),
            Column("COBias", percent=True),
            Column("Δ", percent=True, group="COBias"),
            Column("No label", percent=True),
            Column("Run on", percent=True),
            Column("Never predicted", right=True),
        ],
        rows,
        caption="Test accuracy and COBias (%) after reasoning, mean and standard deviation over "
        f"seeds. Δ: absolute change against plain 1-shot answers on the same rows. Only the model, "
        f"or the limit of {tokens} tokens, ends an answer; the last label in it counts. No label: "
        "there is none, and the last token is scored. Run on: answers that go on past an empty "
        "line, where the demonstration ended. Ours are that limit and the sentences of reasoning, "
        "one for each class; the label follows them at once.",
    )


def _statement(cells: Results, *, trained: bool) -> Claim:
    """Judge the paper's claim, on a model that can reason at all and on enough rows."""
    change = {
        metric: cells.mean("reasoned", metric) - cells.mean("plain", metric)
        for metric in ("accuracy", "cobias")
    }
    rows = min(cells.numbers("n"))
    return Claim(
        "After 1-shot chain of thought, predictions are more even but less reliable: COBias falls, "
        "and accuracy with it; many answers name no label",
        "Gemma-2-2B: accuracy −18.4 points, COBias −8.2 points",
        f"accuracy {100 * change['accuracy']:+.1f} points, COBias {100 * change['cobias']:+.1f} "
        f"points on {rows} rows and more; of the answers, {cells.mean('fallbacks'):.0%} hold no "
        f"label and {cells.mean('run_on'):.0%} run on",
        None if trained or rows < _LEAST_ROWS else max(change.values()) < 0,
    )
