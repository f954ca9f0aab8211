from importlib.resources import files
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, Field

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.base.toml_models import Several, TomlModel, check_table, load_toml

TASKS = files("dnip.prompting") / "tasks"


def _is_even(number):
    if number % 2:
        raise ValueError("must be even")
    return number


def _is_known(name):
    if name != "oak":
        raise InvalidInputError(f"there is no tree {name!r}", hint="Plant it")
    return name


class Leaf(TomlModel):
    size: int = Field(1, ge=1)
    width: float = Field(0.5, gt=0, lt=1)


class Tree(TomlModel):
    name: Annotated[str, AfterValidator(_is_known)] = "oak"
    leaves: Several[Leaf] = (Leaf(),)
    by_season: dict[str, Leaf] = Field(default_factory=dict)
    kind: Literal["tall", "small"] = "tall"
    green: bool = True
    rings: Annotated[int, AfterValidator(_is_even)] = 2
    notes: str


def test_what_is_left_out_has_its_default_and_lists_become_tuples():
    tree = check_table(Tree, {"notes": "", "leaves": [{"size": 3}]}, "a.toml")
    assert tree.leaves == (Leaf(size=3),)
    assert tree.rings == 2


@cases(
    ({}, "notes is missing. Keys here are name, leaves"),
    ({"note": ""}, "unknown key note. Keys here are name, leaves"),
    ({"notes": 3}, "notes must be a valid string; got 3"),
    ({"notes": "", "green": 1}, "green must be a valid boolean; got 1"),
    ({"notes": "", "leaves": []}, "leaves Tuple should have at least 1 item"),
    ({"notes": "", "leaves": 3}, "leaves must be a valid list; got 3"),
    ({"notes": "", "leaves": [3]}, "leaves[0] must be a valid table or instance of Leaf; got 3"),
    ({"notes": "", "leaves": [{}, {"sise": 3}]}, "unknown key leaves[1].sise"),
    ({"notes": "", "leaves": [{"size": True}]}, "leaves[0].size must be a valid integer"),
    ({"notes": "", "leaves": [{"size": 0}]}, "leaves[0].size must be greater than or equal to 1"),
    ({"notes": "", "leaves": [{"width": 0}]}, "leaves[0].width must be greater than 0"),
    ({"notes": "", "leaves": [{"width": 1.0}]}, "leaves[0].width must be less than 1"),
    ({"notes": "", "by_season": {"may": {"x": 1}}}, "unknown key by_season.may.x"),
    ({"notes": "", "kind": "big"}, "kind must be 'tall' or 'small'; got 'big'"),
    ({"notes": "", "rings": 3}, "rings must be even; got 3"),
    ({"notes": "", "name": "elm"}, "name: there is no tree 'elm'. Plant it"),
    ({"notes": 1 << 1000}, "..."),
    ([], "must be a valid table"),
)
def test_a_table_that_breaks_the_model_is_refused(table, told):
    with pytest.raises(InvalidInputError) as caught:
        check_table(Tree, table, "a.toml")
    assert str(caught.value).startswith("a.toml: ")
    assert told in str(caught.value)


@cases(
    ("unknown", None, "no built-in task 'unknown'. Name one of agnews"),
    ("nowhere.toml", None, "the task cannot be read"),
    ("a.toml", b"\xff\xfe\xff", "the task cannot be read: not UTF-8 text"),
    ("a.toml", b"a = [", "not valid TOML"),
    ("a.toml", b"a = " + b"[" * 5000, "not valid TOML"),
)
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, name, content, told):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        load_toml(name, TASKS, kind="task")
    assert told in str(caught.value)
