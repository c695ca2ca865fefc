"""Hooks of mkdocs.yml: pages from outside docs/, their links, and formulas without a script."""

import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# files of the repository, and the pages of the site that they are
PAGES = {
    "README.md": "index.md",
    "docs/README.md": "questions.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/REPORT.md": "measurements.md",
    "benchmarks/EARLIER.md": "earlier_measurements.md",
    "recipes/README.md": "recipes.md",
    "tutorials/README.md": "tutorials.md",
    "components/spacy_longtail/encoders/en_longtail_cnn/README.md": "en_longtail_cnn.md",
}
SOURCES = {page: source for source, page in PAGES.items()}
COPIED = (  # linked as they are
    "CITATION.cff",
    "project.yml",
    "tutorials/garden/train.txt",
    "assets/field_notes/GUIDELINES.md",
    "recipes/ray_bulk.py",
    "recipes/ray_matrix.py",
    "recipes/serve.py",
    "recipes/spark_bulk.py",
    *(f"tutorials/{path.name}" for path in sorted((ROOT / "tutorials").glob("*.ipynb"))),
)
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
INLINE = re.compile(r"\$`(.+?)`\$")
DISPLAY = re.compile(r"^( *)```math\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^( *)```(?!math)\w*\n.*?^\1```$", flags=re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what stands outside docs/; the first page is the repository's README."""
    if (index := files.get_file_from_path("README.md")) is not None:
        files.remove(index)
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for source in COPIED:
        files.append(File.generated(config, _copy_of(source), abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to pages of the site, and set formulas aside for `on_page_content`."""
    source = SOURCES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    formulas: list[str] = []

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        return _page_of(target, match[1]) + (match[2] or "")

    def set_aside(latex: str, display: str) -> str:
        formulas.append(convert(latex, display=display))
        return f"FORMULA{len(formulas) - 1}X"

    text = DISPLAY.sub(lambda m: m[1] + set_aside(_without_tag(m[2]), "block"), markdown)
    parts, last = [], 0
    for fence in [*FENCE.finditer(text), None]:
        plain = text[last : fence.start() if fence else None]
        plain = INLINE.sub(lambda m: set_aside(m[1], "inline"), LINK.sub(link, plain))
        parts += [plain, fence[0] if fence else ""]
        last = fence.end() if fence else last
    page.meta["formulas"] = formulas
    return "".join(parts)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the formulas back, as MathML."""
    formulas: list[str] = page.meta.get("formulas", [])
    return re.sub(r"FORMULA(\d+)X", lambda m: formulas[int(m[1])], html)


def _without_tag(latex: str) -> str:
    """MathML has no numbers of equations: they stand beside the formula."""
    return re.sub(r"\\tag\{(\w+)\}", r"\\qquad (\\text{\1})", latex)


def _copy_of(source: str) -> str:
    return f"files/{source.removesuffix('.md')}.txt" if source.endswith(".md") else f"files/{source}"


def _page_of(target: str, as_written: str) -> str:
    if target in PAGES:
        return PAGES[target]
    if target in COPIED:
        return _copy_of(target)
    return posixpath.relpath(target, "docs") if target.startswith("docs/") else as_written
