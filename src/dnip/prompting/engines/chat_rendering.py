"""Chat templates, which others have written, rendered within bounds of time and memory.

The sandbox of transformers lets a template run no code, but any loop and any text of any length. So
a process of its own renders them, and is ended where a template takes too much. Its memory is
limited where the system tells what a process holds, as Linux does; its time and text everywhere.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock, Timer
from typing import Any

# What one prompt may take: seconds, characters of text, and bytes beside the libraries.
_SECONDS = 10.0
_CHARACTERS = 10_000_000
_MEMORY = 512_000_000


class ChatRenderer:
    """A process that renders chat templates, started when it is first needed.

    Its search path for modules is the caller's.
    """

    def __init__(self) -> None:
        self._child: Popen[bytes] | None = None
        self._lock = Lock()
        atexit.register(self._end)

    def render(self, request: dict[str, Any]) -> str:
        """Return what ``render_jinja_template`` of transformers makes of one conversation.

        Parameters
        ----------
        request : dict
            Its arguments by name; plain JSON values.

        Raises
        ------
        TimeoutError
            If it takes too long.
        RuntimeError
            If the template fails, needs too much memory or writes too much.
        """
        with self._lock:
            child = self._running()
            begun = time.monotonic()
            timer = Timer(_SECONDS, child.kill)
            timer.start()
            try:
                answer = _ask(child, request)
            except BaseException:  # a late answer must not meet the next request
                self._end()
                raise
            finally:
                timer.cancel()
            if not answer:
                self._end()
                if time.monotonic() - begun >= _SECONDS:
                    raise TimeoutError(f"it takes more than {_SECONDS:g} seconds")
                raise RuntimeError("it ends the process that renders it")
        text, error = json.loads(answer)
        if error is not None:
            raise RuntimeError(error)
        return str(text)

    def _running(self) -> Popen[bytes]:
        if self._child is None:
            path = os.pathsep.join(filter(None, sys.path))
            self._child = Popen(
                [sys.executable, "-P", "-m", __name__],
                env={**os.environ, "PYTHONPATH": path},
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
            )
            # the time of a prompt does not begin before the libraries are loaded
            _ask(self._child, None)
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


@cache
def chat_renderer() -> ChatRenderer:
    """Return the renderer that this process has."""
    return ChatRenderer()


def _ask(child: Popen[bytes], request: dict[str, Any] | None) -> bytes:
    """Return the child's answer, empty where it has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
    except OSError:
        return b""
    return child.stdout.readline()


def _serve() -> None:
    """Answer every line of standard input, a request, with a line: a text and an error."""
    from transformers.utils.chat_template_utils import render_jinja_template  # noqa: PLC0415

    _limit_memory()
    for line in sys.stdin:
        text = error = None
        try:
            request = json.loads(line)
            if request is not None:
                [text], _ = render_jinja_template(**request)
                if len(text) > _CHARACTERS:
                    text, error = None, f"it writes more than {_CHARACTERS:,} characters"
        except MemoryError:
            error = f"it needs more than {_MEMORY // 10**6} MB"
        except Exception as failure:
            error = f"{type(failure).__name__}: {str(failure)[:1000]}"
        print(json.dumps([text, error]), flush=True)  # noqa: T201


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):  # no such limit here, or a lower one already
        pass


if __name__ == "__main__":
    _serve()
