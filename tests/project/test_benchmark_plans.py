"""benchmarks/*.yml: every plan can be read, and the documents name no other."""

import re
from pathlib import Path

import pytest

from spacy_longtail.studies.trials.plan import presets, read_plan

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "benchmarks").glob("*.yml"))
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "REPORT.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = re.compile(r"\bbenchmarks/(\w+\.(?:json|yml))\b")
COMMAND = re.compile(r"^python -m spacy_longtail matrix (\S+) (corpus/\S+) -o \S+", re.MULTILINE)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_plan_trains_its_methods_alike(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    plan = read_plan(str(path), {"corpora": ["corpus/field_notes"]})
    draws = len(plan.draws) or 1
    assert len(list(plan.trials())) == len(plan.methods) * len(plan.seeds) * draws
    first = plan.methods[0].config["training"]
    for method in plan.methods:
        own = method.config["training"]
        assert own["max_steps"] == plan.steps and own["batcher"] == first["batcher"]
        assert own["eval_frequency"] == first["eval_frequency"]


def test_the_documents_name_plans_that_are_there():
    texts = [path.read_text(encoding="utf8") for path in PAGES]
    named = {name for text in texts for name in NAMED.findall(text)}
    assert named <= {path.name for path in PLANS} and len(named) >= 5
    commands = [found for text in texts for found in COMMAND.findall(text)]
    assert len(commands) >= 6
    for plan, _ in commands:
        assert plan in presets() or (ROOT / plan).is_file()
