"""The report in a real browser: what it loads, that it fits, sorts, filters and can be used by keyboard."""

import shutil

import pytest
import spacy

from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.evaluation.report import read_report, write_report
from spacy_longtail.studies.matrix.summary import summarize_trials
from spacy_longtail.studies.matrix.writing import write_matrix_report
from tests.unit.test_matrix_report import TYPES, Scored
from tests.unit.test_matrix_report import run as run_plan
from tests.unit.test_report import WEAK, evaluation, statistics, write
from tests.util import SENTENCES, parse

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
# as root it has no sandbox; the rest keeps the browser itself from calling home
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
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
    write_report(read_report(*write(folder, statistics(), *runs)), folder / "report.html")
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


def unfold(page):
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    return page


def test_it_loads_itself_alone_and_runs_without_a_complaint(browser, report):
    page = opened(browser, report)
    assert page.requests == [report.as_uri()]
    assert page.problems == []
    assert page.locator("script").count() == 1  # the one in the data is text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_from_phone_to_wide_screen(browser, report, width, scheme):
    page = opened(browser, report, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").first.is_visible()


CONTRAST = """() => {
  const light = (rgb) => {
    const c = rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = read(getComputedStyle(e).backgroundColor);
      if (found[3] === 255) return found.slice(0, 3);
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("main *, header *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest("svg") || !element.checkVisibility()) continue;
    const a = light(read(getComputedStyle(element).color).slice(0, 3));
    const b = light(ground(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 200)];
  }
  return worst;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(browser, report, scheme):
    ratio, where = unfold(opened(browser, report, color_scheme=scheme)).evaluate(CONTRAST)
    assert ratio >= 4.5, where


def test_the_verdict_and_the_figure_are_on_the_first_screen(browser, report):
    page = opened(browser, report, viewport={"width": 1280, "height": 800})
    for selector in (".verdict", "#overview svg"):
        box = page.locator(selector).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 800, selector
    assert page.evaluate("document.documentElement.scrollHeight") <= 4 * 800


def test_navigation_stays_in_sight_and_unfolds_what_it_leads_to(browser, report):
    page = opened(browser, report, viewport={"width": 1280, "height": 800})
    assert not page.locator("#models table").is_visible()
    page.locator("nav a[href='#models']").click()
    page.locator("#models table").wait_for(state="visible")
    assert page.locator("nav").bounding_box()["y"] >= 0
    page.locator("nav a[href='#overview']").click()
    assert page.locator("#models table").is_visible()


@pytest.mark.parametrize(("kind", "start"), [("SVG", b"<svg"), ("PNG", b"\x89PNG")])
def test_a_figure_is_saved_in_the_colours_of_the_page(browser, report, kind, start):
    page = opened(browser, report, color_scheme="dark")
    with page.expect_download() as download:
        page.locator("#overview .save button", has_text=kind).click()
    assert download.value.suggested_filename == f"f1-by-type.{kind.lower()}"
    data = download.value.path().read_bytes()
    assert data.startswith(start) and len(data) > 5000
    if kind == "SVG":
        assert b'xmlns="http://www.w3.org/2000/svg"' in data and b"#14171b" in data  # dark paper
        assert b"var(" not in data and b"currentColor" not in data
    assert page.problems == []


def column(page, table, i):
    rows = page.locator(f"{table} tbody").first.locator("tr")
    return [rows.nth(n).locator("th, td").nth(i).inner_text() for n in range(rows.count())]


def test_tables_sort_by_keyboard_and_averages_stay(browser, report):
    page = unfold(opened(browser, report))
    table = "#scores table"
    supports = page.locator(f"{table} thead th").nth(1)
    supports.locator("button").focus()
    page.keyboard.press("Enter")
    assert supports.get_attribute("aria-sort") == "descending"
    assert column(page, table, 1) == ["60", "30", "10"]
    page.keyboard.press("Enter")
    assert column(page, table, 1) == ["10", "30", "60"]
    last = page.locator(f"{table} tbody").nth(1).locator("th").all_inner_texts()
    assert last[0] == "Macro average"
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


def test_sentences_have_pages(browser, report):
    page = opened(browser, report)
    form, shown = page.locator("#filter"), page.locator("#sentences > li:visible")
    back, on, output = (form.locator(name) for name in ("[name=back]", "[name=on]", "output"))
    n = page.locator("#sentences > li").count()
    assert 10 < n <= 20
    assert (shown.count(), output.inner_text()) == (10, f"1 to 10 of {n}")
    assert back.is_disabled()
    on.click()
    assert (shown.count(), output.inner_text()) == (n - 10, f"11 to {n} of {n}")
    assert on.is_disabled()
    form.locator("[name=rare]").check()  # begins with the first page again
    assert output.inner_text().startswith("1 to ")


def test_without_scripts_everything_is_there(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#sentences > li").first.is_visible()
    assert not page.locator("#filter").is_visible()  # no dead filter
    assert page.locator("th button, .save button").count() == 0
    assert page.locator("#sentences-box").bounding_box()["height"] < 800  # it scrolls
    context.close()


def test_it_prints(browser, report):
    page = opened(browser, report)
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#filter").is_visible()


@pytest.fixture(scope="module", params=["methods", "curves"])
def matrix_page(request, tmp_path_factory):
    pytest.importorskip("optuna")
    folder = tmp_path_factory.mktemp(request.param)
    nlp = spacy.blank("en")
    docs = [parse(nlp, text) for text in SENTENCES]
    write_corpus(folder / "tiny", {"train": docs, "dev": docs * 3, "test": docs * 4}, TYPES)
    draws = {"sizes": [2, 4], "partitions": 2} if request.param == "curves" else {"seeds": [0, 1]}
    runner = Scored({"ner": 0.2, "crf": 0.95}, failing=("softmax-focal",))
    plan, records = run_plan(folder / "tiny", folder / "out", runner, **draws)
    return write_matrix_report(summarize_trials(plan, records), folder / "report")


def test_a_matrix_page_loads_itself_alone_and_fits(browser, matrix_page):
    for width in WIDTHS:
        page = opened(browser, matrix_page, viewport={"width": width, "height": 800})
        assert page.requests == [matrix_page.as_uri()]
        assert page.problems == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()


def test_a_table_of_methods_sorts(browser, matrix_page):
    page = opened(browser, matrix_page)
    if not page.locator("table.sortable").count():
        pytest.skip("the page of curves has none")
    table = unfold(page).locator("table.sortable").first
    table.locator("th button", has_text="Method").click()
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names) and len(names) > 2
