"""Every source says the same of the same answer, in the shape in which its service writes it."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

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


@cases(
    # an article is not the label a; and an answer that is cut within its label is no fallback
    (["A", "B"], [("B", {"B": 0.6, "A": 0.2}), (" a", {" a": 0.9, " the": 0.1})], "stop", 0.25),
    (["spam", "ham"], [("sp", {"sp": 0.6, "ha": 0.2, "!": 0.1})], "length", 0.75),
)
def test_a_label_is_found_as_it_is_said(classes, positions, reason, first):
    said = chat("".join(token for token, _ in positions), *positions, reason=reason)
    table, summary = read_answers([said], classes)
    np.testing.assert_allclose(table.probabilities, [[first, 1 - first]])
    assert (summary.several, summary.n_nameless) == ((), 0)


@pytest.mark.parametrize(("fill", "ham"), [("zero", 0.0), ("half", 0.1), ("ceiling", 0.2)])
def test_a_label_that_is_not_reported_is_bounded(fill, ham):
    answer = chat("spam", ("spam", {"spam": 0.3, "a": 0.3, "b": 0.2}))
    unsure = chat("b", ("b", {"b": 0.25, "a": 0.25, "spam": 0.125}))
    both = chat("ham", ("ham", {"ham": 0.5, "spam": 0.5}))
    table, summary = read_answers([answer, unsure, both], CLASSES, fill=fill)
    np.testing.assert_allclose(table.probabilities[0], [ham / (ham + 0.3), 0.3 / (ham + 0.3)])
    assert summary.n_open == 1  # ham may be 0.125 in the second, and ties go to the lowest class


def test_tokens_that_begin_two_labels_are_refused():
    tokens = {"ne": 0.9, "positive": 0.05}
    with pytest.raises(InvalidInputError, match="begins several labels"):
        read_answers([chat("ne", ("ne", tokens))], ["negative", "neutral", "positive"])


REFUSALS = {
    "decisions": {"answers": [{"type": "refusal", "name": None}]},
    "chat": chat(None, refusal="I cannot"),
    "content filter": chat("", reason="content_filter"),
    "Gemini": {"candidates": [{"finishReason": "SAFETY"}]},
    "Gemini, no candidate": {"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}},
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


@cases(
        ("logprobs", chat("a", ("a", {"a": 1.5})), "log-probability 0.405"),
        ("logprobs", {"choices": [{"text": "ham"}]}, "no log-.*, such as 'answer 1'"),
        ("logprobs", {"type": "message", "content": [{"text": "ham"}]}, "no log-.*--votes"),
        ("logprobs", {"content": "ham", "response_metadata": {}}, "the answer has no log-"),
        ("logprobs", {"outputs": [{"text": "ham", "token_ids": [4]}]}, "the answer has no log"),
        ("logprobs", {"message": {"content": "ham", "thinking": "?"}}, "the answer has no log-"),
        ("logprobs", chat("spam", ("spam", {"spam": 0.5, "a": 0.5})), "no answer reports a token"),
        ("logprobs", {"choices": []}, "0 answers to one prompt"),
        ("logprobs", {"output": [{"type": "reasoning"}]}, "the answer has no log-"),
        ("lm-eval", {"doc_id": 0, "resps": [["some text"]]}, "instead of log-likelihoods"),
        ("lm-eval", {"doc_id": 0, "resps": [[[-1, True]]]}, "holds 1 log-likelihoods"),
        ("lm-eval", {"doc_id": 0, "resps": [[[0.5, True]], [[-1, 0]]]}, "log-likelihood is 0.5"),
        ("lm-eval", {"doc_id": 0, "resps": [[["x", True]], [[-1, False]]]}, "'x' is not a number"),
        ("lm-eval", {"doc_id": 0, "resps": [[["nan", 1]], [[-1, 0]]]}, "log-likelihood is nan"),
        ("logprobs", {"choices": chat("a", ("a", {"a": 0.5}))["choices"] * 5}, "5 answers to one"),
        ("logprobs", {"candidates": [{"content": None}] * 2}, "2 answers to one prompt"),
        ("lm-eval", {"doc_id": 0, "resps": [[[-1, 1], [-2, 1]]] * 2}, "is not a number"),
        ("hugging-face", [{"label": "ham", "score": 0.9}], "1 of 2 classes"),
        ("hugging-face", [{"label": c, "score": 0.9} for c in ("ham", "spam")] * 60, "120 scores"),
        ("hugging-face", [{"label": c, "score": 0.9} for c in ("ham", "spam")], "sum to 1.8"),
        ("hugging-face", {"labels": ["ham", "spam"], "scores": [0.003, 0.002]}, "sum to 0.005"),
        ("hugging-face", {"labels": ["ham", "spam"], "scores": [0.3, 0.3, 0.4]}, "is not whole"),
        ("hugging-face", {"labels": ["ham", "egg"], "scores": [0.5, 0.5]}, "the options are ham,"),
        ("hugging-face", [{"label": c, "score": 0.25} for c in ("ham", "spam", "egg")],
         "the options are ham, spam, egg, but the classes are ham, spam"),
        ("hugging-face", [{"label": f"LABEL_{n}", "score": 0.25 + n / 2} for n in (1, 0)],
         "their order, --map ham=LABEL_0 --map spam=LABEL_1"),
        ("columns", {"ham": 0.5, "egg": 0.5}, "there is no column spam; the columns are ham, egg"),
        ("columns", {"ham": 0.5, "spam": "x"}, "spam: 'x' is not a number"),
        ("columns", {"ham": 0.5, "spam": -0.5}, "Take a softmax of logits"),
        ("columns", {"ham": 0.5, "spam": 0.5, "mass": 2}, "answer 1, mass"),
        ("columns", {"ham": 0.0, "spam": 0.0}, "all class probabilities are 0"),
        ("decisions", choice({"type": "box", "box": {}}), "type 'box'"),
        ("decisions", choice({"type": "choice", "choice": "a", "probabilities": {"a": 1, "b": 0}}),
         "the options are a, b, but the classes are ham, spam")
)  # fmt: skip
def test_damaged_answers_are_refused(source, answer, told):
    assert SOURCES[source].recognises(answer)
    with pytest.raises(InvalidInputError, match=told) as raised:
        read_answers([answer], CLASSES)
    assert str(raised.value).startswith("answer")


JUNK = [None, True, -1, 1e999, float("nan"), "", "x", [], {}, [[]], [{}], {"a": 1}]


def places_in(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(one, (*path, key))


def spoilt(value, path, junk):
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = spoilt(copy[path[0]], path[1:], junk)
    return copy


@pytest.mark.parametrize(("source", "answer"), ALL)
def test_spoilt_answers_are_read_or_refused_with_a_message(source, answer):
    for path, junk in product(places_in(answer), JUNK):
        try:
            table, _ = read_answers([spoilt(answer, path, junk)], CLASSES, source=source)
        except InvalidInputError:
            continue
        assert np.isfinite(table.probabilities).all()


def test_a_target_that_may_be_a_place_or_a_text_is_refused():
    answer = {"doc_id": 0, "target": "1", "resps": [[[-1, False]], [[-1, False]]]}
    answer["arguments"] = [["?", " 1"], ["?", " 2"]]
    with pytest.raises(InvalidInputError, match="the number of a choice, or its text"):
        read_answers([answer], ["1", "2"])


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
    with pytest.raises(InvalidInputError, match=r"exponentials sum to 1 at most.*softmax"):
        read_answers([{pattern.format("ham"): -0.1, pattern.format("spam"): -0.1}], CLASSES)


def test_of_two_readings_one_is_taken_and_told():
    pieces = [{"token": "sp", "logprob": math.log(0.6)}, {"token": "am", "logprob": -0.01}]
    with pytest.raises(InvalidInputError, match=r"only the chosen token.*top_logprobs=20"):
        read_answers([{"answer": "spam", "lp": pieces}, {"answer": "ham", "lp": [HAM]}], CLASSES)
    tops = [{**HAM, "top_logprobs": [HAM, {"token": "spam", "logprob": math.log(0.1)}]}]
    _, summary = read_answers([{"first": {"ham": -3.0, "spam": -0.1}, "all": tops}], CLASSES)
    assert (summary.question, summary.columns) == ("all", ("all", "first"))
    row = {"first": {"ham": math.log(0.2), "spam": math.log(0.6)}, "all": tops}
    table, _ = read_answers([row], CLASSES, question="first")
    np.testing.assert_allclose(table.probabilities, [[0.25, 0.75]])


HAM = {"token": "ham", "logprob": math.log(0.6)}


@cases(
    ({"answer": "ham", "confidence": 0.9}, "no column holds probabilities.*logprobs=True.*--votes"),
    ({"outputs": ["CompletionOutput(index=0, text='ham')"]}, "dataclasses.asdict"),
    ({"lp": "{'ham': -0.5"}, "no column ham; the columns are lp"),
    ({"lp": "__import__('os').system('true')"}, "no column ham"),
    ({"lp": "[" * 5000}, "no column ham"),
)
def test_rows_that_tell_nothing_say_what_they_lack(row, told):
    with pytest.raises(InvalidInputError, match=told):
        read_answers([row], CLASSES)


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


def test_votes_of_a_row_may_stand_in_one_batch_file():
    def line(name, text):
        body = {"choices": [{"message": {"content": text}}]}
        return {"custom_id": name, "response": {"status_code": 200, "body": body}}

    lines = [line(f"r{n}-{i}", "spam" if i else "ham") for n in range(3) for i in range(4)]
    table, _ = read_answers(lines, CLASSES, votes=True)
    assert table.ids.tolist() == ["r0", "r1", "r2"]
    np.testing.assert_allclose(table.probabilities, [[0.3, 0.7]] * 3)


def test_nested_ids_meet_the_plain_ids_of_a_gold_file(tmp_path):
    (tmp_path / "gold.csv").write_text("id,label\n1,spam\n2,ham\n")
    rows = [{"of": {"id": n}, "lp": {"ham": -1.0, "spam": -2.0}} for n in (1, 2)]
    table, _ = read_answers(rows, CLASSES, on="of.id", gold=tmp_path / "gold.csv")
    assert table.labels.tolist() == [1, 0]
