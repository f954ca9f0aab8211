"""Output: results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dnip.base.errors import OutputError
from dnip.base.escaping import printable
from dnip.base.stream_names import with_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dnip.method.solution import TraceEntry

#: Seconds between two lines of progress if standard error is not a terminal.
_QUIET_SECONDS = 10.0


def say(text: str, *, err: bool = False) -> None:
    """Write text to standard output or error; control characters in it are escaped."""
    text = printable(with_names(text))
    if err:
        typer.echo(text, err=True)
    else:
        _print(text)


class Verbosity:
    """Whether notes and progress are shown; warnings and errors always are."""

    quiet = False


class Results:
    """Where the text of a result goes: to standard error if a file goes to standard output."""

    on_stderr = False


def complain(kind: str, message: str) -> None:
    """Write one message to standard error: an error, a warning, a note or progress."""
    if Verbosity.quiet and kind in ("note", "progress"):
        return
    say(f"{kind}: {message}", err=True)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object on standard output, in ASCII, so that every encoding will do."""
    _print(with_names(json.dumps(content, allow_nan=False)))


def finish(
    content: dict[str, Any], text: str, *, json: bool, written: Iterable[Path] | None = None
) -> None:
    """Print the result of a command: one JSON object, or text and the files that were written."""
    paths = None if written is None else [str(path) for path in written]
    if json:
        print_json(content if paths is None else {**content, "written": paths})
        return
    say(text, err=Results.on_stderr)
    if paths is not None:
        say(f"\nwritten: {', '.join(paths)}", err=Results.on_stderr)
        if not any(path.endswith(".png") for path in paths):
            complain("note", "the picture needs matplotlib: pip install 'dnip[plot]'")


def copy_to_stdout(path: str) -> None:
    """Write a file to standard output, byte by byte."""
    with Path(path).open("rb") as file, _output_errors():
        sys.stdout.flush()
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _print(text: str) -> None:
    with _output_errors():
        typer.echo(text)


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader has ended: no failure
        raise
    except OSError as error:
        raise OutputError(
            f"standard output cannot be written: {error.strerror or error}",
            hint="Free some space, or send it elsewhere",
        ) from error


def time_left(done: int, total: int, seconds: float) -> str:
    """Return how long the rest of some work may take, as text; empty if that is not known.

    Examples
    --------
    >>> time_left(10, 40, 60.0), time_left(0, 40, 60.0)
    (', about 3 min left', '')
    """
    if not 0 < done < total:
        return ""
    left = seconds * (total - done) / done
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"


@contextmanager
def live_progress(title: str) -> Iterator[Callable[[str], None]]:
    """Show one line of progress on standard error; the block calls the function it is given.

    On a terminal the line is updated in place and vanishes at the end. Elsewhere a line is
    written every ten seconds, so that a log shows that the work goes on.
    """
    if Verbosity.quiet:
        yield lambda _text: None
        return
    if sys.stderr is not None and sys.stderr.isatty():  # None where the shell has closed it
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status(title) as status:
            yield lambda text: status.update(escape(printable(f"{title} {text}")))
        return
    last = time.monotonic()

    def report(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _QUIET_SECONDS:
            last = time.monotonic()
            complain("progress", f"{title} {text}")

    yield report


@contextmanager
def search_progress() -> Iterator[Callable[[TraceEntry], None]]:
    """Show the best objective, the evaluations and the time of a running search."""
    with live_progress("searching") as show:

        def show_entry(entry: TraceEntry) -> None:
            best = f"best {entry.incumbent:.6f}"
            if entry.incumbent == math.inf:
                best = "no weights yet that keep the constraints"
            text = f"{best} after {entry.evaluations:,} evaluations"
            if "lower_bound" in entry.statistics:
                text += f", at least {entry.statistics['lower_bound']:.6f}"
            show(f"{text}, {entry.seconds:.1f} s")

        yield show_entry
