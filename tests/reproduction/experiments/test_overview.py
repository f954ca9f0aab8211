"""Odd classes and class accuracies before and after."""

from matplotlib.figure import Figure as Canvas

from reproduction.artefacts import Figure, Statement, Table
from results import METHODS, experiment, of_kind, results, scored, verdicts

# b is taken for a, c for b; after, c is right more often
RAW = [[8, 1, 1], [6, 3, 1], [2, 7, 1]]
AFTER = [[7, 2, 1], [3, 6, 1], [1, 3, 6]]


def cells(task, raw=RAW, after=AFTER):
    found = {"classes": ["a", "b", "c"], "raw": scored(raw, "abc")}
    found |= dict.fromkeys(METHODS, scored(after, "abc"))
    return [({"task": task}, found)]


def test_worst_class_and_odd_class_of_each_task():
    artefacts = experiment("overview").present(results(*cells("t")))
    summary, in_full = of_kind(artefacts, Table)
    assert summary.rows[0] == ["t", "b", 2 / 3, "c", 0.1, *[0.6] * 4]
    assert in_full.rows[1] == ["b", 0.3, "a", *[0.6, "a"] * 4]
    assert verdicts(artefacts) == [True]
    backwards = experiment("overview").present(results(*cells("t", AFTER, RAW)))
    assert verdicts(backwards) == [False]


def test_all_tasks_decide_and_a_constant_answer_is_left_out():
    stays = [[9, 1, 0], [4, 6, 0], [5, 5, 0]]
    both = results(*cells("t"), *cells("trec", stays, stays))
    (statement,) = of_kind(experiment("overview").present(both), Statement)
    assert statement.confirmed is False
    assert "on 1 of 2 tasks" in statement.measured
    always = [[0, 0, 10]] * 3
    artefacts = experiment("overview").present(results(*cells("trec", RAW, always)))
    assert verdicts(artefacts) == [None]
    assert of_kind(artefacts, Table)[0].rows[0][-4:] == ["constant: c"] * 4


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
