"""``dnip audit``: the tokens that stand for each class, before compute is spent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dnip.cli.console import complain, print_json
from dnip.cli.options import AsJson
from dnip.cli.prompt import Precision, ScoringName, Shots, TaskName, load_model, parse_shots


def audit(
    task: TaskName,
    model: Annotated[
        str,
        typer.Option(help="A local folder or hub name for transformers.", show_default=False),
    ],
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Data, as for dnip prompt.", show_default=False),
    ] = None,
    shots: Shots = "1",
    seed: Annotated[int, typer.Option(help="Seed of the demonstrations.")] = 0,
    scoring: Annotated[
        ScoringName, typer.Option(help="How label words of several tokens are read.")
    ] = ScoringName.FIRST,
    prompts: Annotated[int, typer.Option(help="Prompts to measure captured mass on.")] = 8,
    dtype: Precision = "float32",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    json: AsJson = False,
) -> None:
    """Check the label tokens of a task before spending compute.

    Shows the tokens that stand for each class of TASK in a model's vocabulary, and refuses labels
    that cannot be told apart. With --data the mass that the model puts on the labels is measured
    on a few prompts; without, prompts with "N/A" in every field are looked at.
    """
    from dnip.errors import InvalidInputError
    from dnip.prompting.audit import audit as audit_task
    from dnip.prompting.engines.base import Scoring
    from dnip.prompting.plan import make_plan
    from dnip.prompting.prompt import PromptBuilder
    from dnip.prompting.task import load_task

    chosen = load_task(task)
    if data is None:
        builder = PromptBuilder(chosen)
        looked_at = [builder.prompt(dict.fromkeys(chosen.fields, "N/A"))]
    else:
        plan = make_plan(chosen, data, shots=parse_shots(shots), seed=seed, limit=prompts)
        looked_at = plan.prompts
    engine = load_model(model, dtype=dtype, device=device)
    result = audit_task(chosen, looked_at, engine.tokenizer, Scoring(scoring.value), engine=engine)
    if json:
        print_json({**asdict(result), "passed": result.passed})
    else:
        for one in result.classes:
            tokens = " ".join(repr(text) for text in one.texts)
            mass = "" if one.mass is None else f"  mass {one.mass:.4f}"
            typer.echo(f"{one.name:<24} {one.word:<16} {tokens}{mass}")
        if result.mass is not None:
            typer.echo(
                f"\ncaptured mass {result.mass:.3f} on average over {result.n_measured} prompts, "
                f"{result.lowest_mass:.3g} at least"
            )
    for note in result.notes:
        complain("note", note)
    if not result.passed:
        raise InvalidInputError("; ".join(result.problems))
