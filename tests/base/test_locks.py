import subprocess
import sys

import pytest

from dnip.base.errors import OutputError
from dnip.base.locks import only_process

HOLD = """
import sys
from pathlib import Path
from dnip.base.locks import only_process
with only_process(Path(sys.argv[1]), "busy", hint=""):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_has_ended(tmp_path):
    lock = tmp_path / ".lock"
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(OutputError, match="somebody is there"),
            only_process(lock, "somebody is there", hint="Wait"),
        ):
            pass
        other.kill()
        other.wait()
    with only_process(lock, "somebody is there", hint="Wait"):
        pass


def test_an_error_inside_the_block_passes_and_frees_the_lock(tmp_path):
    lock = tmp_path / ".lock"
    for _ in range(2):
        with pytest.raises(FileNotFoundError), only_process(lock, "busy", hint=""):
            (tmp_path / "none").read_text()


def test_a_lock_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(OutputError, match="cannot be written"),
        only_process(tmp_path / "file" / ".lock", "busy", hint=""),
    ):
        pass
