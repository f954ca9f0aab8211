"""The generated parts of the documentation are those that the sources make today."""

import doctest
import json
import os
import random
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import dnip
from benchmarks.kept import RESULTS, defaults
from cases import cases
from dnip import MissingDependencyError
from failing_server import FailingServer
from processes import ran
from sidecars import ask, completion
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


def test_every_result_is_in_the_list_of_what_was_measured():
    page = (ROOT / "docs" / "evidence.md").read_text("utf-8")
    listed = re.findall(r"^\| (`.*?) \|", page.partition("\n## All that was measured\n")[2], re.M)
    names = re.findall(r"`(\w+)`", " ".join(listed))
    assert sorted(names) == sorted(path.stem for path in RESULTS.glob("*.md"))


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.md")), ids=lambda path: path.stem)
def test_results_name_their_defaults(path):
    first = path.read_text("utf-8").split("\n", 1)[0]
    assert first.startswith(f"`python -m benchmarks {path.stem}`, commit ")
    settings = first.partition(", defaults ")[2]
    assert settings.startswith("β = ")
    if f"defaults {settings}" != defaults():  # a page that quotes them says so
        pages = (page.read_text("utf-8") for page in PAGES)
        assert all(settings in text for text in pages if f'table("{path.stem}"' in text)


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
    deep = [path for path in listed if path.count(".") > 2]
    assert len(deep) <= 5, "names that users type stand on dnip, or on a room of it"


def test_readme_names_files_that_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = [part.split(")")[0].split("#")[0] for part in readme.split("](")[1:]]
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


# --- every block of README, typed one after the other by a new user ---
BLOCK = re.compile(r"^```(sh|python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXTRAS = re.compile(r"pip install '\.\[([\w,]+)\]")


def blocks():
    """Yield every block that can be typed, and the extras that are named beside it."""
    readme, end = (ROOT / "README.md").read_text(encoding="utf-8"), 0
    for block in BLOCK.finditer(readme):
        named = EXTRAS.findall(readme, end, block.end())
        end = block.end()
        yield block[1], block[2], named[-1].split(",") if named else []


PROMPT = "{text}\nIts topic:"


def ticket(number):
    return f"ticket {number} {'ABC'[number % 3]}"


def is_installed(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with suppress(metadata.PackageNotFoundError):
        for text in project["optional-dependencies"][extra]:
            metadata.version(Requirement(text).name)
        return True
    return False


def api(body):
    """A chat API that likes A too much; what it says follows from the text."""
    if "messages" not in body:
        return 404, {}, "no such path"
    text = body["messages"][-1]["content"]
    weights = random.Random(text)
    p = {name: weights.random() * (2.5 if name == "A" else 1) for name in "ABC"}
    p[text.split()[2]] += 1
    p = {name: 0.9 * share / sum(p.values()) for name, share in p.items()}
    return completion(max(p, key=p.get), (max(p, key=p.get), p | {"I": 0.1}))


@pytest.fixture
def checkout(tmp_path):
    """A copy of what README names, and what stands for the model and the data of a user."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name in ("reproduction", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "DIR").mkdir()
    rows = [path.read_text("utf-8") for path in (ROOT / "examples/news").glob("*.jsonl")]
    (tmp_path / "DIR" / "train.jsonl").write_text("".join(rows), "utf-8")
    shutil.copy(ROOT / "examples/news/test.jsonl", tmp_path / "DIR")
    (tmp_path / "prompt.txt").write_text(PROMPT.format(text="{{ text }}"))
    lines = [f"{ticket(number)},{ticket(number)[-1]}" for number in range(90)]
    (tmp_path / "tickets.csv").write_text("\n".join(["text,topic", *lines]))
    return tmp_path


def typed(folder, *words):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "MPLBACKEND": "agg", "NO_COLOR": "1"}
    return ran(*words, cwd=folder, env=os.environ | settings)


def serve_chats(folder, line):
    """Serve as README says, at a free port, and ask as many chats as a check needs."""
    with FailingServer(api) as upstream:
        words = line.replace("URL", upstream.url.removesuffix("/v1"))
        command = [sys.executable, "-m", *words.split(), "--port", "0"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
            port = int(server.stdout.readline().split()[0].rpartition(":")[2])
            corrects = server.stdout.readline()
            headers = []
            for number in range(100, 190):
                message = {"role": "user", "content": PROMPT.format(text=ticket(number))}
                body = json.dumps({"model": "M", "messages": [message]}).encode()
                name = {"X-Request-Id": str(number)}
                headers.append(ask(port, "/v1/chat/completions", body=body, headers=name)[2])
            server.terminate()
    assert corrects == "topic: topic.json corrects /v1/chat/completions\n"
    assert all("DNIP-Corrected-By" in each for each in headers)


def test_every_block_of_readme_runs_in_order(checkout, dnip, monkeypatch, request):
    """Commands run in this process, where the libraries of language models are loaded already."""
    missing = []
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("MPLBACKEND", "agg")
    if is_installed("transformers"):
        (checkout / "FOLDER").symlink_to(request.getfixturevalue("tiny_model")("llama"))
    for language, text, extras in blocks():
        lacking = [extra for extra in extras if not is_installed(extra)]
        missing += lacking
        if lacking:
            continue
        if language != "sh":
            (checkout / "block").write_text(text, "utf-8")
            if language == "pycon":
                assert doctest.testfile(str(checkout / "block"), module_relative=False).failed == 0
            else:
                with warnings.catch_warnings(action="ignore"):  # a model may be too good to correct
                    runpy.run_path(str(checkout / "block"))
            continue
        lines = re.sub(r"\\\n *", "", text).splitlines()  # those that go on are one
        for line in (line.partition("  #")[0].strip() for line in lines):
            program, *words = shlex.split(line, comments=True) or ["#"]
            if line.startswith("dnip serve"):
                serve_chats(checkout, line)
            elif program == "dnip":
                with FailingServer(api) as server:
                    url = server.url.removesuffix("/v1")
                    outcome = dnip(*(word.replace("URL", url) for word in words))
                assert outcome.status == 0, f"{line}\n{outcome}"
            elif line.startswith("python -m reproduction"):  # one experiment: all take hours
                reproduce = import_module("reproduction.__main__").main
                assert reproduce([*words[2:], "cot", "--jobs", "1"]) == 0
            else:
                assert program in ("#", "make", "python3", "pip")  # these make the environment
    if missing:
        pytest.skip(f"blocks of README need the extras {', '.join(missing)}")


@cases(
    ("plot", "matplotlib", "dnip evaluate examples/opt.csv --picture a.png"),
    ("report", "jinja2", "dnip report examples/opt.csv"),
    ("sklearn", "sklearn", "python -c 'import dnip; dnip.DNIPClassifier()'"),
    ("transformers", "torch", "dnip prompt DIR/test.jsonl --task agnews --model FOLDER --check"),
    ("reproduction", "joblib", "python -m reproduction --out results"),
    ("serve", "uvicorn", "dnip serve --upstream http://h --coefficients topic=c.json"),
)
def test_a_door_of_readme_whose_extra_is_missing_names_it(checkout, extra, library, line):
    assert extra in [extra for *_, extras in blocks() for extra in extras]
    (checkout / "without").mkdir()
    hook = f"import sys; sys.modules[{library!r}] = None"
    (checkout / "without" / "sitecustomize.py").write_text(hook)
    (checkout / "FOLDER").mkdir(exist_ok=True)
    done = typed(checkout, "bash", "-c", f"PYTHONPATH=without {line}")
    assert done.returncode == 1
    assert f"pip install '.[{extra}]'" in done.stderr


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
