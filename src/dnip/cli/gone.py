"""What the command line no longer has, and what to type instead.

To take something out, add a line to `GONE`: the command, what was typed after it (nothing where the
whole command went), and what to type instead. Whoever types it reads that line, with status 2.

- ``("fit", "--tau")``: an option; ``("fit", "--preset authors")``: one value of an option.
- ``("pareto", "")``: a command.
- ``("show", "FILE FILE")``: more files than the command takes.
"""

from __future__ import annotations

import click

_IN_PYTHON = "in Python, dnip.fit(…, objective=dnip.Objective({}=…))"
_PROMPT = "in Python, dnip.prompt(…, {}=…)"
_KEPT = "in Python, dnip.fit(…, constraints=dnip.Constraints({}=…))"
_SOLVER = "in Python, dnip.fit(…, solver=dnip.solvers.{})"

#: By command and what was typed after it.
GONE: dict[tuple[str, str], str] = {
    ("fit", "--terms"): "--beta 0 leaves COBias out; " + _IN_PYTHON.format("terms"),
    ("fit", "--tau"): "--preset paper has τ = 0.2; " + _IN_PYTHON.format("tau"),
    ("fit", "--smoothing"): "--preset paper has μ; " + _IN_PYTHON.format("smoothing"),
    ("fit", "--cobias"): _IN_PYTHON.format("gap"),
    ("fit", "--gap"): "--time-limit SECONDS; " + _SOLVER.format("Exact(gap=…)"),
    ("fit", "--effort"): _SOLVER.format("Coordinate(effort=…)"),
    ("fit", "--trace"): "in Python, dnip.fit(…).solution.trace",
    ("fit", "--defer-below"): "--defer SHARE, the share of rows to leave to somebody else",
    ("fit", "--preset authors"): "--preset paper",
    ("fit", "--solver exhaustive"): "--solver exact",
    ("pareto", ""): "dnip fit TABLE --path, then dnip fit TABLE --beta BETA",
    ("report", "--test"): "dnip fit TABLE, then dnip report TEST --coefficients coefficients.json",
    ("report", "--seed"): "dnip fit TABLE --seed N, then --coefficients coefficients.json",
    ("fit", "--only-if-better"): "dnip fit writes weights of 1 where nothing is expected to gain",
    ("show", "FILE FILE"): "dnip show A, then dnip show B",
    ("audit", ""): "dnip prompt TEXTS --check, with the options of the run to come",
    ("prompt", "--data"): "dnip prompt TEXTS --task TASK, where TEXTS is a table such as "
    "DIR/test.jsonl, and --demonstrations DIR/train.jsonl --shots N",
    ("prompt", "--split"): "dnip prompt DIR/SPLIT.jsonl, hf:NAME/SPLIT or content-free",
    ("compare", "--tau"): "--methods dnip-paper has τ = 0.2",
    ("compare", "--smoothing"): "--methods dnip-paper has μ",
    ("compare", "--scale"): "in Python, dnip.compare(…, scale=…)",
    ("compare", "--confidence"): "in Python, dnip.compare(…, confidence=…)",
    ("evaluate", "--confidence"): "in Python, dnip.evaluate(…).to_dict(confidence)",
    ("fit", "--confidence"): "in Python, dnip.fit(…).evidence.to_dict(confidence)",
    ("report", "--confidence"): "in Python, dnip.report(…, confidence=…)",
    ("fit", "--freeze"): _KEPT.format("freeze"),
    ("fit", "--allow-silence"): _KEPT.format("allow_silence"),
    ("fit", "--helper-accuracy"): "in Python, dnip.fit(…, defer=…, helper_accuracy=…)",
    ("prompt", "--api"): "--endpoint systemone or --endpoint decisions",
    ("prompt", "--chat"): "--endpoint chat",
    ("prompt", "--device"): _PROMPT.format("device"),
    ("prompt", "--revision"): _PROMPT.format("revision"),
    ("prompt", "--batch-tokens"): _PROMPT.format("batch_tokens"),
    ("prompt", "--fill"): _PROMPT.format("fill"),
    ("import", "--fill"): "in Python, dnip.llm.sources.read_answers(…, fill=…)",
    ("prompt", "--key-variable"): "OPENAI_API_KEY=$KEY dnip prompt …",
    ("prompt", "--retries"): "the same command again; " + _PROMPT.format("retries"),
    ("prompt", "--gpus-per-worker"): "--workers N; they share the GPUs there are",
    ("serve", "--record-size"): "nothing; the folder holds 1 GB at most, and the oldest rows go",
}


def check_gone(command: str, words: list[str]) -> None:
    """Refuse what went.

    Raises
    ------
    click.UsageError
        Naming what to type instead.

    Examples
    --------
    >>> check_gone("fit", ["opt.csv", "--preset=authors"])
    Traceback (most recent call last):
    click.exceptions.UsageError: `dnip fit --preset authors` is gone. Instead: --preset paper
    """
    flags = [word.replace("=", " ", 1) if word.startswith("--") else word for word in words]
    typed = f" {' '.join(flags)} "
    for (name, gone), instead in GONE.items():
        if name == command and (not gone or f" {gone} " in typed):
            line = f"dnip {name} {gone}".rstrip()
            raise click.UsageError(f"`{line}` is gone. Instead: {instead}")
