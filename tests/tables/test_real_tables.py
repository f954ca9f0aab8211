"""Real tables, where there are any."""

import json

import numpy as np
import pytest

from dnip.tables import ProbabilityTable

NAMES = [
    "20news__cleanlab",
    "cifar10__lenet-5",
    "emotion4__llama-2-13b__base_icl1",
    "emotion4__qwen-7b__task_icl1",
    "mmlu16__llama-13b__gptprompt0",
    "sst2__unnamed-llm",
]


@pytest.mark.parametrize("name", NAMES)
def test_both_halves_read_with_names_and_survive_every_format(shared_tables, tmp_path, name):
    classes = json.loads((shared_tables / name / "meta.json").read_text())["class_names"]
    for half in ("opt", "test"):
        table = ProbabilityTable.read(shared_tables / name / f"{half}.csv.gz", classes)
        assert table.classes == tuple(classes)
        assert (table.labels >= 0).all()
        np.testing.assert_allclose(table.probabilities.sum(axis=1), 1, atol=1e-6)
    for suffix in ("csv", "npz", "parquet"):
        table.write(tmp_path / f"t.{suffix}")
        assert ProbabilityTable.read(tmp_path / f"t.{suffix}", classes).data_hash == table.data_hash
