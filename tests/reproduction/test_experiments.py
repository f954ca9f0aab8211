"""All experiments, from a file to tables, pictures and verdicts."""

import json
import re

import numpy as np
import pandas as pd

from cases import cases
from reproduction import methods
from reproduction.experiments import EXPERIMENTS, base


def test_all_experiments_of_a_file(quick, saved, frame, reproduce, tmp_path):
    out = tmp_path / "out"
    result = reproduce("--probabilities", saved(), "--out", out, "--jobs", 1)
    assert (result.status, result.out) == (0, f"{out / 'report.md'}\n"), result.err
    for name in EXPERIMENTS:
        table = pd.read_csv(out / f"{name}.csv", dtype={"shots": str})
        assert {"task", "shots", "seed", "method", "accuracy", "cobias"} <= set(table)
        assert len(table)
        picture = f"![{EXPERIMENTS[name].title}]({name}.png)" in (out / "report.md").read_text()
        assert picture == (out / f"{name}.png").is_file() == (EXPERIMENTS[name].draw is not None)

    main = pd.read_csv(out / "main.csv", dtype={"shots": str}).set_index(["task", "shots", "seed"])
    cell = frame[(frame.task == "trec") & (frame.seed == 1) & (frame.split == "test")]
    right = np.vstack(cell.logp).argmax(axis=1) == cell.label
    own = main.loc["trec", "1", 1].set_index("method")
    assert abs(own.accuracy["raw"] - right.mean()) < 1e-6
    assert {"raw", "DNIP", "dnip fit", "batch calibration", "linear adapter"} <= set(own.index)
    assert own.cobias["dnip fit"] < own.cobias["raw"]

    told = (out / "main.md").read_text()
    assert "| *the paper, mean of 7 rows* | DNIP | 67.6 | 14.7 |  | +18 % | −61 % |" in told
    assert "Not in the file" in told
    assert "N-shot (all); agnews 5-shot (seeds 1); sst5 5-shot (seeds 0, 1)" in told
    claims = {c["says"][:40]: c for c in json.loads((out / "claims.json").read_text())}
    assert claims["DNIP reduces COBias and increases accura"]["verdict"] == "holds"
    balanced = claims["Balanced demonstrations mitigate COBias "]
    assert (balanced["verdict"], balanced["ours"]) == ("not judged", "agnews has no N-shot rows")
    assert claims["After 1-shot chain of thought, predictio"]["verdict"] != "not judged"
    answers = pd.read_csv(out / "cot.csv")
    assert set(answers.n_test) == {200}
    assert set(answers.no_label[answers.method.str.contains("chain")]) == {0.5}


def test_results_repeat_and_tasks_can_be_chosen(quick, saved, reproduce, tmp_path):
    for out in ("one", "two"):
        given = ["--probabilities", saved(), "--out", tmp_path / out, "--tasks", "sst5"]
        assert reproduce("main", *given, "--jobs", 1).status == 0
    first, second = ((tmp_path / out / "main.csv").read_text() for out in ("one", "two"))
    assert first == second
    assert "trec" not in first
    claims = json.loads((tmp_path / "one" / "claims.json").read_text())
    assert {(c["verdict"], c["ours"]) for c in claims} == {("not judged", "without agnews, trec")}


def test_finished_cells_are_kept_and_a_stopped_run_goes_on(
    quick, saved, frame, reproduce, tmp_path, monkeypatch
):
    done = []

    def one(cell):
        done.append((cell.task, cell.seed))
        if len(done) == 4:
            raise KeyboardInterrupt
        names = methods.RAW, methods.DNIP, methods.FIT, methods.BATCH, methods.ADAPTER
        return [methods.Found(name, methods.decide(cell.test.p), {}) for name in names]

    prior = EXPERIMENTS["prior-methods"]
    changed = prior._replace(run=lambda run: run.over(one, run.data.cells("1")))
    monkeypatch.setitem(EXPERIMENTS, "prior-methods", changed)
    given = ["prior-methods", "--out", tmp_path / "out", "--jobs", 1, "--probabilities"]
    stopped = reproduce(*given, saved())
    assert stopped.status == 130
    assert re.search(r"^sst5, 1-shot, seed 0: \d+\.\d s \(3 of 6\)$", stopped.err, re.MULTILINE)
    assert reproduce(*given, saved()).status == 0
    assert done == [*done[:3], ("sst5", 1), ("sst5", 1), ("trec", 0), ("trec", 1)]
    assert reproduce(*given, saved()).status == 0
    assert len(done) == 7
    other = frame.copy()
    changed = (frame.task == "trec") & (frame.seed == 1) & (frame.split == "test")
    other.loc[changed, "label"] = (frame.label[changed] + 1) % 6
    assert reproduce(*given, saved(other)).status == 0
    assert done[7:] == [("trec", 1)]
    monkeypatch.setattr(base, "code", lambda: "changed")
    assert reproduce(*given, saved(other)).status == 0
    assert len(done) == 8 + 6


def test_zero_shot_arrays_through_an_experiment(quick, frame, reproduce, tmp_path):
    arrays, own = {}, frame[(frame.task == "trec") & (frame.shots == "1")]
    for (seed, split), part in own.groupby(["seed", "split"]):
        captured = np.exp(np.vstack(list(part.logp)).astype(float))
        arrays[f"mine/0/{seed}/{split}/p"] = captured / captured.sum(axis=1, keepdims=True)
        arrays[f"mine/0/{seed}/{split}/y"] = part.label.to_numpy()
    np.savez(tmp_path / "mine.npz", **arrays)
    given = ["--probabilities", tmp_path / "mine.npz", "--out", tmp_path / "out", "--jobs", 1]
    result = reproduce("main", "single", *given)
    assert result.status == 0, result.err
    main = pd.read_csv(tmp_path / "out" / "main.csv", dtype={"shots": str})
    assert set(main.shots) == {"0"}
    own = main[main.method == "DNIP"]
    shown = f"{100 * own.accuracy.mean():.1f} ± {100 * own.accuracy.std():.1f}"
    text = (tmp_path / "out" / "main.md").read_text()
    assert f"| DNIP | {100 * own.accuracy.mean():.1f} | {shown} |" in text
    assert re.search(r"\| 0-shot \| DNIP \| \d", text)
    claims = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert {c["verdict"] for c in claims} == {"not judged"}
    assert "1-shot (all)" not in (tmp_path / "out" / "single.md").read_text()


def test_names_of_classes_do_no_harm(quick, saved, reproduce, tmp_path):
    names = ["a|b", "$x", "<i>", "\x1b[2J"]
    wording = {"classes": names, "instruction": "Say.", "template": "{{ text }}"}
    path = saved(prompts={"agnews": wording, "trec": {**wording, "classes": list("abcdef")}})
    given = ["--probabilities", path, "--out", tmp_path, "--jobs", 1]
    result = reproduce("confusion", "overview", *given)
    assert result.status == 0, result.err
    text = (tmp_path / "confusion.md").read_text()
    assert r"| True (agnews, raw) | a\|b | \$x | \<i\> | \\x1b\[2J |" in text


@cases(
    (["nothing"], "there is no experiment 'nothing'"),
    (["main", "--tasks", "ddi"], "no 1-shot rows, opt and test, of ddi"),
)
def test_what_cannot_be_run_is_refused(saved, reproduce, tmp_path, words, told):
    given = ["--probabilities", saved(), "--out", tmp_path / "out"]
    reproduce(*words, *given).assert_refused(told)
    assert not (tmp_path / "out").exists()
