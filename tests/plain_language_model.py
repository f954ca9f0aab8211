"""A language model used from the definitions: full forward, no cache, no batching, float32.

Import it after ``pytest.importorskip("transformers")``.
"""

import numpy as np
import torch
import transformers

from dnip.prompting.engines.base import Scoring


class PlainLanguageModel:
    """Every prompt by itself, every answer by itself."""

    def __init__(self, folder):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.model.eval()

        self.known = {}

    @torch.no_grad()
    def logprobs(self, tokens):
        if tokens not in self.known:
            logits = self.model(torch.tensor([tokens]), use_cache=False).logits
            self.known[tokens] = logits[0].log_softmax(-1)
        return self.known[tokens]

    def score(self, prompts, task, scoring):
        return np.array([self._row(prompt.text, task, scoring) for prompt in prompts])

    def _row(self, prompt, task, scoring):
        tokens = self.tokenizer(prompt)["input_ids"]
        at_answer = self.logprobs(tuple(tokens))[-1]
        row = []
        for label in range(task.n_classes):
            whole = self.tokenizer(prompt + task.answer(label))["input_ids"]
            assert whole[: len(tokens)] == tokens
            own = whole[len(tokens) :]
            if scoring is Scoring.FIRST:
                row.append(at_answer[own[0]].exp())
            elif scoring is Scoring.MEAN:
                row.append(at_answer[own].exp().mean())
            else:
                logprobs = self.logprobs(tuple(whole))
                total = sum(logprobs[len(tokens) - 1 + i, t] for i, t in enumerate(own))
                row.append((total / (len(own) if scoring is Scoring.PER_TOKEN else 1)).exp())
        return [float(p) for p in row]
