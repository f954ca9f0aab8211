"""Names of others, in terminals, in pictures and in notebooks."""

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable, evaluate, fit, solve
from dnip.base.escaping import printable
from dnip.presenting.drawing.style import save_figure
from dnip.presenting.evaluation import class_accuracy_figure, odd_class_figure

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
@pytest.mark.parametrize("figure_of", [odd_class_figure, class_accuracy_figure])
def test_any_names_can_be_drawn(tmp_path, figure_of, suffix):
    pytest.importorskip("matplotlib")
    n = len(NAMES)
    p = np.eye(n)[np.arange(3 * n) % n] + 0.5 + np.arange(n) / 10
    table = ProbabilityTable(p / p.sum(axis=1, keepdims=True), np.arange(3 * n) // 3, None, NAMES)
    evaluation = evaluate([table], coefficients=Coefficients(NAMES, [*range(2, n + 2)], 30))
    save_figure(figure_of(evaluation), tmp_path / f"p{suffix}")
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
    assert table.count("<tr>") == 3
    assert "<ham>" not in table
