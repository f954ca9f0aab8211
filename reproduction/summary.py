"""How a report begins: what was run, on which model, and what agrees with the paper."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.escaping import markdown
from reproduction.artefacts import Column, Statement, Table, Text
from reproduction.headline import HEADLINE, OURS_AGAINST, TASKS
from reproduction.methods import METHOD_TITLES
from reproduction.naming import shots_title
from reproduction.page import Bullets, Code, Heading
from reproduction.published import citation, published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reproduction.artefacts import Section
    from reproduction.page import Block
    from reproduction.plan import ReproductionPlan

#: Tables that stand in the summary, and not in the section of their experiment.
SHOWN_FIRST = (HEADLINE, OURS_AGAINST, TASKS)
VERDICTS = {True: "confirmed", False: "not confirmed", None: "cannot tell"}

_CARDS = ("MODEL_CARD.md", "README.md")


def describe_models(plan: ReproductionPlan) -> dict[str, str]:
    """Return what is known of each model of a plan: its card's first paragraph, and its training.

    A model that is not a folder, or has no card, is left out.
    """
    found = {}
    for model in plan.models:
        folder = Path(model.model or "")
        if model.model and folder.is_dir():
            words = " ".join(filter(None, (_card(folder), _training(folder))))
            if words:
                found[model.name] = words
    return found


def _card(folder: Path) -> str:
    for name in _CARDS:
        try:
            text = (folder / name).read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)  # settings of the hub
        for paragraph in text.split("\n\n"):
            if paragraph.strip() and not paragraph.lstrip().startswith(("#", "<", "|")):
                return " ".join(paragraph.replace("`", "").split())
    return ""


def _training(folder: Path) -> str:
    try:
        done = json.loads((folder / "training.json").read_text(encoding="utf-8"))["done"]
        return f"Its training took {done['step']:,} steps and {done['tokens']:,} tokens."
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def opening(manifest: dict[str, Any], sections: Sequence[Section]) -> Iterator[Block]:
    """Yield the title and the summary."""
    inputs = manifest["inputs"]
    tables = {
        artefact.name: artefact
        for section in sections
        for artefact in section.artefacts
        if isinstance(artefact, Table) and artefact.name in SHOWN_FIRST
    }
    saved = inputs["saved_tables"] is not None
    yield Heading(f"The paper's experiments{' on saved tables' if saved else ', reproduced'}", 1)
    yield Text(f"The paper is {citation()}.")
    yield Heading("Summary")
    yield Bullets(tuple(_lines(manifest, sections, tables)))
    for name in SHOWN_FIRST:
        if name in tables:
            yield tables[name]
    yield from _claims(_said(sections))
    yield Text(
        "All scores are of test rows, which no fit and no choice of settings has seen; batch "
        "calibration alone reads their probabilities, as published. ± is the standard deviation "
        f"over seeds. “{METHOD_TITLES['paper']}” has chains of λNK moves at each temperature, as "
        "appendix C says, with λ = 3; temperatures are scaled to the number of rows, and the last "
        "is a tenth of the paper's 200, as chains that stop there end above the best value. "
        f"“{METHOD_TITLES['authors']}” has the few moves of the authors' later code. "
        f"“{METHOD_TITLES['optimum']}” is the best value found of the published objective. "
        f"“{METHOD_TITLES['ours']}” is what `dnip fit` does by default. Both annealings choose β, "
        "τ, K and μ on dev in table 2, the confusion matrices, the overview and beside prior "
        "methods; elsewhere they have β = 2.7, τ = 0.2, K = 30 and μ = 4000."
    )
    yield Text(
        "Words: COBias is the mean difference between the accuracies of two classes. Opt rows are "
        "those that a fit learns from. The raw argmax is the most probable class. The objective is "
        "z1 + β·z2 − τ·z3: error, COBias, and the mean pointwise mutual information, which μ "
        "smooths. A weight is one of K points. N is the number of classes. The odd class of a "
        "class is the wrong one that most of its examples are taken for. β = 2.7 is the paper's."
    )
    yield Text(_comparable(inputs))
    if manifest["runs"]:
        yield Code(shlex.join(["dnip", *manifest["runs"][-1]["command"][1:]]))
    if manifest.get("missing"):
        yield Text("Left out, for want of data:")
        yield reasons(manifest["missing"])


def _lines(
    manifest: dict[str, Any], sections: Sequence[Section], tables: Mapping[str, Table]
) -> Iterator[str]:
    yield f"**What was run:** {markdown(_what(manifest['inputs']))}"
    for name, words in manifest.get("models", {}).items():
        what = "model" if manifest["inputs"]["saved_tables"] is None else "table"
        yield f"**The {what} {markdown(name)}:** {markdown(words)}"
    if TASKS in tables:
        rows = [row for row in tables[TASKS].rows if not isinstance(row, str)]
        chance = list(dict.fromkeys(str(row[1]) for row in rows if row[-1] == "no"))
        yield (
            f"**At chance:** {markdown(', '.join(chance))}. These tasks are shown apart; the "
            "averages are over the others."
            if chance
            else "**At chance:** no task. The averages are over all tasks."
        )
    paper, ours = ([one for one in _said(sections) if one.ours == by] for by in (False, True))
    if paper:
        yield f"**The paper's claims:** {_counts(paper)}; they are listed below."
    if ours:
        yield f"**This project's own claims:** {_counts(ours)}."


def _said(sections: Sequence[Section]) -> list[Statement]:
    return [one for s in sections for one in s.artefacts if isinstance(one, Statement)]


def _counts(statements: Sequence[Statement]) -> str:
    counts = [
        f"{sum(one.confirmed is verdict for one in statements)} {word}"
        for verdict, word in VERDICTS.items()
    ]
    return f"of {len(statements)}, {', '.join(counts)}"


def _claims(statements: Sequence[Statement]) -> Iterator[Block]:
    """Yield the paper's claims by verdict."""
    for verdict, words in (
        (True, "Agrees with the paper"),
        (False, "Does not agree with the paper"),
        (None, "These runs cannot tell"),
    ):
        claims = [one.claim for one in statements if one.confirmed is verdict and not one.ours]
        if claims:
            yield Text(f"**{words}:**")
            yield Bullets(tuple(markdown(claim) for claim in claims))


def _what(inputs: dict[str, Any]) -> str:
    plan = inputs["plan"]
    if inputs["saved_tables"] is not None:
        return (
            f"saved probability tables ({inputs['saved_tables']}); no model was prompted. "
            f"{plan['dev_share']:.0%} of the opt rows are the dev split. The ablation, "
            "COBias_single, prior methods and smaller opt sets have a fit for each of the seeds "
            f"{', '.join(map(str, plan['seeds']))}; the others have one."
        )
    why = ", as the model was trained on the other" if plan["opt_split"] == "test" else ""
    shots = dict.fromkeys(shots_title(s) for model in plan["models"] for s in model["shots"])
    return (
        f"{', '.join(model['name'] for model in plan['models'])}, by the plan {plan['name']}: "
        f"{len(plan['tasks'])} tasks ({', '.join(plan['tasks'])}), {', '.join(shots)}, seeds "
        f"{', '.join(map(str, plan['seeds']))}. The opt pool is of the {plan['opt_split']} split"
        f"{why}; {plan['dev_share']:.0%} of it is the dev split."
    )


def _comparable(inputs: dict[str, Any]) -> str:
    """Say how far the numbers can be compared with the paper's."""
    names = {model["name"] for model in inputs["plan"]["models"]}
    if inputs["saved_tables"] is not None:
        names = {inputs["saved_tables"]}
    theirs = list(dict.fromkeys(row["model"] for row in published("main").numbers["rows"]))
    if names <= set(theirs):
        return (
            "The paper has models of the same name; weights, prompts and scores of labels may "
            "differ in what it leaves open."
        )
    return (
        f"The paper's models are {', '.join(theirs)}. **The models differ, so the two sides' "
        "numbers do not have to agree**: what can be compared is the direction and the order of "
        "effects."
    )


def verdicts(statements: Sequence[tuple[Section, Statement]]) -> Iterator[Block]:
    """Yield every statement with its verdict: the paper's, then this project's own."""
    for ours, heading, title in (
        (False, "What the paper says, and what these runs say", "Claims of the paper"),
        (True, "What this project says of its own default", "Claims of this project"),
    ):
        some = [(section, one) for section, one in statements if one.ours == ours]
        if not some:
            continue
        yield Heading(heading)
        how = (
            ""
            if ours
            else " A claim about DNIP is judged on the paper's annealing, on means over tasks: "
            "those of table 2 over the tasks that are not at chance, the others over all; tables "
            "of the same texts count as one task. Of two variants one is lower where the mean "
            "difference exceeds its standard error, which is a low bar: chance alone passes it in "
            "one of five or six cases. A classifier that always answers with one class is no "
            "improvement: its cells are left out, and counted."
        )
        yield Text(f"{_counts([one for _, one in some]).capitalize()}.{how}")
        titles = ["Experiment", "Claim", *([] if ours else ["Its figures"]), "Measured", "Verdict"]
        rows = [
            (
                section.name,
                one.claim,
                *([] if ours else [one.paper]),
                one.measured,
                VERDICTS[one.confirmed],
            )
            for section, one in some
        ]
        name = "statements-ours" if ours else "statements"
        yield Table(name, title, [Column(t) for t in titles], rows)


def reasons(found: Mapping[str, str]) -> Bullets:
    """Return what failed or is missing, and why, as a list."""
    return Bullets(tuple(markdown(f"{name}: {why}") for name, why in found.items()))
