"""A language model used from the definitions: full forward, no cache, no batching, float32.

Import it after ``pytest.importorskip("transformers")``.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import transformers

from dnip.llm.answers.stating import Rule, without_thoughts
from dnip.llm.prompting.labels import Scoring


class Reasoned(NamedTuple):
    """An answer's tokens, where it is scored, and the label probabilities there."""

    tokens: list
    place: int
    fallback: bool
    cut: bool
    captured: list


class PlainLanguageModel:
    """Every prompt by itself, every answer by itself."""

    def __init__(self, place):
        options = {}
        if place.is_file():
            place, options = place.parent, {"gguf_file": place.name}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            place, dtype=torch.float32, **options
        )
        self.model.eval()

    @cache  # noqa: B019
    @torch.no_grad()
    def logprobs(self, before, own):
        """What the model says of every token at the places of `own`, and of nothing else."""
        logits = self.model(torch.tensor([before + own]), use_cache=False).logits[0]
        return logits[len(before) - 1 :].log_softmax(-1)

    def score(self, prompts, task, scoring):
        return np.array([self._row(prompt.text, task, scoring) for prompt in prompts])

    def _row(self, prompt, task, scoring):
        tokens = self.tokenizer(prompt)["input_ids"]
        row = []
        for label in range(task.n_classes):
            whole = self.tokenizer(prompt + task.answer(label))["input_ids"]
            assert whole[: len(tokens)] == tokens
            row.append(self._probability(tokens, whole[len(tokens) :], scoring))
        return row

    @cache  # noqa: B019
    @torch.no_grad()
    def answer(self, prompt, most, stop=None):
        """The likeliest tokens one by one, and whether they end before they are cut."""
        tokens = self.tokenizer(prompt)["input_ids"]
        new = []
        while len(new) < most:
            logits = self.model(torch.tensor([[*tokens, *new]]), use_cache=False).logits[0, -1]
            token = int(logits.argmax())
            if token == self.tokenizer.eos_token_id:
                return new, True
            new.append(token)
            text = self.tokenizer.decode(new)
            if stop is not None and stop in text:
                before = [len(self.tokenizer.decode(new[:i])) for i in range(len(new))]
                return [new[i] for i in range(len(new)) if before[i] < text.index(stop)], True
        return new, False

    def reason(self, prompt, task, scoring, most, stop=None):
        """Label probabilities at the place of the stated label, or of the last token."""
        new, ended = self.answer(prompt.text, most, stop)
        lead = self.tokenizer(prompt.text + prompt.lead)["input_ids"]
        labels = []
        for label in range(task.n_classes):
            whole = self.tokenizer(prompt.text + prompt.lead + task.answer(label))["input_ids"]
            assert whole[: len(lead)] == lead
            labels.append(whole[len(lead) :])
        found = self._stated(new, labels, task)
        place = max(len(new) - 1, 0) if found is None else found
        before = [*self.tokenizer(prompt.text)["input_ids"], *new[:place]]
        captured = [self._probability(before, own, scoring) for own in labels]
        return Reasoned(new, place, found is None, not ended, captured)

    def _stated(self, new, labels, task):
        """Where the label that the text states begins: with its own tokens, or its first letter."""
        text = without_thoughts(self.tokenizer.decode(new))
        rule = Rule(tuple((word,) for word in task.label_words), exact=True, last=True)
        if not (mentions := rule.state(text).mentions):
            return None
        own = labels[mentions[0].label]
        ends = [len(self.tokenizer.decode(new[: i + 1])) for i in range(len(new))]
        begin = next(i for i, end in enumerate(ends) if end > mentions[0].start)
        whole = [
            i for i in range(begin + 1) if new[i : i + len(own)] == own and i + len(own) > begin
        ]
        return min(whole, default=begin)

    def _probability(self, before, own, scoring):
        """What a label's tokens get after some tokens."""
        logprobs = self.logprobs(tuple(before), tuple(own[:-1]))
        at_answer = logprobs[0]
        if scoring is Scoring.FIRST:
            return float(at_answer[own[0]].exp())
        if scoring is Scoring.MEAN:
            return float(at_answer[own].exp().mean())
        total = sum(logprobs[i, t] for i, t in enumerate(own))
        return float((total / (len(own) if scoring is Scoring.PER_TOKEN else 1)).exp())
