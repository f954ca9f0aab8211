"""Answers of decision servers: read into probabilities, and corrected by coefficients.

Servers answer typed questions with the probability of every option, in one of two shapes.
System One (``/v1/systemone`` of transformers, vLLM, SGLang, Ollama and others) holds the answers in
an object, by question. OpenAI (``/v1/decisions``) holds them in a list, each with its name.
"""

from dnip.llm.decisions.answers import Decision, read_decisions
from dnip.llm.decisions.correction import Correction, correct

__all__ = ["Correction", "Decision", "correct", "read_decisions"]
