"""Answers after reasoning beside plain ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.deploying.evaluation import evaluate
from dnip.prompting.engines.base import FALLBACK
from dnip.prompting.run import metadata_path

if TYPE_CHECKING:
    from dnip.tables import ProbabilityTable


def compare_answers(reasoned: ProbabilityTable, plain: ProbabilityTable) -> dict[str, Any]:
    """Score answers after reasoning and without it, and count those that hold no label."""
    content = json.loads(metadata_path(Path(reasoned.source)).read_text(encoding="utf-8"))
    details = content["summary"]["details"]
    return {
        "n": len(reasoned),
        "reasoned": evaluate([reasoned]).to_dict()["raw"],
        "plain": evaluate([plain]).to_dict()["raw"],
        "fallbacks": details.get(FALLBACK, 0) / len(reasoned),
    }
