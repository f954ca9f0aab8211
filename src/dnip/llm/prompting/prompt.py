"""Prompts: a prefix that all rows share, and one example each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dnip.base.errors import InvalidInputError, load_optional
from dnip.llm.prompting.task import INVITATION, RATIONALE, Task

# Mark the places of prompt and answer in a rendered demonstration.
_PROMPT, _ANSWER = "\ue000", "\ue001"


@dataclass(frozen=True)
class Prompt:
    """One prompt in two parts; engines compute the first once for all rows.

    Attributes
    ----------
    prefix : str
        Instruction and demonstrations.
    example : str
        The row's own part, up to where the answer begins.
    lead : str
        What leads from the end of the prompt to the label, where the model is to reason first; the
        labels' tokens are those that follow it.
    turns : tuple of (role, text)
        The prompt as a chat, up to and with the last message of the user.
    state : str
        What a decision server is given of the row, where the task has a question for one.
    """

    prefix: str
    example: str
    lead: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    state: str = ""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The prompt as a chat; one message of the user where it has no turns."""
        turns = self.turns or (("user", self.text),)
        return [{"role": role, "content": text} for role, text in turns]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return self.prefix + self.example


@dataclass(frozen=True)
class PromptBuilder:
    r"""Prompts of one task with fixed demonstrations.

    Parameters
    ----------
    task : Task
    demonstrations : sequence of (row, label)
        Worked examples, in the order in which they are shown.
    chain_of_thought : bool, default=False
        Ask for reasoning before the answer, and show it in the demonstrations.

    Examples
    --------
    >>> from dnip.llm.prompting.task import load_task
    >>> builder = PromptBuilder(load_task("sst5"), [({"text": "a joy ."}, 4)])
    >>> print(builder.prompt({"text": "a bore ."}).text)
    Read the movie review and say how its writer found the film: terrible, bad, okay, good or great.
    <BLANKLINE>
    Review: a joy .
    The film was great
    <BLANKLINE>
    Review: a bore .
    The film was
    """

    task: Task
    demonstrations: Sequence[tuple[Mapping[str, Any], int]] = ()
    chain_of_thought: bool = False

    def prompt(self, row: Mapping[str, Any]) -> Prompt:
        """Return the prompt of one row.

        Raises
        ------
        InvalidInputError
            If the template fails, such as for a row without a field that it uses.
        """
        example = self._example(row)
        state = self._fill("state", self._fields(row)) if "state" in self._templates else ""
        return Prompt(self.prefix, example, self._lead, self._turns(example), state)

    @cached_property
    def prefix(self) -> str:
        """Instruction and demonstrations, up to where the example begins."""
        return self._instruction + "".join(whole + self.task.separator for _, whole in self._shown)

    @property
    def _instruction(self) -> str:
        return self.task.instruction and self.task.instruction + self.task.separator

    @cached_property
    def _shown(self) -> list[tuple[str, str]]:
        """The demonstrations: of each, its prompt, and the whole of it."""
        return [
            (self._example(row), self._demonstration(row, label))
            for row, label in self.demonstrations
        ]

    def _turns(self, example: str) -> tuple[tuple[str, str], ...]:
        """Return the prompt as a chat."""
        wording = self.task.chat
        turns = [] if wording.system is None else [("system", wording.system)]
        before = "" if turns else self._instruction
        for prompt, whole in self._shown:
            if not wording.turns:
                before += whole + self.task.separator
            elif whole.startswith(prompt):
                turns += [("user", before + prompt), ("assistant", whole[len(prompt) :].strip())]
                before = ""
            else:
                return (("user", self.prefix + example),)  # nobody's turn
        return (*turns, ("user", before + example))

    @property
    def stop(self) -> str | None:
        """What ends an answer: the separator, where demonstrations show that it does."""
        return (self.task.separator or None) if self.demonstrations else None

    def _demonstration(self, row: Mapping[str, Any], label: int) -> str:
        parts = {"prompt": self._example(row), "answer": self.task.answer(label)}
        if self.chain_of_thought:
            rationale = self.task.chain_of_thought.rationale(row, label)
            if rationale is None:
                raise InvalidInputError(
                    f"task {self.task.name}: there is no rationale to show for the class "
                    f"{self.task.classes[label]!r}",
                    hint=f"Give the class a {RATIONALE} in the task file, give the training rows a "
                    f"field {RATIONALE}, or show no demonstrations",
                )
            parts[RATIONALE] = rationale
        return self._fill("demonstration", parts)

    @cached_property
    def _lead(self) -> str:
        """What a demonstration shows between prompt and answer, its rationale apart."""
        if not self.chain_of_thought:
            return ""
        parts = {"prompt": _PROMPT, RATIONALE: "", "answer": _ANSWER}
        before, answer, _ = self._fill("demonstration", parts).partition(_ANSWER)
        if not (answer and before.startswith(_PROMPT)):
            raise InvalidInputError(
                f"task {self.task.name}: chain_of_thought.demonstration must begin with "
                "{{ prompt }} and hold {{ answer }}; got "
                f"{self.task.chain_of_thought.demonstration!r}"
            )
        return before.removeprefix(_PROMPT)

    def _example(self, row: Mapping[str, Any]) -> str:
        return self._fill("example", self._fields(row))

    def _fields(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in self.task.fields if row.get(name) is not None}

    def _fill(self, name: str, parts: Mapping[str, Any]) -> str:
        template = self._templates[name]
        try:
            return str(template.render(parts))
        except Exception as error:  # a template may hold any expression
            raise self._refused(
                f"the template of the {name} fails: {str(error) or type(error).__name__}", parts
            ) from error

    @cached_property
    def _templates(self) -> dict[str, Any]:
        purpose = "fill prompt templates"
        load_optional("jinja2", purpose=purpose, extra="prompt")
        from dnip.llm.prompting.sandbox import prompt_template  # noqa: PLC0415 - it imports jinja2

        example, demonstration = self.task.template, self.task.demonstration
        if self.chain_of_thought:
            wording = self.task.chain_of_thought
            example = example + INVITATION if wording.template is None else wording.template
            demonstration = wording.demonstration
        sources = {"example": example, "demonstration": demonstration}
        if self.task.question is not None and self.task.question.state is not None:
            sources["state"] = self.task.question.state
        try:
            return {name: prompt_template(source) for name, source in sources.items()}
        except Exception as error:  # the template of another may hold anything
            raise self._refused(f"template: {error}", self.task.fields) from error

    def _refused(self, reason: str, names: Iterable[str]) -> InvalidInputError:
        return InvalidInputError(
            f"task {self.task.name}: {reason}",
            hint=f"It may use {', '.join(names)}, and what docs/prompting.md lists",
        )
