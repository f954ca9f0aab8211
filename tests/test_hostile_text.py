"""Text of others through everything that writes Markdown or HTML; terminals, pictures, pages."""

from html.parser import HTMLParser

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable, evaluate, fit, solve
from dnip.base.escaping import html, printable
from dnip.presenting.pictures import class_accuracy_figure, save_figure
from reproduction.presenting import escaped as markdown

HOSTILE = [
    "a|b", "`rm`", "``` x", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<!-- ", r"\input{/etc/passwd}", "100 % $x$ #1 & ~ ^", "a\n\n# b\n- c\n", "[x](javascript:y)",
    "![x](http://x/y)", "[x]: http://x", "**x** *y* _z_ __u__ ~~v~~", "# x", "1. x", "- x", "+ x",
    "> x", "---", "===", "[x] y", "*z", "&lt;b&gt;", '"\'', "}", "{", "\\", r"\\|", "]", "![",
    "\x1b]0;x\x07\x1b[2J", "\u202ex\u2066", "\x9b2J", "\x00", "\ud800", "\u2028x", "x" * 10_000,
    "|" * 10_000,
]  # fmt: skip


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


class Words(HTMLParser):
    """The words of a page."""

    def __init__(self, page):
        super().__init__()
        self.all = ""
        self.feed(page)
        self.close()

    def handle_data(self, data):
        self.all += data


@pytest.mark.parametrize("text", HOSTILE)
def test_every_medium_shows_the_very_text(text):
    shown = on_one_line(text)
    assert words(markdown(text)) == shown
    assert shape(markdown(text)) == ["paragraph_open", "paragraph_close"]
    assert shape(f"- {markdown(text)}") == shape("- x")
    assert Words(f'<p title="{html(text)}">{html(text)}</p>').all == printable(text)


# --- names ---
STEERING = "\x1b]0;PWNED\x07\x1b[2J"
NAMES = ["$5 to $10", "$x_$", r"$\frac{$", "$$", r"\$", "\ufeff", STEERING, "\u202eright", "{a}^2"]


def test_ordinary_texts_stay():
    for text in ["café\tμ\n", "日本語", "می‌خواهم", "👩‍💻", "a$b\\"]:
        assert printable(text) == text


@pytest.mark.parametrize("text", [STEERING, "\x9b2J", "\r", "\ud800", "\x7f", "\u2028", "\u2066"])
def test_what_steers_a_terminal_is_escaped(text):
    assert printable(text).isascii()
    assert printable(text).isprintable()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_any_names_can_be_drawn(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    n = len(NAMES)
    p = np.eye(n)[np.arange(3 * n) % n] + 0.5 + np.arange(n) / 10
    table = ProbabilityTable(p / p.sum(axis=1, keepdims=True), np.arange(3 * n) // 3, None, NAMES)
    evaluation = evaluate([table], coefficients=Coefficients(NAMES, [*range(2, n + 2)], 30))
    save_figure(class_accuracy_figure(evaluation), tmp_path / f"p{suffix}")
    assert (tmp_path / f"p{suffix}").stat().st_size > 1000


P, Y = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]), np.array([0, 1, 0, 1])
TABLE = ProbabilityTable(P, Y, classes=["<ham>", "spam"])


@cases(
    Coefficients(["<ham>", "spam"], [1, 2], 2),
    solve(P, Y),
    evaluate(TABLE, coefficients=Coefficients(["<ham>", "spam"], [1, 2], 2)),
    fit(TABLE),
)
def test_everything_shows_itself_in_one_line_and_as_a_table(shown):
    assert repr(shown).startswith(f"{type(shown).__name__}(")
    assert "\n" not in repr(shown)
    assert len(repr(shown)) < 150
    table = shown._repr_html_()
    assert table.rpartition("<table>")[2].count("<tr>") == 3
    assert "<ham>" not in table
