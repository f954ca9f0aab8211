"""A deterministic engine, a tokenizer of one function, and a small data folder."""

import hashlib
import json
import math
from dataclasses import replace

import numpy as np

from dnip.llm.prompting.engines import ScoredRow, prompted
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.plan import make_plan
from dnip.llm.prompting.task import Task
from dnip.llm.prompting.texts import read_texts
from sidecars import completion

TASK = Task(
    name="mood",
    instruction="Is the message happy or sad?",
    fields=("text",),
    template="Message: {{ text }}\nMood:",
    classes=("happy", "sad"),
    label_words=("happy", "sad"),
)


class FakeEngine:
    """Scores are a hash of the prompt; stops with an error after some rows if told to."""

    def __init__(self, *, name="fake", stop_after=None, scoring=Scoring.FIRST):
        self.scoring = scoring
        self.name, self.stop_after = name, stop_after
        self.asked = []

    def describe(self):
        return {"engine": self.name}

    def question(self, prompts, task):
        return prompted(self.name, prompts, task, chat=False)

    def score(self, prompts, task):
        for n_given, row in enumerate(reversed(range(len(prompts)))):
            if n_given == self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(prompts[row].text)
            yield ScoredRow(row, scores(prompts[row].text, task.n_classes))


class FakeTokenizer(HubTokenizer):
    """A tokenizer of one function; a chat is its last message, and a reply begins as given."""

    def __init__(self, encode, *, reply="", **own):
        self.encode = self.encode_chat = encode
        self.chat = lambda messages: messages[-1]["content"]
        self.in_chat = lambda task: replace(task, answer_prefix=reply)
        vars(self).update(own)


def scores(text, n_classes):
    digest = hashlib.sha256(text.encode()).digest()
    return np.frombuffer(digest[:n_classes], np.uint8) / 512 + 1e-3


def happy(body):
    """A server's answer: happy with probability 0.6, sad with 0.3, in either endpoint."""
    top = {"happy": 0.6, "sad": 0.3, "the": 0.1}
    if "messages" in body:
        return completion("happy", ("happy", top))
    logs = {f" {text}": math.log(p) for text, p in top.items()}
    return {"choices": [{"logprobs": {"tokens": [" happy"], "top_logprobs": [logs]}}]}


def plan_of(folder, split="test", *, shots=0, task=TASK, label=None, **settings):
    """A plan for one of the files of `write_data`, with demonstrations from the other."""
    shown = read_texts(folder / "train.jsonl", task, label=label) if shots else None
    texts = read_texts(folder / f"{split}.jsonl", task, label=label)
    return make_plan(task, texts, shown, shots=shots, **settings)


def write_data(folder, n_train=10, n_test=9):
    """Write train.jsonl and test.jsonl of mood messages."""
    for split, n in (("train", n_train), ("test", n_test)):
        rows = [{"text": f"{split} message {i}", "label": i % 2} for i in range(n)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
