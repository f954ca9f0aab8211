"""Every source says the same of the same answer, in the shape in which its service writes it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from cases import cases
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.llm.sources import read_answers
from dnip.llm.sources.opening import SOURCES
from sidecars import completion

CLASSES = ["ham", "spam"]
#: Written by lm-evaluation-harness 0.4.13: the prompts of the task agnews.
SAMPLES = Path(__file__).with_name("data") / "samples_news.jsonl"
NEWS = ["World", "Sports", "Business", "Technology"]
SHAPES_FILE = Path(__file__).with_name("data") / "shapes.jsonl"
#: Answers of every kind that all give 0.25 to ham and 0.75 to spam, as their services write them.
ALL = [
    pytest.param(one["source"], one["answer"], id=f"{one['source']}: {one['name']}")
    for one in map(json.loads, SHAPES_FILE.read_text().splitlines())
]
SHAPES = {param.id: param.values[1] for param in ALL}


def choice(answer):
    return {"model": "m", "answers": {"kind": answer}}


MASS = dict.fromkeys(("lm-eval", "logprobs", "rows"), 0.8)


@pytest.mark.parametrize(("source", "answer"), ALL)
def test_an_answer_is_recognised_and_read(source, answer):
    table, summary = read_answers([answer], CLASSES)
    assert (summary.source, summary.n) == (source, 1)
    np.testing.assert_allclose(table.probabilities, [[0.25, 0.75]], rtol=1e-12)
    if source in MASS:
        np.testing.assert_allclose(table.mass, [MASS[source]])
    else:
        assert table.mass is None
    if source == "lm-eval":
        assert (table.ids.tolist(), table.labels.tolist()) == (["7"], [1])


@cases(
    ("openai.types.decision.Decision", "decisions: OpenAI"),
    ("openai.types.completion.Completion", "logprobs: completions"),
    ("openai.types.chat.chat_completion.ChatCompletion", "logprobs: chat"),
    ("openai.types.responses.response.Response", "logprobs: Responses"),
)
def test_what_the_openai_client_writes_of_its_own_types_is_read(path, shape):
    module, _, name = path.rpartition(".")
    type_ = getattr(pytest.importorskip(module), name)
    written = type_.construct(**SHAPES[shape]).model_dump(mode="json")
    assert written.keys() > SHAPES[shape].keys()  # with what the service left out
    table, _ = read_answers([written], CLASSES)
    np.testing.assert_allclose(table.probabilities, [[0.25, 0.75]])


def test_every_source_has_a_shape():
    assert set(SOURCES) == {param.values[0] for param in ALL}


@cases(({"type": "noul", "noul": 0.9}, 0.9), ({"type": "predicate", "probability": 0.25}, 0.25))
def test_a_question_of_yes_and_no_has_these_classes(answer, p_yes):
    for classes in (["no", "yes"], ["false", "true"]):
        table, _ = read_answers([choice(answer)], classes)
        np.testing.assert_allclose(table.probabilities, [[1 - p_yes, p_yes]])
    table, _ = read_answers([choice(answer)], CLASSES, names={"ham": "no", "spam": "yes"})
    np.testing.assert_allclose(table.probabilities, [[1 - p_yes, p_yes]])


def test_label_mass_of_servers_becomes_captured_mass():
    answer = {"type": "choice", "choice": "ham", "probabilities": {"ham": 1.0, "spam": 0.0}}
    beside = {**choice(answer), "diagnostics": {"kind": {"label_mass": 0.5}}}
    within = choice({**answer, "label_mass": 0.25})
    table, _ = read_answers([beside, within], CLASSES)
    assert table.mass.tolist() == [0.5, 0.25]


def chat(text, *positions, reason="stop", **message):
    [choice] = completion(text, *positions)["choices"]
    message = {"content": text, **message}
    return {"choices": [{**choice, "message": message, "finish_reason": reason}]}


def test_the_label_that_an_answer_states_is_read_and_others_are_left_out():
    first = ("It", {"It": 0.5, "spam": 0.25, "ham": 0.2})
    label = (" ham", {" ham": 0.6, " spam": 0.2, " a": 0.1})
    table, summary = read_answers([chat("It is ham", first, (" is", {" is": 1.0}), label)], CLASSES)
    np.testing.assert_allclose(table.probabilities, [[0.75, 0.25]])
    assert (summary.n_nameless, summary.several) == (0, ())
    none = {"id": "9", **chat("It is", first, (" is", {" is": 1.0}))}
    cut = {"id": "6", **chat("It", first, reason="length")}
    both = [("spam", {"spam": 0.9, "ham": 0.1}), (",", {",": 1.0}), label]
    several = {"id": "7", **chat("spam, ham", *both)}
    with pytest.warns(
        DNIPWarning, match=r"50% of the .*, 2 of 4 \(.*such as 'spam, ham'; no label"
    ):
        table, summary = read_answers(
            [cut, several, {"id": "8", **chat("ham", label)}, none], CLASSES
        )
    assert (table.ids.tolist(), summary.n_nameless) == (["6", "8"], 1)  # cut after its first token
    assert (summary.several, summary.unstated) == (("7",), ("9",))  # nobody guesses


@pytest.mark.parametrize(("fill", "ham"), [("zero", 0.0), ("half", 0.1), ("ceiling", 0.2)])
def test_a_label_that_is_not_reported_is_bounded(fill, ham):
    answer = chat("spam", ("spam", {"spam": 0.3, "a": 0.3, "b": 0.2}))
    unsure = chat("b", ("b", {"b": 0.25, "a": 0.25, "spam": 0.125}))
    both = chat("ham", ("ham", {"ham": 0.5, "spam": 0.5}))
    table, summary = read_answers([answer, unsure, both], CLASSES, fill=fill)
    np.testing.assert_allclose(table.probabilities[0], [ham / (ham + 0.3), 0.3 / (ham + 0.3)])
    assert summary.n_open == 1  # ham may be 0.125 in the second, and ties go to the lowest class


REFUSALS = {
    "decisions": {"answers": [{"type": "refusal", "name": None}]},
    "chat": chat(None, refusal="I cannot"),
    "content filter": chat("", reason="content_filter"),
    "Gemini": {"candidates": [{"finishReason": "SAFETY"}]},
    "Gemini, no candidate": {"promptFeedback": {"blockReason": "SAFETY"}},
    "Responses": {
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No"}]}]
    },
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refusals_are_counted_and_left_out(refusal):
    sound = SHAPES["decisions: OpenAI"] if "answers" in refusal else SHAPES["logprobs: chat"]
    answers = [{**sound, "id": "a"}, {**refusal, "id": "b"}]
    table, summary = read_answers(answers, CLASSES)
    assert (table.ids.tolist(), summary.refused, summary.failed) == (["a"], ("b",), ())


# --- votes ---
OPENAI = ("stop", "length", "content_filter")
#: How each service writes an answer that ended, was cut, or was refused: without log-probabilities.
SAYS = {
    "choices": lambda text, end: {
        "message": {"content": f"<think>ham</think>{text}"}, "finish_reason": OPENAI[end]},
    "candidates": lambda text, end: {
        "content": {"parts": [{"text": "ham", "thought": True}, {"text": text}]},
        "finish_reason": ("STOP", "MAX_TOKENS", "SAFETY")[end]},
    "outputs": lambda text, end: {"text": text, "token_ids": [], "finish_reason": OPENAI[end]},
    "Anthropic": lambda text, end: {
        "type": "message", "stop_reason": ("end_turn", "max_tokens", "refusal")[end],
        "content": [{"type": "thinking", "thinking": "ham"}, {"type": "text", "text": text}]},
    "LangChain": lambda text, end: {
        "lc": 1, "id": ["langchain"],
        "kwargs": {"content": text, "response_metadata": {"finish_reason": OPENAI[end]}}},
    "Responses": lambda text, end: {
        "output": [{"type": "message", "content": [{("text", "text", "refusal")[end]: text}]}],
        "incomplete_details": {"reason": "max_output_tokens"} if end == 1 else None},
    "Ollama": lambda text, end: {"message": {"content": text}, "done_reason": OPENAI[end]},
    "llama.cpp": lambda text, end: {
        "content": text, "completion_probabilities": [],
        "stop_type": ("eos", "limit", "refusal")[end]},
    "a column": lambda text, end: {"answer": (text, "", None)[end], "label": "ham"},
}  # fmt: skip
VOTES = {"It is ham.": 0, "ham? No. Label: SPAM": 1, "I cannot say": None}


@pytest.mark.parametrize("service", SAYS)
def test_votes_of_repeated_answers_are_counted(service):
    rng = np.random.default_rng(0)
    votes, answers, refused = np.zeros((12, 2)), [], 0
    for row in range(12):
        said = []
        for text in rng.choice([*VOTES], 4):
            end = 2 if row == 7 else int(rng.choice(3, p=[0.6, 0.2, 0.2]))
            refused += end == 2
            if end == 0 and VOTES[text] is not None:
                votes[row, VOTES[text]] += 1
            said.append(SAYS[service](str(text), end))
        if service in ("choices", "candidates", "outputs"):  # several in one response
            said = [{service: said[:3]}, {service: said[3:]}]
        answers += [{"name": str(row), "response": one} for one in said]
    table, summary = read_answers(rng.permutation(answers).tolist(), CLASSES, votes=True, on="name")
    n = votes.sum(axis=1)
    rows = table.ids.astype(int)
    assert set(rows) == set(np.flatnonzero(n))
    assert set(summary.refused) == set(map(str, np.flatnonzero(n == 0)))
    shares = (votes + 0.5) / (n + 1)[:, None]  # half a vote more for each
    np.testing.assert_allclose(table.probabilities, shares[rows])
    np.testing.assert_allclose(table.mass, n[rows] / 4)
    assert summary.n_tied == (votes[rows, 0] == votes[rows, 1]).sum()
    unmatched = 48 - refused - n.sum()
    counts = {"answers": 48, "refused": refused, "unmatched": unmatched}
    told = {**counts, "fewest": n[rows].min(), "most": n.max(), "added": 0.5}
    assert (summary.source, summary.votes) == ("votes", told)


def test_votes_of_a_batch_of_lists_and_of_decisions_are_counted():
    said = SAYS["Anthropic"]("spam", 0)
    batch = [{"custom_id": "7", "result": {"type": "succeeded", "message": said}}] * 3
    batch += [{"custom_id": "7", "result": {"type": "expired"}}]
    one = {"type": "choice", "choice": "spam", "probabilities": {"ham": 0.5, "spam": 0.5}}
    generated = {"doc_id": 7, "resps": [["spam"] * 3], "filtered_resps": ["spam"]}
    texts = {"id": 7, "answers": ["spam"] * 3}
    for answers in (batch, [generated], [texts], [choice(one) | {"id": 7}] * 3):
        table, summary = read_answers(answers, CLASSES, votes=True)
        assert (table.ids.tolist(), table.probabilities.tolist()) == (["7"], [[0.125, 0.875]])
        assert (summary.votes["answers"], len(summary.failed)) == (3, int(answers is batch))


@cases(
    (
        [{"id": 1, "a": None}, {"id": 1, "a": "egg"}],
        "votes; the model refuses: 1, such as '1'; no label is stated: 1, such as 'egg'",
    ),
    ([{"id": 1, "a": "ham"}, {"id": 2, "a": "ham"}], "answer 2: the id 2 is given once"),
    ([{"a": "ham"}, {"a": "ham"}], "answer 2: the answer has no id. For votes"),
    ([{"id": 1, "a": "ham", "label": c} for c in [*CLASSES, "ham"]], "id '1' is already"),
    ([{"id": 1, "a": "ham", "b": "ham"}], "several questions: a, b"),
)
def test_answers_that_make_no_votes_are_refused(answers, told):
    with pytest.raises(InvalidInputError, match=told):
        read_answers(answers, CLASSES, votes=True)


# --- real writers ---
def test_samples_of_lm_evaluation_harness_hold_the_probabilities_of_whole_labels():
    samples = [json.loads(line) for line in SAMPLES.read_text().splitlines()]
    asked = [reversed(sample["resps"][: len(NEWS)]) for sample in samples]  # Technology comes first
    own = np.exp([[float(one[0][0]) for one in answers] for answers in asked])
    table, _ = read_answers([SAMPLES], NEWS, on="id")
    np.testing.assert_allclose(table.probabilities, own / own.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(table.mass, own.sum(axis=1))
    assert table.ids.tolist() == ["a", "b", "c", "d"]
    assert [NEWS[label] for label in table.labels] == [sample["target"] for sample in samples]


LOGS = {"logprob_{}": ("ham", "spam"), "{}_logprob": ("ham", "spam"), "{}": ("ham", "spam")}


@pytest.mark.parametrize("pattern", LOGS)
def test_a_column_of_log_probabilities_for_each_class_is_read(pattern):
    row = {pattern.format("ham"): str(math.log(0.2)), pattern.format("spam"): math.log(0.6)}
    table, summary = read_answers([row], CLASSES)
    np.testing.assert_allclose(table.probabilities, [[0.25, 0.75]])
    assert (summary.source, summary.n_normalised, table.mass.tolist()) == ("columns", 0, [0.8])
    rows = [row, {**row, pattern.format("ham"): ""}]  # not reported: at most .4, of which half
    np.testing.assert_allclose(read_answers(rows, CLASSES).table.probabilities[1], [0.25, 0.75])


def test_of_two_readings_one_is_taken_and_told():
    pieces = [{"token": "sp", "logprob": math.log(0.6)}, {"token": "am", "logprob": -0.01}]
    said = [{"id": "a", "answer": "spam", "lp": pieces}, {"answer": "ham", "lp": [HAM]}]
    with pytest.raises(InvalidInputError, match=r"only the chosen token.*: 2, such as 'a'"):
        read_answers(said, CLASSES)
    tops = [{**HAM, "top_logprobs": [HAM, {"token": "spam", "logprob": math.log(0.1)}]}]
    _, summary = read_answers([{"first": {"ham": -3.0, "spam": -0.1}, "all": tops}], CLASSES)
    assert (summary.question, summary.columns) == ("all", ("all", "first"))
    row = {"first": {"ham": math.log(0.2), "spam": math.log(0.6)}, "all": tops}
    table, _ = read_answers([row], CLASSES, question="first")
    np.testing.assert_allclose(table.probabilities, [[0.25, 0.75]])


HAM = {"token": "ham", "logprob": math.log(0.6)}


def test_failed_rows_are_counted_and_nested_ids_are_found():
    log = [
        {
            "id": "a",
            "status": "success",
            "response": chat("ham", ("ham", {"ham": 0.6, "spam": 0.4})),
        },
        {"id": "b", "status": "failure", "response": None, "error_str": "timeout"},
        {
            "id": "c",
            "status": "success",
            "response": chat("spam", ("spam", {"spam": 0.6, "ham": 0.4})),
        },
    ]
    table, summary = read_answers(log, CLASSES)
    assert (table.ids.tolist(), summary.failed) == (["a", "c"], ("b",))
    rows = [{"of": {"row": {"id": n}}, "lp": {"ham": -1.0, "spam": -2.0}} for n in (1, 2)]
    rows.append({"of": {"row": {"id": 3}}, "lp": ""})
    table, summary = read_answers(rows, CLASSES, on="of.row.id")
    assert (table.ids.tolist(), summary.failed) == (["1", "2"], ())
    assert summary.silent == ("3",)


def test_nested_ids_meet_the_plain_ids_of_a_gold_file(tmp_path):
    (tmp_path / "gold.csv").write_text("id,label\n1,spam\n2,ham\n")
    rows = [{"of": {"id": n}, "lp": {"ham": -1.0, "spam": -2.0}} for n in (1, 2)]
    table, _ = read_answers(rows, CLASSES, on="of.id", gold=tmp_path / "gold.csv")
    assert table.labels.tolist() == [1, 0]


# --- files of tools, and what stands next to answers there ---
P = (0.9, 0.2, 0.6)


def said(p, name="7"):
    """An answer that gives ham the probability p."""
    token = "ham" if p >= 0.5 else "spam"
    return {**completion(token, (token, {"ham": p, "spam": 1 - p})), "id": name}


def test_labels_ids_and_the_model_of_a_log_are_read():
    samples = [
        {"id": n, "target": CLASSES[n % 2], "output": {"model": "m", "choices": said(p)["choices"]}}
        for n, p in enumerate(P)
    ]
    table, summary = read_answers([{"eval": {}, "samples": samples}], CLASSES, label="target")
    assert (table.labels.tolist(), table.ids.tolist()) == ([0, 1, 0], ["0", "1", "2"])
    assert summary.model == "m"


def test_results_of_lm_evaluation_harness_hold_samples_by_task():
    logs = np.array([[-2.5, -0.3], [-0.5, -1.3], [-6.0, -16.0]])
    doc = {"choices": {"text": ["ham", "old spam"]}}
    rows = [
        {"doc_id": n, "target": 1, "doc": doc, "resps": [[[one, False]] for one in row]}
        for n, row in enumerate(logs.tolist())
    ]
    names, content = {"spam": "old spam"}, {"results": {}, "samples": {"task": rows}}
    table = read_answers([content], CLASSES, names=names).table
    np.testing.assert_allclose(table.probabilities, softmax(logs, axis=1))
    assert table.labels.tolist() == [1, 1, 1]
    assert table.mass is None  # of a choice of several words it says nothing
    table = read_answers([content], CLASSES, names=names, normalise="characters").table
    np.testing.assert_allclose(table.probabilities, softmax(logs / [3, 8], axis=1))
    content["samples"]["other"] = rows
    with pytest.raises(InvalidInputError, match="several questions: task, other"):
        read_answers([content], CLASSES)


def test_an_object_may_hold_rows_by_their_ids():
    p = dict(zip(("id0", "id1", "id2"), P, strict=True))
    chats = {name: {"choices": said(one)["choices"]} for name, one in p.items()}
    columns = {name: {"ham": one, "spam": 1 - one} for name, one in p.items()}
    for content in (chats, columns):
        table = read_answers([content], CLASSES).table
        np.testing.assert_allclose(table.probabilities[:, 0], P)
        assert table.ids.tolist() == [*p]


def test_a_batch_is_put_in_order(tmp_path):
    batch = [{"index": n, "choices": said(p)["choices"]} for n, p in enumerate(P)]
    (tmp_path / "gold.csv").write_text("label\nham\nspam\nham\n")
    shuffled = [batch[2], batch[0], batch[1]]
    table = read_answers([shuffled], CLASSES, gold=tmp_path / "gold.csv", on="row").table
    np.testing.assert_allclose(table.probabilities[:, 0], P)
    assert table.labels.tolist() == [0, 1, 0]


TELL_NOTHING = {
    "none": lambda choice, place: choice | {"logprobs": None},
    "empty": lambda choice, place: place | {"top_logprobs": []},
    "chosen": lambda choice, place: place | {"top_logprobs": place["top_logprobs"][-1:]},
    "camel": lambda choice, place: place | {"topLogprobs": None, "top_logprobs": None},
}


@pytest.mark.parametrize("kind", TELL_NOTHING)
def test_answers_that_tell_too_little_are_left_out_and_counted(kind):
    silent = said(0.2, kind)
    [choice] = silent["choices"]
    [place] = choice["logprobs"]["content"]
    (choice if kind == "none" else place).update(TELL_NOTHING[kind](choice, place))
    table, summary = read_answers([said(0.9, "a"), silent, said(0.6, "b")], CLASSES)
    np.testing.assert_allclose(table.probabilities[:, 0], (0.9, 0.6))
    assert summary.silent == (kind,)
    with pytest.raises(InvalidInputError, match=r": 2, such as .*top_logprobs=20"):
        read_answers([silent] * 2, CLASSES)


def test_classes_that_no_answer_reports_are_told():
    tenths = [*map(str, range(1, 11))]
    answers = [
        chat("10", ("10", {"10": 0.5, "9": 0.3, "8": 0.2})),
        chat("1", ("1", {"1": 0.5, "10": 0.3, "8": 0.2})),
    ]
    table, summary = read_answers(answers, tenths)
    assert summary.unreported == tuple("234567")
    np.testing.assert_allclose(table.probabilities[:, 9], [0.5, 0.3])


def test_a_batch_of_bedrock_is_counted():
    lines = [
        {"recordId": f"1-{n}", "modelInput": {}, "modelOutput": SAYS["Anthropic"](text, 0)}
        for n, text in enumerate(("ham", "ham", "spam"))
    ]
    lines.append({"recordId": "1-3", "modelInput": {}, "error": {"errorCode": 429}})
    table, summary = read_answers(lines, CLASSES, votes=True)
    assert (table.probabilities[0, 0], summary.failed) == (2.5 / 4, ("1-3",))
