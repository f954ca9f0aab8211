"""The report of the demonstration; `tests/cli/test_demo.py` has its files and figures."""

from dnip.comparing.demonstration import CLASSES, run_demonstration


def test_the_report_holds_the_numbers_and_the_picture(tmp_path):
    result = run_demonstration(tmp_path / "new" / "folder")
    report = (tmp_path / "new" / "folder" / "report.md").read_text(encoding="utf-8")
    assert "![class accuracies](class_accuracies.png)" in report
    assert "3,800 labelled rows, scored on 3,800 others" in report
    for name, row in zip(CLASSES, result.fit.coefficients.weights, strict=True):
        assert f"{name} " in report
        assert f"{row:.3f}" in report
