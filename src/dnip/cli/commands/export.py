"""``dnip export``: coefficients in the formats of other systems."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import click

from dnip.cli import options
from dnip.cli.console import complain, finish
from dnip.llm.prompting.label_bias import FORMATS as TOKEN_FORMATS
from dnip.using.exports import FORMATS as PLAIN_FORMATS, Export
from dnip.using.sql import DIALECTS, DialectName, Sql

FORMATS: dict[str, type[Export]] = {**TOKEN_FORMATS, **PLAIN_FORMATS, "sql": Sql}

_TOKENS = "Label tokens, for logit-bias and transformers"


@options.command(
    "export",
    """
    Export coefficients to the format of another system.

    logit-bias: a bias on the label tokens, for requests to OpenAI, vLLM and llama.cpp.
    transformers: the same for generate. onnx: a model that multiplies and takes the largest.
    sql: a query over a table of probabilities. json-bias: a temperature and a bias per class.
    python, javascript: a file without dependencies. Each says when its decisions equal those of
    dnip apply.
    """,
    examples=[
        "dnip export coefficients.json --to python --out decide.py",
        "dnip export coefficients.json --to postgresql --table-name scores",
    ],
)
@options.argument("coefficients", type=options.path, help="The file that `dnip fit` wrote.")
@options.option(
    "--to",
    type=click.Choice([*FORMATS, *DIALECTS]),
    required=True,
    metavar="FORMAT",
    help="logit-bias, transformers, json-bias, onnx, python, javascript or sql; or a dialect of "
    "sql: postgresql, sqlite, duckdb, spark, bigquery or snowflake.",
)
@options.option(
    "--out", type=options.path, metavar="FILE", help="Where to write. [default: standard output]"
)
@options.json
@options.option(
    "--tokenizer",
    metavar="MODEL",
    heading=_TOKENS,
    help="The model's tokenizer, a folder or a name on the hub.",
)
@options.option(
    "--labels",
    metavar="A,B,C",
    heading=_TOKENS,
    help="What the model says for each class, in order. [default: the class names]",
)
@options.option(
    "--answer-prefix",
    metavar="TEXT",
    heading=_TOKENS,
    help="What is between prompt and label, as in a task file. [default: a space, which tokenizers "
    "put into the label's token]",
)
@options.flag(
    "--chat", heading=_TOKENS, help="Labels begin the reply in the model's chat template."
)
@options.flag(
    "--only-labels",
    heading=_TOKENS,
    help="Add 100 to every bias, so that no other token can win. Without it a bias lowers labels, "
    "and the server must hold answers to them.",
)
@options.option(
    "--dialect",
    type=options.Words(get_args(DialectName)),
    heading="SQL",
    help="The database that runs the query. [default: duckdb]",
)
@options.option(
    "--table-name",
    metavar="NAME",
    heading="SQL",
    help="The table of probabilities; dots separate parts of its name. [default: probabilities]",
)
@options.option(
    "--columns",
    metavar="A,B,C",
    heading="SQL",
    help="Its probability columns, in the order of the classes. [default: the names of the "
    "classes, as `dnip` writes tables; p0,p1,… where they have none, or no fit is recorded]",
)
def export(coefficients: Path, to: str, out: Path | None, json: bool, **settings: Any) -> None:  # noqa: ANN401
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import atomic_path, check_files, check_suffix
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.formats import wrapped

    chosen = _chosen(to, settings)
    check_files({"coefficients": coefficients}, {"out": out})
    if out is not None:
        check_suffix(out, *chosen.suffixes)
    content = chosen.render(Coefficients.load(coefficients))
    result = {"to": to, "promise": chosen.promise, "out": None if out is None else str(out)}
    if out is not None:
        with atomic_path(out) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        finish(result, wrapped(f"written to {out}. {chosen.promise}."), json=json)
    elif isinstance(content, bytes):
        raise InvalidInputError(f"{to} is not a text that can be printed", hint="Give --out")
    else:
        finish({**result, "content": content}, content.rstrip("\n"), json=json)
        if not json:
            complain("note", f"{chosen.promise}.")


def _chosen(to: str, settings: dict[str, Any]) -> Export:
    """Return the format with the options that were given; refuse one that it does not have."""
    kind, fixed = (Sql, {"dialect": to}) if to in DIALECTS else (FORMATS[to], {})
    given = {name: value for name, value in settings.items() if value not in (None, False)}
    for name in given.keys() - ({field.name for field in fields(kind)} - fixed.keys()):
        users = [each for each, other in FORMATS.items() if hasattr(other, name)]
        flag = f"--{name.replace('_', '-')}"
        raise click.BadParameter(f"{flag} is for {' and '.join(users)}, not for {to}")
    return kind(**fixed, **given)
