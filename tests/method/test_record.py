"""The record of a fit: everything comes back, and what is damaged is named."""

import json
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, CoefficientsFormatError, ProbabilityTable, fit
from dnip.base.validation import flat
from dnip.method.coefficients import DataRecord, FitRecord
from populations import biased_rows

ROWS = biased_rows(np.random.default_rng(0), 150, bias=[1.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def fitted():
    more = ProbabilityTable(ROWS.probabilities[::-1], source="new.csv")
    asked = {"unlabelled": more, "defer": 0.2, "target_prior": [0.5, 0.3, 0.2]}
    return fit(ROWS.probabilities, ROWS.labels, evidence=True, **asked).coefficients


def test_a_record_and_its_file_hold_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "c.json")
    content = json.loads((tmp_path / "c.json").read_text())["fit"]
    assert content == fitted.fit.to_dict()
    read = Coefficients.load(tmp_path / "c.json").fit
    assert read.to_dict() == FitRecord.from_dict(content, 3).to_dict() == content
    for each in fields(FitRecord):
        before, after = getattr(fitted.fit, each.name), getattr(read, each.name)
        assert type(before) is type(after), each.name
    absent = {"lower_bound", "gap", "unfitted", "constraints", "adjusted", "notes"}
    for name in {each.name for each in fields(FitRecord)} - absent:
        assert getattr(read, name) is not None, name
    assert read.unlabelled == DataRecord(
        source="new.csv", sha256=content["unlabelled"]["sha256"], rows=150
    )
    with pytest.raises(FrozenInstanceError):
        read.scores = None


def test_entries_of_any_other_name_are_kept():
    content = {"by": "hand", "seed": 3, "data": {"rows": 2, "more": 1}}
    record = FitRecord.from_dict(content, 2)
    assert (record.seed, record.notes) == (3, {"by": "hand"})
    assert record.data == DataRecord(rows=2)
    assert record.to_dict() == {"by": "hand", "seed": 3, "data": {"rows": 2}}
    assert FitRecord.from_dict({}, 2).to_dict() == {}


SAVED = Path(__file__).parent / "saved"  # made before the record was one class; see each file
TOLD = json.loads((SAVED / "decisions.json").read_text("utf-8"))


@pytest.mark.parametrize("name", TOLD["of"])
def test_files_of_earlier_versions_decide_as_they_did(name, tmp_path):
    """Thresholds of deferring differed by class; they still count."""
    saved, again, told = SAVED / f"{name}.json", tmp_path / "again.json", TOLD["of"][name]
    coefficients = Coefficients.load(saved)
    coefficients.save(again)
    for read in (coefficients, Coefficients.load(again)):
        decided = [read.classes.index(each) for each in read.predict(TOLD["rows"])]
        assert decided == told["predict"]
        assert read.deferred(TOLD["rows"]).astype(int).tolist() == told["deferred"]
        assert read.digest == told["digest"]
    before, after = (json.loads(path.read_text("utf-8")) for path in (saved, again))
    then, now = flat(before.pop("fit")), flat(after.pop("fit"))
    (before["defer"] or {}).pop("below", None)  # of what is served: nothing asks for it any more
    assert after == before
    assert all(now.get(key) == value or value in (None, []) for key, value in then.items())
    assert now.keys() - then.keys() <= {"scores.followed"}  # 1 where it is not given


@cases(
    ("class_shares", [0.5, 0.5]),
    ("class_shares", [0, 0, 0]),
    ("calibration", {"sharpness": 1.0}),
    ("calibration", {"log_weights": [0.5, 0.0, -0.5], "sharpness": 0.0, "labels": [3.0, 4.0, 5.0]}),
    (
        "calibration",
        {"log_weights": [0.5, 0.0, -0.5], "sharpness": 1.0, "labels": [-1.0, 4.0, 5.0]},
    ),
    ("calibration", {"log_weights": [0.5, 0.0, -0.5], "sharpness": 1.0, "labels": [3.0, 4.0]}),
    ("deferring", [1]),
    ("evidence", [1]),
    ("scores", 3),
)
def test_a_damaged_part_is_named(fitted, tmp_path, name, value):
    content = json.loads(fitted.to_json())
    content["fit"][name] = value
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(CoefficientsFormatError, match=rf"c\.json.*fit\.{name} is damaged"):
        Coefficients.load(tmp_path / "c.json")


def test_a_part_that_is_needed_and_missing_is_named(fitted):
    bare = replace(fitted.fit, sketch=None)
    told = r"fit\.sketch is missing, so they cannot be compared.*Fit again"
    with pytest.raises(CoefficientsFormatError, match=told):
        bare.needed("sketch", "compared")
    assert fitted.fit.needed("sketch", "compared") is fitted.fit.sketch
