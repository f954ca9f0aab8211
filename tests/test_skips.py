"""CI fails on a skip that nobody expects."""

import shutil
import sys
from pathlib import Path

import pytest

from cases import cases
from processes import ran

SKIPS = {
    "a test": "import pytest\ndef test(): pytest.skip('{}')",
    "a file": "import pytest\npytest.skip('{}', allow_module_level=True)",
    "a missing library": "import pytest\npytest.importorskip('missing', reason='{}')",
}


@pytest.mark.parametrize("kind", SKIPS)
@cases(("the datasets are not at /x", False), ("no time", True))
def test_an_unexpected_skip_fails_where_this_is_asked_for(tmp_path, kind, reason, fails):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_it.py").write_text(SKIPS[kind].format(reason) + "\ndef test_other(): pass\n")

    run = ran(sys.executable, "-m", "pytest", "-q", "--no-unexpected-skips", cwd=tmp_path)
    last = run.stdout.splitlines()[-1]
    assert ("1 skipped" in last) != fails
    assert ("1 failed" in last or "1 error" in last) == fails
