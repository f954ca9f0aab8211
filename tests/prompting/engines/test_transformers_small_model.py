"""The engine with the project's own small model, on real texts of every task."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from dnip.prompting.data import load_examples  # noqa: E402
from dnip.prompting.engines.base import Scoring  # noqa: E402
from dnip.prompting.engines.transformers_engine import TransformersEngine  # noqa: E402
from dnip.prompting.plan import draw_demonstrations  # noqa: E402
from dnip.prompting.prompt import PromptBuilder  # noqa: E402
from dnip.prompting.task import built_in_tasks, load_task  # noqa: E402
from plain_language_model import PlainLanguageModel  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
MODEL = ROOT / "models" / "small"
DATA = ROOT.parent / "shared" / "datasets"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the datasets are not at {DATA}")


@pytest.fixture(scope="module")
def engine():
    torch.set_num_threads(1)
    return TransformersEngine(MODEL)


@pytest.fixture(scope="module")
def plain():
    return PlainLanguageModel(MODEL)


@pytest.mark.parametrize("name", built_in_tasks())
def test_equals_one_prompt_at_a_time(engine, plain, name):
    task = load_task(name)
    train, test = (load_examples(DATA / name, split, task) for split in ("train", "test"))
    shown = draw_demonstrations(train, 1, n_classes=task.n_classes, seed=0)
    builder = PromptBuilder(task, [(train.rows[i], int(train.labels[i])) for i in shown])
    prompts = [builder.prompt(row) for row in test.rows[:80]]
    engine.scoring = Scoring.SUM
    long = set(engine.too_long(prompts, task))
    prompts = [prompt for row, prompt in enumerate(prompts) if row not in long][:12]
    assert len(prompts) >= 8
    # The mean reads one position, so that the plain way is quick; the sum reads all.
    for scoring, few in [(Scoring.MEAN, prompts), (Scoring.SUM, prompts[:2])]:
        found = np.empty((len(few), task.n_classes))
        engine.scoring = scoring
        for row in engine.score(few, task):
            found[row.row] = row.captured
        np.testing.assert_allclose(found, plain.score(few, task, scoring), atol=1e-5, rtol=0)
