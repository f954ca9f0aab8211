"""``dnip audit``: the tokens that stand for each class, before compute is spent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from dnip.base.option import Option
from dnip.cli import options
from dnip.cli.console import complain, finish
from dnip.prompting.models import ModelOptions, open_model


def audit(
    prompting: options.PromptOptions,
    model: ModelOptions,
    data: Annotated[str | None, Option("Data, as for dnip prompt.", metavar="DIR")] = None,
    prompts: Annotated[int, Option("Prompts to measure captured mass on.")] = 8,
    orders: Annotated[
        int, Option("Ask again with the labels in this many other orders, and count the flips.")
    ] = 0,
    json: options.AsJson = False,
) -> None:
    """Check the label tokens of a task before spending compute.

    Shows which tokens of the model stand for each class, and refuses labels that cannot be told
    apart. With --data it also measures the captured mass, the probability of all labels together,
    on a few prompts; without, on three prompts that say nothing. The tokens of a server's
    model are shown with --tokenizer only; its mass is measured by asking the server. With --chat it
    compares the mass of plain prompts, of one message, and of demonstrations as turns.

    Examples
    --------
    dnip audit agnews --model model.gguf
    dnip audit task.toml --model FOLDER --data news
    """
    from dnip.base.errors import InvalidInputError
    from dnip.presenting.prompting import describe_audit
    from dnip.prompting.audit import audit as audit_task
    from dnip.prompting.plan import make_plan, parse_shots
    from dnip.prompting.task_files import load_task
    from dnip.tables.columns import CONTENT_FREE

    model.check_templates()
    task = load_task(prompting.task)
    alone = data is None or model.asks_question(task)
    plan = make_plan(
        task,
        data or "",
        split=CONTENT_FREE if data is None else "test",
        shots=0 if alone else parse_shots(prompting.shots),
        seed=prompting.seed,
        limit=prompts,
        chain_of_thought=model.chain_of_thought,
    )
    engine = open_model(model, stop=plan.builder.stop)
    result = audit_task(plan, engine, orders=orders)
    finish({**asdict(result), "passed": result.passed}, describe_audit(result), json=json)
    for note in result.notes:
        complain("note", note)
    if not result.passed:
        raise InvalidInputError("; ".join(result.problems))
