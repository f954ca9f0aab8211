"""``python -m reproduction``: the paper's experiments, or the prompting that they need."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dnip import DNIPError, InvalidInputError
from dnip.base.errors import load_optional
from dnip.base.files import make_folder, write_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        for library in ("joblib", "pandas", "pyarrow", "matplotlib"):
            load_optional(library, purpose="run the experiments", extra="reproduction")
        if given[:1] == ["prompt"]:
            from reproduction.prompting import prompt, prompt_parser  # noqa: PLC0415

            prompt(**vars(prompt_parser().parse_args(given[1:])))
        else:
            experiments(**vars(_parser().parse_args(given)))
    except SystemExit as end:  # argparse has said what is wrong
        return int(end.code or 0)
    except DNIPError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: give the same command again, and it goes on", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    from reproduction.experiments import EXPERIMENTS  # noqa: PLC0415
    from reproduction.probabilities import COMMITTED  # noqa: PLC0415

    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="The paper's tables and figures, from saved class probabilities. "
        "`python -m reproduction prompt --help` says how to make such a file.",
    )
    told = f"which ones: {', '.join(EXPERIMENTS)}; all by default"
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help=told)
    told = "saved probabilities, .parquet or .npz; by default those of the checkout"
    parser.add_argument("--probabilities", type=Path, default=COMMITTED, metavar="FILE", help=told)
    parser.add_argument("--out", type=Path, required=True, help="the folder for all results")
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="average over these tasks alone")
    told = "how many cells to compute at a time, a process each; 2 by default"
    parser.add_argument(
        "--jobs", type=int, default=2, choices=range(1, 257), metavar="N", help=told
    )
    return parser


def experiments(
    names: list[str], probabilities: Path, out: Path, tasks: list[str] | None, jobs: int
) -> None:
    """Run experiments and write their results, and a report of all that were asked for."""
    from reproduction.experiments import EXPERIMENTS, Run  # noqa: PLC0415
    from reproduction.probabilities import read  # noqa: PLC0415
    from reproduction.report import present, report  # noqa: PLC0415

    for name in names:
        if name not in (*EXPERIMENTS, "all"):
            hint = f"Choose among {', '.join(EXPERIMENTS)}"
            raise InvalidInputError(f"there is no experiment {name!r}", hint=hint)
    data, whole = read(probabilities, tasks), out.absolute()
    run = Run(data, make_folder(whole.with_name(f"{whole.name}.cells")), jobs)
    make_folder(out)
    done = []
    for name, experiment in EXPERIMENTS.items():
        if not names or "all" in names or name in names:
            began = time.perf_counter()
            done.append((experiment, present(experiment, run, out)))
            print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
    listed = [claim._asdict() for _, claims in done for claim in claims]
    write_text(out / "claims.json", json.dumps(listed, indent=1, ensure_ascii=False))
    print(write_text(out / "report.md", report(run, out, done)))


if __name__ == "__main__":
    sys.exit(main())
