"""The engine against llama.cpp's server with SmolLM2-135M-Instruct, its weights in float32.

``make integration`` builds the server and runs them. It is taken from this environment, or from a
virtual environment outside the checkout, for it is built from source in some minutes.
``DNIP_LLAMA_PYTHON`` names another interpreter. ``make model`` fetches the model.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.llm.answers.fill import open_decisions
from dnip.llm.prompting.engines.servers import OpenAIEngine, Server
from dnip.llm.prompting.label_bias import LogitBias
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.prompt import PromptBuilder
from dnip.llm.prompting.task import built_in_tasks, load_task
from processes import free_port, ran, running

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
CACHED = Path.home() / ".cache" / "dnip-integration" / "venv" / "bin" / "python"
KEY = "sk-integration"
HEADERS = {"Authorization": f"Bearer {KEY}"}

#: Texts with what a tokenizer may stumble over; any of them serves as any field.
TEXTS = [
    "The company reported record profits for the third quarter of 1998.",
    "Who was the first woman to climb Mount Everest?",
    "  Two  spaces, a tab\tand\nnew lines\n\n\nand 12345 digits, don't you think",
    "Zürich – “quoted” naïve café 東京 🙂",
    "a bore , from start to finish .",
]


@pytest.fixture(scope="module")
def interpreter():
    chosen = os.environ.get("DNIP_LLAMA_PYTHON")
    if chosen is None and importlib.util.find_spec("llama_cpp") is not None:
        chosen = sys.executable
    chosen = chosen or str(CACHED)
    command = [chosen, "-c", "import llama_cpp.server"]
    if (
        not Path(chosen).exists()
        or subprocess.run(command, capture_output=True, check=False).returncode
    ):
        pytest.skip(f"llama-cpp-python[server] is not installed, here or for {chosen}")
    return chosen


@pytest.fixture(scope="module")
def file(interpreter, smollm2, tmp_path_factory):
    """The model without its quantisation: llama.cpp rounds what it multiplies with such weights."""
    for library in ("httpx2", "gguf", "torch", "transformers"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    return dequantised(smollm2, tmp_path_factory.mktemp("gguf") / "smollm2.gguf")


def dequantised(given, file):
    """Write a GGUF file again, with its weights in float32."""
    import gguf

    reader, writer = gguf.GGUFReader(given), gguf.GGUFWriter(file, "llama")
    for field in reader.fields.values():
        if not field.name.startswith(("GGUF.", "general.")):
            writer.add_key_value(field.name, field.contents(), field.types[0], *field.types[1:2])
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.fixture(scope="module")
def server(file, interpreter):
    """Base URL of a running server, ended with the tests."""
    port = free_port()
    settings = {
        **{"model": file, "host": "127.0.0.1", "port": port, "api_key": KEY, "n_ctx": 1024},
        **{"n_threads": 1, "logits_all": True, "interrupt_requests": False},
        **{"type_k": 0, "type_v": 0},  # 32-bit keys and values, as in the reference
    }
    options = [str(part) for key, value in settings.items() for part in (f"--{key}", value)]
    command = [interpreter, "-m", "llama_cpp.server", *options]
    url = f"http://127.0.0.1:{port}/v1"
    with running(command, f"{url}/models", file.with_name("log"), HEADERS):
        yield url


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(scope="module")
def reference(file):
    """The probability of each label after a prompt, by one plain forward pass in float32."""
    from plain_language_model import PlainLanguageModel

    model = PlainLanguageModel(file)
    return lambda task, prompt: model.score([prompt], task, Scoring.FIRST)[0]


def prompts(task, shots):
    rows = [dict.fromkeys(task.fields, text) for text in TEXTS]
    shown = [(rows[i % len(rows)], i % task.n_classes) for i in range(shots)]
    return [PromptBuilder(task, shown).prompt(row) for row in rows]


def check_rows(server, reference, asked, task, top_logprobs):
    """Compare with the reference; return how many labels were reported, of how many."""
    engine = OpenAIEngine("small", Server(server, concurrency=2), top_logprobs=top_logprobs)
    rows = sorted(engine.score(asked, task), key=lambda row: row.row)
    assert [row.row for row in rows] == list(range(len(asked)))
    n_reported = 0
    for row, prompt in zip(rows, asked, strict=True):
        true = reference(task, prompt)
        ceiling = row.captured if row.ceiling is None else row.ceiling
        reported = row.captured > 0
        n_reported += reported.sum()
        np.testing.assert_allclose(row.captured[reported], true[reported], atol=1e-4)
        assert (true[~reported] <= ceiling[~reported] + 1e-5).all()
        # the decision is the true one wherever no fill can change it
        if not open_decisions([row.captured], [ceiling])[0]:
            assert row.captured.argmax() == true.argmax()
    return n_reported, len(asked) * task.n_classes


@pytest.mark.parametrize("shots", [0, 2])
@pytest.mark.parametrize("name", built_in_tasks())
def test_probabilities_equal_a_plain_forward_pass(server, reference, name, shots):
    task = load_task(name)
    n_reported, n_all = check_rows(server, reference, prompts(task, shots), task, 20)
    assert n_reported > n_all / 2


def test_bounds_hold_for_labels_that_are_not_reported(server, reference):
    task = load_task("dbpedia")
    # " Na", after "naïve", is read as the beginning of Nature, which is one token of this model.
    asked = [prompt for prompt in prompts(task, 1) if "naïve" not in prompt.text.split("Kind:")[-2]]
    assert len(asked) == len(TEXTS) - 1
    n_reported, n_all = check_rows(server, reference, asked, task, 3)
    assert 0 < n_reported < n_all / 2


def test_an_exported_bias_makes_the_server_decide_as_the_coefficients_do(server, file, reference):
    import httpx2

    task = load_task("agnews")
    coefficients = Coefficients(task.classes, [150, 254, 643, 1000], "log:1000")
    bias = json.loads(LogitBias(str(file), only_labels=True).render(coefficients))
    fixed = {"model": "small", "max_tokens": 1, "temperature": 0, "repeat_penalty": 1.0, **bias}
    n_changed = 0
    for row in map(json.loads, (ROOT / "examples" / "news" / "test.jsonl").open()):
        prompt = PromptBuilder(task, []).prompt(row)
        asked = {"json": {**fixed, "prompt": prompt.text}, "headers": HEADERS, "timeout": 200}
        answer = httpx2.post(f"{server}/completions", **asked)
        p = reference(task, prompt)[None]
        chosen = int(np.argmax(coefficients.apply(p / p.sum())))
        assert answer.json()["choices"][0]["text"] == task.answer(chosen)
        n_changed += chosen != p.argmax()
    assert n_changed


def test_the_engine_here_equals_a_plain_forward_pass_of_the_file_as_it_is(interpreter, smollm2):
    from dnip.llm.prompting.engines.local import TransformersEngine
    from plain_language_model import PlainLanguageModel

    task = load_task("trec")
    asked, engine = prompts(task, 1), TransformersEngine(smollm2)
    rows = sorted(engine.score(asked, task), key=lambda row: row.row)
    plain = PlainLanguageModel(smollm2).score(asked, task, Scoring.FIRST)
    np.testing.assert_allclose([row.captured for row in rows], plain, rtol=2e-4, atol=1e-6)
    assert engine.describe()["quantisation"] == "Q4_1"


@pytest.fixture
def table(tmp_path):
    """A function that runs ``dnip prompt`` on ten news items and returns the table's columns."""

    def run(name, *options):
        read_table = pytest.importorskip("pyarrow.parquet").read_table
        out = tmp_path / f"{name}.parquet"
        news = ROOT / "examples" / "news"
        shown = ("--demonstrations", news / "train.jsonl", "--shots", 1)
        command = ("prompt", news / "test.jsonl", "--task", "agnews", "--limit", 10, *shown)
        done = ran(sys.executable, "-m", "dnip", *command, *options, "--out", out)
        assert done.returncode == 0, done.stderr
        written = ProbabilityTable.read(out)
        columns = {name: np.array(one) for name, one in read_table(out).to_pydict().items()}
        return {**columns, "probabilities": written.probabilities}

    return run


def test_the_command_gives_the_same_table_here_and_through_the_server(server, file, table):
    through = ("--model", server, "--served-model", "small")
    here = table("here", "--model", file)
    for name, options in {"text": (), "ids": ("--tokenizer", file)}.items():
        there = table(name, *through, *options)
        # A label that the server did not report is missing in its mass, and filled.
        missing = np.abs(here["mass"] - there["mass"])
        apart = np.abs(there["probabilities"] - here["probabilities"]).max(axis=1)
        assert (apart <= 1e-3 + missing).all()
        assert (missing < 1e-3).sum() > len(missing) / 2


def test_the_command_reasons_alike_here_and_through_the_server(server, file, table):
    reasoning = ("--chain-of-thought", "--max-new-tokens", 24, "--limit", 40)
    here = table("here", "--model", file, *reasoning)
    # The server's own default would punish the words of the reasoning.
    alike = ("--served-model", "small", "--extra-body", '{"repeat_penalty": 1.0}')
    there = table("there", "--model", server, *alike, *reasoning)
    np.testing.assert_array_equal(there["fallback"], here["fallback"])
    told = here["fallback"] == 0
    assert 0 < told.sum() < len(told)
    np.testing.assert_allclose(there["probabilities"][told], here["probabilities"][told], atol=1e-3)
    # Labels that the server did not report are missing in its mass.
    assert (there["mass"] <= here["mass"] + 1e-3).all()


def test_the_command_counts_votes(server, table):
    votes = ("--votes", 3, "--endpoint", "completions", "--max-new-tokens", 4, "--limit", 2)
    columns = table("votes", "--model", server, "--served-model", "small", *votes)
    assert columns["samples"].tolist() == [3, 3]
    assert set(columns["mass"] * 3) <= {0.0, 1.0, 2.0, 3.0}
