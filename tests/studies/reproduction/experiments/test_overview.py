"""Odd classes and class accuracies before and after."""

import numpy as np
from matplotlib.figure import Figure as Canvas

from dnip.metrics import scores
from dnip.presenting.artefacts import Figure, Table
from results import experiment, of_kind, results, verdicts

# b is taken for a, c for b; after, c is right more often
RAW = [[8, 1, 1], [6, 3, 1], [2, 7, 1]]
AFTER = [[7, 2, 1], [3, 6, 1], [1, 3, 6]]


def cells(task, raw=RAW, after=AFTER):
    found = {"classes": ["a", "b", "c"], "raw": scores(np.array(raw))}
    found |= dict.fromkeys(("published", "ours"), scores(np.array(after)))
    return [({"task": task}, found)]


def test_worst_class_and_odd_class_of_each_task():
    artefacts = experiment("overview").present(results(*cells("t")))
    summary, in_full = of_kind(artefacts, Table)
    assert summary.rows[0] == ["t", "b", 2 / 3, "c", 0.1, 0.6, 0.6]
    assert in_full.rows[1] == ["b", 0.3, "a", 0.6, "a", 0.6, "a"]
    assert verdicts(artefacts) == [True]
    backwards = experiment("overview").present(results(*cells("t", AFTER, RAW)))
    assert verdicts(backwards) == [False]


def test_trec_is_shown_in_full_where_it_is_there_else_the_most_unequal():
    even = [[5, 3, 2], [3, 5, 2], [2, 3, 5]]
    tasks = [*cells("even", even), *cells("uneven")]
    for added, shown in (([], "uneven"), (cells("trec", even), "trec")):
        artefacts = experiment("overview").present(results(*tasks, *added))
        assert shown in of_kind(artefacts, Table)[1].title
        (figure,) = of_kind(artefacts, Figure)
        canvas = Canvas(layout="constrained")
        figure.draw(canvas)
        worst = "0.10" if shown == "uneven" else "0.50"
        texts = {text.get_text() for text in canvas.axes[0].texts}
        assert worst in texts
        assert sum(bool(axes.get_title("left")) for axes in canvas.axes) == 3
