"""What is refused of saved answers, and what the message says: where, what, and the remedy."""

import json
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.sources import read_answers
from sidecars import completion

CLASSES = ["ham", "spam"]


def chat(text, *positions):
    return {"choices": completion(text, *positions)["choices"]}


def decision(answer):
    return {"answers": {"kind": answer}}


def sample(*logs):
    return {"doc_id": 0, "resps": [[[log, False]] for log in logs]}


def scores(*pairs):
    return [{"label": name, "score": p} for name, p in pairs]


HAM = {"token": "ham", "logprob": -0.5}
BOTH = {"ham": 0.5, "spam": 0.5}
REFUSED = [
    # answers of language models
    (chat("a", ("a", {"a": 1.5})), "answer 1: .*log-probability 0.405"),
    ({"choices": [{"text": "ham"}]}, "no log-probabilities: 1, such as 'answer 1'"),
    ({"type": "message", "content": [{"text": "ham"}]}, "no log-.*--votes"),
    ({"content": "ham", "response_metadata": {}}, "the answer has no log-"),
    ({"outputs": [{"text": "ham", "token_ids": [4]}]}, "the answer has no log-"),
    ({"outputs": ["CompletionOutput(index=0, text='ham')"]}, "dataclasses.asdict"),
    ({"message": {"content": "ham", "thinking": "?"}}, "the answer has no log-"),
    ({"output": [{"type": "reasoning"}]}, "the answer has no log-"),
    ({"output": {"message": {"content": [{"text": "ham"}]}}}, "the answer has no log-"),
    (chat("spam", ("spam", {"spam": 0.5, "a": 0.5})), "no answer reports a token of ham"),
    ({"choices": []}, "0 answers to one prompt"),
    ({"choices": chat("a", ("a", {"a": 0.5}))["choices"] * 5}, "5 answers to one prompt"),
    ({"candidates": [{"content": None}] * 2}, "2 answers to one prompt"),
    ({"answer": "spam", "lp": [HAM]}, r"only the chosen token.*top_logprobs=20"),
    # samples of harnesses
    ({"doc_id": 0, "resps": [["some text"]]}, "instead of log-likelihoods"),
    (sample(-1), "holds 1 log-likelihoods"),
    (sample(0.5, -1), "log-likelihood is 0.5"),
    (sample("x", -1), "'x' is not a number"),
    (sample("nan", -1), "log-likelihood is nan"),
    ({"doc_id": 0, "resps": [[[-1, 1], [-2, 1]]] * 2}, "is not a number"),
    # pipelines
    (scores(("ham", 0.9)), "1 of 2 classes"),
    (scores(("ham", 0.9), ("spam", 0.9)) * 60, "120 scores"),
    (scores(("ham", 0.9), ("spam", 0.9)), "sum to 1.8"),
    ({"labels": CLASSES, "scores": [0.003, 0.002]}, "sum to 0.005"),
    ({"labels": CLASSES, "scores": [0.3, 0.3, 0.4]}, "is not whole"),
    ({"labels": ["ham", "egg"], "scores": [0.5, 0.5]}, "the options are ham, egg, but the classes"),
    (scores(("LABEL_1", 0.75), ("LABEL_0", 0.25)), "order, --map ham=LABEL_0 --map spam=LABEL_1"),
    # decisions
    (decision({"type": "box", "box": {}}), "type 'box'"),
    (decision({"type": "choice", "choice": "a", "probabilities": {"a": 1, "b": 0}}),
     "the options are a, b, but the classes are ham, spam"),
    # rows with a column for each class, and without
    ({"ham": 0.5, "egg": 0.5}, "there is no column spam; the columns are ham, egg"),
    ({"ham": 0.5, "tokens": 7}, "there is no column spam"),
    ({"ham": 0.5, "spam": "x"}, "spam: 'x' is not a number"),
    ({"ham": 0.5, "spam": ""}, "answer 1: spam: '' is not a number"),
    ({"ham": "nan", "spam": 0.5}, "answer 1, ham: the number is missing"),
    ({"ham": "1,234", "spam": "2"}, "may be a thousand or a fraction"),
    ({"ham": "1_0", "spam": 1}, "'1_0' is not a number"),
    ({"ham": 0.0, "spam": 0.0}, "all class probabilities are 0"),
    ({**BOTH, "mass": 2}, "answer 1, mass"),
    ({"ham": 2.5, "spam": -0.5}, "Take a softmax of logits"),
    ({"logprob_ham": "-inf", "logprob_spam": ""}, "are all -inf.*Leave the row out"),
    ({"logprob_ham": -0.5, "logprob_spam": -0.55}, r"exponentials sum to 1 at most.*softmax"),
    ([{"ham": -3.0, "spam": -1.2}, {"ham": 2.0, "spam": 1.0}], "softmax"),
    ([{"ham": 2.0, "spam": 1.0}, {"ham": -3.0, "spam": -1.2}], "softmax"),
    ({"p_ham": 0.5, "p_spam": 0.2, "p_eggs": 0.3}, "sum to 0.7, and p_eggs are next to them"),
    ({"p_ham": 1, "p_spam": 0, "q_ham": 0, "q_spam": 1}, "--map ham=q_ham --map spam=q_spam"),
    ({"ham": 0, "spam": 0, "p_ham": 0.1, "p_spam": 0.3}, "--map ham=p_ham --map spam=p_spam"),
    ({"id": 1, "h": 0.5, "s": 0.5}, "--map ham=h --map spam=s, if that is their order"),
    ({"id": 1, "score": 0.5}, "type --map CLASS=score, for 1 - p"),
    ({"id": 1, "class": "ham", "prob": 0.9}, "only column prob holds a number.*pivoted"),
    ({"0.9": 0.2, "0.1": 0.8}, "the first line holds numbers.*such as ham,spam"),
    ({"id ham spam": "1 0.9 0.1"}, "Separate columns"),
    ({"answer": "ham", "confidence": 0.9}, "no column holds probabilities.*logprobs=True.*--votes"),
    ({"generation": "ham", "in": 9, "out": 3}, "no column holds probabilities.*logprobs=True"),
    ({"id": 1, "probs": "[0.9, 0.1]", "choices": "['a', 'b']"}, "the options are a, b"),
    ({"lp": "{'ham': -0.5"}, "no column ham; the columns are lp"),
    ({"lp": "__import__('os').system('true')"}, "no column ham"),
    ({"lp": "[" * 5000}, "no column ham"),
    # labels
    ({**BOTH, "label": "ham, spam"}, "neither a class name.*a row has one"),
    ({**BOTH, "label": ["ham", "spam"]}, "a text or a number is needed"),
    # files of tools
    ({"results": {"results": [{"testCase": {}, "response": {"output": "ham"}}]}}, "promptfoo"),
    ([{"data": {"text": "t"}, "predictions": [{"score": 0.9}]}], "Label Studio.*best class only"),
    ([{"spec": {}}, {"run_id": "r", "event_id": 0, "data": {}}], "answer 2: OpenAI's evals"),
    ({"results": {"t": {"acc": 0.5}}, "configs": {}, "versions": {}}, "--log_samples"),
    ({"ham": {"0": 0.1, "1": 0.2}, "spam": {"0": 0.9, "1": 0.8}}, "orient='records'"),
    ({"0": {"ham": 0.1, "spam": 0.9}, "1": {"ham": 0.2, "spam": 0.8}}, "orient='records'"),
    ({"adapter_spec": {}, "request_states": [{}]}, "scenarios of HELM are not read"),
    ({"fields": {}, "suggestions": {"label": {"value": "ham", "score": 0.9}}}, "suggested class"),
    ({"model_name": "m", "outputs": [{"name": "p", "data": [0.25, 0.75]}]}, "Triton or KServe"),
]  # fmt: skip


@cases(*REFUSED)
def test_the_message_says_what_is_wrong_and_what_to_do(answer, told):
    with pytest.raises(InvalidInputError, match=told) as raised:
        read_answers([answer], CLASSES)
    assert str(raised.value).startswith(("answer", "the numbers"))


#: Options that answers contradict.
MISUSED = [
    ({"1": 0.5, "0": 0.5, "label": 1}, {"names": {"ham": "1", "spam": "0"}}, "be the class ham"),
    ({"score": 1.5}, {"names": {"spam": "score"}}, r"1 - score, score hold numbers from -0\.5"),
    (BOTH, {"keep": ["id"]}, "already"),
    (BOTH, {"keep": ["text", "text"]}, "already"),
    (BOTH, {"keep": ["no"]}, "there is no no"),
    (sample(-1, -2), {"normalise": "characters"}, "lengths are not known"),
    (BOTH, {"question": "kind"}, "have no questions, of which --question kind could"),
    (chat("ham", ("ham", {"ham": 0.5, "spam": 0.5})), {"question": "kind"}, "have no questions"),
    (decision({"type": "refusal"}), {"question": "mood"}, "'mood'; the questions are kind"),
    ({"probs": BOTH, "label": "ham"}, {"votes": True}, r"labels \(label\).*without --votes, prob"),
    ({"answers": {"label": {"type": "refusal"}}}, {}, r"labels \(label\).*Name it with --question"),
    ({**BOTH, "model": "m"}, {"only": "z", "question": "q"}, "no answer is of z; .*model: m"),
    (None, {}, "the request failed: 1.*again, or give other files"),
    (None, {"votes": True}, "the request failed: 1.*again, or give other files"),
    ({**sample(-1, -1), "target": "1", "arguments": [["?", " 1"], ["?", " 2"]]},
     {"names": {"ham": "1", "spam": "2"}}, "the number of a choice, or its text"),
]  # fmt: skip


@cases(*MISUSED)
def test_options_that_do_not_fit_are_refused(answer, options, told):
    with pytest.raises(InvalidInputError, match=told):
        read_answers([answer], CLASSES, **options)


@pytest.mark.parametrize("cut", [2_001, 3_000])
def test_a_line_that_is_cut_off_is_named(tmp_path, cut):
    lines = [json.dumps({"id": "7", **BOTH})] * 3_000
    lines[cut - 1] = lines[0][:20]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInputError, match=f"ine {cut}.* remove that line"):
        read_answers([tmp_path / "a.jsonl"], CLASSES)


def test_tokens_that_begin_two_labels_are_refused():
    tokens = {"ne": 0.9, "positive": 0.05}
    with pytest.raises(InvalidInputError, match="begins several labels"):
        read_answers([chat("ne", ("ne", tokens))], ["negative", "neutral", "positive"])


# --- answers that are spoilt at any place ---
JUNK = [None, True, -1, 1e999, float("nan"), "x", [], {}, [[{}]], {"a": 1}]
SHAPES_FILE = Path(__file__).with_name("data") / "shapes.jsonl"
SHAPES = [json.loads(line) for line in SHAPES_FILE.read_text("utf-8").splitlines()]


def places_in(value, path=()):
    """Each place; of a list the first two items, for the others are alike."""
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else islice(enumerate(value), 2)
        for key, one in items:
            yield from places_in(one, (*path, key))


def spoilt(value, path, junk):
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = spoilt(copy[path[0]], path[1:], junk)
    return copy


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["name"])
def test_spoilt_answers_are_read_or_refused_with_a_message(shape):
    for path, junk in product(places_in(shape["answer"]), JUNK):
        answer = spoilt(shape["answer"], path, junk)
        try:
            table, _ = read_answers([answer], CLASSES, source=shape["source"])
        except InvalidInputError:
            continue
        assert np.isfinite(table.probabilities).all()
