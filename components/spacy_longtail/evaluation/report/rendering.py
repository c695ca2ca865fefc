"""Templates and how numbers look in them."""

import re
from collections.abc import Sequence

import srsly
from jinja2 import Environment, PackageLoader, StrictUndefined

from ...about import __version__
from ...output.amounts import number
from ...training.provenance import short
from .systems import mean, spread
from .wording import claim, p_value, percent, signed, unbroken

SPACES = re.compile(r"\s+")
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#&])")


def render(template: str, **values: object) -> str:
    """Fill in one of the package's templates.

    template (str): Its file name; what goes into a page is escaped.
    values (object): Its variables; one that is missing is an error.
    RETURNS (str): The text.
    """
    loader = PackageLoader("spacy_longtail.evaluation.report")
    escaped = template.endswith(".html")
    made = Environment(loader=loader, autoescape=escaped, undefined=StrictUndefined)
    made.trim_blocks = made.lstrip_blocks = True
    made.filters.update(percent=percent, signed=signed, points=_points, decimal=_decimal, count=_count)
    made.filters.update(p=p_value, cell=cell, md=_md, code=_code, setting=_setting)
    made.filters.update(over_seeds=_over_seeds, short=short, unbroken=unbroken, claim=claim)
    made.filters.update(number=number)
    return made.get_template(template).render(version=__version__, **values)


def _over_seeds(values: Sequence[float]) -> str:
    return cell((mean(values), spread(values)))


def cell(found: tuple[float | None, float | None]) -> str:
    """Mean and spread over seeds, points of 100."""
    value, deviation = found
    return percent(value) + ("" if deviation is None else f" ± {100 * deviation:.1f}")


def _points(score: float | None) -> float | None:
    return None if score is None else 100 * score


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _md(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    return MARKDOWN.sub(r"\\\1", SPACES.sub(" ", str(text)))


def _code(text: str) -> str:
    """Text as code in a cell of a Markdown table, whatever it holds."""
    if not text:
        return "–"
    shown = SPACES.sub(" ", text).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


def _setting(value: object) -> str:
    return value if isinstance(value, str) else srsly.json_dumps(value)
