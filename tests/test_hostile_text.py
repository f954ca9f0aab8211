"""Text of others through everything that writes Markdown, HTML or LaTeX."""

import base64
import re
from html.parser import HTMLParser

import pytest

from benchmarks.race.presentation import present_race
from benchmarks.race.results import Race
from dnip.base.escaping import html, latex, markdown, printable
from dnip.comparing import Comparison
from dnip.comparing.presentation import present_comparison
from dnip.presenting.formats import to_markdown
from reproduction.artefacts import Column, Figure, Section, Statement, Table, Text
from reproduction.formats import to_latex
from reproduction.page import Code, Page
from reproduction.plan import ModelPlan, load_plan
from reproduction.report import write_report

HOSTILE = [
    "a|b", "`rm`", "``` x", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<!-- ", r"\input{/etc/passwd}", "100 % $x$ #1 & ~ ^", "a\n\n# b\n- c\n", "[x](javascript:y)",
    "![x](http://x/y)", "[x]: http://x", "**x** *y* _z_ __u__ ~~v~~", "# x", "1. x", "- x", "+ x",
    "> x", "---", "===", "[x] y", "*z", "&lt;b&gt;", '"\'', "}", "{", "\\", r"\\|", "]", "![",
    "\x1b]0;x\x07\x1b[2J", "\u202ex\u2066", "\x9b2J", "\x00", "\ud800", "\u2028x", "x" * 10_000,
    "|" * 10_000,
]  # fmt: skip
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
#: Elements that the pages are made of.
OURS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "ul", "li",
    "pre", "code", "b", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "small",
    "figure", "img", "figcaption", "em", "strong",
}  # fmt: skip


def on_one_line(text):
    return printable(" ".join(text.split()))


def tree(text):
    """What a parser of Markdown makes of a text: all tokens, inline ones too."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    tokens = parser.enable(["table", "strikethrough"]).parse(text)
    return [one for token in tokens for one in (token, *(token.children or ()))]


def shape(text):
    """The elements of a Markdown text, without its words."""
    words = {"text", "inline", "text_special"}
    return [token.type for token in tree(text) if token.type not in words]


def words(text):
    return "".join(t.content for t in tree(text) if t.type in ("text", "code_inline"))


class Elements(HTMLParser):
    """The elements, attributes and words of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.words = [], set(), ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_comment(self, data):
        self.tags.append("comment")

    def handle_data(self, data):
        self.words += data


def plain(text):
    """What a LaTeX text prints, after a check that no command but an escape stands in it."""
    text = re.sub(r"\\textbackslash\{\}", "\0", text)
    for name, shown in {"asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">"}.items():
        text = text.replace(rf"\text{name}{{}}", shown)
    text = text.replace(r"\textbar{}", "|").replace(r"\textquotedbl{}", '"')
    text = re.sub(r"(?<!\\)\{([][*])\}", r"\1", text)
    assert not re.search(r"\\[A-Za-z]", text)
    return re.sub(r"\\([&%$#_{}])", r"\1", text).replace("\0", "\\")


@pytest.mark.parametrize("text", HOSTILE)
def test_every_medium_shows_the_very_text(text):
    shown = on_one_line(text)
    assert words(markdown(text)) == shown
    assert shape(markdown(text)) == ["paragraph_open", "paragraph_close"]
    assert shape(f"- {markdown(text)}") == shape("- x")
    assert plain(latex(text)) == shown
    assert Elements(f'<p title="{html(text)}">{html(text)}</p>').words == printable(text)


def report(folder, text):
    """Write a whole report in which everything that others may name is the text."""
    table = Table(
        "mine", text, [Column(text, group=text), Column("s")],
        [(text, 2.5), text, (text, 1)], text,
    )  # fmt: skip
    figure = Figure("bars", text, lambda canvas: canvas.subplots().bar([0], [1]), caption=text)
    section = Section(
        "single", text, text,
        (table, figure, Text("ours"), Statement(text, text, text, None)), {text: text},
    )  # fmt: skip
    plan = load_plan("small").model_copy(update={"models": (ModelPlan(name="small"),)})
    manifest = {
        "inputs": {"saved_tables": text, "plan": plan.to_dict()},
        "runs": [{"command": ["dnip", "reproduce", text]}],
        "missing": {text: text},
        "models": {text: text},
    }
    write_report(folder, [section], manifest)
    return [(folder / name).read_text() for name in ("report.md", "report.html")]


@pytest.fixture(scope="module")
def harmless(tmp_path_factory):
    return report(tmp_path_factory.mktemp("harmless"), "x")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_report_keeps_its_shape(tmp_path, monkeypatch, harmless, text):
    monkeypatch.setattr("reproduction.report.save_figure", lambda _, path: _written(path))
    page, web = report(tmp_path, text)
    assert shape(page) == shape(harmless[0])
    found, expected = Elements(web), Elements(harmless[1])
    assert found.tags == expected.tags
    assert set(found.tags) <= OURS
    assert found.attributes == expected.attributes
    assert printable(page) == page
    assert printable(web) == web


def _written(path):
    path.write_bytes(PNG)
    return path


@pytest.mark.parametrize("text", HOSTILE)
def test_tables_and_pages_of_comparisons_and_races_keep_their_shape(text):
    def told(name):
        common = {"objective": {}, "scale": 30, "interrupted": False}
        rows = {"n_opt": 9, "n_test": 9, "n_unlabelled": 0, "n_content_free": 0}
        compared = Comparison(
            name, "test.csv", ("a", "b"), methods=(), skipped={"raw": name}, seeds=1,
            confidence=0.9, **rows, **common,
        )  # fmt: skip
        race = Race(name, 9, ("a", name), 30, {}, 0.1, (), {"cma": name}, interrupted=False)
        return [present_comparison(compared).to_markdown(), present_race(race).to_markdown()]

    for found, expected in zip(told(text), told("x"), strict=True):
        assert shape(found) == shape(expected)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_table_in_latex_has_its_lines_and_cells(text):
    columns = [Column(text), Column("s")]

    def lines(name):
        rows = [(name, 1.0), name]
        return to_latex(Table("t", name, columns, rows, name)).split("\n")

    found, expected = lines(text), lines("x")
    assert len(found) == len(expected)
    for line, other in zip(found, expected, strict=True):
        assert line.replace(r"\&", "").count("&") == other.replace(r"\&", "").count("&")
        assert not re.search(r"\\(input|write|def)", line)
        assert not re.search(r"^\s*[\[*]", line)


def test_a_block_of_code_ends_where_it_ends(tmp_path):
    [code] = tree(Page([Code("a\n```\n````\n# b")]).to_markdown(tmp_path))
    assert code.content == "a\n```\n````\n# b\n"


def test_tables_stay_tables():
    table = Table("t", "x", [Column("a"), Column("s")], [(text, 1) for text in HOSTILE])
    assert shape(to_markdown(table)).count("td_open") == 2 * len(HOSTILE)
