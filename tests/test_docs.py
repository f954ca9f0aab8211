"""The generated parts of the documentation are those that the sources make today."""

import re
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import dnip
from benchmarks.kept import RESULTS, defaults
from dnip import MissingDependencyError
from processes import ran
from tools.make_docs import PICTURES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_command_reference_and_picture_of_rooms_are_up_to_date():
    done = ran(sys.executable, "tools/make_docs.py", "--check", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if "[[[cog" in p.read_text("utf-8")], ids=str)
def test_quoted_output_is_what_commands_print(page):
    done = _cog("--check", "--diff", page)
    assert done.returncode == 0, f"run make printed\n{done.stdout}{done.stderr}"


def test_a_page_quotes_rows_and_columns_of_what_was_measured(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('[[[cog table("scores", "Test", rows="1-2", columns="1,3") ]]]\n[[[end]]]\n')
    assert _cog("-r", page).returncode == 0
    rows = r"\| SST-2, unnamed model \|.*\n\| AG News \(bundled\) \|.*\n"
    told = r"\n\*`python -m benchmarks scores`, commit .*\n\[\[\[end"
    head = r".*\n\| table \| accuracy \|\n\| --- \| ---: \|\n"
    assert re.match(head + rows + told, page.read_text())
    page.write_text(page.read_text().replace("bundled", "changed"))
    assert _cog("--check", page).returncode == 5


def _cog(*words):
    tool = [sys.executable, "-m", "cogapp", "-p", "from tools.printed import show, table", "-I"]
    return ran(*tool, ROOT, *words, cwd=ROOT)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.md")), ids=lambda path: path.stem)
def test_results_name_their_defaults_and_stand_on_a_page(path):
    first = path.read_text("utf-8").split("\n", 1)[0]
    assert first.startswith(f"`python -m benchmarks {path.stem}`, commit ")
    settings = first.partition(", defaults ")[2]
    assert settings.startswith("β = ")
    quoting = [
        text for page in PAGES if f'table("{path.stem}"' in (text := page.read_text("utf-8"))
    ]
    assert quoting
    if f"defaults {settings}" != defaults():  # the page says so beside the figures
        assert all(settings in text for text in quoting)


def test_pictures_are_drawn_by_the_build_and_stand_on_a_page():
    images = {path.name for path in (ROOT / "docs" / "images").glob("*.png")}
    assert {name for name in images if not name.startswith("reproduction-")} == set(PICTURES)
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [name for name in PICTURES if f"images/{name})" not in text] == []


def test_every_room_is_in_the_picture():
    picture = (ROOT / "docs" / "images" / "rooms.svg").read_text(encoding="utf-8")
    package = ROOT / "src" / "dnip"
    files = {path.name for path in package.glob("*.py") if not path.stem.startswith("__")}
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert [room for room in files | folders if f">{room}<" not in picture] == []


def test_python_reference_lists_public_names():
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto(?:function|class|exception):: (\S+)$", page, re.MULTILINE)
    for path in listed:
        module, _, name = path.rpartition(".")
        with suppress(MissingDependencyError):
            assert hasattr(import_module(module), name), path
    public = {f"dnip.{name}" for name in dnip.__all__} - {"dnip.__version__"}
    assert public - set(listed) == set()


def test_readme_names_files_that_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = [part.split(")")[0].split("#")[0] for part in readme.split("](")[1:]]
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_walk_through_the_code_names_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "dnip"
    named = {part for part in page.split("`")[1::2] if "/" in part}
    assert len(named) > 20
    below = [package, package / "solvers", ROOT]  # kernels are named without their room
    assert [path for path in named if not any((folder / path).exists() for folder in below)] == []


def test_the_page_of_the_reproduction_quotes_verdicts_and_the_headline(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.syspath_prepend(ROOT / "tools")
    tool = import_module("make_reproduction_page")
    monkeypatch.setattr(tool, "PAGE", tmp_path / "docs" / "page.md")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    tool.PAGE.write_text("Before.\n<!-- measured -->\nstale\n<!-- end -->\nAfter.\n")
    for name in tool.SHOWN:
        image.new("RGB", (1200, 10)).save(tmp_path / f"{name}.png")
    (tmp_path / "main.md").write_text("# Title\n\n| headline |\n\n| by task |\n")
    (tmp_path / "report.md").write_text("# Title\n\nModel: tiny.\n\n| claims |\n\n## Next\n")
    monkeypatch.setattr(sys, "argv", ["tool", str(tmp_path)])
    tool.main()
    text = tool.PAGE.read_text()
    assert text.startswith("Before.\n")
    assert text.endswith("After.\n")
    assert "Model: tiny.\n\n| headline |\n\n| claims |" in text
    assert "stale" not in text
    with image.open(tmp_path / "docs" / "images" / f"reproduction-{tool.SHOWN[0]}.png") as shown:
        assert shown.width == 1000
