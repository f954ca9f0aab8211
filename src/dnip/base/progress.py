"""A sign of life of long work: in a notebook or on a terminal, and nowhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from importlib import import_module
from threading import Event, Thread
from typing import Any

# Seconds of work before the first sign, and between two.
_AFTER, _EVERY = 2.0, 1.0


class SignsOfLife:
    """Whether they are given: not by commands, which show their progress themselves."""

    wanted = True


@contextmanager
def sign_of_life(title: str, *, wanted: bool = True) -> Iterator[None]:
    """Show after two seconds that some work goes on, until the block ends.

    Parameters
    ----------
    title : str
        What is done.
    wanted : bool, default=True
        Whether to show it at all.

    Examples
    --------
    >>> with sign_of_life("counting"):
    ...     sum(range(10))
    45
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = getattr(shell, "kernel", None) is not None
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not (wanted and SignsOfLife.wanted and (in_notebook or on_terminal)):
        yield
        return
    ended = Event()
    show = _show_in_notebook if in_notebook else _show_on_terminal
    thread = Thread(target=copy_context().run, args=(show, title, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_on_terminal(title: str, ended: Event) -> None:
    if ended.wait(_AFTER):
        return
    rich, console = import_module("rich.progress"), import_module("rich.console")
    text = rich.TextColumn("{task.description}")
    columns = rich.SpinnerColumn(), text, rich.TimeElapsedColumn()
    with rich.Progress(*columns, console=console.Console(stderr=True), transient=True) as progress:
        progress.add_task(title, total=None)
        ended.wait()


def _show_in_notebook(title: str, ended: Event) -> None:
    """Show a line by what every notebook has; widgets may be missing."""
    began = time.monotonic()
    if ended.wait(_AFTER):
        return

    def line() -> dict[str, Any]:
        return {"text/plain": f"{title} … {time.monotonic() - began:.0f} s"}

    display = import_module("IPython.display").display
    handle = display(line(), raw=True, display_id=True)
    while not ended.wait(_EVERY):
        handle.update(line(), raw=True)
    handle.update({"text/plain": ""}, raw=True)
