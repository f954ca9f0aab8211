"""The command line: one small file per command; they parse, call and report, no maths.

`main` runs a command, and turns whatever happens into an exit status and a message.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from io import TextIOWrapper

from dnip.base.errors import DNIPError, DNIPWarning

#: Exit status after Ctrl-C and after SIGTERM: 128 plus the number of the signal.
INTERRUPTED, TERMINATED = 130, 143
_STOPPED = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}

#: Set to see the traceback of an unexpected error.
TRACEBACK = "DNIP_TRACEBACK"

_LEFT = "every output file is complete or unchanged"


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit.

    Exit status 0: done. 1: refused or failed, with a message. 2: wrong usage. 3: a check that does
    not hold. 130: interrupted. 143: terminated.
    """
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    if isinstance(sys.stdout, TextIOWrapper):  # on Windows, files may be of few letters
        sys.stdout.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    warnings.simplefilter("always", DNIPWarning)
    try:
        from dnip.cli.app import commands  # slow enough to be interrupted

        commands(prog_name="dnip")
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (DNIPError, OSError, MemoryError, ImportError) as error:
        _complain("error", str(error) or "out of memory")
        sys.exit(1)
    except KeyboardInterrupt:
        _complain("interrupted", _LEFT)
        sys.exit(INTERRUPTED)
    except SystemExit as stop:
        if stop.code in _STOPPED:
            _complain(_STOPPED[stop.code], _LEFT)
        raise
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        _complain(
            "internal error",
            f"{type(error).__name__}: {error}. This is a bug; please report it with what you ran. "
            f"{TRACEBACK}=1 shows where it happened",
        )
        sys.exit(1)


def _terminate(number: int, frame: object) -> None:
    """Exit in the ordinary way, so that unfinished files are removed."""
    sys.exit(TERMINATED)


def _complain(kind: str, message: str) -> None:
    from dnip.cli.console import complain

    complain(kind, message)


def _show_warning(message: Warning | str, category: type[Warning], *_where: object) -> None:
    if issubclass(category, DNIPWarning):
        _complain("warning", str(message))
