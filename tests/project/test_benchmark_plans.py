"""benchmarks/*.yml: the documents name no other plan than those that are there."""

import re
from pathlib import Path

from spacy_longtail.studies.trials.plan import presets

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "benchmarks").glob("*.yml"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
NAMED = re.compile(r"\bbenchmarks/(\w+\.(?:json|yml))\b")
COMMAND = re.compile(r"^python -m spacy_longtail matrix (\S+) (corpus/\S+) -o \S+", re.MULTILINE)


def test_the_documents_name_plans_that_are_there():
    texts = [path.read_text(encoding="utf8") for path in PAGES]
    named = {name for text in texts for name in NAMED.findall(text)}
    assert named <= {path.name for path in PLANS} and len(named) >= 5
    commands = [found for text in texts for found in COMMAND.findall(text)]
    assert len(commands) >= 6
    for plan, _ in commands:
        assert plan in presets() or (ROOT / plan).is_file()
