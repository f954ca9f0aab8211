"""What the paper says of table 2, and what this project says of its own default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.prompting.plan import BALANCED
from reproduction.artefacts import Statement
from reproduction.comparison import parts_in_words
from reproduction.degenerate import left_out_in_words
from reproduction.headline import (
    by_titles,
    counted,
    divided,
    mean_over,
    ours_in_words,
    relative,
)
from reproduction.methods import METHOD_TITLES, OURS, PAPER, RAW, TITLES
from reproduction.naming import HEADINGS, shots_title
from reproduction.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reproduction.plan import ReproductionPlan

# What the paper says of prompts and models, and its figures.
_LARGE = (
    "COBias exceeds 32 % in all models under 1-shot prompts",
    "37.6 % on average (of all settings; the five 1-shot rows average 39.7 %, and Llama-2-70B has "
    "31.8 %)",
)
_BALANCED = (
    "Balanced demonstrations mitigate COBias only in part",
    "Llama-2-13B: 40.5 % with 1-shot, 25.6 % with N-shot prompts",
)
_BELOW = (
    "After DNIP, COBias is consistently below 20 % for all models under 1-shot prompts",
    "14.3 % to 19.9 %, by model",
)
_SIZES = (
    "The improvement is consistent across model sizes",
    "Llama-2-13B: accuracy +10 points, COBias −65 %; Llama-2-70B: +7 points, −46 %",
)
_SHOTS = (
    "DNIP consistently lowers COBias with improved accuracy under 5- and N-shot prompts",
    "Llama-2-13B: 5-shot 39.2 % → 10.3 %, N-shot 25.6 % → 7.5 %; accuracy +8.0 and +8.8 points",
)
# Whole percentages of the paper's abstract and section 5.1.
_PAPER_REDUCTION, _PAPER_INCREASE = 0.61, 0.18


def claims(results: Results, plan: ReproductionPlan) -> Iterator[Statement]:
    """Yield the statements; those about prompts only where the results are of prompts."""
    yield from _overall(results)
    if results.values("shots") == (None,):
        for claim, paper in (_LARGE, _BALANCED, _BELOW, _SIZES, _SHOTS):
            yield Statement(claim, paper, "the prompts of saved tables differ", None)
    else:
        yield from _of_settings(results, trained=plan.opt_split == "test")
    yield from _ours(results)


def _overall(results: Results) -> Iterator[Statement]:
    """Judge the headline on the tasks that the model can do."""
    able, _ = divided(results)
    kept, n_out = counted(able)
    claim = "DNIP reduces COBias and increases accuracy, on average"
    paper = (
        "COBias 37.6 % → 14.7 % (−61 %), accuracy 57.2 % → 67.6 % (+18 %), over 7 tasks and 7 "
        "settings of five models"
    )
    if not len(kept):
        yield Statement(claim, paper, "no task that the model can do", None)
        return
    compared = by_titles(kept)
    raw, dnip = TITLES[RAW], TITLES[PAPER]
    parts = []
    for way in METHOD_TITLES:
        changes = {metric: relative(kept, way, metric) or 0.0 for metric in HEADINGS}
        parts.append(
            f"{TITLES[way]}: COBias {mean_over(kept, RAW, 'cobias'):.1%} → "
            f"{mean_over(kept, way, 'cobias'):.1%} ({changes['cobias']:+.0%}), accuracy "
            f"{mean_over(kept, RAW, 'accuracy'):.1%} → {mean_over(kept, way, 'accuracy'):.1%} "
            f"({changes['accuracy']:+.0%})"
        )
    holds = {
        f"COBias falls (on {compared.n_lower(dnip, raw, 'cobias')})": compared.is_lower(
            dnip, raw, "cobias"
        ),
        f"accuracy rises (on {compared.n_lower(raw, dnip, 'accuracy')})": compared.is_lower(
            raw, dnip, "accuracy"
        ),
    }
    yield Statement(
        claim,
        paper,
        f"{parts_in_words(holds)}. {'; '.join(parts)}" + left_out_in_words(n_out, len(able)),
        all(holds.values()),
        {
            "relative_cobias": relative(kept, PAPER, "cobias"),
            "relative_accuracy": relative(kept, PAPER, "accuracy"),
            "paper_relative_cobias": -_PAPER_REDUCTION,
            "paper_relative_accuracy": _PAPER_INCREASE,
            "cells_left_out": n_out,
        },
    )


def _ours(results: Results) -> Iterator[Statement]:
    """Judge what this project says of its own default."""
    able, _ = divided(results)
    kept, n_out = counted(able)
    if len(kept):
        compared = by_titles(kept)
        raw, ours = TITLES[RAW], TITLES[OURS]
        measured = f"{compared.in_words('cobias', (raw, ours))}; "
        measured += compared.in_words("accuracy", (raw, ours))
        measured += f", which rises on {compared.n_lower(raw, ours, 'accuracy')}"
        yield Statement(
            "The default of dnip fit reduces COBias and increases accuracy, on average",
            "",
            measured + left_out_in_words(n_out, len(able)),
            compared.is_lower(ours, raw, "cobias") and compared.is_lower(raw, ours, "accuracy"),
            ours=True,
        )
    words, holds = ours_in_words(results, "cost")
    yield Statement(
        "The default of dnip fit is no worse than any other method in error + 2.7·COBias, on "
        "average",
        "",
        f"judged by the means alone; ours minus, in points with 95 % intervals over datasets: "
        f"{words}",
        holds,
        ours=True,
    )


def _of_settings(results: Results, *, trained: bool) -> Iterator[Statement]:
    """Judge what the paper says of models, and of 1-, 5- and N-shot prompts.

    What it says of language models before DNIP is not judged on one that was trained on the tasks.
    """
    able, _ = divided(results)
    one_shot, balanced = results.where(shots=1), results.where(shots=BALANCED)
    why = "; the model was trained on these tasks, and its COBias is that of their skewed classes"
    if len(one_shot):
        raw = {m: mean_over(one_shot.where(model=m), RAW, "cobias") for m in _models(one_shot)}
        yield Statement(
            *_LARGE,
            _by_model(raw) + why * trained,
            None if trained else all(value > 0.32 for value in raw.values()),
        )
    if len(one_shot) and len(balanced):
        after = {m: mean_over(balanced.where(model=m), RAW, "cobias") for m in _models(balanced)}
        shared = [model for model in after if model in raw]
        yield Statement(
            *_BALANCED,
            f"1-shot: {_by_model(raw)}; N-shot: {_by_model(after)}" + why * trained,
            None
            if trained or not shared
            else all(0.5 * raw[m] < after[m] < raw[m] for m in shared),
        )
    kept, n_out = counted(able.where(shots=1))
    if len(kept):
        found = {m: mean_over(kept.where(model=m), PAPER, "cobias") for m in _models(kept)}
        yield Statement(
            *_BELOW,
            _by_model(found) + left_out_in_words(n_out, len(able.where(shots=1))),
            all(value < 0.2 for value in found.values()),
        )
        models = _models(kept)
        yield Statement(
            *_SIZES,
            _improvements(kept, "model") + left_out_in_words(n_out, len(able.where(shots=1))),
            all(_improves(kept.where(model=m)) for m in models) if len(models) > 1 else None,
        )
    several = Results(tuple(row for row in able if row.labels["shots"] in (5, BALANCED)))
    kept, n_out = counted(several)
    if len(kept):
        yield Statement(
            *_SHOTS,
            _improvements(kept, "shots") + left_out_in_words(n_out, len(several)),
            all(
                _improves(kept.where(model=m, shots=s))
                for m in _models(kept)
                for s in kept.where(model=m).values("shots")
            ),
        )


def _models(results: Results) -> tuple[str, ...]:
    return results.values("model")


def _by_model(values: dict[str, float]) -> str:
    return ", ".join(f"{model} {value:.1%}" for model, value in values.items())


def _improves(results: Results) -> bool:
    """Say whether DNIP lowers COBias and raises accuracy, by more than chance."""
    compared = by_titles(results)
    raw, dnip = TITLES[RAW], TITLES[PAPER]
    return compared.is_lower(dnip, raw, "cobias") and compared.is_lower(raw, dnip, "accuracy")


def _improvements(results: Results, label: str) -> str:
    """Return the change of both metrics for each value of a label, in words."""
    parts = []
    for value in results.values(label):
        cells = results.where(**{label: value})
        change = {
            metric: mean_over(cells, PAPER, metric) - mean_over(cells, RAW, metric)
            for metric in HEADINGS
        }
        name = shots_title(value) if label == "shots" else value
        parts.append(
            f"{name}: accuracy {100 * change['accuracy']:+.1f}, COBias "
            f"{100 * change['cobias']:+.1f} points"
        )
    return "; ".join(parts)
