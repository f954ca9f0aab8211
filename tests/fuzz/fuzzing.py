"""Run the command on hostile input, and look at what it says and what it leaves behind."""

import io
import os
import signal
import sys
import warnings
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import openai  # noqa: F401 - a case stopped in the middle of an import would harm those after it
from hypothesis import HealthCheck, Phase, settings

from dnip.cli import main
from outcomes import Outcome

#: How many times the examples of an everyday run: 1, or what ``make fuzz`` says.
BUDGET = int(os.environ.get("DNIP_FUZZ", "1"))
#: Seconds after which a run counts as endless.
PATIENCE = 200.0
#: Status of a run that was stopped by a signal.
STOPPED = 130


def fuzzed(examples):
    """Settings of a fuzz test: the same few examples every day, many new ones by `make fuzz`."""
    return settings(
        max_examples=examples * BUDGET,
        derandomize=BUDGET == 1,
        database=None,
        phases=[Phase.generate],  # cases are small and runs slow: nothing to shrink
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


@contextmanager
def workshop(files=None):
    """Work in a new folder that holds these files, bytes by name."""
    with TemporaryDirectory() as folder, chdir(folder):
        for name, content in (files or {}).items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        yield Path(folder)


def run(*arguments, outputs=(), status=(0, 1, 2), patience=PATIENCE):
    """Run ``dnip`` in the folder at hand, and demand what every run must keep to.

    It ends with a status of these, without an internal error or a traceback; files that were there
    are unchanged; and unless it ends well, there is nothing new. Names that begin as one of
    `outputs` may be new in any case: folders of results, or what a later run goes on with.
    """
    arguments = [str(one) for one in arguments]
    before = _files()
    outcome = _call(arguments, patience)
    after = _files()
    said = outcome.out + outcome.err
    changed = [name for name, content in before.items() if after.get(name) != content]
    new = [name for name in after if name not in before]
    left = [name for name in new if ".dnip-" in name]
    if outcome.status != 0:
        left += [name for name in new if not name.startswith(outputs)]
    what = ascii(f"dnip {' '.join(arguments)[:2000]}\n{outcome.err[-2000:]}")
    assert "internal error" not in said, what
    assert "Traceback" not in said, what
    assert outcome.status in status, f"status {outcome.status}: {what}"
    assert not changed, f"changed {changed}: {what}"
    assert not left, f"left {left}: {what}"
    if outcome.status == 1:
        assert outcome.err, what
    return outcome


def _call(arguments, patience):
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", errors=e) for e in ("strict", "replace")]
    status = 0
    argv, terminate = sys.argv, signal.getsignal(signal.SIGTERM)
    interrupt = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, patience, 0.5)  # again, should one get lost
    sys.argv = ["dnip", *arguments]
    try:
        with warnings.catch_warnings(), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            main()
    except SystemExit as stop:
        status = stop.code or 0
    except KeyboardInterrupt:
        status = STOPPED
    finally:
        while any(signal.getitimer(signal.ITIMER_REAL)):  # it may strike here, too
            with suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, interrupt)
        signal.signal(signal.SIGTERM, terminate)
        sys.argv = argv
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return Outcome(status, out, err)


def _interrupt(_number, _frame):
    raise KeyboardInterrupt


def _files():
    """Return the bytes of all files in the folder at hand, but for links and pipes."""
    return {
        str(path): path.read_bytes()
        for path in Path().rglob("*")
        if path.is_file() and not path.is_symlink()
    }
