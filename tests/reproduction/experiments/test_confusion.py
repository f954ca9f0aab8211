"""The confusion matrix, its picture and its verdict."""

import numpy as np
from matplotlib.figure import Figure as Canvas

from reproduction.artefacts import Figure, Table
from results import METHODS, experiment, of_kind, results, scored, verdicts

UNEVEN = [[9, 1, 0], [8, 2, 0], [4, 4, 2]]
EVEN = [[8, 1, 1], [1, 8, 1], [1, 1, 8]]


def presented(raw, after):
    found = {"classes": ["a", "b", "c"], "n": 30}
    found |= {"raw": scored(raw)}
    found |= dict.fromkeys(METHODS, scored(after))
    return experiment("confusion").present(results(({"task": "t"}, found)))


def test_a_table_for_each_way_and_one_picture_of_all():
    artefacts = presented(UNEVEN, EVEN)
    tables = of_kind(artefacts, Table)
    assert [table.name for table in tables] == [
        "confusion",
        *(f"confusion-{method}" for method in METHODS),
    ]
    assert tables[0].rows[3] == ("All", 21, 7, 2, 30, None)
    assert tables[0].rows[0][-1] == 0.9
    canvas = Canvas()
    (figure,) = of_kind(artefacts, Figure)
    figure.draw(canvas)
    assert len(canvas.axes) == 3
    labels = [label.get_text() for label in canvas.axes[0].get_xticklabels()]
    assert labels == ["a\n2.10×", "b\n0.70×", "c\n0.20×"]


def test_verdict_needs_a_class_predicted_too_often_and_one_too_rarely():
    assert verdicts(presented(UNEVEN, EVEN)) == [True]
    assert verdicts(presented(EVEN, UNEVEN)) == [False]


def of_classes(task, n):
    found = {"classes": list("abcdefghijklmnop"[:n]), "n": 9 * n}
    counts = (8 * np.eye(n, dtype=int) + np.eye(n, k=1, dtype=int)).tolist()
    return {"task": task}, found | dict.fromkeys(("raw", *METHODS), scored(counts, "a" * n))


def test_the_papers_task_is_shown_else_one_that_can_be_read():
    of_many = [of_classes("many", 14), of_classes("two", 2), of_classes("four", 4)]
    for added, shown in (([], "four"), ([of_classes("agnews", 4)], "agnews")):
        artefacts = experiment("confusion").present(results(*of_many, *added))
        assert f"m on {shown}," in of_kind(artefacts, Table)[0].title
    (only,) = [of_classes("many", 14)]
    assert of_kind(experiment("confusion").present(results(only)), Figure) == []


def test_more_than_half_of_the_tasks_decide():
    tasks = [({"task": "t"}, {"classes": list("abc"), "raw": scored(UNEVEN)})]
    tasks += [({"task": name}, {"classes": list("abc"), "raw": scored(EVEN)}) for name in "uv"]
    for _, found in tasks:
        found.update(dict.fromkeys(METHODS, scored(EVEN)))
    assert verdicts(experiment("confusion").present(results(*tasks))) == [False]
    assert verdicts(experiment("confusion").present(results(*tasks[:1]))) == [True]
