"""The report in a real browser: what it loads, that it fits, sorts, filters, obeys keys."""

import re
import shutil

import pytest

from spacy_longtail.evaluation.report import write_report
from tests.reports import WEAK, evaluation, report_of, statistics, write

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
# as root it has no sandbox; the rest keeps the browser itself from calling home
FLAGS = ["--no-sandbox", "--no-first-run"]
FLAGS += [
    f"--disable-{part}" for part in ("gpu", "quic", "background-networking", "component-update", "sync")
]
WIDTHS = (360, 768, 1280, 1920)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    curve = [{"step": 10 * i, "ents_macro_f": 0.1 * i} for i in range(5)]
    runs = [evaluation(n, WEAK, seed=s, curve=curve) for n in ("baseline", "sCR") for s in (0, 1)]
    runs += [evaluation("focal", seed=0, dev=0.9, spurious=5, curve=curve)]
    for run in runs:
        run["analysis"] = ANALYSIS
    write_report(report_of(*write(folder, statistics(), *runs)), folder / "report.html")
    return folder / "report.html"


ROW = {"p": 0.5, "r": 0.5, "f": 0.5}
SHARE = {"recall": 0.5, "support": 3, "precision": None, "predicted": 0}
KINDS = ("correct", "type", "boundary", "type_and_boundary", "missed", "spurious")
BUCKET = {"labels": ["PER"], "training_mentions": 9, "support": 3, "macro_f": 0.5, **ROW}
ANALYSIS = {
    "confusion": {"labels": ["PER", "LOC", "ART", "O"], "counts": [[9, 0, 1, 2]] * 4},
    "errors": {**dict.fromkeys(KINDS, 3), "per_type": {"PER": dict.fromkeys(KINDS, 1)}},
    "lengths": [{"bin": "1-5", "sentences": 3, "accuracy": 0.5, "f": None}],
    "buckets": {"head": BUCKET},
    "seen": {"seen": SHARE, "unseen": SHARE},
}


def opened(browser, report, **settings):
    page = browser.new_page(**settings)
    page.problems, page.requests = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text))
    page.goto(report.as_uri())
    return page


def test_it_loads_itself_alone_and_runs_without_a_complaint(browser, report):
    page = opened(browser, report)
    assert page.requests == [report.as_uri()]
    assert page.problems == []
    assert page.locator("script").count() == 1  # the one in the data is text
    assert not page.locator("#models table").is_visible()
    page.locator("nav a[href='#models']").click()
    page.locator("#models table").wait_for(state="visible")
    page.locator("#filter [name=on]").click()
    page.locator("#filter output", has_text=re.compile(r"^\s*11 to ")).wait_for()
    with page.expect_download() as download:
        page.locator("#overview .save button", has_text="SVG").click()
    data = download.value.path().read_bytes()
    assert b'xmlns="http://www.w3.org/2000/svg"' in data and b"var(" not in data


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_from_phone_to_wide_screen(browser, report, width):
    page = opened(browser, report, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").first.is_visible()


def column(page, table, i):
    rows = page.locator(f"{table} tbody").first.locator("tr")
    return [rows.nth(n).locator("th, td").nth(i).inner_text() for n in range(rows.count())]


def test_tables_sort_by_keyboard_and_averages_stay(browser, report):
    page = opened(browser, report)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    table = "#scores table"
    supports = page.locator(f"{table} thead th").nth(1)
    supports.locator("button").focus()
    page.keyboard.press("Enter")
    assert supports.get_attribute("aria-sort") == "descending"
    assert column(page, table, 1) == ["60", "30", "10"]
    page.keyboard.press("Enter")
    assert column(page, table, 1) == ["10", "30", "60"]
    assert page.locator(f"{table} tbody").nth(1).locator("th").all_inner_texts()[0] == "Macro average"
    page.locator(f"{table} thead th").first.locator("button").click()
    assert [name.split()[0] for name in column(page, table, 0)] == ["ART", "LOC", "PER"]
    assert supports.get_attribute("aria-sort") is None


def test_the_filter_shows_what_was_asked_for(browser, report):
    page = opened(browser, report)
    form, shown = page.locator("#filter"), page.locator("#sentences > li:visible")
    assert form.is_visible()
    n = page.locator("#sentences > li").count()
    for kind in ("spurious", "gained"):
        form.locator("[name=kind]").select_option(kind)
        found = page.locator(f"#sentences > li:has(.m[data-k~={kind}])").count()
        assert 0 < found < n
        assert shown.count() == min(found, 10)
        assert form.locator("output").inner_text() == f"1 to {min(found, 10)} of {found}, {n} in all"


def test_without_scripts_everything_is_there(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#sentences > li").first.is_visible()
    assert not page.locator("#filter").is_visible()  # no dead filter
    assert page.locator("th button, .save button").count() == 0
    assert page.locator("#sentences-box").bounding_box()["height"] < 800  # it scrolls
    context.close()
