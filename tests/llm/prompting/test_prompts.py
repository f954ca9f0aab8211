"""Prompts: how they are worded, what a task file may hold, and that templates run nothing."""

from dataclasses import replace

import pytest

pytest.importorskip("jinja2", reason="prompts need jinja2")


from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.llm.prompting.prompt import PromptBuilder
from dnip.llm.prompting.sandbox import render_chat
from dnip.llm.prompting.task import built_in_tasks, check_task, load_task, task_of
from fakes import TASK

TOML = """
name = "mood"
instruction = "Is the message happy or sad?"
fields = ["text"]
template = "Message: {{ text }}\\nMood:"
[chain_of_thought]
template = "Message: {{ text }}\\nFirst think:"
demonstration = "{{ prompt }} {{ rationale }} It is{{ answer }}."
[[classes]]
name = "happy"
rationale = "The writer laughs."
[[classes]]
name = "sad"
"""


@pytest.fixture
def task(tmp_path):
    (tmp_path / "mood.toml").write_text(TOML)
    return load_task(tmp_path / "mood.toml")


def prompt(task, *shown):
    return PromptBuilder(task, shown, chain_of_thought=True).prompt({"text": "ha"})


def test_demonstrations_show_reasoning_and_then_the_answer(task):
    made = prompt(task, ({"text": "hoho"}, 0))
    assert made.text == (
        "Is the message happy or sad?\n\n"
        "Message: hoho\nFirst think: The writer laughs. It is happy.\n\n"
        "Message: ha\nFirst think:"
    )
    assert made.lead == "  It is"


def test_a_task_without_a_wording_of_its_own_gets_the_general_one():
    made = prompt(TASK)
    assert made.text.endswith("Message: ha\nMood: Think step by step before answering.")
    assert made.lead.endswith("So the answer is")


def test_an_answer_ends_with_the_separator_where_demonstrations_show_it(task):
    assert PromptBuilder(task, (), chain_of_thought=True).stop is None
    assert PromptBuilder(task, [({"text": "a"}, 0)], chain_of_thought=True).stop == "\n\n"
    assert PromptBuilder(replace(task, separator=""), [({"text": "a"}, 0)]).stop is None


SHOWN = [({"text": "hoho"}, 0), ({"text": "boo"}, 1)]


def chat_of(task, *shown, **options):
    made = PromptBuilder(task, shown, **options).prompt({"text": "ha"})
    return [(one["role"], one["content"]) for one in made.messages]


def test_in_a_chat_demonstrations_are_turns(tmp_path, task):
    asked = "Is the message happy or sad?\n\n"
    shown = [("assistant", "happy"), ("user", "Message: boo\nMood:"), ("assistant", "sad")]
    last = ("user", "Message: ha\nMood:")
    assert chat_of(task, *SHOWN) == [("user", f"{asked}Message: hoho\nMood:"), *shown, last]
    assert chat_of(task) == [("user", f"{asked}Message: ha\nMood:")]
    (tmp_path / "c.toml").write_text(TOML.replace("[[cl", '[chat]\nsystem = "Name it."\n[[cl', 1))
    task = load_task(tmp_path / "c.toml")
    system = ("system", "Name it.")
    assert chat_of(task, *SHOWN) == [system, ("user", "Message: hoho\nMood:"), *shown, last]
    flat = replace(task, chat=replace(task.chat, turns=False))
    whole = "Message: hoho\nMood: happy\n\nMessage: boo\nMood: sad\n\nMessage: ha\nMood:"
    assert chat_of(flat, *SHOWN) == [system, ("user", whole)]
    reasoned = chat_of(task, SHOWN[0], chain_of_thought=True)
    assert reasoned[2] == ("assistant", "The writer laughs. It is happy.")


QUESTION = """[question]
instructions = "Which?"
criteria = { sad = "in tears", happy = "laughing" }
[[classes]]"""


def test_a_question_is_read_as_an_application_asks_it(tmp_path):
    path = tmp_path / "q.toml"
    text = 'state = "A note: {{ text }}"' + TOML.replace("[[classes]]", QUESTION, 1)
    path.write_text(text)
    task = load_task(path)
    assert PromptBuilder(task).prompt({"text": "ha"}).state == "A note: ha"
    assert list(task.decision.criteria.items()) == [("sad", "in tears"), ("happy", "laughing")]
    path.write_text(text.replace("happy = ", "glad = "))
    with pytest.raises(InvalidInputError, match="the criteria of the question are sad, glad"):
        load_task(path)
    path.write_text(text.partition("\n")[0] + TOML)
    with pytest.raises(InvalidInputError, match="a state, but no"):
        load_task(path)


def test_a_class_without_a_rationale_cannot_be_shown(task):
    with pytest.raises(InvalidInputError, match="no rationale to show for the class 'sad'"):
        prompt(task, ({"text": "boo"}, 1))


@pytest.mark.parametrize("name", built_in_tasks())
def test_built_in_tasks_show_reasoning_for_every_class(name):
    task = load_task(name)
    row = dict.fromkeys(task.fields, "N/A")
    shown = [(row, label) for label in range(task.n_classes)]
    made = PromptBuilder(task, shown, chain_of_thought=True).prompt(row)
    assert made.example.endswith("Think step by step before answering.")
    reasons = task.chain_of_thought.rationales
    assert len(set(reasons)) == task.n_classes
    for label, reason in enumerate(reasons):
        assert made.prefix.count(f"{reason}{made.lead[1:]}{task.answer(label)}\n\n") == 1
        # A rationale that names a label would be taken for the answer.
        assert not any(f" {word}" in f" {reason}" for word in task.label_words)


# --- a prompt and its classes ---
def test_a_prompt_is_a_text_or_a_file_and_its_fields_are_what_it_names(tmp_path):
    text = "{% if title %}{{ title }}: {% endif %}{{ body }}{% set x = range(2) %}\nTopic:"
    (tmp_path / "p.txt").write_text(f"{text}\n")
    (tmp_path / "s.txt").write_text("Name the topic.\n")
    for task in (task_of(text, ["a", "b"]), task_of(tmp_path / "p.txt", ["a", "b"])):
        assert task.fields == ("body", "title")
        made = PromptBuilder(task).prompt({"title": "", "body": "B"})
        assert (made.text, task.answer(1)) == ("B\nTopic:", " b")
    task = task_of(str(tmp_path / "p.txt"), ["a", "b"], system=str(tmp_path / "s.txt"))
    messages = PromptBuilder(task).prompt({"title": "T", "body": "B"}).messages
    assert [one["content"] for one in messages] == ["Name the topic.", "T: B\nTopic:"]


@cases(
    ("Name it: {text}", ["a", "b"], "names no column.*Write {{ text }} where the text"),
    ("prompt.txt", ["a", "b"], "names no column.*there is no file 'prompt.txt'"),
    ("{% for %}", ["a", "b"], "the prompt is no template: "),
    ("{{ text }}", ["a"], "at least 2 classes"),
    ("{{ text }}", ["a", "a"], "twice"),
)
def test_a_prompt_that_asks_nothing_is_refused(prompt, classes, told):
    with pytest.raises(InvalidInputError, match=told):
        task_of(prompt, classes)


# --- templates ---
ROW = {"text": " a joy ", "choices": ["u", "v"], "deep": {"a": {"b": 1}}}


def fill(template):
    task = replace(TASK, template=template, fields=tuple(ROW))
    return PromptBuilder(task).prompt(ROW).example


@cases(
    ("{{ text }}\n", " a joy \n"),
    ("{% for c in choices %}{{ c }}{{ '' if loop.last else ', ' }}{% endfor %}", "u, v"),
    ("{{ text.strip()|upper }}{{ '{:>4}|{x}'.format(1, x='y') }}", "A JOY   1|y"),
    ("{% if more is defined %}{{ more }}{% endif %}{{ more|default('no') }}", "no"),
)
def test_templates_write_fields_with_conditions_loops_and_filters(template, expected):
    assert fill(template) == expected


@cases(
    "{{ cycler.__init__.__globals__.os.mkdir('PWNED') }}",
    "{{ text.__class__.__mro__[1].__subclasses__() }}",
    "{{ text|attr('__class__') }}",
    "{{ '{0.__class__}'.format(text) }}",
    "{{ choices.append(1) }}",
    "{% include 'mood.toml' %}",
)
def test_no_code_runs_and_no_file_is_read(tmp_path, monkeypatch, template):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mood.toml").write_text("secret")
    with pytest.raises(InvalidInputError, match=r"task mood: .*prompting\.md"):
        fill(template)
    assert [path.name for path in tmp_path.iterdir()] == ["mood.toml"]


@cases("{{ missing }}", "{% for %}", "{{ " + "(" * 500, "{{ 1 / 0 }}")
def test_a_template_that_fails_is_named_with_what_it_may_use(template):
    with pytest.raises(InvalidInputError, match=r"task mood: .*It may use text, choices, deep"):
        fill(template)


CHAT = """{{- bos_token }}
{%- if tools %}{{ tools | tojson }}{% endif %}
{% for message in messages %}
    {% if message['role'] == 'none' %}{% continue %}{% endif %}
    {% set content = message.content | trim + eos_token %}
    {% if message.role == 'assistant' %}
        {%- generation %}{{ '<|' ~ message.role ~ '|>\\n' + content }}{% endgeneration %}
    {% else %}
{{ '<' + message.role + '>' ~ loop.index }}
{{ content }} {{ message | tojson }} {{ message.missing }}
    {% endif %}
{% endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}
"""
TURNS = [
    {"role": "system", "content": " Be <brief> é. "},
    {"role": "none", "content": "x"},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Ho"},
]
NAMES = {"messages": TURNS, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}


def test_chat_templates_are_rendered_as_transformers_renders_them():
    utilities = pytest.importorskip("transformers.utils.chat_template_utils")
    expected, _ = utilities.render_jinja_template(
        conversations=[TURNS], chat_template=CHAT, **{k: NAMES[k] for k in [*NAMES][1:]}
    )
    assert [render_chat(CHAT, **NAMES)] == expected


def test_a_chat_template_may_refuse_turns():
    with pytest.raises(Exception, match="no system"):
        render_chat("{{ raise_exception('no system') }}", **NAMES)


# --- task files ---
TABLE = {
    "name": "mood",
    "instruction": "?",
    "fields": ["text"],
    "template": "{{ text }}",
    "classes": [{"name": "bad"}, {"name": "good"}],
}


@cases(
    ({}, {"name"}, "name is missing. Keys here are name, instruction"),
    ({"nam": "mood"}, {"name"}, "unknown key nam. Keys here are name, instruction"),
    ({"name": 3}, {}, "name is 3, not a text"),
    ({"fields": []}, {}, "fields is empty"),
    ({"fields": 3}, {}, "fields is 3, not a list"),
    ({"classes": [3]}, {}, "classes[0] is 3, not a table"),
    ({"classes": [{"name": "a"}, {"nam": "b"}]}, {}, "unknown key classes[1].nam"),
    ({"classes": {"name": "a"}}, {}, "at least 2 classes"),
    ({"classes": [{"name": "a", "label_word": ""}, {"name": "b"}]}, {}, "('', 'b')"),
    ({"chat": 3}, {}, "chat is 3, not a table"),
    ({"chat": {"turns": 1}}, {}, "turns is 1, not true or false"),
    ({"question": {"instructions": "?", "criteria": {"bad": 3}}}, {}, "criteria.bad is 3"),
    ({"question": {"criteria": {}}}, {}, "question.instructions is missing"),
    ({"chain_of_thought": {"x": 1}}, {}, "unknown key chain_of_thought.x"),
    ({"template": 1 << 1000}, {}, "template is 1071"),
)
def test_a_table_that_breaks_the_format_is_refused(changed, without, told):
    table = {key: value for key, value in (TABLE | changed).items() if key not in without}
    with pytest.raises(InvalidInputError) as caught:
        check_task(table, "a.toml")
    assert told in str(caught.value)
    assert check_task(TABLE, "a.toml").classes == ("bad", "good")


@cases(
    ("unknown", None, "no built-in task 'unknown'. Name one of agnews"),
    ("nowhere.toml", None, "there is no such file"),
    ("a.toml", b"\xff\xfe\xff", "no UTF-8 text"),
    ("a.toml", b"a = [", "not valid TOML"),
    ("a.toml", b"a = " + b"[" * 5000, "not valid TOML"),
)
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, name, content, told):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        load_task(name)
    assert told in str(caught.value)
