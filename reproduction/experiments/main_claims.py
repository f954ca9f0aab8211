"""What the paper says of table 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.prompting.plan import BALANCED
from reproduction.comparison import VariantComparison
from reproduction.experiment import Claim
from reproduction.headline import counted, divided
from reproduction.methods import PAPER, RAW
from reproduction.naming import shots_title
from reproduction.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reproduction.plan import ReproductionPlan

_NOTHING = "no such cells"


def claims(results: Results, plan: ReproductionPlan) -> Iterator[Claim]:
    """Yield the claims; those about prompts are not judged where the results are of saved tables.

    What is said of language models before DNIP is not judged on one that was trained on the tasks.
    """
    trained = plan.opt_split == "test"
    able, _ = divided(results)
    kept, _ = counted(able)
    one_shot = kept.where(shots=1)
    more = Results(tuple(row for row in kept if row.labels["shots"] in (5, BALANCED)))
    raw = _by_model(results.where(shots=1), RAW)
    balanced = _by_model(results.where(shots=BALANCED), RAW)
    after = _by_model(one_shot, PAPER)
    shared = raw.keys() & balanced.keys()
    yield Claim(
        "DNIP reduces COBias and increases accuracy, on average",
        "COBias 14.7 % (−61 %), accuracy 67.6 % (+18 %); before it, computed by us from table 2: "
        "37.6 %, 57.2 %",
        _change(kept),
        _improves(kept) if len(kept) else None,
    )
    yield Claim(
        "COBias exceeds 32 % in all models under 1-shot prompts",
        "37.6 % on average, which is that of all settings; Llama-2-70B has 31.8 %",
        _in_words(raw),
        all(value > 0.32 for value in raw.values()) if raw and not trained else None,
    )
    yield Claim(
        "Balanced demonstrations mitigate COBias only in part",
        "Llama-2-13B: 40.5 % with 1-shot, 25.6 % with N-shot prompts",
        f"1-shot: {_in_words(raw)}; N-shot: {_in_words(balanced)}",
        all(0.5 * raw[m] < balanced[m] < raw[m] for m in shared)
        if shared and not trained
        else None,
    )
    yield Claim(
        "After DNIP, every model has less than 20 % COBias under 1-shot prompts",
        "14.3 % to 19.9 %, by model",
        _in_words(after),
        all(value < 0.2 for value in after.values()) if after else None,
    )
    yield Claim(
        "The improvement shows in models of every size",
        "Llama-2-13B: accuracy +10 %, read as points, COBias −65 %; Llama-2-70B: +7 %, −46 %",
        "; ".join(f"{m}: {_change(one_shot.where(model=m))}" for m in after) or _NOTHING,
        all(_improves(one_shot.where(model=m)) for m in after) if len(after) > 1 else None,
    )
    settings = [
        more.where(model=model, shots=shots)
        for model in more.values("model")
        for shots in more.where(model=model).values("shots")
    ]
    yield Claim(
        "Under 5- and N-shot prompts, too, DNIP lowers COBias and raises accuracy",
        "Llama-2-13B: 5-shot 39.2 % → 10.3 %, N-shot 25.6 % → 7.5 %; accuracy (by us) +8.0, +8.8",
        "; ".join(f"{shots_title(s.rows[0].labels['shots'])}: {_change(s)}" for s in settings)
        or _NOTHING,
        all(map(_improves, settings)) if settings else None,
    )


def _by_model(results: Results, way: str) -> dict[str, float]:
    """Return the mean COBias of each model."""
    models = results.values("model")
    return {model: results.where(model=model).over_rows(way, "cobias") for model in models}


def _in_words(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1%}" for name, value in values.items()) or _NOTHING


def _change(results: Results) -> str:
    """Return means before and after DNIP, in words."""
    if not len(results):
        return _NOTHING
    return ", ".join(
        f"{title} {results.over_rows(RAW, metric):.1%} → {results.over_rows(PAPER, metric):.1%}"
        for title, metric in (("COBias", "cobias"), ("accuracy", "accuracy"))
    )


def _improves(results: Results) -> bool:
    """Say whether DNIP lowers COBias and raises accuracy, by more than chance."""
    compared = VariantComparison.of(results, {RAW: (RAW,), PAPER: (PAPER,)})
    lower, higher = (compared.direction(PAPER, RAW, metric) for metric in ("cobias", "accuracy"))
    return (lower, higher) == (-1, 1)
