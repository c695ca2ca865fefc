"""Write what in README and docs/ comes from the code and the records."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

import picture
from pages import advice, commands, comparisons, decisions, error_codes, figures, registered, results

DOCS = Path(__file__).parents[1] / "docs"
PLAIN = ("start", "zero_shot", "checking", "faq", "report", "languages", "what_else")  # templates
PAGES: dict[str, Callable[[], str]] = {
    "registered.md": registered.render,
    "commands.md": commands.render,
    "rare_types.svg": picture.render,
    "each_rare_type.svg": picture.render_each,
    "advice.svg": advice.render,
    "decisions.svg": decisions.render,
    "results.md": results.render,
    "comparisons.md": comparisons.render,
    "serving.md": figures.page("serving"),
    **{f"{name}.md": figures.page(name) for name in PLAIN},
    "choose.md": figures.page("choose"),
    "costs.md": figures.page("costs"),
    "../README.md": figures.readme,
    "errors.md": error_codes.render,  # the last, because it looks for codes in the others
}


def main(
    check: Annotated[bool, typer.Option("--check", help="Fail if a file is not up to date.")] = False,
) -> None:
    """Write the generated files of docs/."""
    for name, render in PAGES.items():
        path, text = DOCS / name, render()
        if path.is_file() and path.read_text(encoding="utf8") == text:
            continue
        if check:
            msg.fail(f"{path} is out of date. Run: python scripts/document.py", exits=1)
        path.write_text(text, encoding="utf8")
        msg.good(f"Wrote {path}")


if __name__ == "__main__":
    typer.run(main)
