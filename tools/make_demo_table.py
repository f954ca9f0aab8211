"""Make the table that `dnip demo` runs on: src/dnip/comparing/data/agnews-{opt,test}.csv.gz.

    python tools/make_demo_table.py DATASETS/agnews

`dnip prompt` scores the test split of AG News, of which models/small saw no row, behind eight
demonstrations; under this draw of them Technology starves. The rows are then cut into an opt and a
test half. The tables hold ids, labels and probabilities, no text; what they were made with stands
in agnews.meta.json.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from dnip import ProbabilityTable
from dnip.comparing.demonstration import CLASSES

SHOTS, SEED = 8, 2
DIGITS = 6
ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "dnip" / "comparing" / "data"


def main(dataset: str) -> None:
    """Prompt the model, write the halves of its table."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "agnews.csv.gz"
        command = [sys.executable, "-m", "dnip", "prompt", "agnews", "--data", dataset]
        command += ["--model", "models/small", "--device", "cpu", "--split", "test"]
        command += ["--shots", f"{SHOTS}", "--seed", f"{SEED}", "--truncate", "--out", f"{whole}"]
        subprocess.run(command, check=True, cwd=ROOT)
        table = ProbabilityTable.read(whole, CLASSES)
        metadata = whole.with_name(f"{whole.name}.meta.json").read_text(encoding="utf-8")
    rounded = ProbabilityTable(
        table.probabilities.round(DIGITS), table.labels, table.ids, table.classes
    )
    for name, part in rounded.split({"opt": 0.5, "test": 0.5}, seed=0).items():
        part.write(DATA / f"agnews-{name}.csv.gz")
    (DATA / "agnews.meta.json").write_text(metadata, encoding="utf-8")


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
