"""What harnesses and other tools write: files of many answers, and samples of log-likelihoods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.llm.answers.completions import ROUNDING
from dnip.llm.sources.columns import parsed
from dnip.llm.sources.source import Answer, Row, Source, Wanted, as_number

_ASK = "Ask the model yourself, with logprobs=True, top_logprobs=20, and save the answers"
_BEST_ONLY = "Import what the model itself returned: a score for every class"
_BY_ROW = "Write a row for each answer: to_json(path, orient='records', lines=True)"
# Files that hold no probabilities of all classes, by their keys.
_SILENT = {
    ("run_id", "event_id", "data"): ("OpenAI's evals log no log-probabilities, but texts", _ASK),
    ("data", "predictions"): ("Label Studio keeps the score of the best class only", _BEST_ONLY),
    ("fields", "suggestions"): ("Argilla keeps the score of the suggested class only", _BEST_ONLY),
    ("testCase", "response"): ("promptfoo keeps log-probabilities of chosen tokens only", _ASK),
    ("results", "configs", "versions"): (
        "results of lm-evaluation-harness hold scores of whole tasks, no samples",
        "Run it with --log_samples, and import the samples",
    ),
    ("model_name", "outputs"): (
        "this is a response of Triton or KServe (the v2 protocol), whose arrays are not read",
        "Write a row for each answer, with a probability under the name of each class",
    ),
}


def check_known(content: Answer, where: str) -> None:
    """Refuse files that are known, but hold no probability under the name of each class."""
    if not isinstance(content, dict):
        return
    for keys, (message, hint) in _SILENT.items():
        there = [content[key] for key in keys] if {*keys} <= content.keys() else []
        if any(isinstance(value, list | dict) for value in there):
            raise InvalidInputError(f"{where}: {message}", hint=hint)


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
        return _by_request(content)
    if not isinstance(content, dict):
        return None
    samples, results = content.get("samples"), content.get("results")
    answers: list[Answer] | None = None
    if isinstance(samples, dict):  # the results of lm-evaluation-harness, by task
        tasks = {"filter": ""} if len(samples) < 2 else {}
        answers = [
            {"filter": task, **tasks, **row} for task, rows in samples.items() for row in rows
        ]
    elif isinstance(samples, list) and "eval" in content:  # a log of inspect_ai
        answers = samples
    elif isinstance(content.get("request_states"), list):
        answers = [*_helm(content, where)]
    elif isinstance(content.get("generations"), list):  # of LangChain's LLMResult
        answers = [run["message"] for runs in content["generations"] for run in runs]
    elif isinstance(results, dict) and isinstance(results.get("results"), list):  # of promptfoo
        answers = results["results"]
    elif content and content.keys() <= {"spec", "final_report"}:  # of OpenAI's evals
        answers = []
    columns, data = content.get("columns"), content.get("data")
    if isinstance(columns, list) and isinstance(data, list):  # of pandas, and of W&B
        answers = [dict(zip(columns, cells, strict=True)) for cells in data]
    return _framed(content, where) if answers is None else answers


def _framed(content: dict[str, Any], where: str) -> list[Answer] | None:
    """Return the rows that an object holds by their ids; refuse those of a data frame."""
    inner = [value for value in content.values() if isinstance(value, dict)]
    alike = 1 < len(inner) == len(content) and all(row.keys() == inner[0].keys() for row in inner)
    if not alike or not inner[0] or any("prob" in name.lower() for name in content):
        return None  # cells of one row
    if any(all(map(str.isdecimal, keys)) for keys in (content, inner[0])):
        raise InvalidInputError(f"{where}: this is a data frame in one object", hint=_BY_ROW)
    numbers = all(isinstance(cell, int | float) for row in inner for cell in row.values())
    rows = [{"id": name, **row} for name, row in content.items()]
    return rows if numbers and len(inner) > 2 else None


def unwrapped(content: Answer) -> Answer:
    """Take an answer out of what tools put around it: LangChain's ``dumps``, inspect_ai, llm."""
    if not isinstance(content, dict):
        return content
    inner = content.get("kwargs", content.get("data"))
    if isinstance(inner, dict) and "response_metadata" in inner:
        return inner
    if isinstance(content.get("response_json"), str):  # a row of llm's database
        return {**content, "response_json": parsed(content["response_json"])}
    output = content.get("output")
    return output if isinstance(output, dict) and "choices" in output else content


def _by_request(answers: list[Answer]) -> list[Answer]:
    """Return the answers of a batch in the order of the requests, where they tell it."""
    numbers = [answer.get("index") if isinstance(answer, dict) else None for answer in answers]
    if not all(isinstance(number, int) for number in numbers) or len({*numbers}) < len(numbers):
        return answers
    return sorted(answers, key=lambda answer: answer["index"])


# --- HELM ---
def _helm(content: dict[str, Any], where: str) -> Iterator[Answer]:
    """Yield the answers of HELM's scenario_state.json: one for each instance."""
    model = (content.get("adapter_spec") or {}).get("model")
    states = [
        state for state in content["request_states"] if state.get("request_mode") != "calibration"
    ]
    for _, group in groupby(states, key=lambda state: state["instance"].get("id")):
        asked = [*group]
        instance = asked[0]["instance"]
        references = instance.get("references") or ()
        texts = [reference["output"]["text"] for reference in references]
        right = ["correct" in (reference.get("tags") or ()) for reference in references]
        label = texts[right.index(True)] if any(right) else None
        beside = {"id": instance.get("id"), "label": label, "model": model}
        if asked[0].get("reference_index") is None:
            _check_tops(asked[0], where)
            yield {**asked[0], **beside}
            continue
        choices = [texts[state["reference_index"]] for state in asked]
        logs = [_of_reference(state, text) for state, text in zip(asked, choices, strict=True)]
        sample = {"doc_id": beside["id"], "resps": [[[log, False]] for log in logs]}
        arguments = [["", text] for text in choices]
        yield {**sample, "arguments": arguments, "target": label, **beside}


def _check_tops(state: dict[str, Any], where: str) -> None:
    """Refuse answers of which HELM kept the chosen tokens only, as newer versions do."""
    tokens = state["result"]["completions"][0]["tokens"]
    if tokens and not any(token.get("top_logprobs") for token in tokens):
        raise InvalidInputError(
            f"{where}: HELM kept the log-probability of the chosen tokens only",
            hint="Run the scenario with the method multiple_choice_separate_original, which asks "
            "for every class",
        )


def _of_reference(state: dict[str, Any], text: str) -> float:
    """Return the log-probability of a reference: of the last tokens of what was echoed."""
    total, spelt = 0.0, ""
    for token in reversed(state["result"]["completions"][0]["tokens"]):
        if len(spelt.strip()) >= len(text.strip()):
            break
        total, spelt = total + token["logprob"], token["text"] + spelt
    return total


# --- samples of lm-evaluation-harness ---
def _is_sample(content: Answer) -> bool:
    return isinstance(content, dict) and {"doc_id", "resps"} <= content.keys()


def _filter(content: Answer) -> list[str]:
    """Return the filter: a file holds a row for each document and filter."""
    return [str(content.get("filter", ""))]


def _read(content: Answer, wanted: Wanted) -> Row:
    """Read the log-likelihood of each choice, and the gold label.

    Where the texts of the choices are the names of the classes, they are matched by name; otherwise
    the first choice is the first class.
    """
    n, values = len(wanted.names), _log_likelihoods(content)
    if len(values) == 2 * n:  # those without a context follow
        values = values[:n]
    if len(values) != n:
        raise InvalidInputError(
            f"it holds {len(values)} log-likelihoods, but there are {n} classes",
            hint="Name the choices of the task with --classes, in its order",
        )
    logs = [as_number(value, "log-likelihood") for value in values]
    bad = [log for log in logs if not log <= ROUNDING]
    if bad or max(logs) == -math.inf:
        raise InvalidInputError(
            f"a log-likelihood is {(bad or logs)[0]:g}",
            hint="The logarithm of a probability is a number of 0 at most",
        )
    choices, order = [text.strip() for text in _choices(content)[:n]], list(range(n))
    # What long choices have together says nothing of the prompt.
    is_long = wanted.by_character or any(" " in text for text in choices)
    if wanted.by_character:
        if not all(choices) or len(choices) < n:
            raise InvalidInputError(
                "the texts of the choices are not there, so their lengths are not known",
                hint="Write the samples with --log_samples, which keeps the arguments",
            )
        logs = [log / len(text) for log, text in zip(logs, choices, strict=True)]
    names = wanted.called(choices)
    if sorted(choices) == sorted(names):
        order = [choices.index(name) for name in names]
    gold = content.get("target")
    right = _right_choice(gold, choices) if wanted.own_labels else None
    label = wanted.classes[order.index(right)] if right in order else gold
    mass = None if is_long else min(math.fsum(map(math.exp, logs)), 1.0)
    # Without the factor, products of many small probabilities would underflow.
    scores = np.exp(np.array(logs)[order] - max(logs))
    return Row(scores / scores.sum(), mass=mass, label=label)


def _right_choice(gold: object, choices: Sequence[str]) -> int | None:
    """Return the number of the right choice, which may be named by its text; None if untold."""
    number = int(gold) if isinstance(gold, int | str) and str(gold).isdecimal() else None
    if not isinstance(gold, str) or gold not in choices:
        return number
    if number not in (None, choices.index(gold)):
        raise InvalidInputError(
            f"the target {gold!r} may be the number of a choice, or its text",
            hint="Give the labels in a file of their own, with --gold",
        )
    return choices.index(gold)


def _log_likelihoods(content: dict[str, Any]) -> list[Any]:
    responses = content.get("filtered_resps") or content["resps"]
    logs = []
    for response in responses if isinstance(responses, list) else [responses]:
        pair = response
        while isinstance(pair, list) and len(pair) == 1 and isinstance(pair[0], list):
            pair = pair[0]  # resps hold a list of repeats for each request
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidInputError(
                f"it holds {pair!r:.60} instead of log-likelihoods",
                hint="Import samples of tasks with output_type: multiple_choice",
            )
        logs.append(pair[0])
    return logs


def _choices(content: dict[str, Any]) -> list[str]:
    """Return the texts whose log-likelihoods were asked for, none where they are not logged."""
    arguments = content.get("arguments")
    texts = []
    for argument in arguments.values() if isinstance(arguments, dict) else arguments or []:
        pair = list(argument.values()) if isinstance(argument, dict) else argument
        texts.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    if not texts:
        doc = content.get("doc")
        choices = doc.get("choices") if isinstance(doc, dict) else None
        choices = choices.get("text") if isinstance(choices, dict) else choices
        listed = choices if isinstance(choices, list) else ()
        texts = [text for text in listed if isinstance(text, str)]
    return texts


def _generated(content: Answer) -> dict[str, list[str]]:
    """Return what was generated: a list of repeats for each request."""
    texts = [text for repeats in content["resps"] for text in repeats if isinstance(text, str)]
    return {_filter(content)[0]: texts}


HARNESS = Source(
    "lm-eval", "samples of lm-evaluation-harness", _is_sample, _read, _filter, _generated
)
