"""The page in a real browser: Debian's Chromium, without a window."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import oracles
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


def test_a_point_of_the_front_moves_every_number(page):
    places = "#totals", "#classes", "#json"
    before = [page.inner_text(place) for place in places]
    page.locator("#front circle").last.click(force=True)
    assert all(page.inner_text(a) != b for a, b in zip(places, before, strict=True))


def test_the_slider_goes_by_keyboard_from_accurate_to_even(page):
    page.focus("#slider")
    page.keyboard.press("End")
    even = page.inner_text("#totals")
    page.keyboard.press("Home")
    assert page.inner_text("#totals") != even


def test_a_dark_screen_prints_dark_on_white(page):
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 41, 51)"
    assert not page.locator("#copy").is_visible()


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
    for button in page.locator("#classes button").all():
        button.click()
        assert len(page.inner_text("#class h3")) < 200
    assert_accessible_and_no_wider_than(page, 390)
    assert page.locator("img").count() == 0


def test_a_class_shows_its_confusions(page):
    page.locator("#classes button").first.click()
    name = page.locator("#classes button").first.inner_text()
    assert name in page.inner_text("#class")
    assert page.evaluate("document.activeElement.textContent") == name


def test_shown_coefficients_go_back_into_apply(page, tmp_path):
    page.locator("#front circle").last.click(force=True)
    assert page.text_content("#json") == "dnip fit TABLE --beta 2.7"
    page.locator("#own").click()
    text = page.text_content("#json")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessible_and_no_wider_than_the_screen(page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    assert_accessible_and_no_wider_than(page, width)
