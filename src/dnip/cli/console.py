"""Output: results go to standard output, everything else to standard error."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from json import dumps
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from dnip.base.errors import OutputError, counted, install_line
from dnip.base.escaping import printable

if TYPE_CHECKING:
    from pathlib import Path

    from dnip.method.solution import TraceEntry

# Seconds between two lines of progress in a log.
_LOG_SECONDS = 30.0


def say(text: str) -> None:
    """Write text to standard output; control characters in it are escaped.

    Raises
    ------
    OutputError
        If standard output cannot be written.
    """
    try:
        click.echo(printable(text))
    except BrokenPipeError:  # the reader has ended: no failure
        raise
    except OSError as error:
        raise OutputError(
            f"standard output cannot be written: {error.strerror or error}",
            hint="Free some space, or send it elsewhere",
        ) from error


class Verbosity:
    """Whether notes and progress are shown; warnings and errors always are."""

    quiet = False
    #: What takes messages, with their kind, instead of standard error.
    log: Callable[[str, str], None] | None = None


def complain(kind: str, message: str) -> None:
    """Write one message to standard error: an error, a warning, a note or progress."""
    if Verbosity.log is not None:
        Verbosity.log(kind, message)
    elif not (Verbosity.quiet and kind in ("note", "progress")):
        click.echo(printable(f"{kind}: {message}"), err=True)


def finish(
    content: dict[str, Any],
    text: str,
    *,
    json: bool,
    written: Iterable[Path] | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Print the result of a command: one JSON object, or text and the files that were written.

    JSON is in ASCII, so that every encoding will do. Notes go to standard error before it.
    """
    for note in notes:
        complain("note", note)
    paths = None if written is None else [str(path) for path in written]
    if json:
        say(dumps(content if paths is None else {**content, "written": paths}, allow_nan=False))
        return
    say(text)
    if paths is not None:
        from dnip.presenting.formats import wrapped

        say(f"\n{wrapped('written: ' + ', '.join(paths))}")
        if not any(path.endswith(".png") for path in paths):
            complain("note", f"the picture needs matplotlib: {install_line('plot')}")


#: Shows how far some work is: a text, and how many steps are done and how many there are.
Show: TypeAlias = Callable[..., None]


@contextmanager
def live_progress(title: str) -> Iterator[Show]:
    """Show one line of progress on a terminal, updated in place; it vanishes at the end.

    Where standard error is not a terminal, a line is written every half minute, so that a log shows
    that the work goes on.
    """
    if Verbosity.quiet or sys.stderr is None:  # None: closed
        yield lambda text, done=0, total=0: None
        return
    if not sys.stderr.isatty():
        last = time.monotonic()

        def write(text: str, done: float = 0, total: float = 0) -> None:
            nonlocal last
            if time.monotonic() - last >= _LOG_SECONDS:
                last = time.monotonic()
                complain("progress", f"{title} {text}")

        yield write
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), TimeRemainingColumn(compact=True)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def show(text: str, done: float = 0, total: float = 0) -> None:
            line = f"{title} {printable(text)}"
            bar.update(task, description=line, completed=done, total=total or None)

        yield show


@contextmanager
def search_progress(time_limit: float | None) -> Iterator[Callable[[TraceEntry], None]]:
    """Show the best objective, the evaluations and the time of a running search.

    A search may count other rows than the result, such as a sample, or rows without a label.
    """
    with live_progress("searching") as show:

        def show_entry(entry: TraceEntry) -> None:
            text = f"for weights: {counted(entry.evaluations, 'choice')} tried, "
            if entry.incumbent == math.inf:
                text += "none keeps the constraints yet"
            else:
                text += f"the lowest objective is {entry.incumbent:.4f}"
            if "lower_bound" in entry.statistics:
                text += f", none lies below {entry.statistics['lower_bound']:.4f}"
            text += f", {entry.seconds:.1f} s"
            show(text if time_limit is None else f"{text} of {time_limit:g} s at most")

        yield show_entry
