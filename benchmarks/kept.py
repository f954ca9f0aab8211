"""Results that are kept: what a benchmark prints, below a line that says of what code it is."""

from __future__ import annotations

import io
import subprocess
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dnip import Objective
from dnip.fitting.settings import fit_settings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def keep(name: str, benchmark: Callable[[], None], folder: Path = RESULTS) -> Path:
    """Run a benchmark, and write what it prints to ``folder/NAME.md``."""
    head = f"`python -m benchmarks {name}`, {commit()}, {datetime.now(UTC):%Y-%m-%d}, {defaults()}"
    printed = io.StringIO()
    with redirect_stdout(printed):
        benchmark()
    path = folder / f"{name}.md"
    path.write_text(f"{head}\n{printed.getvalue()}", encoding="utf-8")
    return path


def commit() -> str:
    """Return the last commit that changed the package; uncommitted changes are refused."""
    if _git("status", "--porcelain", "--untracked-files=no", "src"):
        raise SystemExit("src has changes: commit them first, so that results can name a commit")
    return f"commit {_git('log', '-1', '--format=%h', '--', 'src')}"


def defaults() -> str:
    """Return today's default settings, as results name them."""
    objective, settings = Objective(), fit_settings()
    return (
        f"defaults β = {objective.beta:g}, τ = {objective.tau:g}, "
        f"scale {settings.scale or 'over the spread'}, robust {settings.robust}"
    )


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return done.stdout.strip()
