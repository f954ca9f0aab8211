"""Texts of the hub become the files that a run reads; a fake stands for the library."""

import sys
from types import SimpleNamespace

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.prompting import data
from dnip.prompting.data import load_examples
from dnip.prompting.task_files import load_task
from reproduction.fingerprints import hash_file
from reproduction.hub_data import HubData, fetch

RTE = [
    {"sentence1": f"It rains {n} hours.", "sentence2": "It is wet.", "label": n % 2, "idx": n}
    for n in range(40)
]
RECIPE = {
    "source": "hf:nyu-mll/glue:rte@abc",
    "splits": {"train": "train", "test": "validation"},
    "fields": {"premise": "sentence1", "hypothesis": "sentence2"},
    "classes": ["True", "False"],
    "rows": {"train": 40, "test": 10},
    "most": 30,
}


@pytest.fixture
def asked(monkeypatch):
    """What the library was asked for."""
    calls = []

    def load_dataset(name, configuration, *, split, revision):
        calls.append((name, configuration, split, revision))
        return RTE if split == "train" else RTE[:10]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setattr(data, "load_optional", lambda name, **_: sys.modules[name])
    return calls


def recipe(**changes):
    return HubData.model_validate({**RECIPE, **changes})


def test_columns_labels_and_splits_are_those_of_the_recipe(asked, tmp_path):
    rte = load_task("rte")
    folder = fetch(rte, recipe(), tmp_path / "rte")
    test = load_examples(folder, "test", rte)
    told = {"premise": "It rains 1 hours.", "hypothesis": "It is wet."}
    assert dict(test.rows[1]) == {"id": "test-1", **told, "label": "False"}
    assert [rte.classes[label] for label in test.labels[:3]] == ["True", "False", "True"]
    train = load_examples(folder, "train", rte)
    assert len(set(train.ids)) == len(train) == 30
    assert list(train.ids) == sorted(train.ids, key=lambda name: int(name.split("-")[1]))
    assert asked == [("nyu-mll/glue", "rte", split, "abc") for split in ("train", "validation")]
    fetch(rte, recipe(sha256={"test": hash_file(folder / "test.jsonl")}), folder)
    assert len(asked) == 2  # the files are there


@cases(
    ({"rows": {"train": 41}}, "train: 40 rows, but the recipe says 41"),
    ({"fields": {}}, "no column premise, hypothesis; it has sentence1"),
    ({"label": "gold"}, "no column gold"),
    ({"sha256": {"train": "0" * 64}}, "but the recipe says 000"),
)
def test_a_dataset_that_is_not_as_the_recipe_says_is_refused(asked, tmp_path, changes, told):
    with pytest.raises(InvalidInputError, match=told):
        fetch(load_task("rte"), recipe(**changes), tmp_path / "rte")
