"""Templates and how numbers look in them."""

import math
import re
from collections.abc import Sequence

import srsly
from jinja2 import Environment, PackageLoader, StrictUndefined

from ...about import __version__
from ...output.amounts import number, p_value, percent, signed
from ...training.provenance import short
from ..significance import NO_CLAIM
from .systems import mean, spread

SPACES = re.compile(r"\s+")
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#&])")
NO_BREAK = "\u00a0"
NUMBERS = re.compile(r"\b[pt] [<=] (?=[-\d\u2212])|(?<=\d) (?:%|points?\b)|^< ")


def render(template: str, **values: object) -> str:
    """Fill in one of the package's templates.

    template (str): Its file name; what goes into a page is escaped.
    values (object): Its variables; one that is missing is an error.
    RETURNS (str): The text.
    """
    loader = PackageLoader("spacy_longtail.evaluation.report")
    made = Environment(loader=loader, autoescape=template.endswith(".html"), undefined=StrictUndefined)
    made.trim_blocks = made.lstrip_blocks = True
    made.filters.update(
        percent=percent,
        signed=signed,
        points=lambda score: None if score is None else 100 * score,
        decimal=lambda value: "–" if value is None else f"{value:.2f}",
        count=lambda value: "–" if value is None else f"{value:,.0f}",
        p=lambda verdict: "–" if verdict is None else unbroken(p_value(verdict.adjusted)),
        cell=cell,
        md=_md,
        code=_code,
        setting=lambda value: value if isinstance(value, str) else srsly.json_dumps(value),
        over_seeds=_over_seeds,
        mean=mean,
        short=short,
        unbroken=unbroken,
        claim=lambda outcome: "no clear difference" if outcome == NO_CLAIM else outcome,
        number=number,
        log=math.log,
    )
    return made.get_template(template).render(version=__version__, **values)


def cell(found: tuple[float | None, float | None]) -> str:
    """Mean and spread over seeds, points of 100."""
    value, deviation = found
    return percent(value) + ("" if deviation is None else f" ± {100 * deviation:.1f}")


def unbroken(text: str) -> str:
    """A text in which no line ends between a number and what belongs to it."""
    return NUMBERS.sub(lambda found: found[0].replace(" ", NO_BREAK), text)


def _over_seeds(values: Sequence[float]) -> str:
    return cell((mean(values), spread(values)))


def _md(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    return MARKDOWN.sub(r"\\\1", SPACES.sub(" ", str(text)))


def _code(text: str) -> str:
    """Text as code in a cell of a Markdown table."""
    shown = SPACES.sub(" ", text).replace("|", "\\|").replace("`", "'")
    return f"`{shown}`" if text else "–"
