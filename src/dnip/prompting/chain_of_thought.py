"""Chain of thought: how a task is worded where the model is to reason before it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Stands at the end of an example where the task has no wording of its own.
INVITATION = " Think step by step before answering."
#: The field of a training row that holds its own rationale.
RATIONALE = "rationale"


@dataclass(frozen=True)
class ChainOfThought:
    r"""The wording of a task under chain of thought, in place of its plain one.

    Parameters
    ----------
    template : str or None
        Jinja2 template of one example, up to where the reasoning begins; by default the task's own
        and the paper's "Think step by step before answering."
    demonstration : str
        Jinja2 template of a worked example, of ``prompt``, ``rationale`` and ``answer``. It begins
        with ``{{ prompt }}``, for the model goes on from there.
    rationales : tuple of (str or None)
        Per class, a sentence of reasoning that demonstrations of the class show; a training row
        with a field ``rationale`` shows that instead. Empty for none.

    Examples
    --------
    >>> wording = ChainOfThought(rationales=("They laugh.", None))
    >>> wording.rationale({"text": "ha ha"}, 0)
    'They laugh.'
    >>> wording.rationale({"text": "ha ha", "rationale": "Laughter is joy."}, 0)
    'Laughter is joy.'
    """

    template: str | None = None
    demonstration: str = "{{ prompt }} {{ rationale }} So the answer is{{ answer }}"
    rationales: tuple[str | None, ...] = ()

    def rationale(self, row: Mapping[str, Any], label: int) -> str | None:
        """Return the reasoning that a demonstration shows, None if there is none."""
        own = row.get(RATIONALE)
        if own not in (None, ""):
            return str(own)
        return self.rationales[label] if label < len(self.rationales) else None
