from dataclasses import replace

import pytest

from dnip.base.errors import InvalidInputError
from reproduction.plan import load_plan
from reproduction.planned_sources import planned_sources
from reproduction.saved_sources import saved_sources
from texts import write_tables, write_texts


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    return load_plan("quick").with_model(str(tmp_path / "model"))


def sources_of(plan, tmp_path):
    return planned_sources(plan, tmp_path / "data", tmp_path / "out", tmp_path / "texts")


def test_prompts_that_reason_are_the_plain_ones_with_the_papers_sentences(plan, tmp_path):
    write_texts(tmp_path / "data")
    sources = sources_of(plan, tmp_path)
    reasoned = sources.reasoned(20, 16)[0]
    after, plain = (
        sources.requests[one.key].plan() for one in (reasoned.test, reasoned.plain_test)
    )
    ((_, label),) = after.builder.demonstrations
    asked = "Answer: Think step by step before answering."
    reason = after.task.chain_of_thought.rationales[label]
    expected = plain.prompts[0].text.replace("Topic:", f"{asked} {reason}", 1)
    assert after.prompts[0].text == expected.replace("Topic:", asked)


def test_what_a_table_depends_on_changes_its_key_and_nothing_else_does(plan, tmp_path):
    write_texts(tmp_path / "data")
    first = sources_of(plan, tmp_path)
    assert {row.test.key for row in sources_of(plan, tmp_path)} == {row.test.key for row in first}
    fewer = sources_of(plan.model_copy(update={"seeds": (0,)}), tmp_path)
    assert {row.test.key for row in fewer} < {row.test.key for row in first}
    (tmp_path / "model" / "config.json").write_text("{ }")
    other = sources_of(plan, tmp_path)
    assert not {row.test.key for row in other} & {row.test.key for row in first}
    with (tmp_path / "data" / "trec" / "test.jsonl").open("a") as file:
        file.write('{"text": "one more row", "label": 0}\n')
    grown = {row.task: row.test.key for row in sources_of(plan, tmp_path)}
    old = {row.task: row.test.key for row in other}
    assert grown["agnews"] == old["agnews"]
    assert grown["trec"] != old["trec"]


def test_an_opt_pool_from_the_test_split_shares_no_row_with_the_test_table(plan, tmp_path):
    write_texts(tmp_path / "data")
    source = next(iter(sources_of(plan, tmp_path)))
    assert source.opt.key == source.test.key
    lines = [f"{n % 4},{0.7 - n / 1000},{0.1 + n / 1000},0.1,0.1" for n in range(60)]
    table = tmp_path / "t.csv"
    table.write_text("label,p0,p1,p2,p3\n" + "\n".join(lines) + "\n")
    opt, test = (replace(ref, path=str(table)).read() for ref in (source.opt, source.test))
    assert len(opt) == len(test) == 30
    rows = {tuple(row) for row in opt.probabilities.tolist()}
    assert not rows & {tuple(row) for row in test.probabilities.tolist()}


def test_options_that_do_not_go_together_are_refused_in_terms_of_the_plan(tmp_path):
    write_texts(tmp_path / "data")
    plan = load_plan("quick").with_model("http://127.0.0.1:9/v1")
    with pytest.raises(InvalidInputError, match=r"needs the name of its model.*served_model = "):
        sources_of(plan, tmp_path)


def test_saved_tables_are_sources_and_bad_folders_are_named(tmp_path):
    folder = write_tables(tmp_path / "tables", ("b", "a"))
    (folder / "empty").mkdir()
    (folder / "bad").mkdir()
    (folder / "bad" / "opt.csv").write_text("label,p0,p1\n0,0.5,0.5\n")
    (folder / "bad" / "test.csv").write_text("label,p0,p1\n0,-1,0.5\n")
    sources = saved_sources(folder)
    assert [row.task for row in sources] == ["a", "b"]
    assert sources.rows[0].classes == ("World", "Sports", "Business", "Technology")
    unknown = {"shots": None, "seed": None}
    assert (
        sources.rows[0].labels == {"model": "models/small", "task": "a", "dataset": "a"} | unknown
    )
    assert set(sources.missing) == {"empty", "bad"}
    assert sources.requests == {}
    assert sources.reasoned(20, 16) == ()
    assert sources.first_seed() == sources.rows
