"""Task files, templates and texts of ``dnip prompt``."""

import json

from hypothesis import given, strategies as st

from fuzzing import fuzzed, run, workshop
from mutations import damaged, damaged_json, texts
from test_prompt import TASK

ROWS = [{"id": f"r{n}", "text": f"message {n}", "label": n % 2} for n in range(4)]
SHOWN = ("--demonstrations", "train{suffix}")
LINES = [
    ["test", *SHOWN, "--shots", "1", "--out", "o.csv"],
    ["test", *SHOWN, "--shots", "balanced", "--endpoint", "chat", "--votes", "1", "--out", "o.csv"],
    ["content-free", "--out", "o.csv"],
    ["test", "--check"],
]
lines = st.sampled_from(LINES)
#: What a run that failed is taken up from.
OUTPUTS = ("o.csv.",)

PIECES = [
    *("{{ text }}", "{{ text | upper }}", "{{ text.__class__ }}", "{{ self }}", "{{ label }}"),
    *("{{ cycler.__init__.__globals__ }}", "{# x #}"),
    *("{% if text %}", "{% endif %}", "{% raw %}", "{{ 1/0 }}", "{{ [] }}"),
    *("{% include 'x' %}", "{% set x = text %}", "{{ x }}", "{{ text[99999999999999999999] }}"),
    *("{{ ''.join(text) }}", "{{ lipsum() }}", "\\n"),
    *("{{ dict(a=text) }}", "{{ text | format }}", "{{ namespace() }}", "{%", "}}", "{{", "a"),
    *("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ text | batch(0) }}", "{{ -1 }}"),
    *("{{ (((((((((text))))))))) }}", "{{ text.format(text) }}"),
]


def try_task(url, line, task=TASK, rows=None, suffix=".jsonl"):
    if rows is None:
        rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    files = {"mood.toml": task, f"train{suffix}": rows, f"test{suffix}": rows}
    with workshop(files):
        model = ["--task", "mood.toml", "--model", url, "--served-model", "m"]
        words = [f"test{suffix}" if word == "test" else word.format(suffix=suffix) for word in line]
        run("prompt", *words, *model, outputs=OUTPUTS)


@fuzzed(16)
@given(lines, damaged(TASK.encode()))
def test_changed_bytes_of_a_task(url, line, task):
    try_task(url, line, task)


@fuzzed(8)
@given(lines, st.lists(st.sampled_from(PIECES) | texts, min_size=1, max_size=4))
def test_templates(url, line, pieces):
    template = json.dumps("".join(pieces), ensure_ascii=False).replace("\x7f", "")
    task = TASK.replace('"Message: {{ text }}\\nMood:"', template)
    try_task(url, line, task.encode("utf-8", "replace"))


@fuzzed(8)
@given(lines, damaged_json(ROWS))
def test_changed_rows(url, line, rows):
    rows = rows if isinstance(rows, list) else [rows]
    try_task(url, line, rows="".join(json.dumps(row) + "\n" for row in rows))


@fuzzed(8)
@given(lines, st.sampled_from([".csv", ".jsonl"]), st.data())
def test_changed_bytes_of_data(url, line, suffix, data):
    rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    if suffix == ".csv":
        rows = "id,text,label\n" + "".join(f"{r['id']},{r['text']},{r['label']}\n" for r in ROWS)
    try_task(url, line, rows=data.draw(damaged(rows.encode())), suffix=suffix)
