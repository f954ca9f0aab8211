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
    json: options.AsJson = False,
) -> None:
    """Check the label tokens of a task before spending compute.

    Shows which tokens of the model stand for each class, and refuses labels that cannot be told
    apart. With --data it also measures the captured mass, the probability of all labels together,
    on a few prompts; without, on one prompt with "N/A" in every field. The tokens of a server's
    model are shown with --tokenizer only; its mass is measured by asking the server.

    Examples
    --------
    dnip audit agnews --model model.gguf
    dnip audit task.toml --model FOLDER --data news
    """
    from dnip.base.errors import InvalidInputError
    from dnip.presenting.prompting import describe_audit
    from dnip.prompting.audit import audit as audit_task
    from dnip.prompting.plan import make_plan, parse_shots
    from dnip.prompting.prompt import PromptBuilder
    from dnip.prompting.task_files import load_task

    model.check_templates()
    task = load_task(prompting.task)
    if data is None:
        builder = PromptBuilder(task, chain_of_thought=model.chain_of_thought)
        looked_at = [builder.prompt(dict.fromkeys(task.fields, "N/A"))]
    else:
        plan = make_plan(
            task,
            data,
            shots=parse_shots(prompting.shots),
            seed=prompting.seed,
            limit=prompts,
            chain_of_thought=model.chain_of_thought,
        )
        builder, looked_at = plan.builder, plan.prompts
    engine = open_model(model, stop=builder.stop)
    result = audit_task(task, looked_at, engine, engine.tokenizer, chat=engine.chat)
    finish({**asdict(result), "passed": result.passed}, describe_audit(result), json=json)
    for note in result.notes:
        complain("note", note)
    if not result.passed:
        raise InvalidInputError("; ".join(result.problems))
