"""``dnip audit``: the tokens that stand for each class, before compute is spent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dnip.cli.commands.prompt import ScoringOption, Shots, TaskName, check_scoring, parse_shots
from dnip.cli.console import complain, print_json, say
from dnip.cli.model_options import (
    BatchTokens,
    ChainOfThought,
    Chat,
    Concurrency,
    Device,
    EndpointOption,
    ExtraBody,
    KeyVariable,
    MaxNewTokens,
    MaxTokens,
    ModelName,
    Precision,
    Retries,
    Revision,
    SamplingSeed,
    ServedModel,
    Temperature,
    Timeout,
    TokenizerName,
    TopLogprobs,
    Votes,
)
from dnip.cli.options import AsJson
from dnip.prompting.models import ModelOptions, open_model


def audit(
    task: TaskName,
    model: ModelName,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Data, as for dnip prompt.", show_default=False),
    ] = None,
    shots: Shots = "1",
    seed: Annotated[int, typer.Option(help="Seed of the demonstrations.")] = 0,
    prompts: Annotated[int, typer.Option(help="Prompts to measure captured mass on.")] = 8,
    json: AsJson = False,
    scoring: ScoringOption = None,
    dtype: Precision = None,
    device: Device = None,
    chat: Chat = False,
    revision: Revision = None,
    batch_tokens: BatchTokens = None,
    served_model: ServedModel = None,
    endpoint: EndpointOption = None,
    top_logprobs: TopLogprobs = None,
    tokenizer: TokenizerName = None,
    key_variable: KeyVariable = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    retries: Retries = None,
    extra_body: ExtraBody = None,
    chain_of_thought: ChainOfThought = False,
    max_new_tokens: MaxNewTokens = None,
    votes: Votes = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    sampling_seed: SamplingSeed = None,
) -> None:
    """Check the label tokens of a task before spending compute.

    Shows the tokens that stand for each class of TASK in a model's vocabulary, and refuses labels
    that cannot be told apart. With --data the mass that the model puts on the labels is measured
    on a few prompts; without, a prompt with "N/A" in every field is looked at. Of a server the
    tokens are shown with --tokenizer; its mass is measured by asking it.
    """
    from dnip.base.errors import InvalidInputError
    from dnip.prompting.audit import audit as audit_task
    from dnip.prompting.plan import make_plan
    from dnip.prompting.prompt import PromptBuilder
    from dnip.prompting.task import load_task

    options = ModelOptions(
        model,
        dtype=dtype,
        device=device,
        chat=chat,
        revision=revision,
        batch_tokens=batch_tokens,
        served_model=served_model,
        endpoint=endpoint,
        top_logprobs=top_logprobs,
        tokenizer=tokenizer,
        key_variable=key_variable,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        extra_body=extra_body,
        chain_of_thought=chain_of_thought,
        max_new_tokens=max_new_tokens,
        votes=votes,
        temperature=temperature,
        max_tokens=max_tokens,
        sampling_seed=sampling_seed,
    )
    how = check_scoring(options, scoring)
    chosen = load_task(task)
    if data is None:
        builder = PromptBuilder(chosen, chain_of_thought=chain_of_thought)
        looked_at = [builder.prompt(dict.fromkeys(chosen.fields, "N/A"))]
    else:
        plan = make_plan(
            chosen,
            data,
            shots=parse_shots(shots),
            seed=seed,
            limit=prompts,
            chain_of_thought=chain_of_thought,
        )
        builder, looked_at = plan.builder, plan.prompts
    opened = open_model(options, chosen, looked_at, stop=builder.stop)
    result = audit_task(
        chosen, looked_at, opened.tokenizer, how, engine=opened.engine, chat=opened.chat
    )
    if json:
        print_json({**asdict(result), "passed": result.passed})
    else:
        for one in result.classes:
            tokens = " ".join(repr(text) for text in one.texts)
            mass = "" if one.mass is None else f"  mass {one.mass:.4f}"
            say(f"{one.name:<24} {one.word:<16} {tokens}{mass}")
        if result.mass is not None:
            say(
                f"\ncaptured mass {result.mass:.3f} on average over {result.n_measured} prompts, "
                f"{result.lowest_mass:.3g} at least"
            )
            if result.fallbacks is not None:
                say(f"answers without a label: {result.fallbacks} of {result.n_measured}")
    for note in result.notes:
        complain("note", note)
    if not result.passed:
        raise InvalidInputError("; ".join(result.problems))
