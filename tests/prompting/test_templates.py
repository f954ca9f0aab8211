"""Prompts: what templates of task files can do, and that they read and run nothing."""

from dataclasses import replace

import pytest

pytest.importorskip("jinja2", reason="prompts need jinja2")

from dnip.base.errors import InvalidInputError
from dnip.prompting.prompt import PromptBuilder
from fakes import TASK

ROW = {"text": " a joy ", "choices": ["u", "v"], "deep": {"a": {"b": 1}}}


def fill(template):
    task = replace(TASK, template=template, fields=tuple(ROW))
    return PromptBuilder(task).prompt(ROW).example


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ text }}\n", " a joy \n"),
        ("{{ text.strip()|upper ~ '.' }}", "A JOY."),
        ("{% for c in choices %}{{ loop.index }}{{ c }}{{ '' if loop.last else ', ' }}{% endfor %}",
         "1u, 2v"),
        ("{% for key, value in deep.items() %}{{ key }}{{ value.b }}{% endfor %}", "a1"),
        ("{% if more is defined %}{{ more }}{% endif %}{{ more|default('no') }}", "no"),
    ],
)  # fmt: skip
def test_templates_write_fields_with_conditions_loops_and_filters(template, expected):
    assert fill(template) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{{ cycler.__init__.__globals__.os.mkdir('PWNED') }}",
        "{{ text.__class__.__mro__[1].__subclasses__() }}",
        "{{ text['__class__'] }}",
        "{{ text|attr('__class__') }}",
        "{{ text.format.__globals__ }}",
        "{{ '{0.__class__}'.format(text) }}",
        "{{ self._TemplateReference__context }}",
        "{{ choices.append(1) }}",
        "{{ choices|map(attribute='__class__')|join }}",
        "{% include 'mood.toml' %}",
        "{% import 'mood.toml' as m %}",
    ],
)
def test_no_code_runs_and_no_file_is_read(template, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mood.toml").write_text("secret")
    with pytest.raises(InvalidInputError, match=r"task mood: .*task-files\.md"):
        fill(template)
    assert [path.name for path in tmp_path.iterdir()] == ["mood.toml"]


@pytest.mark.parametrize(
    "template", ["{{ missing }}", "{% for %}", "{{ " + "(" * 500, "{{ 1 / 0 }}"]
)
def test_a_template_that_fails_is_named_with_what_it_may_use(template):
    with pytest.raises(InvalidInputError, match=r"task mood: .*It may use text, choices, deep"):
        fill(template)
