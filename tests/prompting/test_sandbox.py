"""What templates of task files can do, and that they can do no more."""

import time
from dataclasses import replace

import pytest

pytest.importorskip("jinja2", reason="prompts need jinja2")

from dnip.base.errors import InvalidInputError
from dnip.prompting.chain_of_thought import ChainOfThought
from dnip.prompting.prompt import PromptBuilder
from dnip.prompting.sandbox import Sandbox
from fakes import TASK

ROW = {"text": " a joy ", "choices": ["u", "v"], "deep": {"a": {"b": 1}}}
MANY = str([1] * 50)


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
        ("{% for a in choices if a > 'u' %}{{ a }}{% else %}none{% endfor %}", "v"),
        ("{% for key, value in deep.items() %}{{ key }}{{ value.b }}{% endfor %}", "a1"),
        ("{% for i in range(3) %}{{ i }}{% endfor %}", "012"),
        ("{% if more is defined %}{{ more }}{% endif %}{{ more|default('no') }}", "no"),
        ("{% set q = text|trim %}{{ q[0:3]|replace(' ', '-') }}", "a-j"),
        ("{{ text.split()|join('+') }}{{ '-' * 3 }}{{ 2 ** 10 }}{{ 7 % 3 }}", "a+joy---10241"),
        ("{{ choices|map('upper')|list }}{% raw %}{{ x }}{% endraw %}", "['U', 'V']{{ x }}"),
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
    with pytest.raises(InvalidInputError, match=r"task mood: .*task-files\.md"):
        fill(template)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 10**10 }}",
        "{{ 10**10 * 'x' }}",
        "{{ [text] * 10**9 }}",
        "{{ 2 ** (10**10) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '{:9999999999}'.format(1) }}",
        "{{ 'x'.ljust(10**10) }}",
        "{{ 'x'|center(10**10) }}",
        "{{ lipsum(n=10**9) }}",
        "{{ range(9000000)|join(text) }}",
        "{{ range(900000)|map('replace', '', text * 1000)|join }}",
        "{% set a = text %}" + "{% set a = a ~ a %}" * 60 + "{{ a }}",
        "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
        "{% set a = 9 %}" + "{% set a = a * a %}" * 60 + "{{ a > 1 }}",
        f"{{% for a in {MANY}|reverse %}}" * 10 + "{% endfor %}" * 10,
        "{% for a in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ " + "(" * 500,
    ],
)
def test_no_template_is_endless(template):
    begun = time.perf_counter()
    with pytest.raises(InvalidInputError, match=r"task mood: .*It may use text, choices, deep"):
        fill(template)
    assert time.perf_counter() - begun < 20


def test_long_texts_have_room():
    row = {"text": "word " * 200_000}
    assert len(PromptBuilder(TASK, [(row, 0), (row, 1)]).prompt(row).text) > 3_000_000


@pytest.mark.parametrize("reasoned", [False, True])
def test_templates_of_demonstrations_are_bounded_too(reasoned):
    endless = "{{ prompt }}{{ answer * 10**10 }}"
    wording = ChainOfThought(demonstration=endless, rationales=("because", "because"))
    task = replace(TASK, demonstration=endless, chain_of_thought=wording)
    builder = PromptBuilder(task, [({"text": "a"}, 0)], reasoned)
    with pytest.raises(InvalidInputError, match=r"of the demonstration fails: it takes more"):
        builder.prompt({"text": "a"})


def test_the_budget_is_that_of_one_rendering():
    sandbox = Sandbox()
    template = sandbox.read("{% for i in range(50000) %}{{ i }}{% endfor %}")
    assert len({sandbox.fill(template, {}) for _ in range(4)}) == 1
