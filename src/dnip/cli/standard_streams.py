"""``-`` for standard input and standard output, wherever a command reads or writes a file.

Standard input is copied to a temporary file, which can be read twice and as any format. Output is
written to a temporary file, too, and copied to standard output when it is complete.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from typer.models import ArgumentInfo

from dnip.base.errors import InvalidInputError
from dnip.base.stream_names import name_path
from dnip.cli.console import Results, copy_to_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from inspect import Parameter

    from typer.models import OptionInfo

#: Options that name a file to write, and the suffix of what goes to standard output.
OUTPUTS = {"out": ".csv", "trace": ".csv", "picture": ".png"}

#: How files begin that are no CSV.
_STARTS = {b"PAR1": ".parquet", b"PK": ".npz", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}


@contextmanager
def standard_streams(options: Sequence[Parameter], given: dict[str, Any]) -> Iterator[None]:
    """Put temporary files in place of ``-`` in the values of a command's options.

    Raises
    ------
    InvalidInputError
        If a stream is asked for twice, or for what is no single file.
    """
    dashes = [one for one in options if _is_dash(given[one.name])]
    if not dashes:
        yield
        return
    read = [one for one in dashes if one.name not in OUTPUTS]
    written = [one.name for one in dashes if one.name in OUTPUTS]
    _check(dashes, given)
    with TemporaryDirectory(prefix="dnip-") as folder:
        for one in read:
            path = _copy_of_stdin(Path(folder))
            name_path(str(path), "standard input")
            given[one.name] = [path] if isinstance(given[one.name], list) else path
        for name in written:
            given[name] = Path(folder, f"output{OUTPUTS[name]}")
            name_path(str(given[name]), "standard output")
        outputs = [given[name] for name in written]
        Results.on_stderr = bool(outputs)
        try:
            yield
        finally:
            Results.on_stderr = False
        for path in outputs:
            copy_to_stdout(path)


def _is_dash(value: object) -> bool:
    return Path("-") in (value if isinstance(value, list) else [value])


def _check(dashes: Sequence[Parameter], given: dict[str, Any]) -> None:
    """Refuse a stream that several options share, or that is to be a folder or several files."""
    read: list[str] = []
    written: list[str] = []
    for one in dashes:
        shown: OptionInfo | ArgumentInfo = one.annotation.__metadata__[0]
        name = str(shown.metavar) if isinstance(shown, ArgumentInfo) else f"--{one.name}"
        (written if one.name in OUTPUTS else read).append(name)
        value = given[one.name]
        if shown.metavar == "DIR" or (isinstance(value, list) and len(value) > 1):
            raise InvalidInputError(
                f"{name}: - is one file, but a folder or several files are asked for",
                hint="Give paths",
            )
    for names, stream in ((read, "input"), (written, "output")):
        if len(names) > 1:
            raise InvalidInputError(
                f"{' and '.join(names)} cannot both be standard {stream}",
                hint="Give a file for one of them",
            )
    if written and given["json"]:
        raise InvalidInputError(
            f"--json and {written[0]} - would both write to standard output",
            hint=f"Leave --json out, or give {written[0]} a file",
        )


def _copy_of_stdin(folder: Path) -> Path:
    if sys.stdin is None:
        raise InvalidInputError("standard input is closed", hint="Give a file")
    path = folder / "input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with path.open("rb") as file:
        start = file.read(4).lstrip()
    suffix = next((_STARTS[one] for one in _STARTS if start.startswith(one)), ".csv")
    return path.rename(folder / f"input{suffix}")
