"""The page in a real browser: Debian's Chromium, without a window."""

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Coefficients, ProbabilityTable
from dnip.comparing.demonstration import bundled_table
from dnip.fitting.fit import fit
from dnip.presenting.report import report as report_on

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("chromium is not installed", allow_module_level=True)


PATIENCE = 200_000  # milliseconds


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("report") / "report.html"
    fitted = fit(bundled_table("opt"), evidence=True, defer=0.25)
    found.write_text(report_on(bundled_table("opt"), coefficients=fitted).to_html())
    return found


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )


@pytest.fixture
def visit(browser):
    """A function that opens a file, of which nothing is fetched and nothing fails."""
    faults, requests, opened = [], [], []

    def open_page(path, width=1280):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        opened.append((page, path))
        return page

    yield open_page
    assert faults == []
    ((page, path),) = opened
    assert requests == [path.as_uri()]
    page.close()


@pytest.fixture
def page(visit, path):
    return visit(path)


def assert_accessible_and_no_wider_than(page, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    assert [each["id"] for each in axe.run(page).response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_slider_starts_at_the_choice_and_moves_every_number(page):
    def shown():
        return page.inner_text("section:visible"), page.inner_text("output")

    assert shown()[1].endswith(", the choice")
    page.focus("#slider")
    page.keyboard.press("End")
    even = shown()
    page.keyboard.press("Home")
    raw = shown()
    assert even[1].strip() == "2.7"
    assert raw[1].strip() == "no coefficients"
    assert raw[0] != even[0]


@pytest.mark.parametrize("n_classes", [4, 200])
def test_the_first_screen_and_two_sheets_of_paper_hold_it(visit, path, tmp_path, n_classes):
    if n_classes > 4:
        rng, y = np.random.default_rng(0), np.arange(2000) % n_classes
        p = rng.dirichlet(np.ones(n_classes), 2000) + 0.02 * np.eye(n_classes)[y]
        names = [f"a kind of complaint with a long name, {c:03d}, and an end" for c in range(200)]
        table = ProbabilityTable(p / p.sum(axis=1, keepdims=True), y, classes=names)
        path = tmp_path / "report.html"
        coefficients = Coefficients(names, [1 + c % 2 for c in range(200)], 2)
        path.write_text(report_on(table, coefficients=coefficients).to_html(), "utf-8")
    page = visit(path)
    page.set_viewport_size({"width": 1280, "height": 800})
    assert page.evaluate("document.querySelector('section:not([hidden]) table').offsetTop") < 400
    assert page.locator("main").inner_text().count("SHA-256") == 0
    assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True))) <= 2


def test_a_dark_screen_prints_dark_on_white(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 41, 51)"
    assert not page.locator("#slider").is_visible()


def test_hostile_names_do_no_harm_on_a_phone(visit, tmp_path):
    names = [
        "<img src=x onerror=alert(1)>\"'&",
        "\U0001f41f fish",
        "\u202eשלום\u202b",
        "x" * 10_000,
    ]
    table, coefficients = bundled_table("test"), Coefficients(names, [1, 1, 2, 6], 30)
    table = ProbabilityTable(table.probabilities, table.labels, classes=names)
    path = tmp_path / "report.html"
    path.write_text(report_on(table, coefficients=coefficients).to_html(), "utf-8")
    page = visit(path, width=390)
    for part in page.locator("summary").all():
        part.click()
    assert max(len(name) for name in page.locator(".name").all_inner_texts()) < 100
    assert_accessible_and_no_wider_than(page, 390)
    assert page.locator("img").count() == 0


def test_shown_coefficients_go_back_into_apply(page, tmp_path):
    text = page.text_content("pre")
    (tmp_path / "coefficients.json").write_text(text)
    test = bundled_table("test")
    test.write(tmp_path / "test.csv")
    command = [sys.executable, "-m", "dnip", "apply", "test.csv", "--coefficients"]
    command += ["coefficients.json", "--out", "new.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    multipliers = Coefficients.from_json(text).multipliers
    predicted = oracles.predict(test.probabilities, multipliers)
    changed = int(np.count_nonzero(predicted != test.probabilities.argmax(axis=1)))
    assert json.loads(done.stdout)["changed"] == changed


@cases(("light", 390), ("dark", 1280))
def test_accessible_and_no_wider_than_the_screen(page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    assert_accessible_and_no_wider_than(page, width)
