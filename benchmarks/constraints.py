"""What constraints cost, and whether what is found under them is the best that keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Constraints, Objective, ProbabilityTable, Solution, solve
from dnip.base.typing import Counts
from dnip.method.coefficients import Coefficients
from dnip.metrics import accuracy, class_accuracies, scores
from dnip.tables.evaluation import evaluate

#: K at which every point can be tried.
COARSE = 12

Ask = Callable[[Counts], tuple[Objective, Constraints | None]]


def run(tables: list[Table]) -> None:
    """Print the table: one line per constraint, averages over the tables of 4 classes."""
    chosen = [table for table in tables if table.opt.n_classes == 4]
    free = [_fit(opt, Objective(), None, "coordinate") for _, opt, _ in chosen]
    raw = [scores(evaluate([test]).raw) for _, _, test in chosen]
    averages = (np.mean([score[name] for score in raw]) for name in ("accuracy", "cobias"))
    rows = [["raw argmax", "", *(f"{value:.3f}" for value in averages), "", "", "", "", ""]]
    for name, ask in _asked().items():
        prices, tested, held, found, proven, exhaustive, seconds = [], [], [], [], [], [], []
        for (_, opt, test), best in zip(chosen, free, strict=True):
            objective, constraints = ask(evaluate([opt]).raw)
            began = time.process_time()
            quick = _fit(opt, objective, constraints, "coordinate")
            between = time.process_time()
            proof = _fit(opt, objective, constraints, "exact")
            seconds.append((between - began, time.process_time() - between))
            prices.append(Objective()(quick.confusion) - best.value)
            found.append(quick.value <= proof.value + 1e-9)
            proven.append(proof.status == "optimal")
            both = [
                _fit(opt, objective, constraints, solver, COARSE).value
                for solver in ("exact", "exhaustive")
            ]
            exhaustive.append(abs(both[0] - both[1]) < 1e-9)
            coefficients = Coefficients.from_solution(quick, opt.classes)
            there = evaluate([test], coefficients=coefficients)
            assert there.reweighted is not None
            tested.append(scores(there.reweighted))
            held.append(_is_kept(constraints, there.raw, there.reweighted))
        quick_s, proof_s = np.median(seconds, axis=0)
        rows.append(
            [
                name,
                f"{np.mean(prices):.4f}",
                f"{np.mean([score['accuracy'] for score in tested]):.3f}",
                f"{np.mean([score['cobias'] for score in tested]):.3f}",
                "" if held[0] is None else f"{sum(map(bool, held))} of {len(chosen)}",
                f"{sum(exhaustive)} of {len(chosen)}",
                f"{sum(found)} of {sum(proven)}",
                f"{quick_s * 1000:.0f}",
                f"{proof_s * 1000:.0f}",
            ]
        )
    print_markdown(
        f"Constraints, averages over {len(chosen)} tables of 4 classes",
        [
            "constraint",
            "price in Z",
            "test accuracy",
            "test COBias",
            "kept on test",
            f"`exact` = `exhaustive`, K = {COARSE}",
            "`coordinate` at the proven optimum",
            "`coordinate`, CPU ms",
            "`exact`, CPU ms",
        ],
        rows,
    )


def _asked() -> dict[str, Ask]:
    unchanged = Objective()
    costs = np.ones((4, 4)) - np.eye(4)
    costs[0] *= 3
    return {
        "none": lambda raw: (unchanged, None),
        "accuracy loss at most 0.02": lambda raw: (unchanged, Constraints(0.02)),
        "accuracy loss at most 0.01": lambda raw: (unchanged, Constraints(0.01)),
        "accuracy loss at most 0": lambda raw: (unchanged, Constraints(0.0)),
        "every class 0.05 above the worst": lambda raw: (
            unchanged,
            Constraints(min_class_accuracies={"all": float(class_accuracies(raw).min()) + 0.05}),
        ),
        "both, with a loss of at most 0.01": lambda raw: (
            unchanged,
            Constraints(0.01, {"all": float(class_accuracies(raw).min()) + 0.05}),
        ),
        "the best class frozen": lambda raw: (
            unchanged,
            Constraints(freeze=[int(np.argmax(class_accuracies(raw)))]),
        ),
        "the worst class frozen": lambda raw: (
            unchanged,
            Constraints(freeze=[int(np.argmin(class_accuracies(raw)))]),
        ),
        "errors of class 0 cost 3": lambda raw: (Objective(costs=costs), None),
        "instead: β = 1": lambda raw: (Objective(beta=1.0), None),
        "instead: β = 0.7": lambda raw: (Objective(beta=0.7), None),
    }


def _is_kept(constraints: Constraints | None, raw: Counts, reweighted: Counts) -> bool | None:
    """Return whether floors hold on other rows, None where there are none."""
    if constraints is None or constraints.freeze:
        return None
    loss, least = constraints.max_accuracy_loss, constraints.min_class_accuracies.get("all", 0.0)
    kept = loss is None or accuracy(raw) - accuracy(reweighted) <= loss
    return bool(kept and class_accuracies(reweighted).min() >= least)


def _fit(
    opt: ProbabilityTable,
    objective: Objective,
    constraints: Constraints | None,
    solver: str,
    scale: int = 30,
) -> Solution:
    rows = opt.labelled()
    assert rows.labels is not None
    return solve(
        rows.probabilities,
        rows.labels,
        objective,
        scale=scale,
        solver=solver,
        constraints=constraints,
    )
