"""``dnip audit``: the tokens that stand for each class, before compute is spent."""

from __future__ import annotations

from dataclasses import asdict

from dnip.cli import models, options
from dnip.cli.console import finish
from dnip.llm.prompting.models import ModelOptions, open_model


@options.command(
    "audit",
    """
    Check the label tokens of a task before spending compute.

    Shows which tokens of the model stand for each class (of a server's model with --tokenizer
    only), and refuses labels that cannot be distinguished. Measures the captured mass, the
    probability of all labels together: on a few prompts of --data, or on three prompts without
    content. With --chat it compares the mass of plain prompts, of one message, and of
    demonstrations as turns.
    """,
    examples=[
        "dnip audit agnews --model model.gguf",
        "dnip audit task.toml --model FOLDER --data news",
    ],
)
@models.task
@models.model_options
@models.shots
@options.option("--data", metavar="DIR", help="Data, as for dnip prompt.")
@options.option(
    "--prompts", type=int, metavar="N", default=8, help="Prompts to measure captured mass on."
)
@options.option(
    "--orders",
    type=int,
    metavar="N",
    default=0,
    help="Ask again with the labels in this many other orders, and count the answers that change.",
)
@options.json
@options.seed
def audit(
    task: str,
    model: ModelOptions,
    shots: str,
    seed: int,
    data: str | None,
    prompts: int,
    orders: int,
    json: bool,
) -> None:
    from dnip.base.errors import InvalidInputError
    from dnip.llm.presenting import describe_audit
    from dnip.llm.prompting.audit import audit as audit_task
    from dnip.llm.prompting.plan import make_plan, parse_shots
    from dnip.llm.prompting.task_files import load_task
    from dnip.tables.columns import CONTENT_FREE

    loaded = load_task(task)
    alone = data is None or model.asks_question(loaded)
    plan = make_plan(
        loaded,
        data or "",
        split=CONTENT_FREE if data is None else "test",
        shots=0 if alone else parse_shots(shots),
        seed=seed,
        limit=prompts,
        chain_of_thought=model.chain_of_thought,
    )
    engine = open_model(model, stop=plan.builder.stop)
    result = audit_task(plan, engine, orders=orders)
    content = {**asdict(result), "passed": result.passed}
    finish(content, describe_audit(result), json=json, notes=result.notes)
    if not result.passed:
        raise InvalidInputError("; ".join(result.problems))
