"""Results as files, page and picture."""

import csv
import json

import numpy as np

from dnip.comparing import Comparison, MethodScores, ScoredFit
from dnip.comparing.presentation import FILES, present_comparison
from dnip.metrics.intervals import PAIRED
from dnip.presenting.artefacts import Estimate


def outcome(name, accuracy, cobias, reads=("labels",)):
    values = {"accuracy": accuracy, "cobias": cobias, "worst_class_accuracy": 0.5, "macro_f1": 0.6}
    estimates = {m: Estimate(v, v - 0.01, v + 0.02) for m, v in values.items()}
    differences = {} if name == "raw" else {m: Estimate(0.1, -0.05, 0.2) for m in PAIRED}
    runs = tuple(
        ScoredFit(seed, 0.0123, np.array([[8, 2], [4, 6]]), np.zeros((2, 2, 2), int), {})
        for seed in range(2)
    )
    return MethodScores(name, "", reads, estimates, differences, runs)


def comparison(*outcomes, opt="news/opt.csv", test="news/test.csv"):
    skipped = {"linear-adapter": "torch is not installed"}
    settings = {"seeds": 2, "confidence": 0.9, "objective": {}, "scale": 30}
    rows = {"n_opt": 1234, "n_test": 20, "n_unlabelled": 7, "n_content_free": 0}
    return Comparison(
        opt, test, ("a", "b"), methods=outcomes, skipped=skipped, interrupted=False, **rows,
        **settings,
    )  # fmt: skip


WHOLE = comparison(
    outcome("raw", 0.7, 0.3),
    outcome("batch-calibration", 0.72, 0.1, reads=("batch",)),
    outcome("dnip", 0.72, 0.1),
    outcome("mine", 0.72, 0.1),
)


def test_the_page_says_all():
    lines = present_comparison(WHOLE).to_markdown().splitlines()
    assert lines[0] == "### news: 1,234 labels of 2 classes, 20 test rows"
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    assert rows["raw"] == (
        "| raw | 0.700 [0.690, 0.720] | – | 0.300 [0.290, 0.320] | – | 0.500 | 0.600 | 12 ms |"
    )
    assert "| +0.100 [−0.050, +0.200] |" in rows[r"batch-calibration \*"]
    assert "means of 2 runs; in brackets, their 90% intervals." in lines[-2]
    assert "Unlabelled rows at hand: 7." in lines[-2]
    assert r"\* reads the probabilities of all test rows" in lines[-2]
    assert lines[-1] == "Left out, linear-adapter: torch is not installed."


def test_the_folder_holds_results_runs_picture_and_page(tmp_path):
    FILES.prepare(tmp_path / "new" / "folder")
    written = FILES.write(tmp_path / "new" / "folder", present_comparison(WHOLE))
    names = ["results.json", "runs.csv", "comparison.png", "results.md"]
    assert [path.name for path in written] == names
    assert json.loads(written[0].read_text())["methods"][2]["name"] == "dnip"
    lines = list(csv.DictReader(written[1].open()))
    assert len(lines) == 8
    assert lines[3] == {
        "method": "batch-calibration",
        "seed": "1",
        "seconds": "0.012300",
        "accuracy": "0.7",
        "cobias": lines[0]["cobias"],
        "worst_class_accuracy": "0.6",
        "macro_f1": lines[0]["macro_f1"],
    }
    page = written[3].read_text()
    assert page.startswith(present_comparison(WHOLE).to_markdown())
    assert "(comparison.png)" in page
