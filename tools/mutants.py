"""Put subtle faults in, one at a time, and see whether the tests of their room catch them.

    python tools/mutants.py [WORD …]

With words, only faults whose name or file holds one of them. The tree itself stays as it is: each
fault is put into a copy. Whoever moves the code that a fault is in moves the fault, too: a fault
whose text is not found exactly once ends the run before it begins. The exit status is the number of
faults that the tests missed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# Seconds for the tests of one fault: one that makes them hang is caught, too.
_PATIENCE = 900


class Fault(NamedTuple):
    """What to put in place of what, and the tests that must fail then."""

    name: str
    file: str  # below src/dnip
    old: str
    new: str
    tests: str  # below tests, separated by spaces


FAULTS = [
    # --- metrics, method, priors ---
    Fault(
        "COBias counts each pair twice where there are more than two classes",
        "metrics/confusion.py",
        "max(n * (n - 1) / 2, 1)",
        "max(n - 1, 1)",
        "metrics/test_values.py",
    ),
    Fault(
        "the odd class is the last of equals",
        "metrics/confusion.py",
        "odd = errors.argmax(axis=1)",
        "odd = len(errors) - 1 - errors[:, ::-1].argmax(axis=1)",
        "metrics/test_values.py",
    ),
    Fault(
        "a change of COBias is that of one draw for both sides",
        "metrics/intervals.py",
        '"cobias": central(after - before, level)',
        '"cobias": central(before - after, level)',
        "metrics/test_chance.py",
    ),
    Fault(
        "accuracies are shrunk as if rows were twice as many",
        "metrics/intervals.py",
        "chance = 1 / (4 * sizes + 2)",
        "chance = 1 / (8 * sizes + 2)",
        "metrics/test_chance.py",
    ),
    Fault(
        "a tie goes to the higher class in columns",
        "method/prediction.py",
        "np.greater(score, best, out=ahead)",
        "np.greater_equal(score, best, out=ahead)",
        "method/test_problem.py method/test_coefficients.py",
    ),
    Fault(
        "smoothing is counted in units, not in examples",
        "solvers/landscape.py",
        "goal.smoothing_over(self.problem.n_examples) / self.problem.unit",
        "goal.smoothing_over(self.problem.n_examples)",
        "solvers/test_solve.py",
    ),
    Fault(
        "a floor is rounded down",
        "method/constraints.py",
        "max(0, math.ceil((Fraction(repr(rate)) - _ROUNDING) * n)) if rate else 0",
        "max(0, math.floor((Fraction(repr(rate)) - _ROUNDING) * n)) if rate else 0",
        "method/test_constraints.py solvers/test_constraints.py",
    ),
    Fault(
        "costs by name stay in the order of their file",
        "method/objective.py",
        "self.values[i][j] for j in order) for i in order",
        "self.values[i][j] for j in range(len(order))) for i in range(len(order))",
        "method/test_objective.py",
    ),
    Fault(
        "weights of a file are believed, whatever the indices say",
        "method/scales.py",
        "np.allclose(values, weights, rtol=1e-8, atol=0)",
        "np.allclose(values, weights, rtol=1e-8, atol=0.1)",
        "method/test_coefficients.py",
    ),
    Fault(
        "a row at the threshold is deferred",
        "method/coefficients.py",
        "corrected[np.arange(len(c)), c] < self.thresholds[c]",
        "corrected[np.arange(len(c)), c] <= self.thresholds[c]",
        "method/test_coefficients.py using/test_exports.py",
    ),
    Fault(
        "a class without rows in the fit counts as right in new rows",
        "method/kept.py",
        "both = (self.rows > 0) & (now.rows > 0)",
        "both = now.rows > 0",
        "using/test_drift.py method/test_kept.py",
    ),
    Fault(
        "shares are estimated without half a row of each class",
        "priors.py",
        "np.full(n_classes, _HALF_A_ROW)",
        "np.full(n_classes, 0.0)",
        "test_priors.py",
    ),
    # --- solvers ---
    Fault(
        "the search of a sample ends without a descent on all rows",
        "solvers/coordinate.py",
        "yield landscape.descend(best.point, rng.permutation(landscape.free))\n            return",
        "yield landscape.evaluate(best.point)\n            return",
        "solvers/test_landscape.py solvers/test_coordinate.py",
    ),
    Fault(
        "an optimum is proven where the bound is near",
        "solvers/driver.py",
        "    if bound >= best.value:",
        "    if bound >= best.value - 1e-3:",
        "solvers/test_exact.py solvers/test_solve.py",
    ),
    Fault(
        "the last temperature is the same for any number of rows",
        "solvers/anneal.py",
        "last *= n_examples / self.examples",
        "last *= 1",
        "solvers/test_anneal.py",
    ),
    Fault(
        "time is looked at only after all classes",
        "solvers/landscape.py",
        "if not n_searches or is_over(self.deadline):",
        "if not n_searches:",
        "solvers/test_solve.py",
    ),
    # --- using, comparing ---
    Fault(
        "a text for Spark keeps its $",
        "using/sql.py",
        '_SPECIAL = "\\\\\'$"',
        '_SPECIAL = "\\\\\'"',
        "using/test_exports.py",
    ),
    Fault(
        "each question of a check gets the whole of alpha",
        "using/drift.py",
        "now, 1 - alpha / QUESTIONS, counted",
        "now, 1 - alpha, counted",
        "using/test_drift.py",
    ),
    Fault(
        "the level of a check is that of one question",
        "using/drift.py",
        "return 1 - self.alpha / (QUESTIONS if self.compared else 1)",
        "return 1 - self.alpha",
        "using/test_drift.py",
    ),
    Fault(
        "batch calibration takes the mean of the labelled rows",
        "comparing/methods.py",
        "return _inverse_means(opt.batch)",
        "return _inverse_means(opt.probabilities)",
        "comparing",
    ),
    Fault(
        "a class without labels is scaled like the others",
        "comparing/methods.py",
        "limits = [(_LEAST_SLOPE, _MOST_SLOPE) if p else (1.0, 1.0) for p in opt.present]",
        "limits = [(_LEAST_SLOPE, _MOST_SLOPE) for p in opt.present]",
        "comparing",
    ),
    # --- tables ---
    Fault(
        "a label in another case is read where two classes differ in case only",
        "tables/labels.py",
        "if times[name] == 1}",
        "if times[name]}",
        "tables/test_columns.py",
    ),
    Fault(
        "a mass at the limit counts as low",
        "tables/rows.py",
        "np.count_nonzero(values < LOW_MASS)",
        "np.count_nonzero(values <= LOW_MASS)",
        "tables/test_other_columns.py",
    ),
    Fault(
        "half of the rows with a low mass are a fault of the prompt",
        "tables/rows.py",
        "return 2 * self.low > self.rows",
        "return 2 * self.low >= self.rows",
        "tables/test_other_columns.py",
    ),
    Fault(
        "rows without a group are one group",
        "tables/groups.py",
        "numbers[~named] = numbers.max(initial=-1) + 1 + np.arange(np.count_nonzero(~named))",
        "numbers[~named] = numbers.max(initial=-1) + 1",
        "tables/test_groups.py",
    ),
    Fault(
        "a row without a group is only the first of all such rows",
        "tables/groups.py",
        "        if name is not None:\n            seen.add(name)\n",
        "        seen.add(name)\n",
        "tables/test_groups.py",
    ),
    Fault(
        "a column that makes one row whole is taken for a class",
        "tables/cells.py",
        "np.abs(missing - values).max() <= ROW_SUM_TOLERANCE",
        "np.abs(missing - values).min() <= ROW_SUM_TOLERANCE",
        "tables/test_groups.py",
    ),
    Fault(
        "rows that rounding makes equal are taken for fitted ones",
        "tables/groups.py",
        "return max(0.0, (self.found / n - chance) / (1 - chance))",
        "return self.found / n",
        "tables/test_groups.py",
    ),
    Fault(
        "a class that starves everywhere is named in every slice",
        "using/slices.py",
        "np.flatnonzero(starves & ~everywhere)",
        "np.flatnonzero(starves)",
        "using/test_slices.py",
    ),
    Fault(
        "each slice gets the whole chance of a false warning",
        "using/slices.py",
        "level = _CHANCE / (len(parts) * n_classes)",
        "level = _CHANCE",
        "using/test_slices.py",
    ),
    Fault(
        "a class is absent where chance alone explains it",
        "using/drift.py",
        "((rows == 0) & ~by_chance)",
        "(rows == 0)",
        "using/test_slices.py",
    ),
    # --- fitting, sklearn ---
    Fault(
        "evidence that is asked for is not made where it takes long",
        "fitting/fit.py",
        "(is_quick if evidence is None else evidence)",
        "(is_quick if evidence is None else evidence and is_quick)",
        "fitting/test_refits.py fitting/test_choosing.py",
    ),
    Fault(
        "a threshold is learned from the rows that judge it",
        "fitting/deferring.py",
        "threshold_of(sureness[~left_out], weight[~left_out], share)",
        "threshold_of(sureness[left_out], weight[left_out], share)",
        "fitting/test_deferring.py",
    ),
    Fault(
        "a kernel is not cut to the training columns",
        "sklearn/classifier.py",
        "X_train, X_test = X_train[:, train], X_test[:, train]",
        "X_train, X_test = X_train[:, train], X_test[:, test]",
        "sklearn/test_classifier.py",
    ),
    Fault(
        "parameters of a fit are not cut to the training rows",
        "sklearn/classifier.py",
        "_safe_indexing(value, train) if _length(value) == len(y) else value",
        "value",
        "sklearn/test_classifier.py",
    ),
    # --- llm ---
    Fault(
        "a server that adds the chosen token hides how likely others may be",
        "llm/answers/answer.py",
        "ranked = ranked[1:]",
        "ranked = ranked[:1]",
        "llm/answers/test_fill.py llm/answers/test_reader.py",
    ),
    Fault(
        "a tie of bounds leaves a decision open only for lower classes",
        "llm/answers/fill.py",
        "before = np.arange(low.shape[1]) < best[:, None]",
        "before = np.arange(low.shape[1]) > best[:, None]",
        "llm/answers/test_fill.py",
    ),
    Fault(
        "a percentage is the number without its sign",
        "llm/answers/stating.py",
        'return float(plain.rstrip("% ")), plain.endswith("%")',
        'return float(plain.rstrip("% ")), False',
        "llm/answers/test_stating.py llm/answers/test_reader.py",
    ),
    Fault(
        "cookies are dropped on their way",
        "llm/serving/upstream.py",
        'b"transfer-encoding upgrade content-length host expect".split()',
        'b"transfer-encoding upgrade content-length host expect cookie".split()',
        "llm/serving/test_sidecar.py llm/serving/test_sidecar_in_trouble.py",
    ),
    Fault(
        "a row that is shown as a demonstration is asked, too",
        "llm/prompting/plan.py",
        "if [row.get(name) for name in task.fields] not in fields",
        "if True or fields",
        "llm/prompting/test_texts.py llm/prompting/test_prompts.py",
    ),
    # --- base, command line ---
    Fault(
        "a number beyond all bounds is a setting",
        "base/validation.py",
        "at_least <= number <= at_most and above < number < below",
        "at_least <= number <= at_most and above < number <= below",
        "base/test_validation.py",
    ),
    Fault(
        "what is gone is not refused where it is written with =",
        "cli/gone.py",
        'word.replace("=", " ", 1) if word.startswith("--") else word',
        "word",
        "cli/test_usage.py",
    ),
]


def main(words: list[str]) -> int:
    """Run the faults that words name, or all, and return how many were missed."""
    chosen = [f for f in FAULTS if not words or any(w in f.name or w in f.file for w in words)]
    for fault in chosen:
        times = (ROOT / "src/dnip" / fault.file).read_text("utf-8").count(fault.old)
        if times != 1:
            sys.exit(f"{fault.file}: the text of {fault.name!r} is there {times} times, not once")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="dnip-mutants-") as folder:
        tree = _copy(Path(folder))
        for fault in chosen:
            began = time.perf_counter()
            caught = _is_caught(fault, tree)
            missed += not caught
            took = f"{time.perf_counter() - began:.0f} s"
            print("caught" if caught else "MISSED", f"{took:>6}", fault.file, fault.name, sep="  ")
            sys.stdout.flush()
    print(f"{len(chosen) - missed} of {len(chosen)} faults caught")
    return missed


def _copy(folder: Path) -> Path:
    """Return a copy of the tree, which shares all but source and tests with it."""
    tree = folder / "tree"
    tree.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in ("src", "tests"):
            shutil.copytree(entry, tree / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name not in (".git", ".venv", ".pytest_cache"):
            (tree / entry.name).symlink_to(entry)
    shared = ROOT.parent / "shared"
    if shared.exists():
        (folder / "shared").symlink_to(shared.resolve())
    return tree


def _is_caught(fault: Fault, tree: Path) -> bool:
    """Return whether a test fails with the fault; the copy is as it was afterwards."""
    path = tree / "src/dnip" / fault.file
    sound = path.read_text("utf-8")
    path.write_text(sound.replace(fault.old, fault.new), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
    command += [f"tests/{test}" for test in fault.tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(sound, "utf-8")
    if done.returncode not in (0, 1):  # the tests themselves could not be run
        sys.exit(f"{fault.name}: {done.stdout.decode()[-2000:]}{done.stderr.decode()[-2000:]}")
    return done.returncode == 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
