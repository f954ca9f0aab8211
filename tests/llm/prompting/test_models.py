"""Models that are loaded when they are needed."""

import pytest

from dnip.base.errors import BackendError, DNIPError, MissingDependencyError
from dnip.llm.prompting.models import ModelOptions, UnloadedModel


@pytest.mark.parametrize(
    "error",
    [
        MissingDependencyError("torch", purpose="run a language model", extra="transformers"),
        BackendError("the tokenizer cannot be downloaded", hint="Check the network"),
    ],
)
def test_a_name_that_is_not_on_this_machine_may_be_that_of_a_server(error, tmp_path):
    def opening():
        raise error

    for model, told in (str(tmp_path), False), ("m-4", True):
        with pytest.raises(DNIPError) as caught:
            _ = UnloadedModel(ModelOptions(model=model), opening).loaded
        assert caught.value is error
        assert ("give its URL: --model URL --served-model m-4" in str(error)) == told
