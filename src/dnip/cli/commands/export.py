"""``dnip export``: coefficients in the formats of other systems."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import click

from dnip.cli.console import complain, finish
from dnip.cli.options import model_files
from dnip.llm.prompting.label_bias import FORMATS as TOKEN_FORMATS
from dnip.using.exports import FORMATS as PLAIN_FORMATS, Export
from dnip.using.sql import DIALECTS, Sql

FORMATS: dict[str, type[Export]] = {**TOKEN_FORMATS, **PLAIN_FORMATS, "sql": Sql}

#: The options of all formats. Those that share an option declare it alike.
FormatOptions = make_dataclass(
    "FormatOptions",
    {
        field.name: (field.name, get_type_hints(kind)[field.name], field)
        for kind in FORMATS.values()
        for field in fields(kind)
    }.values(),
    frozen=True,
)
FormatOptions.__doc__ = "\n\n".join(
    cleandoc(base.__doc__ or "") for kind in FORMATS.values() for base in kind.__mro__
)


def _format_name(name: str) -> str:
    """Return the name of a format, or of a dialect of SQL.

    Raises
    ------
    click.BadParameter
        For another text.
    """
    if name not in (names := [*FORMATS, *DIALECTS]):
        raise click.BadParameter(f"{name!r} is not one of {', '.join(names)}")
    return name


def export(
    coefficients: Path,
    /,
    to: Annotated[str, _format_name],
    settings: FormatOptions,  # type: ignore[valid-type]
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Export coefficients to the format of another system.

    logit-bias: a bias on the label tokens, for requests to OpenAI, vLLM and llama.cpp.
    transformers: the same for generate. onnx: a model that multiplies and takes the largest.
    sql: a query over a table of probabilities. json-bias: a temperature and a bias per class.
    python, javascript: a file without dependencies. Each says when its decisions equal those of
    dnip apply.

    Parameters
    ----------
    to : FORMAT
        logit-bias, transformers, json-bias, onnx, python, javascript or sql; or a dialect of sql:
        postgresql, sqlite, duckdb, spark, bigquery or snowflake.
    out : FILE
        Where to write. [default: standard output]

    Examples
    --------
    dnip export coefficients.json --to python --out decide.py
    dnip export coefficients.json --to postgresql --table-name scores
    """
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import atomic_path, check_files
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.formats import wrapped

    chosen = _chosen(to, settings)
    tokenizer = model_files(vars(settings)["tokenizer"])
    check_files({"coefficients": coefficients, "tokenizer": tokenizer}, {"out": out})
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


def _chosen(to: str, settings: Any) -> Export:  # noqa: ANN401
    """Return the format with its options; refuse an option that it does not have."""
    kind, fixed = (Sql, {"dialect": to}) if to in DIALECTS else (FORMATS[to], {})
    names = {field.name for field in fields(kind)} - fixed.keys()
    for field in fields(settings):
        if field.name not in names and getattr(settings, field.name) != field.default:
            users = [name for name, kind in FORMATS.items() if hasattr(kind, field.name)]
            flag = f"--{field.name.replace('_', '-')}"
            raise click.BadParameter(f"{flag} is for {' and '.join(users)}, not for {to}")
    return kind(**fixed, **{name: getattr(settings, name) for name in names})
