"""A sign of life on a terminal, and nowhere else; tests/test_notebook.py tries a notebook."""

import io
import sys
from threading import Event

import pytest

from dnip.base import progress


class Screen(io.StringIO):
    def __init__(self):
        super().__init__()
        self.written = Event()

    def write(self, text):
        self.written.set()
        return super().write(text)

    def isatty(self):
        return True


def test_long_work_shows_itself_on_a_terminal_and_the_line_is_gone_at_the_end(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    monkeypatch.setattr(progress.SignsOfLife, "wanted", True)  # also behind tests of commands
    with progress.sign_of_life("fitting"):
        assert screen.written.wait(300)
    assert "fitting" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # wipes the line


@pytest.mark.parametrize("kind", ["quick", "not wanted", "by a command", "no terminal", "closed"])
def test_nothing_is_shown_where_nobody_looks(monkeypatch, kind):
    screen = io.StringIO() if kind == "no terminal" else Screen()
    monkeypatch.setattr(sys, "stderr", None if kind == "closed" else screen)
    monkeypatch.setattr(progress, "_AFTER", 60.0 if kind == "quick" else 0.0)
    monkeypatch.setattr(progress.SignsOfLife, "wanted", kind != "by a command")
    with pytest.raises(ZeroDivisionError), progress.sign_of_life("x", wanted=kind != "not wanted"):
        raise ZeroDivisionError
    assert screen.getvalue() == ""
