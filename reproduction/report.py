"""What a run leaves: files of each experiment, and one page of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnip.base import __version__
from dnip.base.escaping import printable
from dnip.base.files import atomic_path, write_text
from reproduction.experiments import Experiment, Run
from reproduction.experiments.base import ARRAYS, FIRST
from reproduction.judging import Claim, Scores, judge
from reproduction.presenting import escaped, markdown
from reproduction.probabilities import TASKS
from reproduction.published import paper_rows, published


def present(experiment: Experiment, run: Run, out: Path) -> list[Claim]:
    """Run an experiment, write its CSV, Markdown and picture, and return what it judges."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to load

    results, name = experiment.run(run), experiment.name
    columns = [*FIRST, *(one for one in results if one not in (*FIRST, *ARRAYS))]
    with atomic_path(out / f"{name}.csv") as path:
        shown = results[columns]
        if "weights" in shown:
            shown = shown.assign(weights=shown.weights.map(_text))
        shown.to_csv(path, index=False, float_format="%.6g")
    parts = [f"# {experiment.title} ({published(name)['place']})"]
    if len(results):
        parts += [experiment.table(run, results), published(name).get("note", "")]
    if experiment.draw and len(results):
        figure = Figure(layout="tight")
        experiment.draw(figure, run, results)
        with atomic_path(out / f"{name}.png") as path:
            figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    parts += [run.missing(experiment.shots, experiment.tasks), *_paper(name)]
    text = "\n\n".join(part for part in parts if part)
    write_text(out / f"{name}.md", printable(text) + "\n")
    said = published(name)["claims"]
    claims = experiment.judge(run, results, Scores(results, run.data.tasks))
    lacking = [task for task in experiment.tasks or TASKS if task not in run.data.tasks]
    without = f"without {', '.join(lacking)}" if lacking else ""
    return [judge(name, said[claim], without or contrasts) for claim, contrasts in claims]


def _text(weights: Any) -> str:
    """Return weights as text; none of a method that has none."""
    return " ".join(f"{w:.4g}" for w in weights) if isinstance(weights, list) else ""


def _paper(name: str) -> list[str]:
    """Return the paper's own table, and what does not fit together in it."""
    header, rows = paper_rows(name)
    table = f"The paper's numbers:\n\n{markdown(header, rows)}" if rows and name != "main" else ""
    remarks = [f"- {remark}" for remark in published(name)["remarks"]]
    return [table, "\n".join(["Remarks on the paper's numbers:\n", *remarks])]


def report(run: Run, out: Path, done: Sequence[tuple[Experiment, Sequence[Claim]]]) -> str:
    """Return one page: the model, what holds, and every table and picture."""
    about, tasks = run.data.about, run.data.tasks
    told = f"Model: {escaped(run.data.model)}"
    if about:
        versions = ", ".join(f"{k} {v}" for k, v in about.get("versions", {}).items())
        told += f", SHA-256 {about['model']['sha256'][:16]}…; prompted with {versions}"
    told += f". Judged by dnip {__version__}, on {len(tasks)} tasks: {', '.join(tasks)}."
    lacking = [task for task in TASKS if task not in tasks]
    if lacking:
        told += f" Of the paper's tasks, {', '.join(lacking)} are not among them."
    header = ["Experiment", "The paper says", "Its numbers", "Ours (%, points), 95 % interval"]
    claims = [list(claim) for _, found in done for claim in found]
    parts = ["# The paper's experiments", told, markdown([*header, "Verdict"], claims, left=5)]
    for experiment, _ in done:
        parts.append(f"#{(out / f'{experiment.name}.md').read_text(encoding='utf-8').strip()}")
        if (out / f"{experiment.name}.png").is_file():
            parts.append(f"![{experiment.title}]({experiment.name}.png)")
    return "\n\n".join(parts) + "\n"
