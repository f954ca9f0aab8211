import sys

import pytest

from dnip.base.errors import MissingDependencyError
from dnip.base.optional import load_optional


def test_a_library_that_is_there_is_loaded():
    assert load_optional("json", purpose="test", extra="test") is sys.modules["json"]


def test_a_missing_submodule_names_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"pyarrow is needed.*dnip\[parquet\]"):
        load_optional("pyarrow.parquet", purpose="read Parquet", extra="parquet")
