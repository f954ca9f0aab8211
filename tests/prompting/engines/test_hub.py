"""Loading by name: the local store first, then the hub, and no waiting where there is none."""

import pytest

from dnip.base.errors import BackendError, InvalidInputError
from dnip.prompting.engines.hub import load

constants = pytest.importorskip("huggingface_hub.constants")
errors = pytest.importorskip("huggingface_hub.errors")


class Session:
    """Stands for the client's session: answers, or not."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def head(self, url, **_):
        self.asked.append(url)
        if not self.answers:
            raise ConnectionError("no route")


@pytest.fixture
def session(monkeypatch):
    def make(*, answers):
        made = Session(answers)
        monkeypatch.setattr("huggingface_hub.utils.get_session", lambda: made)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        return made

    return make


class Loader:
    """Finds nothing in the local store; notes whether the hub was to be left alone."""

    def __init__(self, outcome):
        self.outcome, self.offline = outcome, []

    def __call__(self, name, *, local_files_only=False, **_):
        if local_files_only:
            raise errors.LocalEntryNotFoundError(f"{name} is not stored")
        self.offline.append(constants.HF_HUB_OFFLINE)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_a_hub_that_does_not_answer_is_not_waited_for(session):
    hub = session(answers=False)
    loader = Loader(errors.LocalEntryNotFoundError("offline"))
    with pytest.raises(BackendError, match="'a/b' is not stored here, and the hub cannot be"):
        load(loader, "a/b", "model")
    assert loader.offline == [True]
    assert hub.asked == [constants.ENDPOINT]
    assert constants.HF_HUB_OFFLINE is False


def test_a_hub_that_answers_is_asked(session):
    session(answers=True)
    loader = Loader("the model")
    assert load(loader, "a/b", "model") == "the model"
    assert loader.offline == [False]


def test_what_the_hub_has_and_cannot_be_loaded_is_not_blamed_on_the_network(session):
    session(answers=True)
    with pytest.raises(InvalidInputError, match="cannot be loaded: ValueError: no causal model"):
        load(Loader(ValueError("no causal model")), "a/b", "model")


def test_a_stored_model_asks_nobody(session):
    hub = session(answers=False)
    assert load(lambda name, **_: name, "a/b", "model") == "a/b"
    assert hub.asked == []


def test_a_folder_has_no_revision(tmp_path):
    with pytest.raises(InvalidInputError, match="is a folder, which has no revision 'main'"):
        load(Loader("the model"), tmp_path, "model", revision="main")


def test_a_path_is_never_looked_up(session):
    hub = session(answers=True)
    with pytest.raises(InvalidInputError, match=r"no folder './nowhere'"):
        load(Loader("the model"), "./nowhere", "model")
    assert hub.asked == []
