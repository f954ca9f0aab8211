"""A look before a long run: some prompts, what the model says to them, and the labels' tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dnip.base.errors import InvalidInputError, counted
from dnip.llm.prompting.engines import Engine, MissingEndpointError, ScoredRow
from dnip.llm.prompting.engines.hub import HubTokenizer
from dnip.llm.prompting.engines.servers import UNREAD, Endpoint
from dnip.llm.prompting.labels import LabelTokens, Scoring
from dnip.llm.prompting.plan import Plan
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.tables.columns import FALLBACK
from dnip.tables.rows import LOW_MASS

#: So many prompts are asked.
ROWS = 10
#: A larger share of answers without a label is a problem.
MOST_WITHOUT = 0.5


@dataclass
class _Class:
    """What is scored for one class.

    Attributes
    ----------
    name, word : str
        Class and label word.
    ids : tuple of int
        All tokens of its answer; empty without a tokenizer.
    texts : tuple of str
        The text of each token.
    scored : tuple of int
        The tokens that are scored: the first one, or all.
    mass : float or None
        Mean probability of the label, before normalising; None where nothing was asked.
    """

    name: str
    word: str
    ids: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    scored: tuple[int, ...] = ()
    mass: float | None = None


@dataclass
class PromptCheck:
    """What a few prompts came to.

    Attributes
    ----------
    scoring : Scoring
    classes : list of _Class
        Empty if the labels have no tokens to score; `problems` says why.
    prompt : str
        The first prompt that was asked.
    answers : list of (str or None)
        What the model said to each prompt, as far as it is known.
    n_prompts : int
        How many different prompts the whole table has.
    n_requests : int
        How many requests they are; 0 for a model on this machine.
    chat : bool
        Whether the prompts are asked as chats.
    mass, lowest_mass : float or None
        Captured mass, the probability on all labels together: the mean, and the lowest of a
        prompt; None where nothing was asked.
    n_measured : int
        How many prompts were asked.
    n_without : int
        How many answers state no label.
    problems : list of str
        Why the labels should not be scored like this, each with a remedy; empty if all is well.
    notes : list of str
        What is worth knowing but no problem.
    """

    scoring: Scoring
    classes: list[_Class]
    prompt: str
    answers: list[str | None] = field(default_factory=list)
    n_prompts: int = 0
    n_requests: int = 0
    chat: bool = False
    mass: float | None = None
    lowest_mass: float | None = None
    n_measured: int = 0
    n_without: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def check_prompts(plan: Plan, *engines: Engine) -> PromptCheck:
    """Ask ten prompts of a plan, and look at the tokens of its labels.

    Parameters
    ----------
    plan : Plan
    *engines : Engine
        As for `run_plan`. Tokens are looked at where the model's tokenizer is known.

    Raises
    ------
    InvalidInputError
        If the engine refuses a prompt.
    BackendError
        If the engine fails.
    """
    every = list(dict.fromkeys(plan.prompts))
    chosen = np.random.default_rng(0).choice(len(every), min(ROWS, len(every)), replace=False)
    prompts = [every[number] for number in sorted(chosen.tolist())]
    result: PromptCheck
    for engine in engines:
        try:
            result = _check(plan.task, prompts, engine)
        except MissingEndpointError:
            if engine is engines[-1]:
                raise
        else:
            break
    result.n_prompts = len(every)
    result.n_requests = len(every) * getattr(engine, "requests_each", 0)
    return result


def _check(task: Task, prompts: list[Prompt], engine: Engine) -> PromptCheck:
    chat, tokenizer = getattr(engine, "chat", False), getattr(engine, "tokenizer", None)
    names = zip(task.classes, task.label_words, strict=True)
    first = prompts[0]
    said = [f"{turn['role']}: {turn['content']}" for turn in first.messages] if chat else []
    result = PromptCheck(
        engine.scoring,
        [_Class(name, word) for name, word in names],
        "\n".join(said) or first.text,
        chat=chat,
    )
    if getattr(engine, "endpoint", None) == Endpoint.COMPLETIONS:
        result.notes.append(_CONTINUED_NOTE)
    if tokenizer is not None and not _add_tokens(result, task, prompts, tokenizer):
        return result
    scored = sorted(engine.score(prompts, task), key=lambda row: row.row)
    result.answers = [row.answer for row in scored]
    if None in result.answers and (says := getattr(engine, "says", None)) is not None:
        result.answers = says(prompts)
    _add_mass(result, scored)
    return result


def _add_tokens(
    result: PromptCheck, task: Task, prompts: Sequence[Prompt], tokenizer: HubTokenizer
) -> bool:
    """Look at the tokens of the labels; tell whether they can be scored."""
    if tokenizer.has_chat and not result.chat:
        result.notes.append(_CHAT_NOTE)
    try:
        labels = tokenizer.label_tokens(prompts, task, chat=result.chat, lead=prompts[0].lead)
    except InvalidInputError as error:
        result.classes = []
        result.problems.append(str(error))
        return False
    is_first = result.scoring is Scoring.FIRST
    for ids, of_class in zip(labels.ids, result.classes, strict=True):
        of_class.ids, of_class.scored = ids, ids[:1] if is_first else ids
        of_class.texts = tuple(tokenizer.decode([token]) for token in ids)
    if is_first:
        result.problems += _first_token_problems(labels, tokenizer)
    return not (is_first and labels.collisions())


def _add_mass(result: PromptCheck, scored: Sequence[ScoredRow]) -> None:
    """Add the captured mass where a label is stated, and how many answers state none."""
    result.n_measured = len(scored)
    captured = np.array([row.captured for row in scored if UNREAD not in row.details])
    if len(captured):
        mass = captured.sum(axis=1)
        result.mass, result.lowest_mass = float(mass.mean()), float(mass.min())
        for of_class, shares in zip(result.classes, captured.T, strict=True):
            of_class.mass = float(shares.mean())
    lost = [row.details.get(FALLBACK, int(UNREAD in row.details)) for row in scored]
    result.n_without = sum(lost)
    if result.n_without > MOST_WITHOUT * len(scored):
        result.problems.append(
            f"{result.n_without} of {len(scored)} answers state no label: allow longer answers "
            "with --max-new-tokens, show demonstrations, or ask for the label alone, first, or as "
            "JSON"
        )
    elif (
        result.mass is not None
        and result.mass < LOW_MASS
        and result.scoring is not Scoring.PER_TOKEN
    ):
        result.problems.append(
            f"on {counted(len(scored), 'prompt')} the labels capture {result.mass:.1%} of the "
            "probability on average: the model wants to say something else, which no weight can "
            "mend. Name the label words in the instruction, show demonstrations, or give words "
            "that the model would say"
        )
    n_partial = sum(row.ceiling is not None for row in scored)
    if n_partial:
        result.notes.append(
            f"on {n_partial} of {len(scored)} prompts the server did not report every label, so "
            "that the mass is at least what is shown"
        )


_CONTINUED_NOTE = (
    "the server continues the prompt, without its chat template. If your program asks it by chats, "
    "or `dnip serve` is to correct them, give --endpoint chat"
)
_CHAT_NOTE = (
    "the tokenizer has a chat template, and the prompts are scored without it. If the model will "
    "be served through its chat, score it through its chat too"
)


def _first_token_problems(labels: LabelTokens, tokenizer: HubTokenizer) -> list[str]:
    """Describe collisions, blank tokens and split words, which first-token scoring misreads."""
    remedy = f"Score whole words with {Scoring.SUM} or {Scoring.PER_TOKEN}"
    problems = [
        f"{text}. {remedy}, or give other words" for text in labels.collisions(tokenizer.decode)
    ]
    firsts = [tokenizer.decode([token]) for token in labels.first]
    problems += [
        f"the first token of the label word {word!r} is empty or a mere space: {first!r}. {remedy}"
        for word, first in zip(labels.words, firsts, strict=True)
        if not first.strip()
    ]
    problems += [
        f"the label word {labels.words[label]!r} is {len(labels.ids[label])} tokens, and its first "
        f"one, {firsts[label]!r}, may begin other words too. {remedy}, or give a word of one token"
        for label in labels.split
    ]
    return problems
