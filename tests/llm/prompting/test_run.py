"""Which rows are prompted with what; a run writes its table whole, and goes on after a kill."""

import json

import numpy as np
import pytest

from dnip import BackendError, InvalidInputError, ProbabilityTable
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import hash_prompts, make_plan
from dnip.llm.prompting.run import open_journal, run_plan
from dnip.llm.questions import Question
from dnip.tables.origin import metadata_path
from fakes import TASK, FakeEngine, scores, write_data


@pytest.fixture
def plan(tmp_path):
    return make_plan(TASK, write_data(tmp_path), shots=1)


def run(plan, engine, out):
    return run_plan(plan, engine, out=out)


def test_the_table_holds_every_row_once_in_order(plan, tmp_path):
    out = tmp_path / "table.csv"
    summary = run(plan, FakeEngine(), out)
    table = ProbabilityTable.read(out, TASK.classes)
    captured = np.array([scores(prompt.text, 2) for prompt in plan.prompts])
    expected = captured / captured.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table.probabilities, expected, rtol=1e-15)
    assert table.ids.tolist() == list(plan.examples.ids)
    assert table.labels.tolist() == plan.examples.labels.tolist()
    assert summary.n == 9
    assert summary.n_resumed == summary.n_open == 0
    assert summary.mean_mass == pytest.approx(captured.sum(axis=1).mean())
    asked = Question.read(json.loads(metadata_path(out).read_text())["question"])
    assert (asked.model, asked.form, asked.options) == ("fake", "plain", TASK.classes)
    assert {path.name for path in tmp_path.glob("*table*")} == {out.name, f"{out.name}.meta.json"}


@pytest.mark.parametrize("stop_after", [0, 1, 4, 8, 9])
def test_a_stopped_run_goes_on_to_the_very_same_table(plan, tmp_path, stop_after):
    whole, resumed = tmp_path / "whole.csv", tmp_path / "resumed.csv"
    run(plan, FakeEngine(), whole)
    if stop_after < 9:
        with pytest.raises(KeyboardInterrupt):
            run(plan, FakeEngine(stop_after=stop_after), resumed)
        assert not resumed.exists()
    second = FakeEngine()
    summary = run(plan, second, resumed)
    assert resumed.read_bytes() == whole.read_bytes()
    assert summary.n_resumed == (stop_after if stop_after < 9 else 0)
    assert len(second.asked) < 9 or stop_after < 4 or stop_after == 9


@pytest.mark.parametrize("content", [b'{"format": "dnip-progress"}\n', b"SQLite format 3\0" * 9])
def test_a_file_that_is_no_journal_is_refused_and_kept(plan, tmp_path, content):
    journal = tmp_path / "table.csv.progress"
    journal.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"damaged, or of another version.*Delete it"):
        run(plan, FakeEngine(), tmp_path / "table.csv")
    assert journal.read_bytes() == content


def test_other_settings_are_refused_by_name_and_change_nothing(plan, tmp_path):
    out = tmp_path / "table.csv"
    with pytest.raises(KeyboardInterrupt):
        run(plan, FakeEngine(stop_after=3), out)
    journal = tmp_path / "table.csv.progress"
    before = journal.read_bytes()
    other = make_plan(TASK, tmp_path, shots=1, seed=5)
    with pytest.raises(InvalidInputError, match="seed was 0, is 5"):
        run(other, FakeEngine(), out)
    with pytest.raises(InvalidInputError, match="engine was"):
        run(plan, FakeEngine(name="another"), out)
    assert journal.read_bytes() == before


def test_a_finished_table_is_kept_by_the_same_run_and_refused_to_another(plan, tmp_path):
    out = tmp_path / "table.csv"
    first = run(plan, FakeEngine(), out)
    before = out.read_bytes()
    idle = FakeEngine()
    assert run(plan, idle, out) == first
    assert idle.asked == []
    with pytest.raises(InvalidInputError, match="of another run"):
        run(plan, FakeEngine(name="another"), out)
    metadata_path(out).unlink()
    with pytest.raises(InvalidInputError, match="metadata are missing"):
        run(plan, FakeEngine(), out)
    assert out.read_bytes() == before


def test_an_engine_that_loses_rows_is_told_and_nothing_is_written(plan, tmp_path):
    class Forgetful(FakeEngine):
        def score(self, prompts, task, *, done=frozenset()):
            for scored in super().score(prompts, task, done=done):
                if scored.row != 4:
                    yield scored

    out = tmp_path / "table.csv"
    with pytest.raises(BackendError, match="1 of 9 rows were not scored"):
        run(plan, Forgetful(), out)
    assert not out.exists()
    assert run(plan, FakeEngine(), out).n_resumed == 8


def test_two_runs_of_one_table_do_not_meet(tmp_path):
    path = tmp_path / "table.csv.progress"
    with (
        open_journal(path, {"seed": 0}),
        pytest.raises(Exception, match="another run is writing"),
        open_journal(path, {"seed": 0}),
    ):
        pass


def test_a_run_that_was_refused_before_its_first_row_binds_nobody(plan, tmp_path):
    class Refusing(FakeEngine):
        def score(self, prompts, task, *, done=frozenset()):
            raise InvalidInputError("labels collide")

    out = tmp_path / "table.csv"
    with pytest.raises(InvalidInputError, match="labels collide"):
        run(plan, Refusing(), out)
    assert list(tmp_path.glob("table*")) == []


def test_label_words_that_begin_alike_have_a_mass_of_one_at_most(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("fakes.scores", lambda text, n: np.full(n, 0.9))
    run(plan, FakeEngine(), tmp_path / "table.csv")
    assert ProbabilityTable.read(tmp_path / "table.csv", TASK.classes).mass.tolist() == [1.0] * 9


def test_means_of_tokens_are_no_captured_mass(plan, tmp_path):
    out = tmp_path / "table.csv"
    run_plan(plan, FakeEngine(scoring=Scoring.PER_TOKEN), out=out)
    assert ProbabilityTable.read(out, TASK.classes).mass is None


# --- which rows are prompted with what ---
def test_the_test_split_is_scored_with_demonstrations_of_the_training_split(tmp_path):
    plan = make_plan(TASK, write_data(tmp_path), shots=2, seed=1)
    assert plan.examples.ids == tuple(f"test-{i}" for i in range(9))
    shown = plan.settings["demonstrations"]
    assert len(shown) == 2
    assert all(name.startswith("train-") for name in shown)
    assert plan.prompts[0].prefix.count("Message:") == 2
    assert plan.prompts[0].example == "Message: test message 0\nMood:"


@pytest.mark.parametrize("shots", [1, 3, "balanced"])
def test_demonstrations_are_never_among_the_scored_rows(tmp_path, shots):
    plan = make_plan(TASK, write_data(tmp_path), split="train", shots=shots)
    shown = set(plan.settings["demonstrations"])
    assert shown
    assert not shown & set(plan.examples.ids)
    assert len(plan.examples) + len(shown) == 10
    if shots == "balanced":
        assert sorted(label for _, label in plan.builder.demonstrations) == [0, 1]
    with pytest.raises(InvalidInputError, match="no row is left to score"):
        make_plan(TASK, tmp_path, split="train", shots=10)


def test_seeds_change_the_demonstrations_but_not_the_limited_rows(tmp_path):
    write_data(tmp_path)
    plans = [make_plan(TASK, tmp_path, shots=2, seed=seed, limit=4) for seed in range(4)]
    assert len({tuple(plan.settings["demonstrations"]) for plan in plans}) > 1
    assert len({plan.examples.ids for plan in plans}) == 1
    assert len(plans[0].examples) == 4
    again = make_plan(TASK, tmp_path, shots=2, seed=0, limit=4)
    assert hash_prompts(again.prompts) == hash_prompts(plans[0].prompts)


def test_content_free_rows_stand_behind_the_same_demonstrations(tmp_path):
    plan, test = (
        make_plan(TASK, write_data(tmp_path), split=split, shots=2, seed=1)
        for split in ("content-free", "test")
    )
    assert plan.examples.ids == ("content-free-0", "content-free-1", "content-free-2")
    assert plan.examples.labels.tolist() == [-1, -1, -1]
    texts = [prompt.example for prompt in plan.prompts]
    assert texts == [f"Message: {text}\nMood:" for text in ("N/A", "[MASK]", "")]
    assert plan.prompts[0].prefix == test.prompts[0].prefix


def test_only_the_longest_field_of_a_long_prompt_is_shortened(tmp_path):
    plan = make_plan(TASK, write_data(tmp_path), shots=0)
    long_row = {"text": "word " * 100, "label": 0}
    rows = (*plan.examples.rows, long_row)
    examples = type(plan.examples)(rows, plan.examples.labels, (*plan.examples.ids, "long"))
    plan = type(plan)(TASK, examples, plan.builder, plan.settings)

    def too_long(prompts):
        return [i for i, prompt in enumerate(prompts) if len(prompt.text.split()) > 40]

    shortened = plan.shortened(too_long)
    assert shortened.prompts[:-1] == plan.prompts[:-1]
    assert too_long(shortened.prompts) == []
    assert 30 < len(shortened.prompts[-1].text.split()) <= 40
    assert long_row["text"] == "word " * 100
