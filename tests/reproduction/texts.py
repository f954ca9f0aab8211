"""Folders of made-up texts for the built-in tasks, and of saved tables."""

import json
import shutil
from importlib.resources import files

import numpy as np

from dnip.prompting.task_files import load_task

_COMMON = ["the", "a", "new", "old", "first", "of", "in", "on", "with", "said", "won", "fell"]


def write_texts(folder, tasks=("agnews", "trec"), rows=60, seed=0, words=8):
    """Write train and test texts of some tasks; a class's own words stand in its texts."""
    rng = np.random.default_rng(seed)
    for name in tasks:
        task = load_task(name)
        (folder / name).mkdir(parents=True)
        for split in ("train", "test"):
            with (folder / name / f"{split}.jsonl").open("w") as file:
                for number in range(rows):
                    label = number % task.n_classes
                    own = [task.label_words[label].lower()] * 2
                    text = rng.permutation(
                        [*rng.choice(_COMMON, rng.integers(words // 2, 2 * words)), *own]
                    )
                    row = dict.fromkeys(task.fields, " ".join(text)) | {"label": label}
                    file.write(json.dumps(row) + "\n")
    return folder


def write_tables(folder, names=("news",)):
    """Write the bundled table as a folder of saved tables, once for each name."""
    data = files("dnip.comparing") / "data"
    for name in names:
        (folder / name).mkdir(parents=True)
        for part in ("opt", "test"):
            shutil.copy(str(data / f"agnews-{part}.csv.gz"), folder / name / f"{part}.csv.gz")
        meta = {"model": "models/small", "class_names": list(load_task("agnews").classes)}
        (folder / name / "meta.json").write_text(json.dumps(meta))
    return folder
