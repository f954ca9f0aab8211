"""What experiments present, as files: tables, figures, and a page with the claims and all of it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from dnip.base.errors import MissingDependencyError
from dnip.base.escaping import markdown, printable
from dnip.base.files import make_folder
from dnip.presenting.artefacts import Column, Figure, Table
from dnip.presenting.drawing.style import save_figure
from dnip.presenting.formats import with_title
from dnip.presenting.results import write_json, write_text
from reproduction.experiment import Claim, Text
from reproduction.naming import shots_title
from reproduction.plan import DevGrid
from reproduction.published import citation, paper_table, published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from reproduction.experiment import Artefact

PAGE, CLAIMS = "report.md", "claims.json"
TABLES, FIGURES = "tables", "figures"
VERDICTS = {True: "holds", False: "does not hold", None: "not judged"}

_HOW = (
    "All scores are of test rows, which no fit and no choice of settings has seen; batch "
    "calibration alone reads their probabilities, as published. ± is the standard deviation over "
    "seeds. “Paper's annealing” ends a temperature by the moves generated or accepted, as appendix "
    "C says; “authors' schedule” has the few moves of the authors' later code. In tables 1, 2 and "
    "4 and figures 3 and 6 both have {}; elsewhere β = 2.7, τ = 0.2 and K = 30, as printed, and "
    "μ = 4000, as in that code. “Plain optimum” is the best value found of the published "
    "objective, “DNIP, ours” is what `dnip fit` does by default. The wording of prompts is this "
    "project's own. What the paper leaves open, and what was taken: docs/paper-choices.md."
)
_JUDGED = (
    "The verdicts are this project's. A claim about DNIP is judged on the paper's annealing, on "
    "means over datasets; those of table 2 over the tasks that are not at chance. Of two variants "
    "one is lower where the mean difference exceeds its standard error, which is a low bar: chance "
    "alone passes it in one of five or six cases. Cells in which a classifier always answers with "
    "one class are left out."
)


class Section(NamedTuple):
    """What one experiment presents.

    Attributes
    ----------
    name, title, paper : str
        Those of the experiment.
    artefacts : sequence of Artefact
    failures : mapping of str to str
        Cells of it that failed, and why.
    """

    name: str
    title: str
    paper: str
    artefacts: Sequence[Artefact]
    failures: Mapping[str, str]


def write_report(
    folder: Path, sections: Sequence[Section], manifest: Mapping[str, Any]
) -> list[Path]:
    """Write what experiments present, and return the paths.

    Tables stand as files in ``tables``, figures as PNG in ``figures``, which is left out where
    matplotlib is not installed. ``report.md`` holds everything, beside the paper's own numbers, and
    begins with the claims, which ``claims.json`` holds too.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    claims = [(s.name, one) for s in sections for one in s.artefacts if isinstance(one, Claim)]
    written = [write_json(folder / CLAIMS, [_claim(name, one) for name, one in claims])]
    blocks = [*_opening(manifest), _table_of_claims(claims)]
    for section in sections:
        blocks += _of_paper(section)
        for artefact in section.artefacts:
            blocks += _present(folder, artefact, written)
        if section.failures:
            blocks += ["**Failed**, and left out of the means above:", _bullets(section.failures)]
    return [*written, write_text(folder / PAGE, "\n\n".join(blocks) + "\n")]


def _opening(manifest: Mapping[str, Any]) -> Iterator[str]:
    inputs = manifest["inputs"]
    yield "# The paper's experiments"
    yield f"The paper is {citation()}. {markdown(_what(inputs))}"
    yield (
        "The models differ from the paper's unless they have the same name: then compare the "
        "direction and the order of effects, not the numbers. "
        + _HOW.format(DevGrid.model_validate(inputs["plan"]["grid"]).in_words)
    )
    if manifest["runs"]:
        words = ["python", "-m", "reproduction", *manifest["runs"][-1]["command"][1:]]
        command = printable(shlex.join(words))
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
        yield f"{fence}text\n{command}\n{fence}"
    if manifest.get("missing"):
        yield "Left out, for want of data:"
        yield _bullets(manifest["missing"])


def _what(inputs: Mapping[str, Any]) -> str:
    """Say in two sentences what was run."""
    plan = inputs["plan"]
    seeds = ", ".join(map(str, plan["seeds"]))
    if inputs["saved_tables"] is not None:
        return (
            f"It was run on saved probability tables ({inputs['saved_tables']}) with the seeds "
            f"{seeds}; no model was prompted. {plan['dev_share']:.0%} of the opt rows are dev."
        )
    shots = dict.fromkeys(shots_title(s) for model in plan["models"] for s in model["shots"])
    return (
        f"It was run on {', '.join(model['name'] for model in plan['models'])}, by the plan "
        f"{plan['name']}: tasks {', '.join(plan['tasks'])}, {', '.join(shots)}, seeds {seeds}. "
        f"The opt pool is of the {plan['opt_split']} split; {plan['dev_share']:.0%} of it is dev."
    )


def _claim(experiment: str, one: Claim) -> dict[str, str]:
    verdict = VERDICTS[one.holds]
    return {
        "experiment": experiment,
        "claim": one.claim,
        "paper": one.paper,
        "ours": one.ours,
        "verdict": verdict,
    }


def _table_of_claims(claims: Sequence[tuple[str, Claim]]) -> str:
    columns = [Column(title) for title in ("Experiment", "Claim", "Paper", "Ours", "Verdict")]
    rows = [tuple(_claim(name, one).values()) for name, one in claims]
    counts = ", ".join(
        f"{sum(one.holds is verdict for _, one in claims)} {word}"
        for verdict, word in VERDICTS.items()
    )
    title = f"What the paper says: {counts}"
    return f"## Claims\n\n{with_title(Table('claims', title, columns, rows, _JUDGED))}"


def _of_paper(section: Section) -> Iterator[str]:
    found, table = published(section.name), paper_table(section.name)
    yield f"## {markdown(f'{section.title} ({section.paper})')}"
    yield f"### The paper\n\nFrom {found.place}."
    if table is not None:
        yield with_title(table)
    if found.remarks:
        yield "\n".join(f"- {line}" for line in found.remarks)
    yield "### Measured"


def _present(folder: Path, artefact: Artefact, written: list[Path]) -> Iterator[str]:
    match artefact:
        case Table():
            path = make_folder(folder / TABLES) / f"{artefact.name}.md"
            written.append(write_text(path, with_title(artefact) + "\n"))
            yield with_title(artefact)
        case Figure():
            try:
                path = save_figure(artefact, make_folder(folder / FIGURES) / f"{artefact.name}.png")
            except MissingDependencyError as error:
                yield markdown(f"Not drawn: {artefact.title}. {error}.")
                return
            written.append(path)
            yield f"![{markdown(artefact.title)}]({FIGURES}/{path.name})"
            if artefact.caption:
                yield f"*{markdown(artefact.caption)}*"
        case Text():
            yield artefact.markdown


def _bullets(found: Mapping[str, str]) -> str:
    return "\n".join(f"- {markdown(f'{name}: {why}')}" for name, why in found.items())
