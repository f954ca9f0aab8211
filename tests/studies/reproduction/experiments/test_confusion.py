"""The confusion matrix, its picture and its verdict."""

from matplotlib.figure import Figure as Canvas

from dnip.presenting.artefacts import Figure, Table
from dnip.studies.reproduction.cell import TableRef
from dnip.studies.reproduction.sources import Source, Sources
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


def source(task, n_classes):
    classes = tuple("abcdefghijklmnop"[:n_classes])
    ref = TableRef(task, task, f"{task}.csv", 9, classes)
    return Source("m", task, None, None, opt=ref, test=ref)


def test_the_papers_task_is_shown_else_one_that_can_be_read():
    of_many = Sources((source("many", 14), source("two", 2), source("four", 4)))
    cells = experiment("confusion").cells(of_many)
    assert [cell.labels["task"] for cell in cells] == ["four"]
    with_paper = Sources((*of_many.rows, source("agnews", 4)))
    cells = experiment("confusion").cells(with_paper)
    assert {cell.labels["task"] for cell in cells} == {"agnews"}
    only = experiment("confusion").cells(Sources((source("many", 14),)))
    assert {cell.labels["task"] for cell in only} == {"many"}
