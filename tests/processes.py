"""Real processes: commands that end, and servers that are started for a test and ended with it."""

import socket
import subprocess
import time
from contextlib import contextmanager, suppress


def ran(*command, **options):
    """What a command came to, with all that it said as text."""
    command = [str(word) for word in command]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def wait_for(condition, seconds=600):
    """Wait until there is something, and return it; on a busy machine that takes a while."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def free_port():
    """Return a port of this machine that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(command, url, log, headers=None, **options):
    """Start a server, wait until `url` answers, and end it with the block.

    Yields the process. The server writes to the file `log`; `options` are those of Popen.
    """
    import httpx2

    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, **options)

    def is_up():
        assert process.poll() is None, f"the server ended: {log.read_text()[-2000:]}"
        with suppress(httpx2.TransportError):
            return httpx2.get(url, headers=headers, timeout=60).status_code == 200

    try:
        wait_for(is_up)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
