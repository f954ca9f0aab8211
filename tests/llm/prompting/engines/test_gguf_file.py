"""GGUF files: the same numbers as from the folder; damaged and lying ones are refused at once."""

import hashlib
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.prompting.task import load_task

pytest.importorskip("gguf", reason="gguf is not installed")
pytest.importorskip("transformers")

from dnip.llm.prompting.engines.local import TransformersEngine
from dnip.llm.prompting.labels import Scoring
from tiny_models import captured, random_prompts, save_gguf

TASK = load_task("agnews")


@pytest.fixture(scope="module")
def file(tiny_model, tmp_path_factory):
    return save_gguf(tiny_model("llama"), tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.mark.parametrize("scoring", [Scoring.MEAN, Scoring.SUM])
def test_a_file_gives_the_numbers_of_the_folder(file, tiny_model, scoring):
    prompts = random_prompts(TASK, 1, 12)
    engine = TransformersEngine(file, scoring=scoring)
    same = TransformersEngine(tiny_model("llama"), scoring=scoring)
    np.testing.assert_allclose(
        captured(engine, prompts, TASK), captured(same, prompts, TASK), rtol=1e-5
    )
    told = engine.describe()
    assert told["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (told["quantisation"], told["dtype"], told["model"]) == ("F32", "float32", str(file))


def test_nothing_beside_a_file_is_read(file, tmp_path):
    path = Path(shutil.copy(file, tmp_path))
    for name in ("config.json", "tokenizer_config.json", "adapter_config.json", "tokenizer.json"):
        (tmp_path / name).write_text('{"auto_map": {"AutoTokenizer": "code.Code"}}')
    assert TransformersEngine(path).tokenizer.encode("Article") == TransformersEngine(
        file
    ).tokenizer.encode("Article")


def test_a_folder_of_such_files_is_met_with_how_one_is_named(file, tmp_path):
    shutil.copy(file, tmp_path)
    with pytest.raises(InvalidInputError, match="or a GGUF file by its own name"):
        TransformersEngine(tmp_path).describe()
    with pytest.raises(InvalidInputError, match=r"there is no file '.*c\.gguf'"):
        TransformersEngine(tmp_path / "c.gguf")


def test_no_bar_is_drawn_where_nobody_watches(file, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    TransformersEngine(file)  # before its library is loaded, which reads this
    assert os.environ["TQDM_DISABLE"] == "1"


_LONG = struct.pack("<Q", 1 << 60)


def _first_length(data, key):
    """Let the length after a key's name lie: of its array, or of its text."""
    at = data.index(key) + len(key) + 4
    at += 4 * (data[at - 4 : at] == struct.pack("<I", 9))
    return data[:at] + _LONG + data[at + 8 :]


@cases(
    (lambda data: data[:-100], "cut off"),
    (lambda data: data[:200], "cut off"),
    (lambda data: b"", "cannot be read"),
    (lambda data: b"GGML" + data[4:], "magic"),
    (lambda data: data[:8] + _LONG + data[16:], "cut off|names lengths"),
    (lambda data: data[:16] + _LONG + data[24:], "cut off|names lengths|cannot be read"),
    (lambda data: _first_length(data, b"tokenizer.ggml.tokens"), "names lengths|cannot be read"),
    (lambda data: _first_length(data, b"tokenizer.ggml.token_type"), "names lengths|more than"),
    (lambda data: _first_length(data, b"general.architecture"), "names lengths"),
)
def test_a_damaged_file_is_refused(file, tmp_path, change, told):
    path = tmp_path / "bad.gguf"
    path.write_bytes(change(file.read_bytes()))
    with pytest.raises(InvalidInputError, match=told):
        TransformersEngine(path).describe()


@cases(
    ({"block_count": 1_000_000_000}, "1,000,000,000 layers"),
    ({"feed_forward_length": 1 << 31}, r"names 3 layers and [0-9,]{11,} weights"),
    ({"architecture": "wavenet"}, "wavenet"),
)
def test_a_header_that_lies_about_the_model_is_refused(tiny_model, tmp_path, changes, told):
    path = save_gguf(tiny_model("llama"), tmp_path / "lie.gguf", **changes)
    with pytest.raises(InvalidInputError, match=f"cannot be loaded: .*{told}"):
        TransformersEngine(path).describe()
