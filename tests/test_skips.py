"""CI fails on a skip that nobody expects."""

import shutil
import sys
from pathlib import Path

from cases import cases
from processes import ran

SKIPS = (
    "import pytest\ndef test(): pytest.skip('{}')",
    "import pytest\npytest.skip('{}', allow_module_level=True)",
    "import pytest\npytest.importorskip('missing', reason='{}')",
)


@cases(
    ("the datasets are not at /x", "1 passed, 3 skipped"), ("no time", "1 failed, 1 passed, 2 er")
)
def test_an_unexpected_skip_fails_where_this_is_asked_for(tmp_path, reason, last):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    for number, skip in enumerate((*SKIPS, "def test_other(): pass")):
        (tmp_path / f"test_{number}.py").write_text(skip.format(reason))
    words = "-q", "--no-unexpected-skips", "--continue-on-collection-errors"
    run = ran(sys.executable, "-m", "pytest", *words, cwd=tmp_path)
    assert run.stdout.splitlines()[-1].startswith(last)
