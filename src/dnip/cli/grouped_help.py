"""Help in plain text, with a heading for each group of options."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class GroupedCommand(TyperCommand):
    """A command that lists its options by `rich_help_panel`, without drawing boxes."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write a section for each heading, in order; required options stand first."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(self.get_params(ctx), key=lambda one: not one.required):
            record = parameter.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or kind
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
