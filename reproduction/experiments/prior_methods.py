"""Figure 3: the linear adapter, batch calibration and DNIP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.base.errors import MissingDependencyError
from dnip.method.objective import Objective
from dnip.metrics import confusion_matrix
from reproduction.comparison import VariantComparison
from reproduction.degenerate import score
from reproduction.experiment import Artefact, Claim, Experiment, Text
from reproduction.methods import (
    METHOD_TITLES,
    PAPER,
    PICTURED,
    RAW,
    TITLES,
    cut,
    debias_cell,
    seeded,
)
from reproduction.naming import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.comparing.baselines import Method
    from dnip.tables import ProbabilityTable
    from reproduction.cell import Cell
    from reproduction.results import Results
    from reproduction.sources import Sources

#: How the methods are shown.
ADAPTER, BATCH = "linear adapter", "batch calibration"


def measure_prior_methods(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return scores of the test table after each prior method; None for one not installed.

    The adapter is trained toward the published objective. Batch calibration reads the test rows,
    without their labels, as published.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_prior_methods(opt, test, dev_share=0.05, seed=0)
    >>> found["batch calibration"]["cobias"] < 0.27  # of the raw argmax
    True
    """
    from dnip.comparing.baselines import BatchCalibration  # noqa: PLC0415
    from reproduction.linear_adapter import LinearAdapter  # noqa: PLC0415

    rows, _ = cut(opt, dev_share)
    adapter = LinearAdapter(objective=Objective.published())
    return {
        ADAPTER: _correct(adapter, rows, test, seed),
        BATCH: _correct(BatchCalibration(), rows, test, seed),
    }


def _correct(
    method: Method, opt: ProbabilityTable, test: ProbabilityTable, seed: int
) -> dict[str, Any] | None:
    from dnip.comparing.baselines import OptSet  # noqa: PLC0415

    known, judged = opt.labelled(), test.labelled()
    assert known.labels is not None
    assert judged.labels is not None
    learned_from = OptSet.of(
        known.probabilities, known.labels, batch=test.probabilities, classes=opt.classes
    )
    try:
        correction = method.fit(learned_from, seed)
    except MissingDependencyError:
        return None
    predictions = correction.predict(judged.probabilities)
    return score(confusion_matrix(judged.labels, predictions, judged.n_classes), opt.classes)


class PriorMethods(Experiment):
    """An adaptation and a calibration beside DNIP, published and ours."""

    name = "prior-methods"
    title = "Comparison with prior methods"
    paper = "Figure 3"

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return a cell for DNIP and one for the other methods, for each source and seed."""
        cells = []
        for source, seed in seeded(sources, self.plan):
            labels = {"seed": seed}
            cells.append(debias_cell(self, source, labels, seed=seed))
            cells.append(self.cell(measure_prior_methods, source, labels, {"seed": seed}))
        return cells

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return a table and a figure, and whether DNIP is ahead."""
        if not len(results):
            return []
        keys = {TITLES[RAW]: RAW, ADAPTER: ADAPTER, BATCH: BATCH}
        keys |= {title: method for method, title in METHOD_TITLES.items()}
        compared = VariantComparison.of(results, {title: (key,) for title, key in keys.items()})
        drawn = (*PICTURED.values(), ADAPTER, BATCH)
        artefacts: list[Artefact] = [
            *compared.artefacts(self.name, self.title, tuple(HEADINGS), drawn)
        ]
        if ADAPTER not in compared.variants:
            artefacts.append(Text("The linear adapter is left out: torch is not installed."))
        return [*artefacts, *(_judge(compared, other) for other in (ADAPTER, BATCH))]


def _judge(of: VariantComparison, other: str) -> Claim:
    """Judge what section 5.4 says on means over all datasets."""
    dnip = TITLES[PAPER]
    ahead = of.is_lower(other, dnip, "accuracy") and of.is_lower(dnip, other, "cobias")
    return Claim(
        f"DNIP outperforms {'the linear adapter' if other == ADAPTER else other} in accuracy and "
        "COBias",
        "figure 3, no numbers",
        "; ".join(of.in_words(metric) for metric in HEADINGS),
        ahead if other in of.variants else None,
    )
