"""Tiny models for the tests of prompting."""

import pytest


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A function from an architecture's name to the folder of a tiny model."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tiny_models import save_model

    torch.set_num_threads(1)  # of models this small, threads only wait for each other

    folders = {}

    def folder(kind):
        if kind not in folders:
            folders[kind] = save_model(tmp_path_factory.mktemp(kind), kind)
        return folders[kind]

    return folder
