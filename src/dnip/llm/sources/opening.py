"""Answers taken out of what tools put around them: files of many, batches, logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dnip.base.errors import InvalidInputError, listed
from dnip.llm.files import Found
from dnip.llm.sources.columns import COLUMNS, PIPELINES, ROWS, parsed, scores_in
from dnip.llm.sources.gold import MISSING, nested
from dnip.llm.sources.harness import HARNESS
from dnip.llm.sources.services import DECISIONS, TOKEN_LOGPROBS
from dnip.llm.sources.source import Answer, Source

_IN_ORDER = (DECISIONS, HARNESS, PIPELINES, TOKEN_LOGPROBS, ROWS, COLUMNS)
#: The sources by the name that ``--from`` takes, in the order in which they are tried on an answer.
SOURCES = {source.name: source for source in _IN_ORDER}

_ASK = "Ask the model yourself, with logprobs=True, top_logprobs=20, and save the answers"
_BEST_ONLY = "Import what the model itself returned: a score for every class"
_IN_COLUMNS = "Write a row for each answer, with a probability under the name of each class"
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
        _IN_COLUMNS,
    ),
    ("request_states",): ("the scenarios of HELM are not read", _IN_COLUMNS),
}
# Under which names an object holds a list of rows.
_HOLDERS = ("data", "results", "responses", "predictions", "rows", "records", "items", "answers")
# Under which names a line of a batch holds the id of its request.
_BATCH_IDS = ("custom_id", "key", "recordId")
# Under which names a request stands beside its answer, or within what a log keeps of it.
_REQUESTS = ("request", "body", "proxy_server_request")


def recognise(content: object) -> Source | None:
    """Return the source that a value is an answer of, None if there is none.

    Examples
    --------
    >>> recognise([{"label": "ham", "score": 0.9}, {"label": "spam", "score": 0.1}]).name
    'hugging-face'
    >>> recognise({"a": [1]}) is None
    True
    """
    return next((source for source in _IN_ORDER if source.recognises(content)), None)


class Saved(NamedTuple):
    """An answer as it was saved.

    Attributes
    ----------
    line : JSON value
        All that was saved: a line of a file, or an item of a list.
    content : JSON value
        The answer itself, as its service wrote it.
    batch_id : JSON value
        The id of its request, where it is of a batch.
    failed : bool
        Whether the request failed, so that there is no answer.
    """

    line: Answer
    content: Answer
    batch_id: object = None
    failed: bool = False

    @property
    def holders(self) -> list[dict[str, Any]]:
        """What may hold an id and a label: all that was saved, and the answer."""
        return [
            held
            for held in (self.line, self.content)
            if isinstance(held, dict) and "lc" not in held
        ]

    def held(self, name: str, option: str) -> object:
        """Return what stands next to the answer, or in the document that a harness asked about."""
        documents = [held["doc"] for held in self.holders if isinstance(held.get("doc"), dict)]
        holders = [*self.holders, *documents]
        for held in holders:
            if (value := nested(held, name)) is not MISSING:
                return value
        there = listed([*dict.fromkeys(key for held in holders for key in held)]) or "nothing"
        hint = f"Give another name with {option}"
        if option == "--on":
            hint += f"; if the labels alone have {name}, --on id={name}"
        raise InvalidInputError(f"there is no {name}; there are {there}", hint=hint)

    @property
    def request(self) -> dict[str, Any] | None:
        """The request of a chat that was saved with the answer; None where none was."""
        return _request_in(self.line)


def opened(line: Answer) -> Saved:
    """Take an answer out of a line of a batch, and of what tools put around it.

    Lines of OpenAI's batches hold the answer in ``response.body``, those of Gemini's in
    ``response``, of Bedrock's in ``modelOutput``, of Anthropic's in ``result.message``. Other
    answers stay as they are.

    Examples
    --------
    >>> line = {"custom_id": "7", "response": {"status_code": 200, "body": {"answers": {}}}}
    >>> opened(line)[1:]
    ({'answers': {}}, '7', False)
    >>> opened({"custom_id": "8", "response": None, "error": {"code": "expired"}})[1:]
    (None, '8', True)
    """
    if not isinstance(line, dict):
        return Saved(line, line, None, line is None)
    if line.get("status") == "failure":  # of LiteLLM's log
        return Saved(line, None, line.get("id"), failed=True)
    response, error = line.get("response", line.get("modelOutput")), line.get("error")
    batch_id = next((line[key] for key in _BATCH_IDS if line.get(key) is not None), None)
    if batch_id is not None and isinstance(result := line.get("result"), dict):
        failed = result.get("type") != "succeeded"
        return Saved(line, _unwrapped(result.get("message")), batch_id, failed)
    if isinstance(response, dict):
        body = response.get("body", response)
        failed = (
            response.get("status_code", 200) != 200 or bool(error) or not isinstance(body, dict)
        )
        return Saved(line, _unwrapped(body), batch_id, failed)
    # A line without an answer; an error may also be saved in place of one.
    if error and line.keys() <= {*_BATCH_IDS, "id", "response", "error", "modelInput"}:
        return Saved(line, None, batch_id, failed=True)
    return Saved(line, _unwrapped(line))


def _unwrapped(content: Answer) -> Answer:
    """Take an answer out of what LangChain, inspect_ai and llm put around it."""
    if not isinstance(content, dict):
        return content
    inner = content.get("kwargs", content.get("data"))
    if isinstance(inner, dict) and "response_metadata" in inner:
        return inner
    if isinstance(content.get("response_json"), str):  # a row of llm's database
        return {**content, "response_json": parsed(content["response_json"])}
    if DECISIONS.recognises(content.get("raw")):  # beside what LangChain corrected
        return content["raw"]
    output = content.get("output")
    return output if isinstance(output, dict) and "choices" in output else content


def _request_in(line: Answer) -> dict[str, Any] | None:
    if not isinstance(line, dict):
        return None
    if isinstance(messages := parsed(line.get("messages")), list):
        return {**line, "messages": messages}
    inner = (_request_in(parsed(line.get(key))) for key in _REQUESTS)
    return next((request for request in inner if request is not None), None)


def flattened(values: Iterable[Found]) -> Iterator[Found]:
    """Yield answers, also those in lists and in files of tools.

    Raises
    ------
    InvalidInputError
        For the file of a tool that keeps no probabilities, or one that is damaged.

    Examples
    --------
    >>> log = Found("log.json", {"eval": {}, "samples": [{"id": 1, "ham": 1}]})
    >>> [*flattened([log])]
    [Found(where='log.json, answer 1', content={'id': 1, 'ham': 1})]
    """
    for where, content in values:
        _check_known(content, where)
        source = recognise(content)
        answers = None
        if source is None or (source in (COLUMNS, ROWS) and isinstance(content, dict)):
            try:
                answers = _answers_in(content, where)
            except InvalidInputError:
                raise
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise InvalidInputError(
                    f"{where}: the file is not whole, or not in a shape that is known",
                    hint="Import the files of a tool as it wrote them",
                ) from error
        if answers is None:
            yield Found(where, content)
        else:
            inner = (Found(f"{where}, answer {n}", answer) for n, answer in enumerate(answers, 1))
            yield from flattened(inner)


def _check_known(content: Answer, where: str) -> None:
    """Refuse files that are known, but hold no probability under the name of each class."""
    if not isinstance(content, dict):
        return
    for keys, (message, hint) in _SILENT.items():
        there = [content[key] for key in keys] if {*keys} <= content.keys() else []
        if any(isinstance(value, list | dict) for value in there):
            raise InvalidInputError(f"{where}: {message}", hint=hint)


def _answers_in(content: Answer, where: str) -> list[Answer] | None:
    """Return the answers that a list holds, or the file of a tool; None for one answer."""
    if isinstance(content, list):
        return _by_request(content)
    if not isinstance(content, dict):
        return None
    answers: list[Answer] | None = None
    samples, results = content.get("samples"), content.get("results")
    columns, data = content.get("columns"), content.get("data")
    if isinstance(samples, dict):  # the results of lm-evaluation-harness, by task
        tasks = {"filter": ""} if len(samples) < 2 else {}
        answers = [{"filter": task, **tasks, **row} for task in samples for row in samples[task]]
    elif isinstance(samples, list) and "eval" in content:  # a log of inspect_ai
        answers = samples
    elif isinstance(content.get("generations"), list):  # of LangChain's LLMResult
        answers = [run["message"] for runs in content["generations"] for run in runs]
    elif isinstance(results, dict) and isinstance(results.get("results"), list):  # of promptfoo
        answers = results["results"]
    elif content and content.keys() <= {"spec", "final_report"}:  # of OpenAI's evals
        answers = []
    elif isinstance(columns, list) and isinstance(data, list):  # of pandas, and of W&B
        answers = [dict(zip(map(str, columns), cells, strict=True)) for cells in data]
    return _rows_within(content, where) if answers is None else answers


def _by_request(answers: list[Answer]) -> list[Answer]:
    """Return the answers of a batch in the order of the requests, where they tell it."""
    numbers = [answer.get("index") if isinstance(answer, dict) else None for answer in answers]
    if not all(isinstance(number, int) for number in numbers) or len({*numbers}) < len(numbers):
        return answers
    return sorted(answers, key=lambda answer: answer["index"])


def _rows_within(content: dict[str, Any], where: str) -> list[Answer] | None:
    """Return the rows that an object holds in a list, or by their ids; None for one row."""
    for key in _HOLDERS:
        rows = content.get(key)
        if not isinstance(rows, list) or not rows or scores_in(rows):
            continue
        is_token = any(isinstance(row, dict) and "token" in row for row in rows)
        if not is_token and all(recognise(row) is not None for row in rows):
            return rows
    rows = [*content.values()]
    if len(rows) < 2 or not all(isinstance(row, dict) for row in rows):
        return None
    if {recognise(row) for row in rows} <= {DECISIONS, TOKEN_LOGPROBS, HARNESS}:
        return [{"custom_id": name, "response": {"body": row}} for name, row in content.items()]
    is_frame = rows[0] and all(row.keys() == rows[0].keys() for row in rows)
    if not is_frame or any("prob" in name.lower() for name in content):
        return None
    if any(all(map(str.isdecimal, names)) for names in (content, rows[0])):
        raise InvalidInputError(f"{where}: this is a data frame in one object", hint=_BY_ROW)
    are_numbers = all(isinstance(cell, int | float) for row in rows for cell in row.values())
    by_id = [{"id": name, **row} for name, row in content.items()]
    return by_id if are_numbers and len(rows) > 2 else None
