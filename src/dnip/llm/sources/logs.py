"""Files of tools that hold many answers, or none: what is in them, or what they lack."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.llm.sources.source import Answer

# Tools whose files hold no probabilities, by the keys of these files.
_SILENT = (
    (
        {"run_id", "event_id", "data"},
        "a log of OpenAI's evals holds texts and no log-probabilities",
        "Ask the model yourself, with logprobs=True, top_logprobs=20, and save the answers",
    ),
    (
        {"data", "predictions"},
        "Label Studio keeps the score of the best class only, not the probabilities of the others",
        "Import what the model itself returned: a score for every class",
    ),
    (
        {"testCase", "response"},
        "promptfoo keeps the log-probability of the chosen tokens only, not the likeliest ones",
        "Ask the model yourself, with top_logprobs=20, and save the answers",
    ),
)


def answers_in(content: Answer, where: str) -> list[Answer] | None:
    """Return the answers that the file of a tool holds; None for anything else.

    Raises
    ------
    InvalidInputError
        For the file of a tool that keeps no probabilities, or one that is damaged.

    Examples
    --------
    >>> answers_in({"eval": {}, "samples": [{"id": 1}, {"id": 2}]}, "log.json")
    [{'id': 1}, {'id': 2}]
    """
    try:
        return _answers(content, where)
    except InvalidInputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(
            f"{where}: the file is not whole, or not in a shape that is known",
            hint="Import the files of a tool as it wrote them",
        ) from error


def _answers(content: Answer, where: str) -> list[Answer] | None:
    if isinstance(content, list):
        return _in_order(content)
    if not isinstance(content, dict):
        return None
    for keys, message, hint in _SILENT:
        if keys <= content.keys():
            raise InvalidInputError(f"{where}: {message}", hint=hint)
    samples, results = content.get("samples"), content.get("results")
    found: list[Answer] | None = None
    if isinstance(samples, dict):  # the results of lm-evaluation-harness, by task
        tasks = {"filter": ""} if len(samples) < 2 else {}
        found = [{"filter": task, **tasks, **one} for task, of in samples.items() for one in of]
    elif isinstance(samples, list) and "eval" in content:  # a log of inspect_ai
        found = samples
    elif isinstance(content.get("request_states"), list):
        found = [*_helm(content)]
    elif isinstance(results, dict) and isinstance(results.get("results"), list):  # of promptfoo
        found = results["results"]
    elif content and content.keys() <= {"spec", "final_report"}:  # of OpenAI's evals
        found = []
    return found


def unwrapped(content: Answer) -> Answer:
    """Take an answer out of what LangChain's ``dumps`` or a sample of inspect_ai put around it."""
    if not isinstance(content, dict):
        return content
    inner = content.get("kwargs", content.get("data"))
    if isinstance(inner, dict) and "response_metadata" in inner:
        return inner
    output = content.get("output")
    return output if isinstance(output, dict) and "choices" in output else content


def _in_order(answers: list[Answer]) -> list[Answer]:
    """Return the answers of a batch in the order of the requests, where they tell it."""
    places = [one.get("index") if isinstance(one, dict) else None for one in answers]
    if not all(isinstance(place, int) for place in places) or len(set(places)) < len(places):
        return answers
    return sorted(answers, key=lambda one: one["index"])


def _helm(content: dict[str, Any]) -> Iterator[Answer]:
    """Yield the answers of HELM's scenario_state.json: one for each instance."""
    model = (content.get("adapter_spec") or {}).get("model")
    states = [one for one in content["request_states"] if one.get("request_mode") != "calibration"]
    for _, group in groupby(states, key=lambda one: one["instance"].get("id")):
        asked = [*group]
        instance = asked[0]["instance"]
        texts = [one["output"]["text"] for one in instance.get("references") or ()]
        right = ["correct" in (one.get("tags") or ()) for one in instance.get("references") or ()]
        label = texts[right.index(True)] if any(right) else None
        told = {"id": instance.get("id"), "label": label, "model": model}
        if asked[0].get("reference_index") is None:
            yield {**asked[0], **told}
            continue
        logs = [[_of_reference(one, texts[one["reference_index"]]), False] for one in asked]
        arguments = [["", texts[one["reference_index"]]] for one in asked]
        sample = {"doc_id": told["id"], "resps": [[one] for one in logs], "arguments": arguments}
        yield {**sample, "target": label, **told}


def _of_reference(state: dict[str, Any], text: str) -> float:
    """Return the log-probability of a reference: of the last tokens of what was echoed."""
    total, left = 0.0, len(text.strip())
    for token in reversed(state["result"]["completions"][0]["tokens"]):
        if left <= 0:
            break
        total, left = total + token["logprob"], left - len(token["text"].strip())
    return total
