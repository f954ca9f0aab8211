"""What a run leaves: files of each experiment, and one page of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnip.base.escaping import markdown as escaped, printable
from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.base.version import __version__
from reproduction.experiments import Experiment, Run
from reproduction.experiments.base import ARRAYS, FIRST
from reproduction.judging import Claim
from reproduction.presenting import markdown, save
from reproduction.published import published


def present(experiment: Experiment, run: Run, out: Path) -> list[Claim]:
    """Run an experiment, write its CSV, Markdown and picture, and return what it judges."""
    results = experiment.run(run)
    name = experiment.name
    columns = [*FIRST, *(one for one in results if one not in (*FIRST, *ARRAYS))]
    with atomic_path(out / f"{name}.csv") as path:
        shown = results[columns]
        if "weights" in shown:
            shown = shown.assign(weights=shown.weights.map(_text))
        shown.to_csv(path, index=False, float_format="%.6g")
    parts = [f"# {experiment.title} ({experiment.place})"]
    missing = run.missing(experiment.shots, experiment.tasks)
    if len(results):
        parts.append(experiment.table(run, results))
        _draw(experiment, run, results, out / f"{name}.png")
    parts += [one for one in (missing, *_remarks(name)) if one]
    with atomic_path(out / f"{name}.md") as path:
        path.write_text(printable("\n\n".join(parts)) + "\n", encoding="utf-8")
    return list(experiment.judge(run, results))


def _text(weights: Any) -> str:
    """Return weights as text; none of a method that has none."""
    return " ".join(f"{w:.4g}" for w in weights) if isinstance(weights, list) else ""


def _draw(experiment: Experiment, run: Run, results: Any, path: Path) -> None:
    load_optional("matplotlib", purpose="draw pictures", extra="reproduction")
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(layout="tight")
    experiment.draw(figure, run, results)
    with atomic_path(path) as partial:
        save(figure, partial)


def _remarks(name: str) -> list[str]:
    """Return what does not fit together in the paper's own numbers."""
    try:
        remarks = published(name)["remarks"]
    except FileNotFoundError:
        return []
    return ["Remarks on the paper's numbers:\n\n" + "\n".join(f"- {one}" for one in remarks)]


def report(run: Run, out: Path, done: Sequence[tuple[Experiment, Sequence[Claim]]]) -> str:
    """Return one page: the model, what holds, and every table and picture."""
    about = run.data.about
    versions = ", ".join(f"{k} {v}" for k, v in about.get("versions", {}).items())
    told = f"Model: {escaped(run.data.model)}"
    if about:
        told += f", SHA-256 {about['model']['sha256'][:16]}…; prompted with {versions}"
    parts = ["# The paper's experiments", f"{told}. Judged by dnip {__version__}."]
    parts.append(claims_table([claim for _, claims in done for claim in claims]))
    for experiment, _ in done:
        text = (out / f"{experiment.name}.md").read_text(encoding="utf-8").strip()
        parts.append(f"#{text}")
        if (out / f"{experiment.name}.png").is_file():
            parts.append(f"![{experiment.title}]({experiment.name}.png)")
    return "\n\n".join(parts) + "\n"


def claims_table(claims: Sequence[Claim]) -> str:
    """Return what the paper says, its numbers and ours, and whether it holds."""
    header = ["Experiment", "The paper says", "Its numbers", "Ours (%, points), 95 % interval"]
    rows = [(c.experiment, c.says, c.paper, c.ours, c.verdict) for c in claims]
    return markdown([*header, "Verdict"], rows, left=5)
