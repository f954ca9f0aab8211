"""What a dry run reckons, against sums by hand."""

import json

import pytest

from reproduction.needs import DEVICES, needs_of
from reproduction.plan import load_plan
from reproduction.planned_sources import planned_sources
from texts import write_texts


@pytest.fixture
def asked(tmp_path):
    """A model of 10 parameters, and what a plan asks it for."""
    (tmp_path / "model").mkdir()
    header = {"a": {"shape": [2, 3]}, "b": {"shape": [4]}, "__metadata__": {"format": "pt"}}
    text = json.dumps(header).encode()
    weights = len(text).to_bytes(8, "little") + text + bytes(40)
    (tmp_path / "model" / "model.safetensors").write_bytes(weights)
    write_texts(tmp_path / "data", rows=20)
    plan = load_plan("quick").with_model(str(tmp_path / "model"))
    sources = planned_sources(plan, tmp_path / "data", tmp_path / "out", tmp_path / "texts")
    return plan.models[0], sources


def test_needs_are_those_of_the_prompts(asked):
    model, sources = asked
    requests = list(sources.requests.values())
    needs = needs_of(model, requests)
    plans = [request.plan() for request in requests]
    assert needs["prompts"] == sum(len(plan.prompts) for plan in plans)
    characters = sum(
        len(plan.builder.prefix)
        + sum(len(prompt.text) - len(plan.builder.prefix) for prompt in plan.prompts)
        for plan in plans
    )
    assert needs["tokens"] == pytest.approx(characters / 4, abs=1)
    assert needs["parameters"] == 10
    assert needs["memory_gb"] == pytest.approx(10 * 4 * 1.2 / 1e9)
    seconds = 2 * 10 * characters / 4 / (0.4 * DEVICES["A100"].operations)
    seconds += needs["prompts"] * 5e-4
    assert needs["hours"]["A100"] == pytest.approx(seconds / 3600)
    assert needs["reasoning_tokens"] == 0
