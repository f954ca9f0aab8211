"""The course of a search as CSV: one line per entry, readable by any tool."""

import csv

import pytest

from dnip import solve
from dnip.presenting.fit import write_trace
from problems import KNOWN


def trace_of(path, solver):
    problem = KNOWN["three classes"]
    solution = solve(problem.p, problem.labels, scale=9, solver=solver)
    write_trace(solution, path)
    with path.open(newline="") as file:
        return solution, list(csv.DictReader(file))


@pytest.mark.parametrize("solver", ["coordinate", "anneal", "exhaustive"])
def test_each_entry_is_a_line(tmp_path, solver):
    solution, lines = trace_of(tmp_path / "trace.csv", solver)
    assert len(lines) == len(solution.trace)
    for line, entry in zip(lines, solution.trace, strict=True):
        assert float(line["incumbent"]) == entry.incumbent
        assert float(line["value"]) == entry.value
        assert int(line["evaluations"]) == entry.evaluations
        for name, value in entry.statistics.items():
            assert float(line[name]) == value
    incumbents = [float(line["incumbent"]) for line in lines]
    assert incumbents == sorted(incumbents, reverse=True)
    assert incumbents[-1] == pytest.approx(solution.value)
