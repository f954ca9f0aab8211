"""
Correct chat answers in your own program
========================================

A chat API was asked for a label, with its log-probabilities. ``dnip.correct`` puts the corrected
label in the answer. Here two answers stand for those of an API.
"""

# %%
# With the package ``openai`` the answer comes from
# ``client.chat.completions.create(..., logprobs=True, top_logprobs=20)``. What is said of the
# likeliest tokens is enough to correct a label, alone or within JSON.

from math import log

import dnip

CLASSES = ["World", "Sports", "Business", "Technology"]


def completion(text: str, *tokens: str) -> dict:
    """Return a chat completion, as a server sends it; it says Business too easily."""
    p = {"World": 0.05, "Sports": 0.3, "Business": 0.5, "Technology": 0.1}
    top = [{"token": name, "logprob": log(value)} for name, value in p.items()]
    content = [
        {"token": one, "logprob": -0.1, "top_logprobs": top if one.strip() in p else [top[0]]}
        for one in tokens
    ]
    message = {"role": "assistant", "content": text}
    return {"model": "m", "choices": [{"message": message, "logprobs": {"content": content}}]}


# %%
# The coefficients come from ``dnip import`` and ``dnip fit``; these are made up.

fitted = dnip.Coefficients(CLASSES, [28, 30, 12, 26], 30)
answers = [
    completion("Business", "Business"),
    completion('{"topic": "Business"}', '{"', "topic", '":', ' "', "Business", '"}'),
    completion("It is about Business.", "It", " is", " about", " Business", "."),
]
for answer in answers:
    corrected = dnip.correct(answer, coefficients=fitted)
    texts = [one["choices"][0]["message"]["content"] for one in (answer, corrected)]
    print(" -> ".join(texts))
