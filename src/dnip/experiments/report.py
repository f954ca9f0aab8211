"""Sections as files: tables, figures and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dnip.experiments.artefacts import Section


def write_report(
    folder: Path,
    sections: Sequence[Section],
    manifest: dict[str, Any],
) -> list[Path]:
    """Write what experiments present, and return the paths."""
    return []
