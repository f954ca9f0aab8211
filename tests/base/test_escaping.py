"""Names of others, in terminals and in pictures."""

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.base.escaping import literal, printable
from dnip.presenting.drawing import save_figure
from dnip.presenting.evaluation import class_accuracy_figure, odd_class_figure
from dnip.tables.evaluation import evaluate

STEERING = "\x1b]0;PWNED\x07\x1b[2J"
NAMES = ["$5 to $10", "$x_$", r"$\frac{$", "$$", r"\$", "\ufeff", STEERING, "\u202eright", "{a}^2"]


def test_ordinary_texts_stay():
    for text in ["café\tμ\n", "日本語", "می‌خواهم", "👩‍💻", "a$b\\"]:
        assert printable(text) == text


@pytest.mark.parametrize("text", [STEERING, "\x9b2J", "\r", "\ud800", "\x7f", "\u2028", "\u2066"])
def test_what_steers_a_terminal_is_escaped(text):
    assert printable(text).isascii()
    assert printable(text).isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_shows_the_very_text(name):
    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    shown, is_math = Text(0, 0, literal(name))._preprocess_math(literal(name))
    assert (shown, is_math) == (printable(name), False)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("figure_of", [odd_class_figure, class_accuracy_figure])
def test_any_names_can_be_drawn(tmp_path, figure_of, suffix):
    pytest.importorskip("matplotlib")
    n = len(NAMES)
    p = np.eye(n)[np.arange(3 * n) % n] + 0.5 + np.arange(n) / 10
    table = ProbabilityTable(p / p.sum(axis=1, keepdims=True), np.arange(3 * n) // 3, None, NAMES)
    evaluation = evaluate([table], Coefficients(NAMES, [*range(2, n + 2)], 30))
    save_figure(figure_of(evaluation), tmp_path / f"p{suffix}")
    assert (tmp_path / f"p{suffix}").stat().st_size > 1000
