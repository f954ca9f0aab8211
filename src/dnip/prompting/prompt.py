"""Prompts: a prefix that all rows share, and one example each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dnip.errors import InvalidInputError
from dnip.optional import load_optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.prompting.task import Task


@dataclass(frozen=True)
class Prompt:
    """One prompt in two parts; engines compute the first once for all rows.

    Attributes
    ----------
    prefix : str
        Instruction and demonstrations.
    example : str
        The row's own part, up to where the answer begins.
    """

    prefix: str
    example: str

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

    Examples
    --------
    >>> from dnip.prompting.task import load_task
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

    def prompt(self, row: Mapping[str, Any]) -> Prompt:
        """Return the prompt of one row.

        Raises
        ------
        InvalidInputError
            If the row lacks a field of the task.
        """
        return Prompt(self.prefix, self._example(row))

    @cached_property
    def prefix(self) -> str:
        """Instruction and demonstrations, up to where the example begins."""
        shown = [self.task.instruction] if self.task.instruction else []
        for row, label in self.demonstrations:
            shown.append(
                self._templates["demonstration"].render(
                    prompt=self._example(row), answer=self.task.answer(label)
                )
            )
        return "".join(part + self.task.separator for part in shown)

    def _example(self, row: Mapping[str, Any]) -> str:
        missing = [field for field in self.task.fields if row.get(field) is None]
        if missing:
            raise InvalidInputError(
                f"task {self.task.name}: the row {row.get('id', '')!s} has no field "
                f"{', '.join(missing)}; it has {', '.join(row)}",
                hint="Give data with the task's fields",
            )
        return str(self._templates["example"].render({f: row[f] for f in self.task.fields}))

    @cached_property
    def _templates(self) -> dict[str, Any]:
        jinja = load_optional("jinja2", purpose="fill prompt templates", extra="prompt")
        environment = jinja.Environment(
            undefined=jinja.StrictUndefined, keep_trailing_newline=True, autoescape=False
        )
        try:
            return {
                "example": environment.from_string(self.task.template),
                "demonstration": environment.from_string(self.task.demonstration),
            }
        except jinja.TemplateError as error:
            raise InvalidInputError(f"task {self.task.name}: template: {error}") from error
