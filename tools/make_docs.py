"""Make the generated parts of the documentation: the command reference and the picture of rooms.

python tools/make_docs.py             write them
python tools/make_docs.py --check     exit 1 if they are out of date
python tools/make_docs.py --pictures  draw what commands draw, again
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from html import escape
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING

import click

from dnip.cli.app import COMMANDS, Commands

if TYPE_CHECKING:
    from collections.abc import Container

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"

#: Draws the pictures of the documentation, in a folder that holds the tables.
DRAW = """
dnip demo --out .
dnip fit opt.csv --path --picture path.png
dnip compare opt.csv --test test.csv
dnip report opt.csv
chromium --headless --no-sandbox --hide-scrollbars --window-size=1000,620 \\
    --screenshot=report.png report.html
"""
#: What they are called in ``docs/images``, and there.
PICTURES = {
    "class_accuracies.png": "class_accuracies.png",
    "path.png": "path.png",
    "corrections.png": "dnip-compare/comparison.png",
    "report.png": "report.png",
}


def commands() -> str:
    """Return the command reference: the help of every command, and an anchor for every option."""
    every = {name: options(name) for name in COMMANDS}
    counted = Counter(option for those in every.values() for option in those)
    shared = {option: n for option, n in counted.items() if n > 1}
    parts = [
        "# Commands\n",
        "`dnip COMMAND -h` prints the options that most need, `--help-all` all of them. Below, an "
        "option\nwithout a text is one of the [options of several "
        "commands](#options-of-several-commands).\n",
    ]
    for name in ("", *COMMANDS):
        words = ["dnip", *name.split()]
        printed = subprocess.run(
            [sys.executable, "-m", *words, "--help"],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "90", "NO_COLOR": "1", "TERMINAL_WIDTH": "90"},
        ).stdout
        about = printed.partition("\nOptions:\n")[0]
        parts.append(f"## {' '.join(words)}\n\n```text\n{about.strip()}\n```\n")
        parts += marked_up(words, every[name], shared) if name else []
    parts += ["## Options of several commands\n", *marked_up(["dnip"], dict.fromkeys(shared, ""))]
    return "\n".join(parts)


def options(name: str) -> dict[tuple[str, str], str]:
    """Return the options of a command, each with its help, and the heading of each."""
    group = click.Context(Commands("dnip"), info_name="dnip")
    command = Commands().get_command(group, name)
    assert command is not None
    context = click.Context(command, parent=group, info_name=name, **command.context_settings)
    found = {}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if param.param_type_name == "option" and "--help" not in param.opts and record is not None:
            found[record] = getattr(param, "heading", None) or ""
    return found


def marked_up(
    program: list[str], found: dict[tuple[str, str], str], shared: Container[tuple[str, str]] = ()
) -> list[str]:
    """Return options as Sphinx marks them up, under their headings; shared ones without help."""
    parts = [f"```{{program}} {' '.join(program)}\n```\n"]
    for heading in dict.fromkeys(["", *found.values()]):
        parts += [f"**{heading}**\n"] if heading else []
        for option in (option for option, under in found.items() if under == heading):
            told = "" if option in shared else fill(option[1], 96) + "\n"
            parts.append(f"```{{option}} {option[0]}\n{told}```\n")
    return parts


def rooms() -> list[list[str]]:
    """Return the layers of the import contract, top first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[room.strip() for room in layer.split("|")] for layer in contract["layers"]]


def purpose(room: str) -> str:
    """Return the first sentence of a module's or package's docstring."""
    base = ROOT / "src" / "dnip" / room
    source = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return docstring.splitlines()[0].rstrip(".")


def picture() -> str:
    """Return the rooms as an SVG: a room imports only from rooms below its own row."""
    width, left, y = 960, 24, 42
    parts = []
    for layer in rooms():
        share = (width - 2 * left) / len(layer)
        # a room alone has its purpose beside its name, rooms in company below theirs
        beside = len(layer) == 1
        told = [wrap(purpose(room), 110 if beside else int((share - 28) / 6.4)) for room in layer]
        height = 38 if beside else 37 + 17 * max(map(len, told))
        for place, (room, lines) in enumerate(zip(layer, told, strict=True)):
            x = left + share * place
            is_folder = (ROOT / "src" / "dnip" / room).is_dir()
            fill, name = ("#dbe9f6", f"{room}/") if is_folder else ("#f3f4f6", f"{room}.py")
            parts += [
                f'<rect x="{x + 2:.0f}" y="{y}" width="{share - 4:.0f}" height="{height}" rx="6" '
                f'fill="{fill}" stroke="#9aa5b1"/>',
                f'<text x="{x + 14:.0f}" y="{y + 24}" font-size="14" font-weight="bold" '
                f'fill="#1f2933">{escape(name)}</text>',
                *(
                    f'<text x="{x + (168 if beside else 14):.0f}" '
                    f'y="{y + (24 if beside else 43) + 17 * number}" font-size="12.5" '
                    f'fill="#52606d">{escape(line)}</text>'
                    for number, line in enumerate(lines)
                ),
            ]
        y += height + 8
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 10}" '
        'font-family="sans-serif">',
        f'<rect width="{width}" height="{y + 10}" fill="#ffffff"/>',
        f'<text x="{left}" y="26" font-size="15" fill="#333333">'
        "Rooms of src/dnip: each imports only from rows below its own</text>",
    ]
    return "\n".join([*head, *parts, "</svg>\n"])


def draw(folder: Path) -> None:
    """Draw the pictures in a folder, and put them where pages show them."""
    for table in (ROOT / "examples").glob("*.csv"):
        shutil.copy(table, folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-e", "-c", DRAW]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PATH": path})
    for name, drawn in PICTURES.items():
        shutil.copy(folder / drawn, IMAGES / name)


def main() -> int:
    """Write or check both files, or draw pictures."""
    if "--pictures" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            draw(Path(folder))
        return 0
    made = {
        ROOT / "docs" / "reference" / "commands.md": commands(),
        IMAGES / "rooms.svg": picture(),
    }
    outdated = [
        path
        for path, text in made.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        for path in outdated:
            print(f"{path.relative_to(ROOT)} is out of date: run python tools/make_docs.py")
        return 1 if outdated else 0
    for path in outdated:
        path.write_text(made[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
