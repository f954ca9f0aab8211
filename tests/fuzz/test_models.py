"""Folders of language models whose files were changed, are no files, or hold code."""

import json
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("torch", reason="a language model needs torch")
pytest.importorskip("transformers", reason="a language model needs transformers")

from dnip import Coefficients
from fuzzing import fuzzed, run, workshop
from mutations import damaged, damaged_json
from test_extreme_options import ROWS
from test_prompt import TASK
from tiny_models import add_chat_template, save_gguf, save_model

HERE = ["test.csv", "--task", "mood.toml", "--model", "m", "--scoring", "sum"]
LINES = [
    ["prompt", *HERE, "--check"],
    ["prompt", *HERE, "--chat", "--out", "o.csv"],
    ["export", "c.json", "--to", "logit-bias", "--tokenizer", "m", "--labels", "h,s"],
]
COEFFICIENTS = Coefficients(["happy", "sad"], [15, 30], 30).to_json()
CODE = "import pathlib; pathlib.Path('ran').touch(); Own = None\n"
#: What turns a sound configuration into one that asks for code.
ASKS = [
    {"model_type": "own"}, {"tokenizer_class": "Own"}, {"architectures": ["Own"]},
    {"attn_implementation": "own/own"}, {"experts_implementation": "own/own"},
    *({"auto_map": {name: "own.Own"}} for name in ("AutoConfig", "AutoModelForCausalLM")),
    {"auto_map": {"AutoTokenizer": ["own.Own", "own.Own"]}}, {"auto_map": ["own.Own", None]},
    {"auto_map": {"AutoConfig": "owner/own--own.Own"}}, {"quantization_config": {"a": 1}},
]  # fmt: skip
PLACES = ["/dev/zero", "pipe", ".", "no"]
lines = st.sampled_from(LINES)


@cache
def sound():
    """The files of a small model with a chat template."""
    with TemporaryDirectory() as folder:
        save_model(Path(folder), "llama")
        add_chat_template(Path(folder), "{% for turn in messages %}{{ turn.content }}{% endfor %}")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def try_model(line, changes, odd=None, place=""):
    files = {f"m/{name}": content for name, content in (sound() | changes).items()}
    files |= {"mood.toml": TASK, "train.csv": ROWS, "test.csv": ROWS, "c.json": COEFFICIENTS}
    with workshop(files):
        if odd:
            path = Path("m", odd)
            path.unlink(missing_ok=True)
            os.mkfifo(path) if place == "pipe" else path.symlink_to(place)
        outcome = run(*line, outputs=("o.csv",))
        assert not Path("ran").exists()
        assert "trust_remote_code" not in outcome.err
        return outcome


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_the_sound_model_is_taken(line):
    assert "m'" not in try_model(line, {}).err


@cache
def sound_gguf():
    """The same model in one file."""
    with TemporaryDirectory() as folder:
        save_model(Path(folder), "llama")
        return save_gguf(Path(folder), Path(folder, "m.gguf")).read_bytes()


@fuzzed(2)
@given(st.data())
def test_changed_bytes_of_a_gguf_file(data):
    pytest.importorskip("gguf")
    sound = sound_gguf()
    head = data.draw(st.sampled_from([100, 1000, len(sound)]))
    files = {"m.gguf": data.draw(damaged(sound[:head])) + sound[head:], "mood.toml": TASK}
    with workshop(files | {"train.csv": ROWS, "test.csv": ROWS}):
        run("prompt", *HERE[:3], "--model", "m.gguf", "--scoring", "sum", "--check")


settings_files = st.sampled_from(["config.json", "tokenizer_config.json", "tokenizer.json"])


@fuzzed(5)
@given(lines, settings_files, st.data())
def test_changed_settings(line, name, data):
    content = data.draw(damaged_json(json.loads(sound()[name])))
    try_model(line, {name: json.dumps(content).encode()})


@fuzzed(2)
@given(lines, st.sampled_from(["model.safetensors", "tokenizer.json"]), st.data())
def test_changed_bytes(line, name, data):
    try_model(line, {name: data.draw(damaged(sound()[name]))})


@fuzzed(2)
@given(lines, settings_files, st.lists(st.sampled_from(ASKS), min_size=1, max_size=3))
def test_models_that_ask_for_code(line, name, asks):
    content = json.loads(sound()[name])
    for ask in asks:
        content |= ask
    try_model(line, {name: json.dumps(content).encode(), "own.py": CODE.encode()})


@fuzzed(1)
@given(lines, st.sampled_from([*sound(), "vocab.json"]), st.sampled_from(PLACES))
def test_files_that_are_none(line, name, place):
    try_model(line, {}, name, place)
