"""Which rows are prompted with what."""

import pytest

from dnip.base.errors import InvalidInputError
from dnip.prompting.plan import hash_prompts, make_plan
from fakes import TASK, write_data


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


def test_seeds_change_the_demonstrations_but_not_the_limited_rows(tmp_path):
    write_data(tmp_path)
    plans = [make_plan(TASK, tmp_path, shots=2, seed=seed, limit=4) for seed in range(4)]
    assert len({tuple(plan.settings["demonstrations"]) for plan in plans}) > 1
    assert len({plan.examples.ids for plan in plans}) == 1
    assert len(plans[0].examples) == 4
    again = make_plan(TASK, tmp_path, shots=2, seed=0, limit=4)
    assert hash_prompts(again.prompts) == hash_prompts(plans[0].prompts)


def test_zero_shots_need_no_training_split(tmp_path):
    write_data(tmp_path)
    (tmp_path / "train.jsonl").unlink()
    plan = make_plan(TASK, tmp_path, shots=0)
    assert plan.prompts[0].prefix == "Is the message happy or sad?\n\n"


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


def test_a_prompt_that_no_shortening_can_fit_is_refused_by_id(tmp_path):
    plan = make_plan(TASK, write_data(tmp_path), shots=0)
    with pytest.raises(InvalidInputError, match=r"test-0.*longer than the model's context"):
        plan.shortened(lambda prompts: list(range(len(prompts))))
