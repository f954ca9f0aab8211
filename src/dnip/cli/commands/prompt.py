"""``dnip prompt``: class probabilities from a language model."""

from __future__ import annotations

from pathlib import Path

from dnip.cli import models, options
from dnip.cli.console import finish, live_progress
from dnip.llm.answers.fill import Fill
from dnip.llm.prompting.engines.base import Engine
from dnip.llm.prompting.models import ModelOptions, open_model


@options.command(
    "prompt",
    """
    Ask a language model for class probabilities.

    Writes one row per example of the split, with its captured mass: the probability of all labels
    together. Settings and versions are written to OUT.meta.json. A run that was killed continues
    with the same command. A server's key is read from the environment.
    """,
    examples=[
        "dnip prompt agnews --data news --model model.gguf --out test.csv",
        "dnip prompt task.toml --data news --model URL --served-model M --out opt.csv",
    ],
)
@models.task
@models.model_options
@options.option(
    "--data",
    required=True,
    metavar="DIR",
    help="Folder with train.jsonl and test.jsonl (or .csv, .parquet), which hold the task's fields "
    "and label; or its address, such as s3://BUCKET/FOLDER; or hf:NAME, a data set of the Hugging "
    "Face hub.",
)
@options.option(
    "--out",
    type=options.path,
    required=True,
    metavar="FILE",
    help="The probability table to write.",
)
@options.option(
    "--split",
    default="test",
    metavar="NAME",
    help="The rows to score: train, test or another file of DIR; or content-free, three texts "
    "without content by which `dnip compare` calibrates.",
)
@options.option(
    "--limit", type=int, metavar="N", help="Score this many random rows, the same for every seed."
)
@models.shots
@options.json
@options.seed
@options.flag(
    "--truncate",
    heading=models.HERE,
    help="Shorten the longest field of prompts that exceed the model's context.",
)
@options.option(
    "--fill",
    type=options.Words(Fill),
    heading=models.SERVER,
    help="The probability of a label that the server did not report: zero, ceiling (the most it "
    "can be) or half of that. [default: half]",
)
@options.cluster
@options.option(
    "--gpus-per-worker",
    type=float,
    metavar="NUMBER",
    heading="Cluster",
    help="GPUs of each process of the cluster; 0.5 if two share one. [default: 0]",
)
def prompt(
    task: str,
    data: str,
    model: ModelOptions,
    out: Path,
    shots: str,
    seed: int,
    split: str,
    limit: int | None,
    truncate: bool,
    fill: Fill | None,
    cluster: options.ClusterOptions,
    gpus_per_worker: float | None,
    json: bool,
) -> None:
    from functools import partial

    from dnip.base.files import check_files
    from dnip.llm.presenting import describe_run, notes_on_run
    from dnip.llm.prompting.data import split_files
    from dnip.llm.prompting.engines.base import ClusterEngine
    from dnip.llm.prompting.plan import make_plan, parse_shots
    from dnip.llm.prompting.run import check_table_path, files_of_run, run_plan
    from dnip.llm.prompting.task_files import load_task

    model.check(fill=fill, truncate=truncate)
    check_table_path(out)
    reads = {
        "task": options.named_file(task, ".toml"),
        "data": split_files(data, split),
        "model": options.model_files(model.model, model.tokenizer),
    }
    check_files(reads, files_of_run(out))
    loaded = load_task(task)
    alone = model.asks_question(loaded)
    plan = make_plan(
        loaded,
        data,
        split=split,
        shots=0 if alone else parse_shots(shots),
        seed=seed,
        limit=limit,
        chain_of_thought=model.chain_of_thought,
    )
    opening = partial(open_model, model, stop=plan.builder.stop)
    with cluster.connect(gpus_per_worker) as workers, live_progress("prompting") as show:
        engine: Engine
        engine = opening() if workers is None else ClusterEngine(workers, opening, model.scoring)
        if truncate:
            plan = plan.shortened(partial(engine.too_long, task=plan.task))
        summary = run_plan(
            plan,
            engine,
            out=out,
            fill=fill or Fill.HALF,
            progress=lambda done, total: show(f"{done:,} of {total:,} rows", done, total),
        )
    content = {**vars(summary), "out": str(out)}
    finish(content, describe_run(summary, out), json=json, notes=notes_on_run(summary))
