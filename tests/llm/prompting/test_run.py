"""A run asks what was not asked before, and writes its table whole from what is there."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dnip import BackendError, DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.llm.prompting.engines import MissingEndpointError
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import make_plan
from dnip.llm.prompting.run import open_answers, run_plan
from dnip.llm.prompting.texts import read_texts
from dnip.llm.questions import Question
from dnip.tables.origin import metadata_path
from fakes import TASK, FakeEngine, plan_of, scores, write_data


@pytest.fixture
def plan(tmp_path):
    return plan_of(write_data(tmp_path), shots=1)


def plan_for(rows, **settings):
    return make_plan(TASK, read_texts(rows, TASK, **settings))


def run(plan, engine, out):
    return run_plan(plan, engine, out=out)


def test_the_table_holds_every_row_once_in_order(plan, tmp_path):
    out = tmp_path / "table.csv"
    summary = run(plan, FakeEngine(), out)
    table = ProbabilityTable.read(out, TASK.classes)
    captured = np.array([scores(prompt.text, 2) for prompt in plan.prompts])
    expected = captured / captured.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table.probabilities, expected, rtol=1e-15)
    assert table.labels.tolist() == plan.texts.labels.tolist()
    assert (summary.n, summary.n_asked, summary.n_kept, summary.n_labelled) == (9, 9, 0, 9)
    assert summary.mean_mass == pytest.approx(captured.sum(axis=1).mean())
    asked = Question.read(json.loads(metadata_path(out).read_text())["question"])
    assert (asked.model, asked.form, asked.options) == ("fake", "plain", TASK.classes)
    written = {out.name, f"{out.name}.meta.json", f"{out.name}.answers"}
    assert {path.name for path in tmp_path.glob("*table*")} == written


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
    assert summary.n_kept == (stop_after if stop_after < 9 else 0)
    assert len(second.asked) == summary.n_asked == 9 - summary.n_kept


ROWS = [{"text": f"message {i}", "mood": "happy", "other": "sad", "no": i} for i in range(6)]
CHANGES = {
    "a label is corrected": lambda rows: rows[2].update(mood="sad"),
    "a label is taken away": lambda rows: rows[2].update(mood=""),
    "ids are others": lambda rows: [row.update(no=row["no"] + 100) for row in rows],
    "a row is gone": lambda rows: rows.pop(3),
    "rows change places": lambda rows: rows.reverse(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_labels_ids_and_rows_are_written_anew_without_a_question(tmp_path, change):
    out, fresh = tmp_path / "table.csv", tmp_path / "fresh.csv"
    rows = [dict(row) for row in ROWS]
    columns = {"label": "mood", "id": "no", "keep": ["other"]}
    run(plan_for(rows, **columns), FakeEngine(), out)
    CHANGES[change](rows)
    idle = FakeEngine()
    summary = run(plan_for(rows, **columns), idle, out)
    assert idle.asked == []
    assert (summary.n_asked, summary.n_kept) == (0, len(rows))
    run(plan_for(rows, **columns), FakeEngine(), fresh)
    assert out.read_bytes() == fresh.read_bytes()


def test_another_label_column_and_a_table_that_was_cut_or_edited_are_made_right(tmp_path):
    out = tmp_path / "table.csv"
    run(plan_for(ROWS, label="mood", id="no"), FakeEngine(), out)
    whole = out.read_text()
    for damage in (whole[: len(whole) // 2], whole.replace("happy", "sad", 3), "", "no table"):
        out.write_text(damage)
        run(plan_for(ROWS, label="mood", id="no"), FakeEngine(stop_after=0), out)
        assert out.read_text() == whole
    run(plan_for(ROWS, label="other", id="no"), FakeEngine(stop_after=0), out)
    assert ProbabilityTable.read(out, TASK.classes).labels.tolist() == [1] * 6


def test_new_rows_alone_are_asked(tmp_path):
    run(plan_for(ROWS[:4]), FakeEngine(), tmp_path / "table.csv")
    engine = FakeEngine()
    summary = run(plan_for(ROWS), engine, tmp_path / "table.csv")
    assert len(engine.asked) == summary.n_asked == 2
    assert summary.n_kept == 4


def test_rows_with_one_prompt_are_asked_once(tmp_path):
    engine = FakeEngine()
    rows = [{"text": text, "label": n % 2} for n, text in enumerate("abacab")]
    summary = run(plan_for(rows), engine, tmp_path / "table.csv")
    assert len(engine.asked) == summary.n_asked == 3
    assert (summary.n, summary.n_alike) == (6, 3)
    table = ProbabilityTable.read(tmp_path / "table.csv", TASK.classes)
    assert table.labels.tolist() == [0, 1] * 3
    p = table.probabilities
    assert (p[0] == p[2]).all()
    assert (p[1] == p[5]).all()
    assert (p[0] != p[1]).any()


def test_other_settings_and_words_are_asked_anew_and_none_are_mixed(plan, tmp_path):
    out = tmp_path / "table.csv"
    run(plan, FakeEngine(), out)
    first = out.read_bytes()
    other = plan_of(tmp_path, shots=1, seed=5)
    for changed, engine in ((other, FakeEngine()), (plan, FakeEngine(name="another"))):
        assert run(changed, engine, out).n_kept == 0
        assert len(engine.asked) == 9
    assert run(plan, FakeEngine(stop_after=0), out).n_kept == 9
    assert out.read_bytes() == first
    settings = json.loads(metadata_path(out).read_text())["settings"]
    assert (settings["seed"], settings["engine"]) == (0, {"engine": "fake"})


def test_versions_of_libraries_do_not_count(plan, tmp_path):
    class Versioned(FakeEngine):
        def describe(self):
            return {"engine": "fake", "versions": {"openai": self.name}, "torch": self.name}

    run(plan, Versioned(name="1"), tmp_path / "table.csv")
    assert run(plan, Versioned(name="2"), tmp_path / "table.csv").n_asked == 0


def test_a_table_that_no_run_has_made_is_kept(plan, tmp_path):
    out = tmp_path / "table.csv"
    out.write_text("mine")
    for metadata in (None, "{}", "no JSON", '{"settings": {}}', '{"settings": []}'):
        if metadata is not None:
            metadata_path(out).write_text(metadata)
        with pytest.raises(InvalidInputError, match="exists, and no `dnip prompt` has made it"):
            run(plan, FakeEngine(), out)
    assert out.read_text() == "mine"
    out.unlink()
    run(plan, FakeEngine(), out)
    (tmp_path / "table.csv.answers").unlink()
    assert run(plan, FakeEngine(), out).n_asked == 9


def test_a_table_of_other_classes_is_kept_and_nothing_is_asked(plan, tmp_path):
    out = tmp_path / "table.csv"
    run(plan, FakeEngine(), out)
    files = {path: path.read_bytes() for path in (out, metadata_path(out))}
    other = replace(plan, task=replace(plan.task, classes=("yes", "no")))
    told = "table.csv is of the classes happy, sad, not of yes, no.*another --out, or delete"
    with pytest.raises(InvalidInputError, match=told):
        run(other, FakeEngine(stop_after=0), out)
    assert {path: path.read_bytes() for path in files} == files
    out.unlink()
    run(other, FakeEngine(), out)
    assert ProbabilityTable.read(out, ("yes", "no")).classes == ("yes", "no")


@pytest.mark.parametrize("content", [b'{"format": "dnip-progress"}\n', b"SQLite format 3\0" * 9])
def test_a_file_that_holds_no_answers_is_refused_and_kept(plan, tmp_path, content):
    answers = tmp_path / "table.csv.answers"
    answers.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"damaged, or of another version.*Delete it"):
        run(plan, FakeEngine(), tmp_path / "table.csv")
    assert answers.read_bytes() == content


def test_an_engine_that_loses_rows_is_told_and_nothing_is_written(plan, tmp_path):
    class Forgetful(FakeEngine):
        def score(self, prompts, task):
            yield from (scored for scored in super().score(prompts, task) if scored.row != 4)

    out = tmp_path / "table.csv"
    with pytest.raises(BackendError, match="1 of 9 prompts were not scored"):
        run(plan, Forgetful(), out)
    assert not out.exists()
    assert run(plan, FakeEngine(), out).n_kept == 8


def test_two_runs_of_one_table_do_not_meet(tmp_path):
    path = tmp_path / "table.csv.answers"
    with (
        open_answers(path),
        pytest.raises(Exception, match="another run is writing"),
        open_answers(path),
    ):
        pass


def test_a_run_that_was_refused_before_its_first_row_leaves_nothing(plan, tmp_path):
    class Refusing(FakeEngine):
        def score(self, prompts, task):
            raise InvalidInputError("labels collide")

    with pytest.raises(InvalidInputError, match="labels collide"):
        run(plan, Refusing(), tmp_path / "table.csv")
    assert list(tmp_path.glob("table*")) == []


class Elsewhere(FakeEngine):
    """The model would say something else."""

    def score(self, prompts, task):
        for scored in super().score(prompts, task):
            yield replace(scored, captured=np.array([0.02, 0.01]))


def test_labels_that_capture_little_are_warned_of_before_a_fit(plan, tmp_path):
    with pytest.warns(DNIPWarning, match=r"table.csv: the labels capture less .* 100% of the rows"):
        run(plan, Elsewhere(), tmp_path / "table.csv")


class Vague(FakeEngine):
    """Some answers state no label."""

    def score(self, prompts, task):
        for scored in super().score(prompts, task):
            number = int(re.search(r"message (\d+)", prompts[scored.row].text)[1])
            if number % 3 == 1:
                details = {"unread": "no label", "said": f"well {number}"}
                yield replace(scored, captured=np.zeros(2), details=details)
            else:
                yield scored


def test_rows_whose_answer_states_no_label_are_left_out_loudly(tmp_path):
    out, rows = tmp_path / "table.csv", [{"text": f"message {i}", "id": f"t{i}"} for i in range(6)]
    with pytest.warns(DNIPWarning, match="table.csv: 33% of the answers are left out, 2 of 6"):
        summary = run(plan_for(rows), Vague(), out)
    assert (summary.n, summary.n_asked) == (4, 6)
    table = ProbabilityTable.read(out, TASK.classes)
    assert table.ids.tolist() == ["t0", "t2", "t3", "t5"]
    left_out = json.loads(metadata_path(out).read_text())["left_out"]
    assert left_out["reasons"] == [{"reason": "no label", "n": 2, "example": "'well 1'"}]
    assert left_out["rows"] == ["t1", "t4"]
    assert "states no label, which are left out: 2" in " ".join(summary.notes())
    with pytest.warns(DNIPWarning, match="left out"):  # and is not asked again
        assert run(plan_for(rows), FakeEngine(stop_after=0), out) == replace(
            summary, n_asked=0, n_kept=6
        )
    with pytest.raises(BackendError, match="no answer states a label: no label, such as 'well 1'"):
        run(plan_for(rows[1:2]), FakeEngine(stop_after=0), out)


class Endpoint(FakeEngine):
    """A server's endpoint, which may not be there; `gone` after so many answers."""

    def __init__(self, endpoint, *, gone=None):
        super().__init__(name=endpoint)
        self.gone, self.tried = gone, 0

    def describe(self):
        return {"engine": "server", "endpoint": self.name}

    def score(self, prompts, task):
        self.tried += 1
        for n, scored in enumerate(super().score(prompts, task)):
            if n == self.gone:
                raise MissingEndpointError("404")
            yield scored


def test_the_endpoint_is_found_out_once(plan, tmp_path):
    out = tmp_path / "table.csv"
    missing, chat = Endpoint("completions", gone=0), Endpoint("chat")
    summary = run_plan(plan, missing, chat, out=out)
    assert (summary.found, summary.n_asked) == ("chat", 9)
    assert "asked as --endpoint chat" in next(summary.notes())
    write_data(tmp_path, n_test=12)
    again = run_plan(plan_of(tmp_path, shots=1), missing, chat, out=out)
    assert (missing.tried, chat.tried, again.found, again.n_asked) == (1, 2, None, 3)


def test_no_third_endpoint_is_tried_and_none_in_the_middle(plan, tmp_path):
    ways = Endpoint("completions", gone=0), Endpoint("chat", gone=0)
    with pytest.raises(MissingEndpointError):
        run_plan(plan, *ways, out=tmp_path / "table.csv")
    assert [way.tried for way in ways] == [1, 1]
    ways = Endpoint("completions", gone=5), Endpoint("chat")
    with pytest.raises(MissingEndpointError):
        run_plan(plan, *ways, out=tmp_path / "table.csv")
    assert [way.tried for way in ways] == [1, 0]


def test_label_words_that_begin_alike_have_a_mass_of_one_at_most(plan, tmp_path, monkeypatch):
    monkeypatch.setattr("fakes.scores", lambda text, n: np.full(n, 0.9))
    run(plan, FakeEngine(), tmp_path / "table.csv")
    assert ProbabilityTable.read(tmp_path / "table.csv", TASK.classes).mass.tolist() == [1.0] * 9


def test_means_of_tokens_are_no_captured_mass(plan, tmp_path):
    out = tmp_path / "table.csv"
    run_plan(plan, FakeEngine(scoring=Scoring.PER_TOKEN), out=out)
    assert ProbabilityTable.read(out, TASK.classes).mass is None
