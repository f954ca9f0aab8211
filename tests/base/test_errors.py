import pickle

import pytest

from dnip.base.errors import (
    DNIPError,
    InvalidInputError,
    MissingDependencyError,
    OutputError,
)


@pytest.mark.parametrize("kind", [DNIPError, InvalidInputError, OutputError])
def test_the_hint_follows_the_message(kind):
    assert str(kind("row 3 is bad", hint="Mend it")) == "row 3 is bad. Mend it"
    assert str(kind("row 3 is bad")) == "row 3 is bad"


def test_a_missing_library_is_named_with_the_command_that_installs_it():
    error = MissingDependencyError("pyarrow", purpose="read Parquet", extra="parquet")
    assert str(error) == (
        "pyarrow is needed to read Parquet and is not installed. "
        "Install it with: pip install 'dnip[parquet]'"
    )


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("bad", hint="mend"),
        OutputError("bad", hint="mend"),
        MissingDependencyError("pyarrow", purpose="read Parquet", extra="parquet"),
    ],
)
def test_errors_survive_the_way_back_from_a_worker_process(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
