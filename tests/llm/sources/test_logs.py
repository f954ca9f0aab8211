"""Files of tools: the answers in them, their order and labels, or what they lack."""

import csv
import io
import json
import math

import numpy as np
import pytest

import sidecars
from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.sources import read_answers

CLASSES = ["ham", "spam"]
P = (0.9, 0.2, 0.6)


def said(p, name="7"):
    """An answer that gives ham the probability p."""
    token = "ham" if p >= 0.5 else "spam"
    return {**sidecars.completion(token, (token, {"ham": p, "spam": 1 - p})), "id": name}


def choice(p):
    return said(p)["choices"][0]


def saved(tmp_path, content):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content))
    return path


def check(table, p=P, labels=None, ids=None):
    np.testing.assert_allclose(table.probabilities[:, 0], p)
    assert labels is None or table.labels.tolist() == labels
    assert ids is None or table.ids.tolist() == ids


def test_a_log_of_inspect_ai_holds_samples(tmp_path):
    samples = [
        {
            "id": n,
            "epoch": 1,
            "target": CLASSES[n % 2],
            "output": {"model": "m", "choices": [{**choice(p), "stop_reason": "stop"}]},
        }
        for n, p in enumerate(P)
    ]
    log = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    imported = read_answers([saved(tmp_path, log)], CLASSES, label="target")
    check(imported.table, labels=[0, 1, 0], ids=["0", "1", "2"])
    assert imported.summary.model == "m"


def samples_of(logs):
    return [
        {"doc_id": n, "target": 1, "doc": {"choices": {"text": ["ham", "old spam"]}}, "resps": [
            [[one, False]] for one in row]}
        for n, row in enumerate(logs)
    ]  # fmt: skip


LOGS = np.array([[-2.5, -0.3], [-0.5, -1.3], [-6.0, -16.0]])


def test_results_of_lm_evaluation_harness_hold_samples_by_task(tmp_path):
    content = {"results": {}, "samples": {"task": samples_of(LOGS.tolist())}}
    p = np.exp(LOGS)[:, 0] / np.exp(LOGS).sum(axis=1)
    names = {"spam": "old spam"}
    imported = read_answers([saved(tmp_path, content)], CLASSES, names=names)
    check(imported.table, p, [1, 1, 1])
    assert imported.table.mass is None  # of a choice of several words it says nothing
    by_length = np.exp(LOGS / [3, 8])
    imported = read_answers(
        [saved(tmp_path, content)], CLASSES, names=names, normalise="characters"
    )
    check(imported.table, by_length[:, 0] / by_length.sum(axis=1))
    content["samples"]["other"] = content["samples"]["task"]
    with pytest.raises(InvalidInputError, match="several questions: task, other"):
        read_answers([saved(tmp_path, content)], CLASSES)
    bare = [{**one, "doc": {}} for one in samples_of(LOGS.tolist())]
    with pytest.raises(InvalidInputError, match="lengths are not known"):
        read_answers(bare, CLASSES, normalise="characters")


def test_a_batch_is_put_in_order(tmp_path):
    batch = [{"index": n, **said(p)} for n, p in enumerate(P)]
    for one in batch:
        del one["id"]
    (tmp_path / "gold.csv").write_text("label\nham\nspam\nham\n")
    shuffled = saved(tmp_path, [batch[2], batch[0], batch[1]])
    imported = read_answers([shuffled], CLASSES, gold=tmp_path / "gold.csv", on="row")
    check(imported.table, labels=[0, 1, 0])


@cases(
    ({"results": {"results": [{"testCase": {}, "response": {"output": "ham"}}]}}, "promptfoo"),
    ([{"data": {"text": "t"}, "predictions": [{"score": 0.9}]}], "Label Studio.*best class only"),
    ({"run_id": "r", "event_id": 0, "type": "sampling", "data": {}}, "evals.*no log-prob"),
)
def test_what_tools_lack_is_said(tmp_path, content, told):
    with pytest.raises(InvalidInputError, match=told):
        read_answers([saved(tmp_path, content)], CLASSES)


def test_a_log_of_evals_begins_with_its_settings(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [{"spec": {}}, {"run_id": "r", "event_id": 0, "data": {}}]
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InvalidInputError, match="line 2: OpenAI's evals"):
        read_answers([path], CLASSES)


@pytest.mark.parametrize("junk", [None, 3, "x", [3], {"a": 1}, [None]])
def test_damaged_logs_are_refused_with_a_message(junk):
    for log in (
        {"eval": {}, "samples": junk},
        {"results": {}, "samples": {"task": junk}},
        {"results": {"results": junk}},
    ):
        with pytest.raises(InvalidInputError):
            read_answers([log], CLASSES)


# --- answers that tell too little ---
def silent(kind, p):
    """The same answer without the likeliest tokens."""
    answer = said(p, kind)
    [place] = answer["choices"][0]["logprobs"]["content"]
    if kind == "none":
        answer["choices"][0]["logprobs"] = None
    elif kind == "empty":
        place["top_logprobs"] = []
    elif kind == "chosen":
        place["top_logprobs"] = place["top_logprobs"][: 1 if p >= 0.5 else None][-1:]
    else:
        place["topLogprobs"] = None
        del place["top_logprobs"]
    return answer


@pytest.mark.parametrize("kind", ["none", "empty", "chosen", "camel"])
def test_answers_that_tell_too_little_are_left_out_and_counted(kind):
    table, summary = read_answers([said(0.9, "a"), silent(kind, 0.2), said(0.6, "b")], CLASSES)
    check(table, (0.9, 0.6))
    assert summary.silent == (kind,)
    with pytest.raises(InvalidInputError, match=r": 2, such as .*top_logprobs=20"):
        read_answers([silent(kind, 0.2)] * 2, CLASSES)


def test_the_rows_of_a_table_are_left_out_alike():
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["id", "response", "lp"])
    for name, lp in (("a", {"ham": -0.1, "spam": -2.5}), ("b", {"ham": -0.1})):
        writer.writerow([name, "ham", json.dumps(lp)])
    rows = [*csv.DictReader(written.getvalue().splitlines())]
    table, summary = read_answers(rows, CLASSES)
    assert (len(table), summary.silent) == (1, ("b",))


def test_an_empty_refusal_is_none():
    answers = [said(p, str(n)) for n, p in enumerate(P)]
    for one in answers:
        one["choices"][0]["message"]["refusal"] = ""
    check(read_answers(answers, CLASSES).table)


def test_classes_that_no_answer_reports_are_told():
    tenths = [*map(str, range(1, 11))]
    answers = [
        {**sidecars.completion("10", ("10", {"10": 0.5, "9": 0.3, "8": 0.2})), "id": "a"},
        {**sidecars.completion("1", ("1", {"1": 0.5, "10": 0.3, "8": 0.2})), "id": "b"},
    ]
    table, summary = read_answers(answers, tenths)
    assert summary.unreported == tuple("234567")
    np.testing.assert_allclose(table.probabilities[:, 9], [0.5, 0.3])


def test_a_text_beside_the_likeliest_tokens_may_be_what_was_asked():
    row = {
        "text": "Spam, spam, ham and eggs",
        "lp": {"Spam": math.log(0.75), "ham": math.log(0.25)},
    }
    check(read_answers([row], CLASSES).table, (0.25,))


@cases(
    ({"results": {"t": {"acc": 0.5}}, "configs": {}, "versions": {}}, "--log_samples"),
    ({"ham": {"0": 0.1, "1": 0.2}, "spam": {"0": 0.9, "1": 0.8}}, "orient='records'"),
    ({"0": {"ham": 0.1, "spam": 0.9}, "1": {"ham": 0.2, "spam": 0.8}}, "orient='records'"),
    ({"adapter_spec": {}, "request_states": [{}]}, "scenarios of HELM are not read"),
    ({"fields": {}, "suggestions": {"label": {"value": "ham", "score": 0.9}}}, "suggested class"),
)
def test_files_without_rows_of_probabilities_say_what_to_write(tmp_path, content, told):
    with pytest.raises(InvalidInputError, match=told):
        read_answers([saved(tmp_path, content)], CLASSES)


def test_bedrock_and_blocked_prompts(tmp_path):
    def line(name, text):
        output = {"type": "message", "content": [{"type": "text", "text": text}]}
        return {"recordId": name, "modelInput": {}, "modelOutput": output}

    lines = [line(f"1-{n}", name) for n, name in enumerate(("ham", "ham", "spam"))]
    lines.append({"recordId": "1-3", "modelInput": {}, "error": {"errorCode": 429}})
    table, summary = read_answers(lines, CLASSES, votes=True)
    check(table, [2.5 / 4])
    assert summary.failed == ("1-3",)
    converse = {"output": {"message": {"role": "assistant", "content": [{"text": "ham"}]}}}
    with pytest.raises(InvalidInputError, match="has no log-probabilities"):
        read_answers([converse], CLASSES)
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m"}
    assert read_answers([said(0.9), blocked, None], CLASSES).summary.refused == ("answer 2",)


@cases(
    {"data": [said(p, n) for n, p in enumerate(P)]},
    {f"id{n}": said(p, n) for n, p in enumerate(P)},
    {f"id{n}": {"ham": p, "spam": 1 - p} for n, p in enumerate(P)},
    {"rows": [{"ham": p, "spam": 1 - p} for p in P]},
    {"predictions": [[p, 1 - p] for p in P]},
    {"predictions": [{"displayNames": CLASSES, "confidences": [p, 1 - p]} for p in P]},
)
def test_an_object_may_hold_all_rows(tmp_path, content):
    check(read_answers([saved(tmp_path, content)], CLASSES).table)


def test_an_object_with_numbers_of_one_row_is_one_row():
    scores = [{"label": "ham", "score": 0.9}, {"label": "spam", "score": 0.1}]
    tops = [{"token": "ham", "logprob": -0.1}, {"token": "spam", "logprob": -2.4}]
    for row in ({"predictions": scores}, {"id": 1, "data": tops}):
        assert len(read_answers([row], CLASSES).table) == 1
