"""Every option that takes a path, given what is no file of the right kind."""

import os
import subprocess
from pathlib import Path

from hypothesis import assume, given, strategies as st

from fuzzing import fuzzed, run, workshop
from mutations import TEXTS
from test_extreme_options import ENDING, FILES, LINES, OUTPUTS
from test_inputs_and_outputs import COMMANDS, READS, WRITES

DEVICES = ["/dev/zero", "/dev/full", "/dev/null", "/dev/tty", "/proc/self/mem", "/dev/fd/99"]
PLACES = [
    *DEVICES, *("missing", "no/such/folder", "folder", ".", "", "/", "loop", "dangling", "t.csv"),
    *("a" * 300, "x/" * 3000, "t.csv/x", "wordless", "pipe"),
    *(text for text in TEXTS if "\0" not in text and "/" not in text),
]  # fmt: skip
SUFFIXES = ["", ".csv", ".csv.gz", ".jsonl", ".parquet", ".json", ".toml", ".png"]
#: Models are looked for on a hub, where they are no folder.
CHOICES = [
    (command, one.name)
    for command in ENDING
    for one in COMMANDS[command].params
    if one.name in {*READS, *WRITES[command]} - {"model", "tokenizer"}
]


def line(command, name, value):
    """The command's line with this value for one parameter."""
    arguments = list(LINES[command])
    params = COMMANDS[command].params
    one = next(one for one in params if one.name == name)
    if one.param_type_name == "argument":
        place = [p.name for p in params if p.param_type_name == "argument"].index(name)
        arguments[place : place + 1] = [value]
    elif one.opts[0] in arguments:
        arguments[arguments.index(one.opts[0]) + 1] = value
    else:
        arguments += [one.opts[0], value]
    return [command, *arguments]


def as_link(place, suffix):
    """Give a device or folder a name of its own, that ends as a file of some kind does."""
    if not suffix:
        return place
    Path(f"link{suffix}").symlink_to(place)
    return f"link{suffix}"


@fuzzed(25)
@given(st.sampled_from(CHOICES), st.sampled_from(PLACES), st.sampled_from(SUFFIXES))
def test_odd_places(choice, place, suffix):
    assume(choice[1] in READS or place not in FILES or place in LINES[choice[0]])
    with workshop(FILES) as folder:
        (folder / "folder").mkdir()
        (folder / "loop").symlink_to("loop")
        (folder / "dangling").symlink_to("nowhere")
        if choice[1] in READS:
            (folder / "wordless").write_bytes(b"\xff\xfe\0")
        if place == "pipe" and choice[1] in READS:  # an output waits for a reader, as it must
            path = f"pipe{suffix}"
            os.mkfifo(path)
            with subprocess.Popen(["sh", "-c", f"exec cat t.csv >{path}"]) as writer:
                run(*line(*choice, path), outputs=OUTPUTS)
                writer.kill()
            return
        odd = place in TEXTS or len(place) > 200
        path = place + suffix if odd else as_link(place, suffix)
        run(*line(*choice, path), outputs=(*OUTPUTS, path) if path else OUTPUTS)
