"""The paper's tables, in its own layout, made of the published numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.presenting.artefacts import Column, Row, Spread, Table
from dnip.studies.reproduction.naming import short_task
from dnip.studies.reproduction.published import TASK_TITLES, published

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.presenting.artefacts import Value


def paper_tables(experiment: str) -> tuple[Table, ...]:
    """Return the paper's own tables of an experiment; none where it has pictures alone.

    Examples
    --------
    >>> paper_tables("time")[0].rows[0].values
    ('AG News', 2278, 120)
    """
    make = _MAKERS.get(experiment)
    return () if make is None else (make(published(experiment).numbers),)


def _main(numbers: dict[str, Any]) -> Table:
    rows = []
    for method, title in (("raw", "ICL"), ("dnip", "DNIP")):
        rows.append(Row((), heading=title))
        lines: dict[str, list[Value]] = {}
        for row in numbers["rows"]:
            if row["method"] == method:
                name = f"{row['model']}, {row['shots']}-shot"
                lines.setdefault(name, [name]).extend(_spreads([row["all"], *row["tasks"]]))
        rows += [Row(tuple(values)) for values in lines.values()]
    tasks = ["All", *map(short_task, numbers["tasks"])]
    columns = [Column(task, group=group) for group in ("Accuracy", "COBias") for task in tasks]
    return Table(
        "paper-main",
        "The paper's test accuracy and COBias (%), mean and standard deviation",
        [Column("Model"), *columns],
        rows,
        paper="Table 2",
    )


def _confusion(numbers: dict[str, Any]) -> Table:
    rows = [
        Row((name, *counts, size, rate))
        for name, counts, size, rate in zip(
            numbers["classes"],
            numbers["confusion"],
            numbers["true"],
            numbers["accuracies"],
            strict=True,
        )
    ]
    rows.append(Row(("All", *numbers["predicted"], numbers["n"], None)))
    rows.append(Row(("Prec.", *numbers["precisions"], None, None)))
    return Table(
        "paper-confusion",
        f"The paper's confusion matrix of {numbers['model']} on AG News",
        [
            Column("True"),
            *(Column(name, digits=2, group="Predicted") for name in numbers["classes"]),
            Column("All"),
            Column("Acc.", digits=2),
        ],
        rows,
        paper="Table 1",
    )


def _time(numbers: dict[str, Any]) -> Table:
    rows = [
        Row((TASK_TITLES[row["task"]], row["seconds"], row["variable_space"]))
        for row in numbers["rows"]
    ]
    columns = [Column("Task"), Column("Time, s"), Column("Variable space NK")]
    return Table("paper-time", "The paper's optimisation times", columns, rows, paper="Table 3")


def _kde(numbers: dict[str, Any]) -> Table:
    stated = numbers["class_accuracy"]
    indices = ", ".join(map(str, numbers["weight_indices"]))
    return Table(
        "paper-kde",
        f"What the paper states beside figure 2: {numbers['model']} on AG News, "
        f"{numbers['shots']}-shot",
        [Column("Class"), Column("Raw accuracy", digits=2), Column("After DNIP", digits=2)],
        [Row((stated["class"], stated["raw"], stated["dnip"]))],
        caption=f"Weight indices {indices} of {numbers['scale']}.",
        paper="Figure 2",
    )


def _overview(numbers: dict[str, Any]) -> Table:
    return Table(
        "paper-overview",
        f"What the paper states beside figure 6: {TASK_TITLES[numbers['task']]}, "
        f"{numbers['shots']}-shot",
        [Column("Class"), Column("Raw accuracy", digits=2), Column("After DNIP", digits=2)],
        [
            Row((name, rates["raw"], rates.get("dnip")))
            for name, rates in numbers["class_accuracy"].items()
        ],
        caption=f"Odd class of most: {numbers['odd_class']}.",
        paper="Figure 6",
    )


def _label_order(numbers: dict[str, Any]) -> Table:
    rows = []
    for method, title in (("raw", f"{numbers['shots']}-shot ICL"), ("dnip", "+DNIP")):
        rows.append(Row((), heading=title))
        for row in numbers["rows"]:
            if row["method"] == method:
                order = ", ".join(map(str, row["order"])) if method == "raw" else None
                scores = (row["accuracy"], row["cobias"], *row["class_accuracies"])
                rows.append(Row((f"seed {row['seed']}", order, *scores)))
    classes = [f"{name} ({place})" for place, name in enumerate(numbers["classes"])]
    titles = ("Seed", "Label order", "Accuracy", "COBias", *classes)
    return Table(
        "paper-label-order",
        f"The paper's {numbers['model']} on AG News by label order of the demonstrations (%)",
        [Column(title) for title in titles],
        rows,
        paper="Table 4",
    )


def _cot(numbers: dict[str, Any]) -> Table:
    rows = []
    for row in (*numbers["rows"], {"task": "all", **numbers["all"]}):
        pairs = [row["accuracy"], row["cobias"]]
        accuracy, cobias = (Spread(*p) if isinstance(p, list) else p for p in pairs)
        name = TASK_TITLES.get(row["task"], "All")
        changes = row["accuracy_change"], row["cobias_change"]
        rows.append(Row((name, accuracy, changes[0], cobias, changes[1])))
    titles = ("Task", "Accuracy", "Change", "COBias", "Change")
    return Table(
        "paper-cot",
        f"The paper's 1-shot chain of thought with {numbers['model']} (%)",
        [Column(title) for title in titles],
        rows,
        paper="Table 5",
    )


def _opt_size(numbers: dict[str, Any]) -> Table:
    rows: list[Row] = []
    model = None
    for row in numbers["rows"]:
        if row["model"] != model:
            model = row["model"]
            rows.append(Row((), heading=model))
        size = row["opt_size"]
        shown = "10 (15)" if size == 10 else f"{size:,}" if isinstance(size, int) else size
        rows.append(Row((shown, "Accuracy", *_spreads(row["accuracy"]))))
        rows.append(Row(("", "COBias", *_spreads(row["cobias"]))))
    tasks = [TASK_TITLES[task] for task in numbers["tasks"]]
    return Table(
        "paper-opt-size",
        "The paper's DNIP by size of the opt set (%)",
        [Column(title) for title in ("Opt set", "Metric", *tasks)],
        rows,
        paper="Appendix D",
    )


def _spreads(pairs: Sequence[Sequence[float] | None]) -> list[Value]:
    return [None if pair is None else Spread(*pair) for pair in pairs]


_MAKERS: dict[str, Callable[[dict[str, Any]], Table]] = {
    "main": _main,
    "confusion": _confusion,
    "time": _time,
    "kde": _kde,
    "label-order": _label_order,
    "cot": _cot,
    "overview": _overview,
    "opt-size": _opt_size,
}
