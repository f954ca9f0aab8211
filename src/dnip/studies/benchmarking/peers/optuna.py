"""Optuna: one whole-number parameter per class, asked for and told in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from types import ModuleType

    from dnip.studies.benchmarking.arena import Arena


def tpe(arena: Arena, seed: int) -> None:
    """Run the default sampler, the tree-structured Parzen estimator."""
    optuna = _load()
    _study(arena, optuna, optuna.samplers.TPESampler(seed=seed))


def cmaes(arena: Arena, seed: int) -> None:
    """Run the CMA-ES sampler."""
    optuna = _load()
    _study(arena, optuna, optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False))


def _load() -> ModuleType:
    optuna = load_optional("optuna", purpose="run optuna", extra="bench")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _study(arena: Arena, optuna: ModuleType, sampler: object) -> None:
    study = optuna.create_study(sampler=sampler)
    names = [f"xi{n}" for n in range(arena.n_classes)]
    study.enqueue_trial(dict.fromkeys(names, arena.scale))
    while True:
        trial = study.ask()
        indices = np.array([trial.suggest_int(name, 1, arena.scale) for name in names])
        study.tell(trial, arena.value(indices))
